package batch

import "sluice/offsets"

// LogState is the newest end of the checkpoint.
type LogState struct {
	// Plan is the newest plan, nil if there is none. A plan of Spark's has its start filled in.
	Plan *Plan
	// Commit is the newest batch marked as done, None if there is none. It is above the plan's batch where plans were
	// lost, and more than one below where markers were: the table tells what was done.
	Commit int64
	// Start is where the query was pinned to start, nil if it was not.
	Start offsets.Offsets
}
