package runner

import (
	"context"

	"sluice/batch"
	"sluice/offsets"
)

// Outlook is what a run would do now.
type Outlook struct {
	// QueryID is empty and Identity nil where the checkpoint is empty.
	QueryID  string
	Identity *batch.Identity
	Log      *batch.LogState
	Table    *batch.Table
	View     *offsets.View
	// Action is what recovery would do, empty if it would refuse with Refusal.
	Action  Action
	Refusal error
	// Replay is the open plan that would be finished first, nil if there is none.
	Replay *batch.Plan
	// Start is where the first batch of the run's own would begin: what the query has reached, after the replay.
	Start offsets.Offsets
	// Next is that batch as it would be planned, nil if there is nothing to read.
	Next *batch.Plan
	// Remaining is the number of offsets from Start to the ends in View, Batches how many batches they take.
	Remaining int64
	Batches   int64
}

// Inspect reads what Run would read and says what it would do. It writes nothing, not even the lease. An error means
// that something could not be read; what Run would refuse is in the Outlook.
func (q *Query) Inspect(ctx context.Context) (*Outlook, error) {
	r := newRun(q)
	o := &Outlook{}
	if o.Refusal = r.preflight(ctx); o.Refusal != nil && batch.ClassOf(o.Refusal) != batch.Inconsistent {
		return nil, o.Refusal
	}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	o.QueryID, o.Identity, o.Log, o.Table, o.View = r.query, r.identity, r.log, r.table, r.view
	if o.Refusal == nil {
		o.Action, o.Refusal = r.outlook()
	}
	if o.Refusal != nil {
		return o, nil
	}
	o.Start = r.reachable(o.Action)
	if o.Action == Replay {
		o.Replay = r.log.Plan
	}
	if o.Refusal = checkLoss(o.Start, r.topicIDs, r.view); o.Refusal != nil {
		return o, nil
	}
	number := r.table.Applied.Batch + 1
	if r.log.Plan != nil {
		number = max(number, r.log.Plan.Batch+1)
	}
	o.Next = nextPlan(number, o.Start, r.view, q.MaxOffsetsPerTrigger)
	o.Remaining = lag(o.Start, r.view)
	o.Batches = min(1, o.Remaining)
	if q.MaxOffsetsPerTrigger > 0 {
		o.Batches = (o.Remaining + q.MaxOffsetsPerTrigger - 1) / q.MaxOffsetsPerTrigger
	}
	return o, nil
}

// look is open without a word written.
func (r *run) look(ctx context.Context) (err error) {
	if r.identity, err = r.Log.Identity(ctx); err != nil {
		return err
	}
	if r.table, err = r.Sink.Table(ctx, r.query); err != nil {
		return err
	}
	if r.log, err = r.Log.Last(ctx); err != nil {
		return err
	}
	r.view, err = r.Source.View(ctx, r.isolation(), r.known())
	return err
}

// outlook is what open and recover would say.
func (r *run) outlook() (Action, error) {
	if err := r.fits(); err != nil {
		return "", err
	}
	action, err := r.decision()
	if err == nil && action == Replay {
		err = checkLoss(r.log.Plan.Start, r.log.Plan.TopicIDs, r.view)
	}
	return action, err
}

// reachable is where the query would stand after recovery.
func (r *run) reachable(action Action) offsets.Offsets {
	switch {
	case action == Rebuild:
		r.topicIDs = r.table.Applied.Ledger.TopicIDs
		return r.table.Applied.Ledger.Next()
	case r.log.Plan != nil:
		r.reach(r.log.Plan)
		return r.reached
	case r.log.Start != nil:
		return r.log.Start
	}
	return r.start
}
