package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
	"sluice/progress"
)

// run is the state of one run of a query.
type run struct {
	*Query
	id      string
	started time.Time
	// held says that the lease is ours; epoch is its number.
	held  bool
	epoch int64
	// query is the query's id; start is where a query that has read nothing begins, nil until it is asked.
	query string
	start offsets.Offsets
	// identity, table, log and view are the newest readings of each.
	identity *batch.Identity
	table    *batch.Table
	log      *batch.LogState
	view     *offsets.View
	// shaped says that the table was made, or seen to take our rows, in this run.
	shaped bool
	// reached is where the query stands, and topicIDs whose topics that is about.
	reached  offsets.Offsets
	topicIDs map[string]string
	// accepted is a decision about lost rows that the next plan has to carry out.
	accepted *batch.Acceptance
	summary  progress.Summary
}

func newRun(q *Query) *run {
	started := q.Started
	if started.IsZero() {
		started = q.Now()
	}
	return &run{Query: q, id: q.RunID, started: started, summary: progress.Summary{Query: q.Name, RunID: q.RunID, FirstBatch: batch.None,
		LastBatch: batch.None, Lag: -1, Table: q.Table}}
}

func (r *run) schema() columns.Schema { return r.NewDecoder().Schema() }

// known is what the newest plan reads up to: no end may be reported below it.
func (r *run) known() offsets.Offsets {
	switch {
	case r.log.Plan != nil && r.log.Commit < r.log.Plan.Batch:
		return r.log.Plan.Start // its end was right when it was planned; whether it still is shows when it is read
	case r.log.Plan != nil:
		return r.log.Plan.End
	}
	return r.log.Start
}

// isolation is the level that the next reading needs: a plan that is to be replayed keeps its own.
func (r *run) isolation() batch.Isolation {
	if p := r.log.Plan; p != nil && r.log.Commit < p.Batch {
		return p.Isolation
	}
	return r.Isolation
}

// recover makes checkpoint and table agree, and sets what the query has reached.
func (r *run) recover(ctx context.Context) error {
	action, err := r.decision()
	if err != nil {
		err = r.reconsider(ctx, err)
	}
	var lost *lostRowsError
	if r.LostRows != "" && errors.As(err, &lost) {
		return r.decideLostRows(ctx, lost)
	}
	if err != nil {
		return err
	}
	plan := r.log.Plan
	switch action {
	case First:
		return r.begin(ctx)
	case Rebuild:
		return r.rebuild(ctx)
	case Mark:
		if err := r.Log.WriteCommit(ctx, plan.Batch); err != nil {
			return err
		}
		r.log.Commit, r.view = plan.Batch, nil
		r.Reporter.Notice("batch was in the table already; wrote its marker", "batch", plan.Batch)
	case Replay:
		if err := checkLoss(plan.Start, plan.TopicIDs, r.view); err != nil {
			return err
		}
		if err := r.carryOut(ctx, plan, true, r.Now()); err != nil {
			return err
		}
		r.view = nil // what is available now is read after the replay
	}
	r.reach(plan)
	return nil
}

// reconsider looks at the table once more before a disagreement is believed: it was read before the log, so a run that
// committed in between makes it look behind.
func (r *run) reconsider(ctx context.Context, disagreement error) error {
	table, err := r.Sink.Table(ctx, r.query)
	if err != nil {
		return err
	}
	if table.Applied.Batch == r.table.Applied.Batch && table.UUID == r.table.UUID {
		return disagreement
	}
	return overtaken(fmt.Sprintf("the table went from batch %d to batch %d while this run was starting", r.table.Applied.Batch, table.Applied.Batch))
}

func overtaken(what string) error {
	return &batch.Fault{Class: batch.Fenced, Message: "another run is active: " + what, Hint: "nothing to do: the other run goes on, nothing was harmed"}
}

// begin pins where the query starts, before anything is planned: a "latest" that was resolved must not be resolved
// again after a crash.
func (r *run) begin(ctx context.Context) (err error) {
	if r.reached = r.log.Start; r.reached == nil {
		if r.start == nil {
			if r.start, err = r.Source.Start(ctx); err != nil {
				return err
			}
		}
		if r.reached, err = r.Log.PinStart(ctx, r.start); !r.reached.Equal(r.start) {
			r.view = nil // another run pinned it, and may know partitions that ours was too early for
		}
	}
	return err
}

// rebuild writes the checkpoint's newest entries again from the table's ledger.
func (r *run) rebuild(ctx context.Context) error {
	applied := &r.table.Applied
	newest := batch.None
	if r.log.Plan != nil {
		newest = r.log.Plan.Batch
	}
	r.Reporter.Notice("the table is ahead of the checkpoint (lost in part, or restored from a backup?): rebuilding its newest entries from the table",
		"table", applied.Batch, "checkpoint", newest)
	var last *batch.Plan
	for _, plan := range rebuilt(applied, r.Isolation, map[string]string{mainTable: r.table.UUID}) {
		if plan.Batch > newest {
			plan.TimestampMs, plan.Nonce, plan.LeaseEpoch = r.Now().UnixMilli(), uuid.NewString(), r.epoch
			if err := r.Log.WritePlan(ctx, plan); err != nil {
				return err
			}
		}
		if err := r.Log.WriteCommit(ctx, plan.Batch); err != nil {
			return err
		}
		last = plan
	}
	r.log.Plan, r.log.Commit, r.view = last, last.Batch, nil
	r.reach(last)
	return nil
}

// decideLostRows carries out the choice that somebody made about rows which the table lost. The next plan records it
// and has the next number: numbers are never used twice, not even one whose plan is dropped here.
func (r *run) decideLostRows(ctx context.Context, lost *lostRowsError) error {
	plan, applied := r.log.Plan, &r.table.Applied
	switch r.LostRows {
	case batch.Accept:
		r.reached = plan.End
		if r.log.Commit < plan.Batch {
			r.reached = plan.Start
		}
	case batch.Reread:
		reached, err := r.endOf(ctx, applied)
		if err != nil {
			return err
		}
		r.reached = reached
	}
	r.topicIDs, r.view, r.log.Commit = plan.TopicIDs, nil, plan.Batch
	r.accepted = &batch.Acceptance{Choice: r.LostRows, Batch: applied.Batch, Snapshot: applied.Snapshot}
	r.Reporter.Notice("going on after lost rows as chosen", "choice", r.LostRows, "from", r.reached, "because", lost.Error())
	return nil
}

// endOf is where the newest batch that is still in the table's history ended.
func (r *run) endOf(ctx context.Context, applied *batch.Applied) (offsets.Offsets, error) {
	unknown := &batch.Fault{Class: batch.Inconsistent, Message: "where the rows that are still in the table end cannot be told",
		Hint: "use --lost-rows accept, or start a new query (new name and checkpoint) with startingOffsets where it should read again from"}
	if applied.InHistory == batch.None {
		if applied.Cut || r.log.Start == nil {
			unknown.Message += ": its history was expired"
			return nil, unknown
		}
		return r.log.Start, nil
	}
	plan, err := r.Log.ReadPlan(ctx, applied.InHistory)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		unknown.Message += fmt.Sprintf(": the plan of batch %d is no longer in the checkpoint", applied.InHistory)
		return nil, unknown
	}
	return plan.End, nil
}

func (r *run) reach(plan *batch.Plan) {
	r.reached, r.topicIDs = plan.End, plan.TopicIDs
	if ledger := r.table.Applied.Ledger; plan.Foreign && ledger != nil {
		r.topicIDs = ledger.TopicIDs // Spark keeps no topic ids; ours from before are better than none
	}
}

// freeze reads, once, where the log ends now: that is what this run drains. Records and partitions that appear later
// wait for the next run.
func (r *run) freeze(ctx context.Context) (err error) {
	if r.view == nil {
		if r.view, err = r.Source.View(ctx, r.Isolation, r.reached); err != nil {
			return err
		}
	}
	if r.summary.Blocked = blocked(r.view); r.summary.Blocked > 0 {
		r.Reporter.Notice("open transactions hold back records: they are read once the transactions end", "offsets", r.summary.Blocked)
	}
	return checkLoss(r.reached, r.topicIDs, r.view)
}

// batches plans and carries out batch after batch until the frozen ends are reached or a limit says stop.
func (r *run) batches(ctx context.Context) error {
	next := int64(0)
	if r.log.Plan != nil {
		next = r.log.Plan.Batch + 1
	}
	for ; ; next++ {
		began := r.Now()
		plan := nextPlan(next, r.reached, r.view, r.MaxOffsetsPerTrigger)
		if plan == nil && r.accepted != nil {
			plan = emptyPlan(next, r.reached)
		}
		if plan == nil {
			r.summary.CaughtUp = true
			return nil
		}
		if r.summary.Stopped = r.limit(); r.summary.Stopped != "" {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.publish(ctx, plan); err != nil {
			return err
		}
		if err := r.carryOut(ctx, plan, false, began); err != nil {
			return err
		}
		r.reached, r.topicIDs, r.accepted = plan.End, plan.TopicIDs, nil
	}
}

func (r *run) limit() string {
	switch {
	case r.MaxBatches > 0 && r.summary.Batches >= int64(r.MaxBatches):
		return "max-batches"
	case r.MaxDuration > 0 && r.Now().Sub(r.started) >= r.MaxDuration:
		return "max-duration"
	}
	return ""
}

// publish makes a plan durable and then looks at the table again. Winning the slot offsets/N proves nothing by itself:
// a run that slept while others went on and purged may win a slot that was used before. The table cannot have reached
// batch N before N was planned, so if it is still at N-1, the slot is fresh.
func (r *run) publish(ctx context.Context, plan *batch.Plan) error {
	if !r.shaped {
		if err := r.Sink.Create(ctx, r.schema()); err != nil {
			return err
		}
		r.shaped = true
	}
	plan.Tables = map[string]string{mainTable: r.table.UUID}
	plan.Isolation, plan.MaxOffsets, plan.LeaseEpoch = r.Isolation, r.MaxOffsetsPerTrigger, r.epoch
	plan.TimestampMs, plan.TableSequence = r.Now().UnixMilli(), r.table.Sequence
	plan.Nonce, plan.Accepted = uuid.NewString(), r.accepted
	if err := r.Log.WritePlan(ctx, plan); err != nil {
		return err
	}
	r.log.Plan = plan
	table, err := r.Sink.Table(ctx, r.query)
	if err != nil {
		return err
	}
	if at := table.Applied.Batch; at != plan.Batch-1 && !plan.Accepted.Covers(&table.Applied) {
		return overtaken(fmt.Sprintf("the table is at batch %d, and this run has just planned batch %d", at, plan.Batch))
	}
	r.table = table
	return r.sameTable(plan)
}

// sameTable checks that the table is the one that a plan was made for. Spark's plans do not say.
func (r *run) sameTable(plan *batch.Plan) error {
	was := plan.Tables[mainTable]
	if was == "" || was == r.table.UUID {
		return nil
	}
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("batch %d was planned for the table with UUID %s, but %s now has %s (dropped and created again?)", plan.Batch, was, r.Table, r.table.UUID),
		Hint:    "bring the old table back, or " + lostRowsHint}}
}
