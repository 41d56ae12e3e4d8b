package lakesink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/offsets"
)

func TestABatchIsThereAfterItsCommitWithItsBooks(t *testing.T) {
	s, c := newTable(t)
	a := mustApply(t, s, queryID, planN(0))
	wantOffsets(t, c, 10, 0)
	head := load(t, c).CurrentSnapshot()
	if a.Batch != 0 || a.Plan != planN(0).Hash || a.Snapshot != head.SnapshotID || a.InHistory != 0 || a.RolledBack || a.Cut {
		t.Errorf("got %+v", a)
	}
	if l := a.Ledger; l.Snapshot != head.SnapshotID || l.Sequence != head.SequenceNumber || l.Rows() != 20 || l.Next()[offsets.TopicPartition{Topic: topic, Partition: 1}] != 10 {
		t.Errorf("got %+v", l)
	}
	for key, want := range map[string]string{"sluice.query-id": queryID, "sluice.query-name": "orders", "sluice.batch-id": "0", "sluice.plan": planN(0).Hash, "sluice.records": "20",
		"spark.sql.streaming.queryId": queryID, "spark.sql.streaming.epochId": "0", "total-records": "20"} {
		if got := head.Summary.Properties[key]; got != want {
			t.Errorf("summary %s: got %q, want %q", key, got, want)
		}
	}
	got, err := s.Table(context.Background(), queryID)
	if err != nil || !got.Exists || got.Queries[queryID] != "orders" || got.UUID == "" || got.Sequence != 1 || got.Applied.Batch != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if other, err := s.Table(context.Background(), "another"); err != nil || other.Applied.Batch != batch.None || other.Applied.Ledger != nil {
		t.Errorf("another query: got %+v, %v", other, err)
	}
}

func TestAPlanWithoutRowsStillMakesASnapshot(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		s, c := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"format-version": version} })
		mustApply(t, s, queryID, planN(0))
		before := load(t, c).CurrentSnapshot().SnapshotID
		a := mustApply(t, s, queryID, planOf(1, 10, 10))
		if a.Batch != 1 || a.Snapshot == before {
			t.Errorf("version %s: got %+v", version, a)
		}
		mustApply(t, s, queryID, planOf(2, 10, 20))
		wantOffsets(t, c, 20, 0)
		if got := load(t, c).Metadata().Version(); fmt.Sprint(got) != version {
			t.Errorf("got a table of version %d, want %s", got, version)
		}
	}
}

func TestABatchThatIsThereIsNotCommittedAgain(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	script := &laketest.Script{}
	again := newSink(laketest.Wrap(c, script))
	a, err := again.Commit(context.Background(), commitOf(s, queryID, planN(0), nil))
	if err != nil || a.Batch != 0 {
		t.Errorf("got %+v, %v", a, err)
	}
	if effects := script.Effects(); len(effects) != 0 {
		t.Errorf("a replay of what is there did %v", effects)
	}
	rebuilt := planN(0)
	rebuilt.Hash, rebuilt.Rebuilt = "other", planN(0).Hash
	if _, err := again.Commit(context.Background(), commitOf(s, queryID, rebuilt, nil)); err != nil {
		t.Errorf("a plan that was rebuilt from the ledger: %v", err)
	}
}

func TestACommitThatDoesNotFollowTheTableIsRefused(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	mustApply(t, s, queryID, planN(1))
	other := planN(1)
	other.Hash = "another"
	_, err := s.Commit(context.Background(), commitOf(s, queryID, other, nil))
	wantClass(t, err, batch.Inconsistent, "another plan")
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), nil))
	wantClass(t, err, batch.Fenced, "batch 1", "batch 0")
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(3), nil))
	wantClass(t, err, batch.Inconsistent, "batch 3 cannot follow")
	wantOffsets(t, c, 20, 0)
}

// https://github.com/redpanda-data/connect/issues/4591: an append that was retried after a lost answer was there twice.
func TestALostAnswerIsNotAFailure(t *testing.T) {
	s, c := newTable(t)
	broken := breakCommit(c, laketest.AnswerLost)
	a, err := apply(newSink(broken), queryID, planN(0))
	if err != nil || a.Batch != 0 {
		t.Fatalf("got %+v, %v", a, err)
	}
	if !broken.Script.Broke() {
		t.Fatal("no fault was met")
	}
	wantOffsets(t, c, 10, 0)
	if n := len(load(t, c).Metadata().Snapshots()); n != 1 {
		t.Errorf("got %d snapshots, want 1", n)
	}
	mustApply(t, s, queryID, planN(1))
	wantOffsets(t, c, 20, 0)
}

func TestACommitThatDidNotHappenIsMadeOnceMore(t *testing.T) {
	_, c := newTable(t)
	broken := breakCommit(c, laketest.NotApplied)
	if _, err := apply(newSink(broken), queryID, planN(0)); err != nil || !broken.Script.Broke() {
		t.Fatalf("got %v, broke %v", err, broken.Script.Broke())
	}
	wantOffsets(t, c, 10, 0)
}

// https://github.com/apache/iceberg/issues/3717: cleaning up after an unknown outcome deleted files that were committed.
func TestAnUnknownOutcomeDeletesNothingAndTheNextRunSettlesIt(t *testing.T) {
	for _, mode := range []laketest.Mode{laketest.AnswerLost, laketest.NotApplied} {
		s, c := newTable(t)
		broken := breakCommit(c, mode)
		broken.FailLoad = func() error {
			if broken.Script.Broke() {
				return errors.New("connection refused")
			}
			return nil
		}
		plan := planN(0)
		_, err := apply(newSink(broken), queryID, plan)
		wantClass(t, err, batch.UnknownOutcome, "may or may not", "connection refused", "injected failure")
		if n := len(dataFiles(t, load(t, c))); n != 2 {
			t.Errorf("%v: %d data files are left, want 2", mode, n)
		}
		mustApply(t, s, queryID, plan)
		wantOffsets(t, c, 10, 0)
	}
}

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

func TestACancelledRunOffersNothingNewButFinishesWhatItBegan(t *testing.T) {
	s, c := newTable(t)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	commit := commitOf(s, queryID, planN(0), results)
	cause := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := s.Commit(ctx, commit); !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if load(t, c).CurrentSnapshot() != nil {
		t.Fatal("a cancelled run committed")
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	broken := breakCommit(c, laketest.AnswerLost)
	broken.BeforeCommit = func(table.Identifier) { cancel(cause) }
	if a, err := newSink(broken).Commit(ctx, commit); err != nil || a.Batch != 0 {
		t.Errorf("got %+v, %v", a, err)
	}
	wantOffsets(t, c, 10, 0)
}

func TestACancelledRunDoesNotTryAgain(t *testing.T) {
	_, c := newTable(t)
	broken := breakCommit(c, laketest.NotApplied)
	o := testOptions()
	o.Sleep = sleep
	s := New(broken, o)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	broken.BeforeCommit = func(table.Identifier) { cancel(cause) }
	_, err = s.Commit(ctx, commitOf(s, queryID, planN(0), results))
	wantClass(t, err, batch.Failed, "not in table")
	if !errors.Is(err, cause) || load(t, c).CurrentSnapshot() != nil {
		t.Errorf("got %v", err)
	}
}

func TestAClockThatIsBehindIsSaidBeforeAnythingIsWritten(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	behind := testOptions()
	behind.Now = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	before := len(dataFiles(t, load(t, c)))
	_, err := apply(New(c, behind), queryID, planN(1))
	wantClass(t, err, batch.Failed, "ahead of this host's clock")
	if !strings.Contains(batch.HintOf(err), "clock") || len(dataFiles(t, load(t, c))) != before {
		t.Errorf("hint %q", batch.HintOf(err))
	}
	behind.Now = func() time.Time { return time.Now().Add(-50 * time.Second) } // within what the format allows
	mustApply(t, New(c, behind), queryID, planN(1))
}

func TestUnreadableBookkeepingIsNeverTakenForNone(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	change(t, c, setProperties(map[string]string{batch.LedgerPrefix + queryID: "{"}))
	_, err := s.Table(context.Background(), queryID)
	wantClass(t, err, batch.Inconsistent, "bookkeeping")
	_, err = s.Commit(context.Background(), &batch.Commit{Query: queryID, Plan: planN(0)})
	wantClass(t, err, batch.Inconsistent, "bookkeeping")
}

func TestALedgerOfManyPartitionsShrinksWithoutLeavings(t *testing.T) {
	s, c := newTable(t)
	big := planOf(0, 0, 0)
	for p := range int32(300) {
		tp := offsets.TopicPartition{Topic: topic, Partition: p}
		big.Start[tp], big.End[tp] = 1<<40, 1<<40
	}
	mustApply(t, s, queryID, big)
	parts := 0
	for key, value := range load(t, c).Properties() {
		if strings.HasPrefix(key, batch.LedgerPrefix) {
			parts++
			if len(value) > 3500 {
				t.Errorf("%s has %d bytes", key, len(value))
			}
		}
	}
	if parts < 3 {
		t.Fatalf("the ledger is in %d properties, want several", parts)
	}
	if a, err := s.Table(context.Background(), queryID); err != nil || len(a.Applied.Ledger.Accounts) != 300 {
		t.Errorf("got %d accounts, %v", len(a.Applied.Ledger.Accounts), err)
	}
	change(t, c, setProperties(map[string]string{batch.LedgerPrefix + queryID + ".99": "stale"}))
	mustApply(t, s, queryID, planOf(1, 0, 10))
	if _, ok := load(t, c).Properties()[batch.LedgerPrefix+queryID+".99"]; ok {
		t.Error("a part that the ledger no longer has was left behind")
	}
}

// https://github.com/apache/iceberg-go/issues/869: manifests with empty counters were dropped by an append.
func TestAManifestWithEmptyCountersIsNotLost(t *testing.T) {
	s, c := newTable(t)
	rival(t, c, 4)
	emptyCounters(t, c)
	mustApply(t, s, queryID, planN(0))
	fs, err := load(t, c).FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := live(fs, manifests(t, load(t, c)), iceberg.ManifestContentData); err != nil || n != 3 {
		t.Errorf("counted %d live files, want 3: %v", n, err)
	}
	if live := paths(liveFiles(t, load(t, c))); len(live) != 3 {
		t.Errorf("live files %v, want the rival's and our two", live)
	}
}

func TestASnapshotThatWouldLoseFilesIsNotCommitted(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	tbl := load(t, c)
	results, err := execute(context.Background(), s, queryID, planN(1))
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.stage(context.Background(), tbl, commitOf(s, queryID, planN(1), results), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(context.Background(), tbl, 2); err != nil {
		t.Errorf("a good snapshot: %v", err)
	}
	wantClass(t, o.check(context.Background(), tbl, 1), batch.Inconsistent, "wrong files")
	o.parent, o.snapshot = o.snapshot, o.parent // as if the new one lacked the manifest of the old
	wantClass(t, o.check(context.Background(), tbl, 0), batch.Inconsistent, "wrong files")
}

func TestASnapshotThatIsNotWhatWasOfferedRaisesTheAlarm(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	tbl := load(t, c)
	staged := *tbl.CurrentSnapshot()
	if err := (&offer{snapshot: &staged}).landed(tbl); err != nil {
		t.Errorf("as offered: %v", err)
	}
	staged.ManifestList = "elsewhere"
	wantClass(t, (&offer{snapshot: &staged}).landed(tbl), batch.Inconsistent, "not as it was committed")
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

// The sweep: the same two batches with every effect going wrong in every way, then a healthy run of what is left.
func TestEveryEffectMayFail(t *testing.T) {
	for _, mode := range laketest.Modes() {
		met := map[string]bool{}
		for i := 0; ; i++ {
			dir := t.TempDir()
			script := laketest.BreakAt(i, mode)
			c := openSQLite(t, dir)
			sweep := func(s *Iceberg) error {
				if err := s.Create(context.Background(), rawSchema()); err != nil {
					return err
				}
				at, err := s.Table(context.Background(), queryID)
				if err != nil {
					return err
				}
				for n := at.Applied.Batch + 1; n < 2; n++ {
					if _, err := apply(s, queryID, planN(n)); err != nil {
						return err
					}
				}
				return nil
			}
			err := sweep(newSink(laketest.Wrap(c, script)))
			if !script.Broke() {
				if err != nil {
					t.Fatalf("%v: nothing went wrong, but: %v", mode, err)
				}
				break
			}
			if script.Dead() && err == nil {
				t.Fatalf("%v at %d: the process was killed and nobody noticed", mode, i)
			}
			met[script.Effects()[i]] = true
			if err := sweep(newSink(c)); err != nil {
				t.Fatalf("%v at effect %d (%s): the next run: %v", mode, i, script.Effects()[i], err)
			}
			wantOffsets(t, c, 20, 0)
		}
		for _, name := range []string{"create namespace db", "create table db.orders", "create data", "create manifest", "create manifest list", "commit db.orders snapshot"} {
			if !met[name] {
				t.Errorf("%v: no fault at %q; met %v", mode, name, met)
			}
		}
	}
}

func TestErrorsOfStagingAreOfThisBatch(t *testing.T) {
	s, c := newTable(t)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	results[0].Files[0].SpecID = 7
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), results))
	wantClass(t, err, batch.Failed, "no partition spec 7", "batch 0")
	if _, err := os.Stat(localPath(results[1].Files[0].Path)); err != nil || load(t, c).CurrentSnapshot() != nil {
		t.Errorf("something was done: %v", err)
	}
}
