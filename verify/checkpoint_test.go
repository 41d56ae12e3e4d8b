package verify_test

import (
	"context"
	"testing"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

func TestACheckpointThatDisagreesWithTheTable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*batch.LogState)
		kind   verify.Kind
	}{
		"commit without a batch in the table": {func(s *batch.LogState) { s.Plan.Batch, s.Commit = 3, 3 }, verify.CheckpointAhead},
		"two plans ahead":                     {func(s *batch.LogState) { s.Plan.Batch, s.Commit = 4, 2 }, verify.CheckpointAhead},
		"commit without a plan":               {func(s *batch.LogState) { s.Commit = 3 }, verify.CheckpointAhead},
		"behind":                              {func(s *batch.LogState) { s.Plan.Batch, s.Commit = 1, 1 }, verify.CheckpointBehind},
		"empty":                               {func(s *batch.LogState) { *s = batch.LogState{Commit: batch.None} }, verify.CheckpointBehind},
		"another plan":                        {func(s *batch.LogState) { s.Plan.Hash = "another" }, verify.CheckpointDiffers},
		"another end":                         {func(s *batch.LogState) { s.Plan.End = offsets.Offsets{orders0: 251} }, verify.CheckpointDiffers},
		"a partition more": {func(s *batch.LogState) {
			s.Plan.End = s.Plan.End.Clone()
			s.Plan.End[offsets.TopicPartition{Topic: "orders", Partition: 9}] = 4
		}, verify.CheckpointDiffers},
		"another topic":        {func(s *batch.LogState) { s.Plan.TopicIDs = map[string]string{"orders": "another"} }, verify.CheckpointDiffers},
		"another start":        {func(s *batch.LogState) { s.Start = offsets.Offsets{orders0: 1} }, verify.CheckpointDiffers},
		"another table":        {func(s *batch.LogState) { s.Plan.Tables = map[string]string{"main": "another"} }, verify.TableReplaced},
		"next plan has a hole": {func(s *batch.LogState) { s.Plan.Batch, s.Plan.Start = 3, offsets.Offsets{orders0: 260} }, verify.CheckpointDiffers},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t)
			log := &w.query(ordersQuery).log
			plan := *log.Plan
			log.Plan = &plan
			c.change(log)
			r := w.verify(w.whole())
			wantOnly(t, r, c.kind)
			wantProblem(t, r, c.kind)
		})
	}
}

func TestEveryStateThatACrashLeavesIsNoProblem(t *testing.T) {
	w := settled(t)
	q := w.query(ordersQuery)

	w.plan(ordersQuery, reading("orders", 0, 250, 260)) // planned, not applied
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if len(r.Notes) != 1 {
		t.Errorf("got notes %v, want one of the batch that the next run finishes", r.Notes)
	}

	w.apply(ordersQuery, reading("orders", 0, 250, 260))
	q.log.Commit-- // applied, not marked
	r = w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if len(r.Notes) != 1 {
		t.Errorf("got notes %v, want one of the batch that the next run marks", r.Notes)
	}

	q.log.Commit = batch.None // marks lost
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
}

func TestARebuiltPlanIsTheLedgers(t *testing.T) {
	w := settled(t)
	plan := *w.query(ordersQuery).log.Plan
	plan.Hash, plan.Rebuilt = "rebuilt", plan.Hash
	w.query(ordersQuery).log.Plan = &plan
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
}

func TestAnAcceptedRollbackIsUnprovenUntilItIsCarriedOut(t *testing.T) {
	w := settled(t)
	second := *w.table.CurrentSnapshot().ParentSnapshotID
	w.rollback(second)
	q := w.query(ordersQuery)
	plan := w.plan(ordersQuery, reading("orders", 0, 200, 250), reading("orders", 1, 100, 120))
	plan.Accepted = &batch.Acceptance{Choice: batch.Reread, Batch: 2, Snapshot: q.ledger.Snapshot}
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantOnly(t, r, verify.MissingRows) // they are missing all the same
	wantLimit(t, r, verify.LossAccepted)
	result := batch.TaskResult{Pieces: []batch.PieceResult{{Piece: batch.Piece{Topic: "orders", From: 200, Until: 250}, Rows: 50},
		{Piece: batch.Piece{Topic: "orders", Partition: 1, From: 100, Until: 120}, Rows: 20}}}
	w.commit(ordersQuery, plan, append(rowsOf("orders", 0, 200, 250), rowsOf("orders", 1, 100, 120)...), result)
	q.log.Commit = 3
	r = w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
}

func TestTheIdentityNamesAnotherTable(t *testing.T) {
	w := settled(t)
	o := w.whole()
	o.Identity = &batch.Identity{Tables: map[string]string{"main": w.table.Metadata().TableUUID().String()}}
	wantVerdict(t, w.verify(o), verify.Proved)
	o.Identity.Tables["main"] = "another"
	wantProblem(t, w.verify(o), verify.TableReplaced)
}

func TestARunThatCommitsMeanwhileIsNoProblem(t *testing.T) {
	w := settled(t)
	reads := 0
	o := w.whole()
	o.Checkpoint = func(context.Context) (*batch.LogState, error) {
		if reads++; reads == 2 {
			from := w.query(ordersQuery).ledger.Accounts[orders0].Next
			w.apply(ordersQuery, reading("orders", 0, from, from+5))
		}
		state := w.query(ordersQuery).log
		return &state, nil
	}
	r := w.verify(o)
	wantVerdict(t, r, verify.Proved)
	if r.Batches != 4 {
		t.Errorf("got %d batches, want the one that was committed meanwhile too", r.Batches)
	}

	o.Checkpoint = func(context.Context) (*batch.LogState, error) { // and one that never pauses
		from := w.query(ordersQuery).ledger.Accounts[orders0].Next
		w.apply(ordersQuery, reading("orders", 0, from, from+5))
		state := w.query(ordersQuery).log
		return &state, nil
	}
	r = w.verify(o)
	wantOK(t, r)
	wantLimit(t, r, verify.RunActive)
}
