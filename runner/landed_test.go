package runner

import (
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

// Where the batches in the table end, or that nobody can tell: a number that is wrong is worse than none.
func TestLandedIsWhereTheTableStandsOrUnknown(t *testing.T) {
	start, from, until := at(3), at(50), at(70)
	plan := func(n int64) *batch.Plan { return &batch.Plan{Batch: n, Start: from, End: until, TableSequence: 9} }
	ledger := func(n, next int64) *batch.Ledger {
		return &batch.Ledger{Batch: n, Accounts: map[offsets.TopicPartition]batch.Account{tp(0): {Next: next}}}
	}
	for name, tc := range map[string]struct {
		log     batch.LogState
		applied batch.Applied
		want    offsets.Offsets
		known   bool
	}{
		"nothing has begun":                 {batch.LogState{Commit: -1}, batch.Applied{Batch: -1}, nil, true},
		"only the start is pinned":          {batch.LogState{Commit: -1, Start: start}, batch.Applied{Batch: -1}, start, true},
		"the first plan is open":            {batch.LogState{Plan: plan(0), Commit: -1, Start: start}, batch.Applied{Batch: -1}, from, true},
		"the table's own word":              {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 5, Ledger: ledger(5, 44)}, at(44), true},
		"Spark applied the plan":            {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 7, Ledger: ledger(5, 44)}, until, true},
		"the plan is open":                  {batch.LogState{Plan: plan(7), Commit: 6, Start: start}, batch.Applied{Batch: 6}, from, true},
		"the table is gone":                 {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: -1}, start, true},
		"the table is gone, and the start":  {batch.LogState{Plan: plan(7), Commit: 7}, batch.Applied{Batch: -1}, nil, false},
		"the table is behind, by Spark":     {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 4}, nil, false},
		"the table is ahead, by Spark":      {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 9}, nil, false},
		"rolled back":                       {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 7, Ledger: ledger(7, 70), RolledBack: true}, nil, false},
		"cut, and marked as done":           {batch.LogState{Plan: plan(7), Commit: 7, Start: start}, batch.Applied{Batch: 5, Ledger: ledger(5, 44), Cut: true, CutAt: 99}, until, true},
		"cut, open, and nothing can hide":   {batch.LogState{Plan: plan(7), Commit: 6, Start: start}, batch.Applied{Batch: 6, Cut: true, CutAt: 9}, from, true},
		"cut, open, and something can hide": {batch.LogState{Plan: plan(7), Commit: 6, Start: start}, batch.Applied{Batch: 6, Cut: true, CutAt: 99}, nil, false},
	} {
		o := &Outlook{Log: &tc.log, Table: &batch.Table{Applied: tc.applied}}
		if got, known := o.Landed(); !got.Equal(tc.want) || known != tc.known {
			t.Errorf("%s: got %v, %v, want %v, %v", name, got, known, tc.want, tc.known)
		}
	}
}
