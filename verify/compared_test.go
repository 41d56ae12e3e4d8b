package verify_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

// wantCompared checks how many of the offsets that were read of a partition were compared with Kafka.
func wantCompared(t *testing.T, r *verify.Report, tp offsets.TopicPartition, compared, read int64) {
	t.Helper()
	for _, p := range r.Partitions {
		if p.Topic == tp.Topic && p.Partition == tp.Partition && (p.Compared != compared || p.Read != read) {
			t.Errorf("%s: got %d of %d offsets compared with Kafka, want %d of %d", tp, p.Compared, p.Read, compared, read)
		}
	}
}

// recreated is a table into which one query has read the first 40 offsets of a topic, and after that was deleted and
// created again another one the first 30 of the new topic.
func recreated(t *testing.T) *world {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 40))
	w.forge(ordersQuery, func(l *batch.Ledger) { l.TopicIDs = map[string]string{"orders": "the old one"} })
	w.kafka = newKafka()
	w.apply(backfill, reading("orders", 0, 0, 30))
	return w
}

func TestWhatWasReadOfALiveTopicIsComparedBesideADeletedOne(t *testing.T) {
	w := recreated(t)
	r := w.verify(verify.Options{Source: w.kafka})
	wantVerdict(t, r, verify.Proved)
	if l := wantLimit(t, r, verify.Recreated); !strings.Contains(l.What, "[0,40)") || !strings.Contains(l.What, "orders-1") {
		t.Errorf("got limit %s, want what the first query has read", l)
	}
	if k := r.Partitions[0].Kafka; k == nil || k.From != 0 || k.Until != 30 || k.Records != 30 {
		t.Errorf("got %+v of Kafka, want 30 records", k)
	}
	wantCompared(t, r, orders0, 30, 70)
	w.kafka.add(orders0, 35) // not read yet
	w.forge(backfill, account(func(a *batch.Account) { a.Next = 42 }))
	w.kafka.add(orders0, 41)
	p := wantProblem(t, w.verify(verify.Options{Source: w.kafka}), verify.MissingRows)
	if p.Count != 1 || !slices.Equal(p.Offsets, []verify.Span{{From: 41, Until: 42}}) {
		t.Errorf("got %d missing at %v, want 41", p.Count, p.Offsets)
	}
}

func TestARowThatMayBeADeletedTopicsProvesNoRecordOfTheNewOne(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 40))
	w.forge(ordersQuery, func(l *batch.Ledger) { l.TopicIDs = map[string]string{"orders": "the old one"} })
	w.kafka = newKafka()
	w.apply(backfill, part{Range: reading("orders", 0, 0, 30).Range, gaps: []int64{12}}) // it never saw offset 12
	w.kafka.add(orders0, 12)
	r := w.verify(verify.Options{Source: w.kafka})
	wantOK(t, r)
	if !slices.ContainsFunc(r.CannotProve, func(l verify.Limit) bool {
		return l.Kind == verify.Recreated && strings.Contains(l.What, "1 record of orders-0")
	}) {
		t.Errorf("got limits %v, want one of the record whose row may be the deleted topic's", r.CannotProve)
	}
}

// After a loss a new query goes on behind a hole. Kafka may have dropped it or not: nobody read it.
func TestOffsetsThatNoQueryReadAreNamed(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 40))
	w.apply(backfill, reading("orders", 0, 60, 100))
	for o := int64(40); o < 60; o++ {
		w.kafka.add(orders0, o)
	}
	r := w.verify(w.whole())
	wantOK(t, r)
	if want := "orders-0: offsets [40,60) were read by no query, 20 in all"; !slices.Contains(r.Notes, want) {
		t.Errorf("got notes %v, want %q", r.Notes, want)
	}
	if k := r.Partitions[0].Kafka; k.Records != 80 || k.NotThere != 0 {
		t.Errorf("got %+v of Kafka, want the 80 records that were read", k)
	}
	wantCompared(t, r, orders0, 80, 80)
	if r = recreated(t).verify(verify.Options{}); len(r.Notes) != 0 {
		t.Errorf("got notes %v, want none: the topics are two", r.Notes)
	}
}

func TestTheListOfOffsetsThatNoQueryReadIsBounded(t *testing.T) {
	w := newWorld(t)
	var first, second []part
	for p := range int32(23) {
		first, second = append(first, reading("orders", p, 0, 1)), append(second, reading("orders", p, 2, 3))
	}
	w.apply(ordersQuery, first...)
	w.apply(backfill, second...)
	r := w.verify(verify.Options{})
	if len(r.Notes) != 21 || r.Notes[20] != "3 partitions more have offsets that were read by no query" {
		t.Errorf("got %d notes, the last %q, want 20 and one of the other 3 partitions", len(r.Notes), r.Notes[len(r.Notes)-1])
	}
}
