package kafkasrc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// randomLog makes a log as brokers hold them: all codecs, holes and empty batches left by compaction, transactions of
// several producers that end either way, control markers, both types of timestamps, null keys and values, headers.
func randomLog(tb testing.TB, rng *rand.Rand, batches int) *fakeLog {
	log := &fakeLog{most: 1 + rng.IntN(1<<14), torn: rng.IntN(2) == 0}
	type open struct{ first int64 }
	producers := map[int64]*open{}
	offset := rng.Int64N(3) * 1000
	for range batches {
		offset += rng.Int64N(3) * rng.Int64N(5) // batches that compaction has removed
		pid := 1 + rng.Int64N(3)
		if p := producers[pid]; p != nil && rng.IntN(3) == 0 {
			commit := rng.IntN(2) == 0
			log.batches = append(log.batches, marker(offset, pid, commit).bytes(tb))
			if !commit {
				log.aborted = append(log.aborted, abortedAt{pid, p.first, offset})
			}
			delete(producers, pid)
			offset++
			continue
		}
		m := randomBatch(rng, offset)
		if rng.IntN(2) == 0 {
			m.attrs |= transactional
			m.producer = pid
			if producers[pid] == nil {
				producers[pid] = &open{offset}
			}
		}
		log.batches = append(log.batches, m.bytes(tb))
		offset = m.last + 1
	}
	for pid, p := range producers { // the log ends at the last stable offset, so that all transactions have ended
		log.batches = append(log.batches, marker(offset, pid, false).bytes(tb))
		log.aborted = append(log.aborted, abortedAt{pid, p.first, offset})
		offset++
	}
	rng.Shuffle(len(log.aborted), func(i, j int) { log.aborted[i], log.aborted[j] = log.aborted[j], log.aborted[i] })
	return log
}

func randomBatch(rng *rand.Rand, base int64) made {
	m := made{base: base, codec: codecs[rng.IntN(len(codecs))], last: base + rng.Int64N(40)}
	if rng.IntN(4) == 0 {
		m.attrs |= attrLogAppendTime
		m.maxTimestamp = 1_700_000_000_000 + rng.Int64N(1000)
	}
	for at := base; at <= m.last; at += 1 + rng.Int64N(3)*rng.Int64N(2) {
		if rng.IntN(12) == 0 {
			at = m.last // the rest was compacted
			if rng.IntN(2) == 0 {
				break
			}
		}
		m.rows = append(m.rows, randomRow(rng, at))
	}
	return m
}

func randomRow(rng *rand.Rand, offset int64) row {
	r := row{offset: offset, timestamp: 1_700_000_000_000 + rng.Int64N(100_000) - 50_000, key: randomBytes(rng, 20), value: randomBytes(rng, 600)}
	if rng.IntN(9) == 0 {
		r.timestamp = -1
	}
	for range rng.IntN(4) * rng.IntN(2) {
		r.headers = append(r.headers, header{string(randomBytes(rng, 5)), randomBytes(rng, 9)})
	}
	return r
}

func randomBytes(rng *rand.Rand, most int) []byte {
	if rng.IntN(8) == 0 {
		return nil
	}
	b := make([]byte, rng.IntN(most))
	for i := range b {
		b[i] = byte('a' + rng.IntN(4))
	}
	return b
}

func (l *fakeLog) bounds() (first, next int64) {
	return baseOffset(l.batches[0]), nextOffset(l.batches[len(l.batches)-1])
}

// oracle reads the log with franz-go's decoder.
func oracle(tb testing.TB, log *fakeLog, level int8, piece batch.Piece) (rows []row, position int64) {
	tb.Helper()
	options := kgo.ProcessFetchPartitionOpts{Topic: piece.Topic, Partition: piece.Partition, Offset: piece.From}
	if level != 0 {
		options.IsolationLevel = kgo.ReadCommitted()
	}
	for options.Offset < piece.Until {
		a, err := log.fetch(context.Background(), piece, options.Offset)
		if err != nil {
			tb.Fatal(err)
		}
		p := &kmsg.FetchResponseTopicPartition{Partition: piece.Partition, RecordBatches: a.log, AbortedTransactions: slices.Clone(a.aborted)}
		fetched, next := kgo.ProcessFetchPartition(options, p, kgo.DefaultDecompressor(), nil)
		if fetched.Err != nil {
			tb.Fatalf("oracle at %d: %v", options.Offset, fetched.Err)
		}
		for _, r := range fetched.Records {
			if r.Offset < piece.Until {
				rows = append(rows, rowOf(r))
			}
		}
		options.Offset = next
	}
	return rows, options.Offset
}

func rowOf(r *kgo.Record) row {
	out := row{offset: r.Offset, timestamp: r.Timestamp.UnixMilli(), timestampType: int32(r.Attrs.TimestampType()), key: r.Key, value: r.Value}
	if out.timestampType < 0 {
		out.timestamp = -1
	}
	for _, h := range r.Headers {
		out.headers = append(out.headers, header{h.Key, h.Value})
	}
	return out
}

func TestReaderAgreesWithTheClientLibraryOnAnyLog(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		log := randomLog(t, rng, 1+rng.IntN(60))
		first, next := log.bounds()
		for _, level := range []int8{0, 1} {
			t.Run(fmt.Sprintf("seed %d level %d", seed, level), func(t *testing.T) {
				piece := pieceOf(first, next)
				want, _ := oracle(t, log, level, piece)
				r := newTestReader(log, level, piece)
				got, err := drain(r)
				if err != nil {
					t.Fatal(err)
				}
				wantRows(t, got, want)
				if position := r.Positions()[0]; position != next {
					t.Errorf("position is %d, want %d", position, next)
				}
			})
		}
	}
}

func TestAnySplitOfARangeGivesTheSameRecords(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		log := randomLog(t, rng, 1+rng.IntN(60))
		first, next := log.bounds()
		want, err := drain(newTestReader(log, 1, pieceOf(first, next)))
		if err != nil {
			t.Fatal(err)
		}
		var pieces []batch.Piece
		for from := first; from < next; {
			until := min(next, from+rng.Int64N(1+(next-first)/2)) // pieces of no offset among them
			pieces = append(pieces, pieceOf(from, until))
			from = until
		}
		r := newTestReader(log, 1, pieces...)
		got, err := drain(r)
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, got, want)
		for i, at := range r.Positions() {
			if at < pieces[i].Until {
				t.Errorf("seed %d: piece %v was read to %d", seed, pieces[i].Range(), at)
			}
		}
	}
}
