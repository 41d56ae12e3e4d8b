package runner

import (
	"fmt"
	"maps"
	"slices"

	"sluice/batch"
	"sluice/offsets"
)

// Action is what has to happen before a run may plan a batch of its own.
type Action string

// The actions.
const (
	// First: the query has done nothing yet.
	First Action = "first"
	// Next: checkpoint and table agree.
	Next Action = "next"
	// Replay: the newest plan is not in the table; it is carried out exactly as written.
	Replay Action = "replay"
	// Mark: the newest plan is in the table and only its marker is missing.
	Mark Action = "mark"
	// Rebuild: the table is ahead of the checkpoint, which was lost in part or restored from a backup; its newest
	// entries are written again from the table's ledger.
	Rebuild Action = "rebuild"
)

// decide compares the newest plan L, the newest marker C and what the table applied, T, and says what to do. It is
// the whole recovery rule (ARCHITECTURE.md, "When something was cut short"); everything it refuses is an Inconsistent
// fault that names both sides and the choices.
func decide(log *batch.LogState, table *batch.Table) (Action, error) {
	applied := &table.Applied
	planned := batch.None
	if log.Plan != nil {
		planned = log.Plan.Batch
	}
	if log.Plan != nil && log.Commit < planned && log.Plan.Accepted.Covers(applied) {
		return Replay, nil // the plan carries out a decision about exactly this state of the table
	}
	if applied.RolledBack {
		return "", rolledBack(applied)
	}
	t := applied.Batch
	if applied.Cut && t < planned {
		switch {
		case log.Commit == planned:
			t = planned
		case mayHide(applied, log.Plan):
			return "", hidden(log, applied)
		}
	}
	switch {
	case t > planned:
		if applied.Ledger == nil || applied.Ledger.Batch != t {
			return "", foreignAhead(log, t)
		}
		return Rebuild, nil
	case t < log.Commit || t < planned-1:
		return "", tableBehind(log, planned, t)
	case planned == batch.None:
		return First, nil
	case t == planned-1:
		return Replay, nil
	case applied.Batch == t && applied.Plan != "" && !log.Plan.Is(applied.Plan): // and t == planned
		return "", otherPlan(log.Plan, applied)
	case log.Commit == planned:
		return Next, nil
	}
	return Mark, nil
}

// decision is decide for this run's query and table.
func (r *run) decision() (Action, error) {
	action, err := decide(r.log, r.table)
	if err == nil && action == Replay {
		err = r.sameTable(r.log.Plan)
	}
	if err != nil && r.table.Applied.Batch == batch.None && r.identity != nil && r.identity.Tables[mainTable] == r.table.UUID {
		if id := r.namesake(); id != "" {
			err = anotherID(r.query, id, r.Name)
		}
	}
	return action, err
}

// namesake is another query of this name that the table remembers, empty if there is none.
func (r *run) namesake() string {
	for _, id := range slices.Sorted(maps.Keys(r.table.Queries)) {
		if id != r.query && r.table.Queries[id] == r.Name {
			return id
		}
	}
	return ""
}

// anotherID is no question about lost rows: to read them again under another id would double them.
func anotherID(query, other, name string) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the checkpoint's metadata says that this is query %s, of which the table knows nothing; what it holds of %q is by query %s", query, name, other),
		Hint:    fmt.Sprintf(`if metadata was damaged or mixed up, write {"id":"%s"} there again; otherwise find out which query this checkpoint belongs to`, other),
	}
}

// mayHide reports whether an expired part of the history could hold a snapshot younger than the plan. Sequence numbers
// only rise, so what is older than a snapshot that the plan already saw cannot have applied the plan.
func mayHide(applied *batch.Applied, plan *batch.Plan) bool {
	return plan.TableSequence <= 0 || applied.CutAt <= 0 || applied.CutAt > plan.TableSequence+1
}

// lostRowsHint names the two ways on after a table has lost rows.
const lostRowsHint = "choose once: --lost-rows reread (read them again) or --lost-rows accept (go on without them)"

// lostRowsError is the Inconsistent fault that a choice about lost rows can settle.
type lostRowsError struct{ fault *batch.Fault }

func (e *lostRowsError) Error() string { return e.fault.Error() }
func (e *lostRowsError) Unwrap() error { return e.fault }

func rolledBack(applied *batch.Applied) error {
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the table was rolled back: snapshot %d, which holds batch %d, is no longer in its history", applied.Ledger.Snapshot, applied.Ledger.Batch),
		Hint:    "bring the table back to that snapshot, or " + lostRowsHint,
	}}
}

func hidden(log *batch.LogState, applied *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("batch %d was planned and is not marked as done, and the part of the table's history that would tell whether it was applied has been expired (the ledger is at batch %d)", log.Plan.Batch, applied.Batch),
		Hint:    "look whether the rows of the plan are in the table (sluice plan lists its ranges), then start a new query with startingOffsets at the plan's start or end",
	}
}

func foreignAhead(log *batch.LogState, t int64) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the table has batch %d of this query, applied by Spark, but the checkpoint's newest plan is %s", t, name(log.Plan)),
		Hint:    "give this query the checkpoint that Spark used, or a newer copy of it",
	}
}

func tableBehind(log *batch.LogState, planned, t int64) error {
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the table is behind the checkpoint: it has %s, the checkpoint planned batch %d and marked batch %d as done", name2(t), planned, log.Commit),
		Hint:    "if the table was rolled back, restored or created again, bring the right one back, or " + lostRowsHint,
	}}
}

func otherPlan(plan *batch.Plan, applied *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the table has batch %d from another plan (%.12s) than the checkpoint's (%.12s): two checkpoints claim the same query", plan.Batch, applied.Plan, plan.Hash),
		Hint:    "find the other checkpoint (a copy of this one?) and keep the one whose plan the table has",
	}
}

func name(plan *batch.Plan) string {
	if plan == nil {
		return "none"
	}
	return fmt.Sprintf("batch %d", plan.Batch)
}

func name2(n int64) string {
	if n == batch.None {
		return "no batch of this query"
	}
	return fmt.Sprintf("batch %d", n)
}

// rebuilt is the pair of entries that stands for what the ledger says: batch T-1 and T, both ending where T ended. The
// ranges of the lost plans are not known any more and not needed: what follows starts at T's end.
func rebuilt(applied *batch.Applied, isolation batch.Isolation, tables map[string]string) []*batch.Plan {
	ledger := applied.Ledger
	next := ledger.Next()
	epochs := map[offsets.TopicPartition]int32{}
	for tp, account := range ledger.Accounts {
		if account.Epoch >= 0 {
			epochs[tp] = account.Epoch
		}
	}
	var plans []*batch.Plan
	for n := max(0, ledger.Batch-1); n <= ledger.Batch; n++ {
		plan := &batch.Plan{Batch: n, Start: next, End: next, TopicIDs: ledger.TopicIDs, LeaderEpochs: epochs, Tables: tables, Isolation: isolation}
		if n == ledger.Batch {
			plan.Rebuilt = ledger.Plan
		}
		plans = append(plans, plan)
	}
	return plans
}
