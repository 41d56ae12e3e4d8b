package lakesink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
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
	o.Sleep = Sleep
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
	mustApply(t, s, queryID, planOf(1, 1<<40, 1<<40+10))
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
	o, err := s.stage(context.Background(), tbl, commitOf(s, queryID, planN(1), results), nil, nil)
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

// The sweep: the same two batches with every effect going wrong in every way, then a healthy run of what is left.
func TestEveryEffectMayFail(t *testing.T) {
	t.Parallel()
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
