package runner

import (
	"fmt"

	"sluice/batch"
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
	// Chosen: the table lost rows, and Options.LostRows says how to go on. decide itself never says so.
	Chosen Action = "chosen"
)

// decide compares the newest plan L, the newest marker C and what the table applied, T, and says what to do. It is
// the whole recovery rule (ARCHITECTURE.md, "When something was cut short"); everything it refuses is an Inconsistent
// fault that names both sides and the choices.
func decide(log *batch.LogState, table *batch.Table) (Action, error) {
	applied := &table.Applied
	newest := batch.None
	if log.Plan != nil {
		newest = log.Plan.Batch
	}
	if applied.Broken != nil {
		return "", applied.Broken
	}
	if log.Plan != nil && log.Commit < newest && log.Plan.Accepted.Covers(applied) {
		return Replay, nil // the plan carries out a decision about exactly this state of the table
	}
	if applied.RolledBack {
		return "", rolledBack(applied)
	}
	t, sure := believed(log, applied)
	if !sure {
		return "", hidden(log, applied)
	}
	switch {
	case t > newest:
		if applied.Ledger == nil || applied.Ledger.Batch != t {
			return "", foreignAhead(log, t)
		}
		return Rebuild, nil
	case t < log.Commit || t < newest-1:
		return "", tableBehind(log, table, newest, t)
	case newest == batch.None:
		return First, nil
	case t == newest-1:
		return Replay, nil
	case applied.Batch == t && applied.Plan != "" && !log.Plan.Is(applied.Plan): // and t == newest
		return "", otherPlan(log.Plan, table)
	case log.Commit == newest:
		return Next, nil
	}
	return Mark, nil
}

// believed is the newest batch in the table, as far as can be told; sure is false where it cannot. Where expiry has cut
// the history that was walked, Spark may have applied a batch in a snapshot that is not seen any more. Then the marker
// is believed, since nobody writes one before the batch is in the table; and without a marker the table's own word, if
// no snapshot that the plan did not see yet can be hidden.
func believed(log *batch.LogState, applied *batch.Applied) (t int64, sure bool) {
	if !applied.Cut || log.Plan == nil || applied.Batch >= log.Plan.Batch {
		return applied.Batch, true
	}
	if log.Commit == log.Plan.Batch {
		return log.Plan.Batch, true
	}
	return applied.Batch, !mayHide(applied, log.Plan)
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
	message := fmt.Sprintf("the table was rolled back: snapshot %d, which holds batch %d, is no longer in its history", applied.Ledger.Snapshot, applied.Ledger.Batch)
	if branch := applied.Ledger.Branch; branch != "" {
		message += fmt.Sprintf("; it was on branch %s, which was removed or moved before main was moved forward to it", branch)
	}
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: message,
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
		Message: fmt.Sprintf("the table has batch %d of this query, applied by Spark, but the checkpoint's newest plan is %s", t, planned(log.Plan)),
		Hint:    "give this query the checkpoint that Spark used, or a newer copy of it",
	}
}

func tableBehind(log *batch.LogState, table *batch.Table, newest, t int64) error {
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the %s is behind the checkpoint: it has %s, the checkpoint planned batch %d and marked batch %d as done", table.Word(), landed(t), newest, log.Commit),
		Hint:    "if the " + table.Word() + " was rolled back, restored or created again, bring the right one back, or " + lostRowsHint,
	}}
}

func otherPlan(plan *batch.Plan, table *batch.Table) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the %s has batch %d from another plan (%.12s) than the checkpoint's (%.12s): two checkpoints claim the same query", table.Word(), plan.Batch, table.Applied.Plan, plan.Hash),
		Hint:    "find the other checkpoint (a copy of this one?) and keep the one whose plan the " + table.Word() + " has",
	}
}

// planned names the newest plan, landed the newest batch in the table.
func planned(plan *batch.Plan) string {
	if plan == nil {
		return "none"
	}
	return fmt.Sprintf("batch %d", plan.Batch)
}

func landed(n int64) string {
	if n == batch.None {
		return "no batch of this query"
	}
	return fmt.Sprintf("batch %d", n)
}
