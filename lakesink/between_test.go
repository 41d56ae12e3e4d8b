package lakesink

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// afterTheLostAnswer makes the first commit's answer be lost, and lets something happen before the table is read again.
func afterTheLostAnswer(c catalog.Catalog, happens func()) *laketest.Catalog {
	broken := breakCommit(c, laketest.AnswerLost)
	broken.FailLoad = func() error {
		if broken.Script.Broke() && happens != nil {
			now := happens
			happens = nil
			now()
		}
		return nil
	}
	return broken
}

// https://github.com/redpanda-data/connect/issues/4591: the commit happened, its answer was lost, and by the time the table
// is read again ours is no longer the newest snapshot.
func TestALostAnswerIsFoundBelowARivalsSnapshot(t *testing.T) {
	_, c := newTable(t)
	broken := afterTheLostAnswer(c, func() { rival(t, c, 5) })
	a, err := apply(newSink(broken), queryID, planN(0))
	if err != nil || a.Batch != 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	tbl := load(t, c)
	if n := len(tbl.Metadata().Snapshots()); n != 2 || tbl.CurrentSnapshot().SnapshotID == a.Snapshot {
		t.Errorf("got %d snapshots with %d as the head, want ours (%d) below the rival's", n, tbl.CurrentSnapshot().SnapshotID, a.Snapshot)
	}
	wantOffsets(t, c, 10, 5)
}

// The same, and the next run of the query has gone on from our batch: the ledger names that one's snapshot.
func TestALostAnswerIsFoundBelowTheNextBatch(t *testing.T) {
	s, c := newTable(t)
	broken := afterTheLostAnswer(c, func() { mustApply(t, s, queryID, planN(1)) })
	a, err := apply(newSink(broken), queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	if a.Batch != 1 {
		t.Errorf("the table is at batch %d, want 1", a.Batch)
	}
	if n := len(load(t, c).Metadata().Snapshots()); n != 2 {
		t.Errorf("got %d snapshots, want 2", n)
	}
	wantOffsets(t, c, 20, 0)
}

// https://github.com/apache/iceberg/issues/14979: the table is dropped and created again between reading it and the
// commit. A catalog that keeps to the requirements refuses, and nothing reaches the new table.
func TestATableSwappedBeforeTheCommitGetsNothing(t *testing.T) {
	catalogs := map[string]func(dir string) (catalog.Catalog, error){
		"sql": func(dir string) (catalog.Catalog, error) { return openSQLite(t, dir), nil },
		"hadoop": func(dir string) (catalog.Catalog, error) {
			return open(t, CatalogOptions{Type: "hadoop", Warehouse: dir})
		},
	}
	for kind, openIt := range catalogs {
		c, err := openIt(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := newSink(c)
		if err := s.Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		was := load(t, c).Metadata().TableUUID().String()
		wrapped := laketest.Wrap(c, &laketest.Script{})
		swaps := 0
		wrapped.BeforeCommit = func(id table.Identifier) {
			wrapped.BeforeCommit = nil
			swaps++
			if err := c.DropTable(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			if err := s.Create(context.Background(), rawSchema()); err != nil {
				t.Fatal(err)
			}
		}
		_, err = apply(newSink(wrapped), queryID, planN(0))
		is := load(t, c)
		wantClass(t, err, batch.Inconsistent, was, is.Metadata().TableUUID().String(), "dropped and created again")
		if !strings.Contains(batch.HintOf(err), "nothing was committed") {
			t.Errorf("%s: the hint is %q", kind, batch.HintOf(err))
		}
		if swaps != 1 || is.CurrentSnapshot() != nil {
			t.Errorf("%s: after %d swaps the new table has the snapshot %v", kind, swaps, is.CurrentSnapshot())
		}
	}
}
