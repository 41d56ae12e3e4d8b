package verify_test

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/verify"
)

// afterLoss is a table that lost rows [10,20) with a rollback, after which batch 2 carried out the choice to accept that.
func afterLoss(t *testing.T) *world {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	first := w.table.CurrentSnapshot().SnapshotID
	w.apply(ordersQuery, reading("orders", 0, 10, 20))
	q := w.query(ordersQuery)
	lost := q.ledger.Snapshot
	w.rollback(first)
	plan := w.plan(ordersQuery, reading("orders", 0, 20, 30))
	plan.Accepted = &batch.Acceptance{Choice: batch.Accept, Batch: 1, Snapshot: lost}
	for o := int64(20); o < 30; o++ {
		w.kafka.add(orders0, o)
	}
	w.commit(ordersQuery, plan, rowsOf("orders", 0, 20, 30), batch.TaskResult{
		Pieces: []batch.PieceResult{{Piece: batch.Piece{Topic: "orders", From: 20, Until: 30}, Rows: 10}}})
	q.log.Commit = 2
	return w
}

// wantDecision checks what a report says of the decision about lost rows.
func wantDecision(t *testing.T, r *verify.Report, words ...string) {
	t.Helper()
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	l := wantLimit(t, r, verify.LossAccepted)
	for _, word := range words {
		if !strings.Contains(l.Why+l.Todo, word) {
			t.Errorf("got limit %s, want it to say %q", l, word)
		}
	}
	if l.Todo == "" {
		t.Errorf("got limit %s without anything to do", l)
	}
}

func TestADecisionAboutLostRowsIsNamedAsTheSnapshotTellsIt(t *testing.T) {
	w := afterLoss(t)
	r := w.verify(verify.Options{})
	wantDecision(t, r, "batch 2 of query orders-1", "--lost-rows accept", "named batch 1, snapshot", "of run run of 2", "snapshot ", "offsets 10-19", "stay gone")
	wantDecision(t, w.verify(w.whole()), "--lost-rows accept")
}

func TestADecisionWhoseSnapshotExpiredIsNamedAsThePlanTellsIt(t *testing.T) {
	w := afterLoss(t)
	w.expireDecision()
	wantDecision(t, w.verify(verify.Options{}), "batch 2 of query orders-1", "expired", "find out what was decided")
	wantDecision(t, w.verify(w.withCheckpoint(ordersQuery)), "--lost-rows accept", "plan 2 of the checkpoint")
}

func TestADecisionToReadAgainIsNamedAsSuch(t *testing.T) {
	w := afterLoss(t)
	w.expireDecision()
	w.query(ordersQuery).log.Plan.Accepted.Choice = batch.Reread
	w.query(ordersQuery).log.Plan.Accepted.Batch = batch.None
	wantDecision(t, w.verify(w.withCheckpoint(ordersQuery)), "--lost-rows reread", "had nothing of the query", "read again")
}

// expireDecision leaves a snapshot of somebody else's alone.
func (w *world) expireDecision() {
	w.insert(nil, row{"elsewhere", 0, 0})
	w.expire(1)
}
