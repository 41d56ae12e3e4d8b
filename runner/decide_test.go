package runner

import (
	"errors"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

// state is a checkpoint whose newest plan is planned (hash "plan-<n>") and whose newest marker is committed.
func state(planned, committed int64) *batch.LogState {
	s := &batch.LogState{Commit: committed}
	if planned != batch.None {
		s.Plan = &batch.Plan{Batch: planned, Hash: hash(planned), TableSequence: 10}
	}
	return s
}

func hash(n int64) string { return "plan-" + string(rune('0'+n)) }

// holds is a table in which we applied up to batch n.
func holds(n int64) *batch.Table {
	t := &batch.Table{Exists: true, Applied: batch.Applied{Batch: n, InHistory: n}}
	if n != batch.None {
		t.Applied.Plan, t.Applied.Snapshot = hash(n), 100+n
		t.Applied.Ledger = &batch.Ledger{Batch: n, Plan: hash(n), Snapshot: 100 + n}
	}
	return t
}

func with(t *batch.Table, change func(*batch.Applied)) *batch.Table {
	change(&t.Applied)
	return t
}

func TestRecoveryDecidesFromPlanMarkerAndTable(t *testing.T) {
	spark := func(n int64) func(*batch.Applied) {
		return func(a *batch.Applied) { a.Batch, a.Plan, a.InHistory = n, "", n }
	}
	for _, tc := range []struct {
		name  string
		log   *batch.LogState
		table *batch.Table
		want  Action // empty: Inconsistent
	}{
		{"nothing anywhere", state(-1, -1), holds(-1), First},
		{"all agree", state(7, 7), holds(7), Next},
		{"killed after the plan", state(7, 6), holds(6), Replay},
		{"killed after the first plan", state(0, -1), holds(-1), Replay},
		{"killed between table commit and marker", state(7, 6), holds(7), Mark},
		{"older markers are missing too", state(7, 3), holds(6), Replay},
		{"the table has another plan of the same batch", state(7, 6), with(holds(7), func(a *batch.Applied) { a.Plan = "other" }), ""},
		{"the table has another plan of the same batch, and that is marked", state(7, 7), with(holds(7), func(a *batch.Applied) { a.Plan = "other" }), ""},
		{"the table has another plan of a batch that is marked", state(7, 7), with(holds(7), func(a *batch.Applied) { a.Plan = "other" }), ""},
		{"an entry rebuilt from the ledger stands for its plan", &batch.LogState{Commit: 6, Plan: &batch.Plan{Batch: 7, Hash: "new", Rebuilt: hash(7)}}, holds(7), Mark},
		{"checkpoint lost entries", state(3, 3), holds(9), Rebuild},
		{"checkpoint lost all entries", state(-1, -1), holds(9), Rebuild},
		{"the table is one marked batch behind", state(7, 7), holds(6), ""},
		{"the table is two planned batches behind", state(7, 5), holds(5), ""},
		{"the table knows nothing of a query with markers", state(7, 7), holds(-1), ""},
		{"rolled back", state(7, 7), with(holds(7), func(a *batch.Applied) { a.RolledBack = true }), ""},
		{"rolled back while a plan was open", state(8, 7), with(holds(7), func(a *batch.Applied) { a.RolledBack = true }), ""},

		{"Spark applied the open batch", state(7, 6), with(holds(6), spark(7)), Mark},
		{"Spark applied a later batch than this checkpoint has", state(7, 7), with(holds(7), spark(8)), ""},
		{"Spark applied all, we nothing", state(7, 7), with(holds(-1), spark(7)), Next},

		{"history expired, all marked", state(7, 7), with(holds(7), func(a *batch.Applied) { a.Cut = true }), Next},
		{"history expired, the ledger itself has the open batch", state(7, 6), with(holds(7), func(a *batch.Applied) { a.Cut = true }), Mark},
		{"history expired and could hide the open batch", state(7, 6), with(holds(6), func(a *batch.Applied) { a.Cut, a.CutAt = true, 12 }), ""},
		{"history expired, but only older than the open plan", state(7, 6), with(holds(6), func(a *batch.Applied) { a.Cut, a.CutAt = true, 11 }), Replay},
		{"a new query on a table with expired history", state(0, -1), with(holds(-1), func(a *batch.Applied) { a.Cut, a.CutAt = true, 9 }), Replay},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := decide(tc.log, tc.table)
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
			if tc.want == "" && (batch.ClassOf(err) != batch.Inconsistent || batch.HintOf(err) == "") {
				t.Errorf("got %v with hint %q, want an Inconsistent fault that says what to do", err, batch.HintOf(err))
			}
		})
	}
}

func TestRecoveryReplaysADecisionAboutLostRowsForThatStateAlone(t *testing.T) {
	table := with(holds(7), func(a *batch.Applied) { a.RolledBack = true })
	log := state(8, 7)
	log.Plan.Accepted = &batch.Acceptance{Choice: batch.Reread, Batch: 7, Snapshot: 107}
	if got, err := decide(log, table); got != Replay {
		t.Errorf("got %q (%v), want a replay", got, err)
	}
	table.Applied.Snapshot = 999
	if _, err := decide(log, table); batch.ClassOf(err) != batch.Inconsistent {
		t.Errorf("for another state of the table got %v, want it to ask again", err)
	}
}

func TestLostRowsAreAskedAboutWithBothChoices(t *testing.T) {
	for _, table := range []*batch.Table{holds(6), with(holds(7), func(a *batch.Applied) { a.RolledBack = true })} {
		_, err := decide(state(7, 7), table)
		var lost *lostRowsError
		if !errors.As(err, &lost) {
			t.Fatalf("got %v, want a question about lost rows", err)
		}
		for _, choice := range []string{"reread", "accept"} {
			if hint := batch.HintOf(err); !strings.Contains(hint, choice) {
				t.Errorf("hint %q does not name %s", hint, choice)
			}
		}
	}
}

func TestRebuiltEntriesEndWhereTheLedgerSays(t *testing.T) {
	ledger := &batch.Ledger{Batch: 9, Plan: "p9", TopicIDs: map[string]string{"t": "id"},
		Accounts: map[offsets.TopicPartition]batch.Account{tp(0): {First: 5, Next: 50, Epoch: 3}, tp(1): {Next: 7, Epoch: -1}}}
	plans := rebuilt(&batch.Applied{Batch: 9, Ledger: ledger}, batch.ReadCommitted, nil)
	if len(plans) != 2 || plans[0].Batch != 8 || plans[1].Batch != 9 {
		t.Fatalf("got %+v", plans)
	}
	for _, p := range plans {
		if !p.End.Equal(at(50, 7)) || p.Offsets() != 0 {
			t.Errorf("batch %d: got %v to %v, want an empty plan at 50, 7", p.Batch, p.Start, p.End)
		}
		if _, known := p.LeaderEpochs[tp(1)]; known || p.LeaderEpochs[tp(0)] != 3 {
			t.Errorf("epochs: got %v", p.LeaderEpochs)
		}
	}
	if !plans[1].Is("p9") || plans[0].Is("p9") {
		t.Error("the newest entry alone must stand for the ledger's plan")
	}
	if plans := rebuilt(&batch.Applied{Batch: 0, Ledger: &batch.Ledger{Batch: 0}}, batch.ReadCommitted, nil); len(plans) != 1 {
		t.Errorf("for batch 0 got %d entries, want 1", len(plans))
	}
}
