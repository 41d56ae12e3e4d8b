package lakesink

import (
	"context"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

func TestARollbackIsNoticedAndADecisionAboutItHolds(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	first := load(t, c).CurrentSnapshot().SnapshotID
	mustApply(t, s, queryID, planN(1))
	change(t, c, func(tx *table.Transaction) error { return tx.RollbackToSnapshot(first) })
	a, err := s.Table(context.Background(), queryID)
	if err != nil || !a.Applied.RolledBack || a.Applied.Batch != 1 || a.Applied.InHistory != 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	_, err = apply(s, queryID, planN(2))
	wantClass(t, err, batch.Inconsistent, "rolled back")
	reread := planOf(2, 10, 20)
	reread.Accepted = &batch.Acceptance{Choice: batch.Reread, Batch: 1, Snapshot: a.Applied.Snapshot}
	mustApply(t, s, queryID, reread)
	wantOffsets(t, c, 20, 0)
	mustApply(t, s, queryID, planOf(3, 20, 30))
	wantOffsets(t, c, 30, 0)
}

func TestADecisionAboutATableThatWasLostHolds(t *testing.T) {
	s, c := newTable(t) // a new table in the place of one that had batches 0 to 4
	plan := planOf(5, 0, 10)
	if _, err := s.Commit(context.Background(), commitOf(s, queryID, plan, nil)); batch.ClassOf(err) != batch.Inconsistent {
		t.Fatalf("without a decision: %v", err)
	}
	plan.Accepted = &batch.Acceptance{Choice: batch.Reread, Batch: batch.None}
	a := mustApply(t, s, queryID, plan)
	if a.Batch != 5 || a.Ledger.Uncounted != 5 {
		t.Errorf("got %+v", a.Ledger)
	}
	wantOffsets(t, c, 10, 0)
	_, err := apply(newSink(c), queryID, plan) // a replay of it
	if err != nil {
		t.Errorf("replay: %v", err)
	}
	wantOffsets(t, c, 10, 0)
}

func TestAnExpiryIsNoRollback(t *testing.T) {
	s, c := newTable(t)
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
	}
	rival(t, c, 2)
	rival(t, c, 2)
	change(t, c, expireAllButHead)
	a, err := s.Table(context.Background(), queryID)
	if err != nil || a.Applied.RolledBack || !a.Applied.Cut || a.Applied.CutAt != 5 || a.Applied.Batch != 2 {
		t.Fatalf("got %+v, %v", a.Applied, err)
	}
	if _, err := s.Commit(context.Background(), commitOf(s, queryID, planN(2), nil)); err != nil {
		t.Errorf("replay of what is there: %v", err)
	}
	mustApply(t, s, queryID, planN(3))
	wantOffsets(t, c, 40, 4)
}

func TestARollbackBehindAnExpiryIsARollback(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		s, c := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"format-version": version} })
		for n := range int64(3) {
			mustApply(t, s, queryID, planN(n))
		}
		change(t, c, func(tx *table.Transaction) error { // keeps 1 and 2
			return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(2))
		})
		parent := *load(t, c).CurrentSnapshot().ParentSnapshotID
		change(t, c, func(tx *table.Transaction) error { return tx.RollbackToSnapshot(parent) })
		a, err := s.Table(context.Background(), queryID)
		if err != nil || !a.Applied.RolledBack || a.Applied.InHistory != 1 {
			t.Errorf("version %s: got %+v, %v", version, a.Applied, err)
		}
	}
}

func TestBatchesOfSparkCount(t *testing.T) {
	s, c := newTable(t)
	spark := func(epoch string) {
		t.Helper()
		tbl := load(t, c)
		tx := tbl.NewTransaction()
		if err := appendFiles(context.Background(), tx, tbl, nil, iceberg.Properties{keySparkQuery: queryID, keySparkEpoch: epoch}); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	spark("0")
	if a, err := s.Table(context.Background(), queryID); err != nil || a.Applied.Batch != 0 || a.Applied.Plan != "" || a.Applied.Ledger != nil || a.Queries[queryID] != "" || len(a.Queries) != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	_, err := s.Commit(context.Background(), commitOf(s, queryID, planN(0), nil))
	wantClass(t, err, batch.Fenced, "Spark has applied batch 0")
	mustApply(t, s, queryID, planN(1))
	spark("2")
	spark("3")
	rival(t, c, 1)
	a, err := s.Table(context.Background(), queryID)
	if err != nil || a.Applied.Batch != 3 || a.Applied.Plan != "" || a.Applied.Ledger.Batch != 1 || a.Applied.InHistory != 3 {
		t.Fatalf("got %+v, %v", a.Applied, err)
	}
	mustApply(t, s, queryID, planN(4))
	if a, err := s.Table(context.Background(), queryID); err != nil || a.Applied.Batch != 4 || a.Applied.Plan != planN(4).Hash {
		t.Errorf("got %+v, %v", a.Applied, err)
	}
}

func TestABranchDoesNotCountForTheMainOne(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	first := load(t, c).CurrentSnapshot().SnapshotID
	mustApply(t, s, queryID, planN(1))
	second := load(t, c).CurrentSnapshot().SnapshotID
	ctx := context.Background()
	updates := []table.Update{table.NewSetSnapshotRefUpdate("b", second, table.BranchRef, 0, 0, 0), table.NewSetSnapshotRefUpdate("main", first, table.BranchRef, 0, 0, 0)}
	if _, _, err := c.CommitTable(ctx, catalog.ToIdentifier(tableName), nil, updates); err != nil {
		t.Fatal(err)
	}
	if a, err := s.Table(ctx, queryID); err != nil || !a.Applied.RolledBack || a.Applied.InHistory != 0 {
		t.Errorf("got %+v, %v", a.Applied, err)
	}
}

func TestSnapshotIdsAreExact(t *testing.T) {
	// https://github.com/apache/iceberg-go/issues/369: an id through a float becomes another.
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	id := load(t, c).CurrentSnapshot().SnapshotID
	a, err := s.Table(context.Background(), queryID)
	if err != nil || a.Applied.Ledger.Snapshot != id || id <= 0 {
		t.Errorf("got %d, want %d", a.Applied.Ledger.Snapshot, id)
	}
	mustApply(t, s, queryID, planN(1))
	if got := scan(t, load(t, c), table.WithSnapshotID(id)); len(got) != 20 {
		t.Errorf("time travel to %d: %d rows, want 20", id, len(got))
	}
}
