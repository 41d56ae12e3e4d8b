package kafkasrc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// misjudged reads the pieces of a topic on so many brokers, each of ten batches of two kilobytes, after a log that compaction has
// thinned out, so that too little is thought of what they have: an answer has the beginning of each.
func misjudged(t *testing.T, brokers int) (*Source, *Reader, []batch.Piece) {
	t.Helper()
	b := newBroker(t, kfake.NumBrokers(brokers), kfake.SeedTopics(60, "orders"))
	noise := rand.NewChaCha8([32]byte{}) // which compression leaves as large as it is
	for range 10 {
		var all []*kgo.Record
		for partition := range int32(60) {
			value := make([]byte, 2000)
			_, _ = noise.Read(value)
			all = append(all, &kgo.Record{Topic: "orders", Partition: partition, Value: value})
		}
		if err := b.client.ProduceSync(t.Context(), all...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, b.options(topics("orders")))
	s.options.FetchBytes = 32 << 10
	var pieces []batch.Piece
	for partition := range int32(60) {
		pieces = append(pieces, b.piece(t, "orders", partition, 0, 10))
	}
	r := read(t, s, pieces...)
	r.fetcher.spanned = 1 << 40
	return s, r, pieces
}

// Answers that came with others are kept until their turn comes. Together with what is in hand they are no more than memory is
// planned for, on however many brokers the partitions are and however wrong the guess is of what they have.
func TestWhatIsKeptOfAnswersIsNoMoreThanOneAnswer(t *testing.T) {
	for _, brokers := range []int{1, 2, 10} {
		t.Run(fmt.Sprint(brokers, " brokers"), func(t *testing.T) {
			s, r, _ := misjudged(t, brokers)
			rows, most := 0, int64(0)
			for {
				records, err := r.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows += records.Rows
				most = max(most, r.kept())
			}
			if rows != 600 {
				t.Errorf("got %d rows, want 600", rows)
			}
			if most == 0 || most > int64(s.options.FetchBytes) {
				t.Errorf("up to %d bytes were kept, want some and at most %d", most, s.options.FetchBytes)
			}
		})
	}
}

// A piece of which an answer has the beginning only is gone on with before what follows it: nothing that was asked for is thrown
// away and asked for again.
func TestNothingThatWasAskedForIsThrownAway(t *testing.T) {
	for _, brokers := range []int{1, 3} {
		t.Run(fmt.Sprint(brokers, " brokers"), func(t *testing.T) {
			_, r, pieces := misjudged(t, brokers)
			wantPieces(t, r, pieces)
			if r.ReadBytes() != r.RecordBytes() {
				t.Errorf("got %d bytes for %d bytes of records", r.ReadBytes(), r.RecordBytes())
			}
		})
	}
}

// What is known of a topic changes while a request is made that others share: what is asked for is what was judged, and a topic that was
// created again under the name meanwhile is not read in its place.
func TestPiecesAreAskedForAsTheyWereChosen(t *testing.T) {
	_, s, pieces := many(t, 2)
	f := newFetcher(s, 1)
	for i, p := range pieces {
		f.following = append(f.following, following{index: i, Piece: p})
	}
	f.following = f.following[1:]
	try := &attempt{piece: pieces[0], tp: pieces[0].Range().TopicPartition}
	topic, at := s.cluster.remembered(try.tp)
	chosen := f.together(try, at, topic)
	if len(chosen) == 0 {
		t.Fatal("nothing is asked for together")
	}

	planned := map[string]topicID{}
	for name, known := range s.cluster.topics {
		planned[name] = known.id
	}
	delete(s.cluster.topics, "orders")
	s.cluster.topics["refunds"].id = topicID{1}
	other := *s.cluster.topics["refunds"]
	s.cluster.topics["refunds"] = &other
	planned["refunds"] = topicID{1} // the one that was judged

	req := f.request(try, topic, at, chosen).(*kmsg.FetchRequest)
	other.id = topicID{2}
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	resp.Version = 13
	for _, asked := range req.Topics {
		if asked.TopicID != planned[asked.Topic] {
			t.Errorf("%s is asked for by id %v, want %v", asked.Topic, asked.TopicID, planned[asked.Topic])
		}
		answered := kmsg.NewFetchResponseTopic()
		answered.TopicID = topicID{2} // that of another topic
		for _, p := range asked.Partitions {
			has := kmsg.NewFetchResponseTopicPartition()
			has.Partition, has.RecordBatches = p.Partition, made{base: 0, rows: []row{{offset: 0}}}.bytes(t)
			answered.Partitions = append(answered.Partitions, has)
		}
		resp.Topics = append(resp.Topics, answered)
	}
	if came := f.came(resp, chosen); len(came) > 0 {
		t.Errorf("answers of another topic were taken for pieces %v", came)
	}
}

// A piece without records in the answer keeps nobody else waiting, nor is it asked for with others again and again: what came with an
// answer that was of no use is not asked for with the next.
func TestAPieceThatFailedIsAskedForByItself(t *testing.T) {
	b, s, pieces := many(t, 2)
	var partitions []int
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		asked := 0
		for _, topic := range req.(*kmsg.FetchRequest).Topics {
			asked += len(topic.Partitions)
		}
		if partitions = append(partitions, asked); len(partitions) > 3 {
			return nil
		}
		return req.ResponseKind() // as of a broker that holds back
	})
	wantPieces(t, read(t, s, pieces...), pieces)
	if partitions[0] < 2 || partitions[1] != 1 || partitions[2] != 1 {
		t.Errorf("requests had %v partitions, want several, then one at a time", partitions[:3])
	}
}

// Offsets that compaction has thinned out may be any number: the guess of what they have is between nothing and one answer.
func TestTheGuessOfWhatAPieceHasIsNoMoreThanAnAnswer(t *testing.T) {
	_, s, _ := many(t, 1)
	for _, f := range []*fetcher{{source: s}, {source: s, read: 1 << 40, spanned: 1}, {source: s, read: 1, spanned: 1 << 40}} {
		for _, span := range []int64{1, 1000, math.MaxInt32, math.MaxInt64} {
			if got := f.estimate(span); got <= 0 || got > int64(s.options.FetchBytes) {
				t.Errorf("%d offsets after %d bytes of %d: got %d bytes, want 1 to %d", span, f.read, f.spanned, got, s.options.FetchBytes)
			}
		}
	}
}
