//go:build integration

package kafkasrc

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
	"sluice/rig"
)

// Pieces that are asked for together on a real broker, when between the plan and the first request one of the topics was deleted,
// another has got more partitions, and the beginning of a log was deleted; one has an aborted transaction and one a batch that is
// larger than an answer. Each piece has its own records, and its own loss where it has one, in whatever order they are read.
func TestRealPiecesThatAreAskedForTogetherEachHaveTheirOwn(t *testing.T) {
	t.Parallel()
	b := rig.Kafka(t)
	whole, gone, grown := b.CreateTopic(t, 4, nil), b.CreateTopic(t, 2, nil), b.CreateTopic(t, 1, nil)
	on := func(topic string, partition int32, from, until, size int) {
		records := numbered(topic, from, until, size)
		for _, r := range records {
			r.Partition = partition
		}
		produceEach(t, b, records)
	}
	on(whole, 0, 0, 8, 100)
	on(whole, 1, 0, 3, 100)
	aborted := numbered(whole, 3, 6, 100)
	for _, r := range aborted {
		r.Partition = 1
	}
	b.Transact(t, false, aborted...) // 3, 4, 5 and the marker
	on(whole, 1, 7, 9, 100)
	noise := numbered(whole, 0, 1, 100)
	noise[0].Partition, noise[0].Value = 2, make([]byte, 300<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise[0].Value)
	produceEach(t, b, noise)
	on(whole, 2, 1, 4, 100)
	on(whole, 3, 0, 8, 100)
	on(gone, 0, 0, 5, 100)
	on(gone, 1, 0, 5, 100)
	on(grown, 0, 0, 5, 100)

	options := realOptions(b, topics(whole, gone, grown))
	options.FetchBytes, options.Limits.NoProgress = 200<<10, 100*time.Millisecond
	s := mustOpen(t, options)
	view := mustView(t, s, nil)
	var pieces []batch.Piece
	for _, tp := range view.Ends().Partitions() {
		bounds := view.Partitions[tp]
		pieces = append(pieces, batch.Piece{Topic: tp.Topic, Partition: tp.Partition, From: bounds.Start, Until: bounds.End, TopicID: view.TopicIDs[tp.Topic], LeaderEpoch: bounds.LeaderEpoch})
	}
	admin := kadm.NewClient(b.Client(t))
	b.DeleteTopic(t, gone)
	if answers, err := admin.CreatePartitions(t.Context(), 2, grown); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	on(grown, 0, 5, 7, 100) // not planned
	on(grown, 1, 0, 3, 100)
	var cut kadm.Offsets
	cut.Add(kadm.Offset{Topic: whole, Partition: 3, At: 5})
	if answers, err := admin.DeleteRecords(t.Context(), cut); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}

	type piece struct {
		topic     string
		partition int32
	}
	want := map[piece][]int64{{whole, 0}: {0, 1, 2, 3, 4, 5, 6, 7}, {whole, 1}: {0, 1, 2, 7, 8}, {whole, 2}: {0, 1, 2, 3}, {whole, 3}: {5, 6, 7}, {grown, 0}: {0, 1, 2, 3, 4}}
	lost := map[piece]batch.Cause{{whole, 3}: Retention, {gone, 0}: Missing, {gone, 1}: Missing}
	for range 3 {
		rand.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		r := read(t, s, pieces...)
		r.accepts = batch.Causes{Missing, Retention}
		got := map[piece][]int64{}
		for {
			records, err := r.Next(t.Context())
			if err != nil {
				if err.Error() != "EOF" {
					t.Fatal(err)
				}
				break
			}
			at := piece{records.Topic, records.Partition}
			if p := pieces[r.Piece()]; at != (piece{p.Topic, p.Partition}) {
				t.Errorf("records of %v came for piece %v", at, p.Range())
			}
			got[at] = append(got[at], slices.Clone(records.Offsets)...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for i, losses := range r.Lost() {
			cause, expected := lost[piece{pieces[i].Topic, pieces[i].Partition}]
			if !expected && len(losses) > 0 || expected && (len(losses) != 1 || losses[0].Cause != cause) {
				t.Errorf("%v: got losses %v, want of %v", pieces[i].Range(), losses, cause)
			}
		}
	}
}
