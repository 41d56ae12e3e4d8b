package lakesink

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

func TestARivalsRowsSurviveAndOursToo(t *testing.T) {
	// https://github.com/apache/iceberg-go/issues/976
	_, c := newTable(t)
	rival(t, c, 3)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	rivals := 3
	wrapped.BeforeCommit = func(table.Identifier) {
		if rivals > 0 {
			rivals--
			rival(t, c, 5)
		}
	}
	if _, err := apply(newSink(wrapped), queryID, planN(0)); err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, c, 10, 18)
	head := load(t, c).CurrentSnapshot()
	if head.Summary.Properties["total-records"] != "38" || head.Summary.Properties["total-data-files"] != "6" {
		t.Errorf("got %v", head.Summary.Properties)
	}
}

func TestARivalThatNeverRestsEndsInAFailureWithoutLoss(t *testing.T) {
	_, c := newTable(t)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	n := 0
	wrapped.BeforeCommit = func(table.Identifier) { n++; rival(t, c, 1) }
	s := newSink(wrapped)
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.Failed, "not in table", "12 attempts")
	if n != 12 {
		t.Errorf("got %d attempts, want 12", n)
	}
	wrapped.BeforeCommit = nil
	mustApply(t, s, queryID, planN(0))
	wantOffsets(t, c, 10, 12)
}

func TestOursIsRecognisedUnderARivalsCommit(t *testing.T) {
	_, c := newTable(t)
	broken := breakCommit(c, laketest.AnswerLost)
	once := false
	broken.FailLoad = func() error { // before the table is read again
		if broken.Script.Broke() && !once {
			once = true
			rival(t, c, 5)
		}
		return nil
	}
	if _, err := apply(newSink(broken), queryID, planN(0)); err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, c, 10, 5)
}

func TestOursIsRecognisedAfterItsSnapshotHasExpired(t *testing.T) {
	_, c := newTable(t)
	broken := breakCommit(c, laketest.AnswerLost)
	once := false
	broken.FailLoad = func() error {
		if broken.Script.Broke() && !once {
			once = true
			rival(t, c, 5)
			change(t, c, expireAllButHead)
		}
		return nil
	}
	a, err := apply(newSink(broken), queryID, planN(0))
	if err != nil || a.Batch != 0 || !a.Cut {
		t.Fatalf("got %+v, %v", a, err)
	}
	wantOffsets(t, c, 10, 5)
}

func TestOursIsRecognisedWhenAnotherRunHasGoneOn(t *testing.T) {
	other, c := newTable(t)
	broken := breakCommit(c, laketest.AnswerLost)
	once := false
	broken.FailLoad = func() error {
		if broken.Script.Broke() && !once {
			once = true
			mustApply(t, other, queryID, planN(1))
		}
		return nil
	}
	a, err := apply(newSink(broken), queryID, planN(0))
	if err != nil || a.Batch != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	wantOffsets(t, c, 20, 0)
}

func TestARunThatWasOvertakenStopsAndHarmsNothing(t *testing.T) {
	other, c := newTable(t)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	s := newSink(wrapped)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	wrapped.BeforeCommit = func(table.Identifier) {
		wrapped.BeforeCommit = nil
		mustApply(t, other, queryID, planN(0))
	}
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), results))
	wantClass(t, err, batch.Fenced, "another run has applied batch 0")
	wantOffsets(t, c, 10, 0)
	if n := len(dataFiles(t, load(t, c))); n != 4 {
		t.Errorf("%d data files, want all 4: a loser deletes nothing", n)
	}
}

// https://github.com/apache/iceberg/issues/14979
func TestATableThatWasMadeAnewTakesNoFileOfTheOld(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	wrapped := laketest.Wrap(c, &laketest.Script{})
	again := newSink(wrapped)
	results, err := execute(context.Background(), again, queryID, planN(1))
	if err != nil {
		t.Fatal(err)
	}
	commit := commitOf(s, queryID, planN(1), results)
	wrapped.BeforeCommit = func(id table.Identifier) {
		wrapped.BeforeCommit = nil
		if err := c.DropTable(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = again.Commit(context.Background(), commit)
	wantClass(t, err, batch.Inconsistent, "dropped and created again", commit.TableUUID)
	if load(t, c).CurrentSnapshot() != nil {
		t.Error("the new table has a snapshot")
	}
	_, err = again.Commit(context.Background(), commit) // and another run refuses before it offers anything
	wantClass(t, err, batch.Inconsistent, commit.TableUUID)
}

func TestATableThatWasDroppedMeanwhileIsSaidSo(t *testing.T) {
	_, c := newTable(t)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	wrapped.BeforeCommit = func(id table.Identifier) {
		if err := c.DropTable(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	_, err := apply(newSink(wrapped), queryID, planN(0))
	wantClass(t, err, batch.Inconsistent, "was dropped")
}

func TestFilesOfAnOldSchemaAreNotCommitted(t *testing.T) {
	add := func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"tenant"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
	}
	for name, when := range map[string]func(c catalog.Catalog, w *laketest.Catalog){
		"before the commit": func(c catalog.Catalog, w *laketest.Catalog) { change(t, c, add) },
		"during the commit": func(c catalog.Catalog, w *laketest.Catalog) {
			w.BeforeCommit = func(table.Identifier) { w.BeforeCommit = nil; change(t, c, add) }
		},
	} {
		_, c := newTable(t)
		wrapped := laketest.Wrap(c, &laketest.Script{})
		s := newSink(wrapped)
		results, err := execute(context.Background(), s, queryID, planN(0))
		if err != nil {
			t.Fatal(err)
		}
		when(c, wrapped)
		_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), results))
		wantClass(t, err, batch.Failed, "was altered meanwhile")
		if load(t, c).CurrentSnapshot() != nil {
			t.Errorf("%s: the files were committed", name)
		}
		mustApply(t, s, queryID, planN(0)) // the next run writes for the new schema
		wantOffsets(t, c, 10, 0)
	}
}

func TestOfEightRunsThatCommitTheSameBatchOneWins(t *testing.T) {
	dir := t.TempDir()
	c := openSQLite(t, dir)
	if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	var won, fenced atomic.Int64
	var wg sync.WaitGroup
	ready := make(chan struct{})
	for range 8 {
		s := newSink(openSQLite(t, dir))
		results, err := execute(context.Background(), s, queryID, planN(0))
		if err != nil {
			t.Fatal(err)
		}
		commit := commitOf(s, queryID, planN(0), results)
		wg.Go(func() {
			<-ready
			switch _, err := s.Commit(context.Background(), commit); {
			case err == nil:
				won.Add(1)
			case batch.ClassOf(err) == batch.Fenced:
				fenced.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(ready)
	wg.Wait()
	if won.Load() < 1 || won.Load()+fenced.Load() != 8 { // one that comes late finds the batch there: success as well
		t.Errorf("%d won, %d were fenced", won.Load(), fenced.Load())
	}
	wantOffsets(t, c, 10, 0)
	if n := len(load(t, c).Metadata().Snapshots()); n != 1 {
		t.Errorf("got %d snapshots, want 1", n)
	}
}

func TestDifferentQueriesShareATable(t *testing.T) {
	dir := t.TempDir()
	c := openSQLite(t, dir)
	if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const queries, batches = 4, 3
	for q := range int64(queries) {
		o := testOptions()
		o.Attempts = 200
		s := New(openSQLite(t, dir), o)
		wg.Go(func() {
			for n := range int64(batches) {
				from := 10 * (q*batches + n) // other offsets for every query
				if _, err := apply(s, fmt.Sprintf("query-%d", q), planOf(n, from, from+10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantOffsets(t, c, 10*queries*batches, 0)
	got, err := newSink(c).Table(context.Background(), "query-2")
	if err != nil || len(got.Queries) != queries || got.Applied.Batch != batches-1 || got.Applied.Ledger.Rows() != 20*batches {
		t.Errorf("got %+v, %v", got, err)
	}
}
