package verify_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/verify"
)

func TestKafkaIsComparedWithEveryQuerysCopy(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 30))
	w.apply(backfill, part{Range: reading("orders", 0, 10, 20).Range, gaps: []int64{12}}) // it never saw offset 12
	r := w.verify(w.whole())
	p := wantProblem(t, r, verify.MissingRows)
	if p.Count != 1 || !slices.Equal(p.Offsets, []verify.Span{{From: 12, Until: 13}}) || p.Query != "" {
		t.Errorf("got %d missing at %v of query %q, want the second copy of 12, of either query", p.Count, p.Offsets, p.Query)
	}
	wantOnly(t, w.verify(w.withCheckpoint(ordersQuery)), verify.ReadTwice) // by the counts none is missing
}

func TestAcceptedLossIsNoMissingRow(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, part{Range: reading("orders", 0, 0, 30).Range, gaps: []int64{3, 4}})
	w.kafka.add(orders0, 3) // the log diverged and holds a record there again
	w.forge(ordersQuery, account(func(a *batch.Account) { a.Lost = 2 }))
	r := w.verify(w.whole())
	wantOK(t, r)
	if r.Lost != 2 {
		t.Errorf("got %d lost, want 2", r.Lost)
	}
	if l := wantLimit(t, r, verify.DeadLettersOnly); !strings.Contains(l.String(), "1 record without a row") {
		t.Errorf("got limit %s, want it to say how many records have no row", l)
	}
	w.kafka.add(orders0, 4)
	wantOK(t, w.verify(w.whole()))
	w.forge(ordersQuery, account(func(a *batch.Account) { a.Lost = 1 }))
	if p := wantProblem(t, w.verify(w.whole()), verify.MissingRows); p.Count != 1 || !strings.Contains(p.String(), p.Todo) {
		t.Errorf("got %s, want one missing", p)
	}
}

func TestDeletedRowsAreNotMissingForKafka(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 30))
	w.deleteOffsets(5, 9)
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if k := r.Partitions[0].Kafka; k.Records != 30 || k.Absent != 0 {
		t.Errorf("got %+v of Kafka, want 30 records, none absent for no reason", k)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "deleted 4 rows") {
		t.Errorf("got notes %v, want the deletion", r.Notes)
	}
}
