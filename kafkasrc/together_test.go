package kafkasrc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// many are two topics of many partitions on two brokers, with a few records in each partition, and their pieces as planned.
func many(t *testing.T, records int) (broker, *Source, []batch.Piece) {
	t.Helper()
	b := newBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(30, "orders", "refunds"))
	var all []*kgo.Record
	for i := range 30 * records {
		for _, topic := range []string{"orders", "refunds"} {
			all = append(all, &kgo.Record{Topic: topic, Partition: int32(i % 30), Value: fmt.Append(nil, topic, i)})
		}
	}
	if err := b.client.ProduceSync(t.Context(), all...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, b.options(topics("orders", "refunds")))
	view := mustView(t, s, nil)
	var pieces []batch.Piece
	for _, tp := range view.Ends().Partitions() {
		bounds := view.Partitions[tp]
		pieces = append(pieces, batch.Piece{Topic: tp.Topic, Partition: tp.Partition, From: bounds.Start, Until: bounds.End, TopicID: view.TopicIDs[tp.Topic], LeaderEpoch: bounds.LeaderEpoch})
	}
	return b, s, pieces
}

// wantPieces fails the test unless each record of the pieces comes once, piece by piece and in order.
func wantPieces(t *testing.T, r *Reader, pieces []batch.Piece) {
	t.Helper()
	var got, want []string
	for {
		records, err := r.Next(t.Context())
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			break
		}
		for _, offset := range records.Offsets {
			got = append(got, fmt.Sprint(r.Piece(), " ", records.Topic, "-", records.Partition, " ", offset))
		}
	}
	for i, p := range pieces {
		for offset := p.From; offset < p.Until; offset++ {
			want = append(want, fmt.Sprint(i, " ", p.Topic, "-", p.Partition, " ", offset))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %d records %v, want %d %v", len(got), got, len(want), want)
	}
}

// Small pieces of many partitions are as many requests as they need for their bytes, not one each.
func TestSmallPiecesAreAskedForTogether(t *testing.T) {
	b, s, pieces := many(t, 5)
	requests := 0
	b.watch(kmsg.Fetch, func(kmsg.Request) { requests++ })
	wantPieces(t, read(t, s, pieces...), pieces)
	if requests > 20 {
		t.Errorf("%d pieces were %d requests", len(pieces), requests)
	}
}

// What a broker does not answer for, or answers in part, among pieces that were asked for together, is asked for again by itself, and
// nothing is left out, twice or in another order. Several pieces may be of one partition.
func TestPiecesAskedForTogetherComeOnceWhateverIsAnsweredForEach(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		b, s, pieces := many(t, 12)
		var cut []batch.Piece
		for _, p := range pieces {
			middle := p.From + random.Int64N(p.Until-p.From+1)
			for _, bounds := range [][2]int64{{p.From, middle}, {middle, p.Until}} {
				part := p
				if part.From, part.Until = bounds[0], bounds[1]; part.From < part.Until {
					cut = append(cut, part)
				}
			}
		}
		random.Shuffle(len(cut), func(i, j int) { cut[i], cut[j] = cut[j], cut[i] })
		b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response { return spoiled(req.(*kmsg.FetchRequest), random) })
		s.options.FetchBytes = 1 << (6 + random.IntN(12))
		wantPieces(t, read(t, s, cut...), cut)
	}
}

// spoiled takes partitions out of a request, other than the first, or has all of them fail once in a while.
func spoiled(req *kmsg.FetchRequest, random *rand.Rand) kmsg.Response {
	if random.IntN(6) == 0 {
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, asked := range req.Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
			for _, p := range asked.Partitions {
				failed := kmsg.NewFetchResponseTopicPartition()
				failed.Partition, failed.ErrorCode, failed.RecordBatches = p.Partition, kerr.NotLeaderForPartition.Code, []byte{}
				topic.Partitions = append(topic.Partitions, failed)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp
	}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			if i+j > 0 && random.IntN(4) == 0 {
				req.Topics[i].Partitions[j].FetchOffset = 1 << 40 // out of range
			}
		}
	}
	return nil
}
