package lakesink

import (
	"context"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// PyIceberg's expiry leaves a snapshot without a parent. That is no beginning: what came before is hidden, not absent.
func TestASnapshotWhoseParentWasTakenIsNoBeginning(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		s, c := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"format-version": version} })
		for n := range int64(3) {
			mustApply(t, s, queryID, planN(n))
		}
		rival(t, c, 2)
		if err := laketest.Orphan(load(t, c)); err != nil {
			t.Fatal(err)
		}
		a, err := s.Table(context.Background(), queryID)
		if err != nil || a.Applied.RolledBack || !a.Applied.Cut || a.Applied.Batch != 2 {
			t.Fatalf("version %s: got %+v, %v, want batch 2 below a cut history", version, a.Applied, err)
		}
		if other, err := s.Table(context.Background(), "another"); err != nil || !other.Applied.Cut {
			t.Errorf("version %s: a query without a ledger: got %+v, %v, want a cut history", version, other.Applied, err)
		}
		mustApply(t, s, queryID, planN(3))
		wantOffsets(t, c, 40, 2)
	}
}

func TestWhereAHistoryBegins(t *testing.T) {
	snapshot := func(sequence int64, p iceberg.Properties) bool {
		s := table.Snapshot{SequenceNumber: sequence}
		if p != nil {
			s.Summary = &table.Summary{Properties: p}
		}
		return began(&s)
	}
	for name, tc := range map[string]struct {
		sequence int64
		summary  iceberg.Properties
		want     bool
	}{
		"number 1":                          {1, nil, true},
		"no summary":                        {7, nil, false},
		"version 1, all is new":             {0, iceberg.Properties{"total-data-files": "2", "added-data-files": "2", "total-records": "9", "added-records": "9"}, true},
		"version 1, more than it added":     {0, iceberg.Properties{"total-data-files": "3", "added-data-files": "2", "total-records": "19", "added-records": "9"}, false},
		"all is new, as after an overwrite": {5, iceberg.Properties{"total-data-files": "1", "added-data-files": "1", "total-records": "4", "added-records": "4"}, false},
		"an overwrite with the same rows":   {0, iceberg.Properties{"total-data-files": "1", "added-data-files": "1", "deleted-data-files": "3", "total-records": "4", "added-records": "4", "deleted-records": "4"}, false},
		"totals that nobody counted":        {0, iceberg.Properties{"added-data-files": "1", "added-records": "4"}, false},
		"the same files, rows from earlier": {0, iceberg.Properties{"total-data-files": "1", "added-data-files": "1", "total-records": "8", "added-records": "4"}, false},
	} {
		if got := snapshot(tc.sequence, tc.summary); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// After an overwrite and an expiry the snapshot that is left holds what it added alone, and so does the first one of a
// table that was replaced; there the older ones, and with them the ledger's, are still known.
func TestASnapshotThatHoldsAllThatItAddedNeedNotBeABeginning(t *testing.T) {
	for _, kept := range []bool{false, true} {
		s, c := newTable(t)
		first := mustApply(t, s, queryID, planOf(0, 0, 0))
		rival(t, c, 5)
		var keep []int64
		if kept {
			keep = append(keep, first.Snapshot)
		}
		if err := laketest.Orphan(load(t, c), keep...); err != nil {
			t.Fatal(err)
		}
		a, err := s.Table(context.Background(), queryID)
		if err != nil || a.Applied.RolledBack != kept || a.Applied.Cut == kept {
			t.Errorf("the ledger's snapshot known: %v: got %+v, %v", kept, a.Applied, err)
		}
	}
}

// An open plan of a query without a ledger, as Spark leaves it, cannot be settled by a history that was cut.
func TestACutHistoryIsNoProofThatABatchIsNotThere(t *testing.T) {
	s, c := newTable(t)
	rival(t, c, 5) // stands for the batch that Spark committed without a marker
	rival(t, c, 1)
	if err := laketest.Orphan(load(t, c)); err != nil {
		t.Fatal(err)
	}
	a, err := s.Table(context.Background(), queryID)
	if err != nil || !a.Applied.Cut || a.Applied.CutAt != 2 || a.Applied.Batch != batch.None {
		t.Errorf("got %+v, %v, want a history that is cut at sequence number 2", a.Applied, err)
	}
}
