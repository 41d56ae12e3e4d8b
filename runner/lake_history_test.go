package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/objectstore"
	"sluice/runner"
)

// What checkpoint and table say of each other where the table's history has more in it than one run's batches: Spark's,
// another checkpoint's, or less than it had.

const sparkID = "0d0c6a4b-5b6f-4c55-8f0a-7e1f2d3c4b5a"

func (w *lakeWorld) leftNothing(t *testing.T, who string) {
	t.Helper()
	if keys, err := w.store.List(t.Context(), "", ""); err != nil || len(keys) > 0 {
		t.Errorf("%s left %v (%v)", who, keys, err)
	}
}

// newest reads the checkpoint as it is.
func (w *lakeWorld) newest(t *testing.T) *batch.LogState {
	t.Helper()
	state, err := checkpoint.NewLog(w.store).Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// applied is what the table says of the checkpoint's query.
func (w *lakeWorld) applied(t *testing.T) *batch.Applied {
	t.Helper()
	id, err := checkpoint.NewLog(w.store).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read, err := lakesink.New(w.catalog, lakesink.Options{Table: "db.orders"}).Table(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &read.Applied
}

// https://issues.apache.org/jira/browse/SPARK-55058: a checkpoint that is lost is no new query, also where it was Spark's.
// Spark's snapshots have the number of a batch and no offsets, so its id alone is not enough to go on with.
func TestSparksEpochsWithoutACheckpointAreAskedAbout(t *testing.T) {
	w := newLakeWorld(t)
	if err := lakesink.New(w.catalog, lakesink.Options{Table: "db.orders"}).Create(t.Context(), decode.NewRaw(false).Schema()); err != nil {
		t.Fatal(err)
	}
	for epoch := range 3 {
		w.appendSpark(t, sparkID, epoch)
	}
	adopt := func(q *runner.Query) { q.Adopt = sparkID }
	w.refuses(t, batch.Inconsistent, nil, sparkID+" (Spark)", "--adopt", "--new-query")
	w.leftNothing(t, "the refused run")
	w.refuses(t, batch.Inconsistent, adopt, sparkID, "batch 2", "applied by Spark", "--new-query")
	w.leftNothing(t, "the refused adoption")
	w.refuses(t, batch.Inconsistent, func(q *runner.Query) { q.Adopt = "another" }, "another", sparkID+" (Spark)")
	w.leftNothing(t, "the adoption of nobody")
	if n := len(w.table(t).Metadata().Snapshots()); n != 3 {
		t.Fatalf("the refused runs left %d snapshots, want 3", n)
	}
	s, _, err := w.run(w.clean(), func(q *runner.Query) { q.NewQuery = true })
	if err != nil || s.FirstBatch != 0 || s.Records != 8 || w.rows(t) != 14 {
		t.Errorf("a new query: got %+v, %v and %d rows, want batches from 0 and 8 rows beside Spark's 6", s, err, w.rows(t))
	}
}

// Where sluice went on after Spark, the ledger says where: with it the id goes on, at the number after its newest batch.
func TestAQueryThatWasSparksIsAdoptedWhereItsLedgerIs(t *testing.T) {
	w := newLakeWorld(t)
	w.drain(t, nil)
	id, err := checkpoint.NewLog(w.store).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.kafka.produce(0, 3)
	lost := *w
	lost.store = objectstore.NewMemory("lost")
	s, _, err := lost.run(lost.clean(), func(q *runner.Query) { q.Adopt = id })
	if err != nil || s.QueryID != id || s.FirstBatch != 3 || s.Records != 3 {
		t.Fatalf("got %+v, %v, want batch 3 with the new records", s, err)
	}
	w.appendSpark(t, id, 4) // Spark takes over
	lost.store = objectstore.NewMemory("lost again")
	lost.refuses(t, batch.Inconsistent, func(q *runner.Query) { q.Adopt = id }, id, "batch 4", "Spark")
	lost.leftNothing(t, "the refused adoption")
}

// Two copies of a checkpoint plan the same batch. One gets it into the table; the other is told that there are two, with
// both plans, whether it had its plan already or is about to commit.
func TestTwoCopiesOfACheckpointAreToldApart(t *testing.T) {
	w := newLakeWorld(t)
	w.drain(t, nil)
	twin := *w
	twin.store = copied(t, w.store)
	w.kafka.produce(0, 3)
	twin.dieBefore(t, "create data")
	w.kafka.produce(1, 2)
	w.drain(t, func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
	ours, theirs := twin.newest(t).Plan, w.newest(t).Plan
	if ours.Batch != theirs.Batch || ours.Hash == theirs.Hash {
		t.Fatalf("got plans %d %s and %d %s, want two of one batch", ours.Batch, ours.Hash, theirs.Batch, theirs.Hash)
	}
	snapshots, files := len(w.table(t).Metadata().Snapshots()), w.written(t)
	twin.refuses(t, batch.Inconsistent, nil, "two checkpoints", ours.Hash[:12], theirs.Hash[:12])
	if n := len(w.table(t).Metadata().Snapshots()); n != snapshots || w.written(t) != files {
		t.Errorf("the refused run left %d snapshots and %d files, were %d and %d", n, w.written(t), snapshots, files)
	}
	if log := twin.newest(t); log.Plan.Hash != ours.Hash || log.Commit != ours.Batch-1 {
		t.Errorf("got plan %s and marker %d, want the plan as it was, open", log.Plan.Hash, log.Commit)
	}
	w.drain(t, nil)
}

// The same while both are under way: who comes second to the table finds the other's batch there.
func TestTwoCopiesOfACheckpointThatCommitAtOnceAreToldApart(t *testing.T) {
	w := newLakeWorld(t)
	w.drain(t, nil)
	twin := *w
	twin.store = copied(t, w.store)
	w.kafka.produce(0, 3)
	c := twin.clean()
	other := false
	c.BeforeCommit = func(table.Identifier) {
		if !other {
			other = true
			w.drain(t, nil)
		}
	}
	_, _, err := twin.run(c, nil)
	ours, theirs := twin.newest(t).Plan, w.newest(t).Plan
	if !other || batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), ours.Hash[:12]) || !strings.Contains(err.Error(), theirs.Hash[:12]) {
		t.Errorf("got %v, want it to name %.12s and %.12s", err, ours.Hash, theirs.Hash)
	}
	w.drain(t, nil)
}

// History that others have expired while a plan was open: sequence numbers tell whether it can hide that the plan was
// applied. Each append of a rival makes what is hidden younger than the plan.
func TestAHistoryThatWasCutWhileAPlanWasOpen(t *testing.T) {
	for _, tc := range []struct {
		name string
		// left is done after the plan was made.
		left    func(*testing.T, *lakeWorld)
		refused bool
	}{
		{"nothing but an expiry: only what is older than the plan is hidden", func(t *testing.T, w *lakeWorld) { w.expire(t) }, false},
		{"one append, then an expiry: the plan's place in the sequence is the head's", func(t *testing.T, w *lakeWorld) { w.append(t, 1); w.expire(t) }, false},
		{"two appends, then an expiry: the first of them may have been the plan", func(t *testing.T, w *lakeWorld) { w.append(t, 1); w.append(t, 1); w.expire(t) }, true},
	} {
		w := newLakeWorld(t)
		w.drain(t, nil)
		w.append(t, 1) // the ledger's snapshot is not the head, so an expiry hides it
		w.kafka.produce(0, 3)
		w.dieBefore(t, "create data")
		plan := w.newest(t).Plan
		tc.left(t, w)
		applied := w.applied(t)
		if !applied.Cut {
			t.Fatalf("%s: the history was not cut: %+v", tc.name, applied)
		}
		if tc.refused {
			w.refuses(t, batch.Inconsistent, nil, fmt.Sprintf("batch %d", plan.Batch), "expired", "startingOffsets")
			if log := w.newest(t); log.Plan.Hash != plan.Hash || log.Commit != plan.Batch-1 {
				t.Errorf("%s: got plan %s and marker %d, want the plan as it was, open", tc.name, log.Plan.Hash, log.Commit)
			}
			continue
		}
		if s := w.drain(t, nil); s.FirstBatch != plan.Batch || s.Records != 3 {
			t.Errorf("%s: got %+v, want the plan replayed", tc.name, s)
		}
	}
}
