package kafkasrc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

type ctx = context.Context

// acceptAll answers every Fetch with the same bytes, judged as a broker's answer is.
func acceptAll(f *fetcher, log []byte) func(ctx, batch.Piece, int64) (answer, error) {
	return func(_ ctx, piece batch.Piece, offset int64) (answer, error) {
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = log
		return f.accept(&attempt{piece: piece, tp: piece.Range().TopicPartition, offset: offset}, &p)
	}
}

// shape makes of fuzzed bytes what gets past the checksums: as they are, as batches with the right checksum, as the
// records of a batch, as the messages inside a wrapper.
func shape(how byte, data []byte) []byte {
	switch how % 4 {
	case 1:
		sealed := append([]byte(nil), data...)
		for rest := sealed; ; {
			b, next, err := cut(rest)
			if err != nil || b == nil {
				return sealed
			}
			if b[atMagic] == 2 {
				seal(b)
			} else {
				sealMessage(b)
			}
			rest = next
		}
	case 2:
		if len(data) < 8 {
			return nil
		}
		b := make([]byte, headerLen, headerLen+len(data))
		b[atMagic] = 2
		copy(b[atAttributes+1:], data[:1])
		copy(b[atLastDelta+2:], data[1:3])
		copy(b[atCount+2:], data[3:5])
		copy(b[atProducerID+7:], data[5:6])
		b = append(b, data[6:]...)
		binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-lengthEnd))
		return seal(b)
	case 3:
		if len(data) < 2 {
			return nil
		}
		return message(data[0]%2, data[1]&0x0f, row{offset: 40, value: data[2:]})
	}
	return data
}

func FuzzHostileBytesNeverPanic(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 12 {
		log := randomLog(f, rng, 3)
		f.Add(byte(0), append(append([]byte(nil), log.batches[0]...), log.batches[len(log.batches)-1]...))
		f.Add(byte(1), log.batches[0])
	}
	for i, codec := range codecs {
		records := appendRow(nil, row{offset: 3, key: []byte("k"), value: []byte("value value value"), headers: []header{{"h", []byte("v")}}}, 0, 0)
		f.Add(byte(2), append([]byte{byte(codecNumber(codec)), 0, 9, 0, 1, 1}, compress(f, codec, records)...))
		if codecNumber(codec) <= codecLz4 {
			set := append(message(1, 0, row{offset: 0, value: []byte("a")}), message(1, 0, row{offset: 2, key: []byte("b")})...)
			f.Add(byte(3), append([]byte{byte(i), byte(codecNumber(codec))}, compress(f, codec, set)...))
		}
	}
	f.Fuzz(func(t *testing.T, how byte, data []byte) {
		for level := range int8(2) {
			s := &Source{options: Options{IncludeHeaders: true, MaxBatchBytes: 1 << 18}, limits: Limits{Repeats: 1}.withDefaults(&settings{backoff: 1})}
			r := newReader(t.Context(), s, []batch.Piece{pieceOf(2, 60), pieceOf(60, 1<<62)}, level)
			r.fetch = acceptAll(r.fetcher, shape(how, data))
			last := int64(1)
			for {
				block, err := r.Next(t.Context())
				if errors.Is(err, io.EOF) || err != nil {
					break
				}
				for i, offset := range block.Offsets {
					if offset <= last || offset < r.pieces[r.Piece()].From || offset >= r.pieces[r.Piece()].Until {
						t.Fatalf("got offset %d after %d in piece %d", offset, last, r.Piece())
					}
					last = offset
					if block.Key.Bytes(i) != nil && !block.Key.Valid(i) || len(block.Value.Offsets) != block.Rows+1 {
						t.Fatalf("row %d of %d is inconsistent", i, block.Rows)
					}
				}
			}
			if cap(r.decoder.buf) > 1<<20 {
				t.Fatalf("the buffer grew to %d bytes", cap(r.decoder.buf))
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
