package runner_test

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// newBranchWorld has a query whose rows go to the branch audit, and a judge who looks there.
func newBranchWorld(t *testing.T) *lakeWorld {
	w := newLakeWorld(t)
	w.branch = "audit"
	return w
}

// publish moves main forward to the branch, and removes the branch.
func (w *lakeWorld) publish(t *testing.T) {
	t.Helper()
	updates(func(tbl *table.Table) []table.Update {
		return []table.Update{table.NewSetSnapshotRefUpdate(table.MainBranch, tbl.SnapshotByName("audit").SnapshotID, table.BranchRef, 0, 0, 0), table.NewRemoveSnapshotRefUpdate("audit")}
	})(t, w)
}

// Audit, publish, remove the branch, go on: each record once, in the branch and then on main.
func TestABranchThatIsPublishedAndRemovedIsMadeAgain(t *testing.T) {
	w := newBranchWorld(t)
	for range 3 {
		w.drain(t, nil)
		if w.table(t).SnapshotByName("audit") == nil {
			t.Fatal("there is no branch")
		}
		w.publish(t)
		if err := w.judge(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.append(t, 1)
		w.kafka.produce(2, 3)
		w.kafka.produce(0, 2)
	}
}

// A branch that is removed unpublished takes rows along: somebody has to decide, and may have them read again.
func TestRowsOfABranchThatWasRemovedUnpublishedAreReadAgainAsChosen(t *testing.T) {
	w := newBranchWorld(t)
	w.drain(t, nil)
	w.publish(t)
	w.kafka.produce(0, 3)
	w.drain(t, nil)
	updates(func(*table.Table) []table.Update { return []table.Update{table.NewRemoveSnapshotRefUpdate("audit")} })(t, w)
	w.kafka.produce(1, 2)
	w.refuses(t, batch.Inconsistent, nil, "rolled back", "it was on branch audit", "--lost-rows reread")
	if _, _, err := w.run(w.clean(), func(q *runner.Query) { q.LostRows = batch.Reread }); err != nil {
		t.Fatal(err)
	}
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
}

// The judge of one branch does not call the queries of another rolled back.
func TestVerifyOfMainLeavesTheQueriesOfABranchAlone(t *testing.T) {
	w := newBranchWorld(t)
	w.drain(t, nil)
	w.branch = ""
	report, err := w.verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(report.Notes, "\n")
	if !strings.Contains(said, "query orders writes to branch audit") {
		t.Errorf("got notes %q", said)
	}
	for _, p := range report.Problems {
		if strings.Contains(p.What, "no longer part of the table") {
			t.Errorf("got %+v", p)
		}
	}
}

// A run that writes to a branch is struck like any other.
func TestARunOnABranchStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for i := 0; ; i++ {
		if !*full && i%3 > 0 {
			continue
		}
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		w := newBranchWorld(t)
		met, err := w.struck(t.Context(), s, true)
		if err != nil {
			t.Errorf("%v: %v", s.Broken(), err)
		}
		if !met {
			return
		}
	}
}
