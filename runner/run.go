package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/progress"
)

// run is the state of one run of a query: what it was asked to do, what it has read, and where it stands.
type run struct {
	*Query
	reading
	position
	// held says that the lease is ours; epoch is its number.
	held  bool
	epoch int64
	// unsigned says that the identity has a decision which is not in the checkpoint yet.
	unsigned bool
	// shaped says that the table was made, or seen to take our rows, in this run.
	shaped bool
	// empty says that the checkpoint had no query when this run came.
	empty bool
	// missing says that the table was not there when this run came.
	missing bool
	// crowded says that it was told that sorted rows found no room in temporary files.
	crowded bool
	// unused says which options changed nothing, and why; remarks are what else a person should know before rows are
	// written.
	unused, remarks []string
	// judged are the losses that were found when what is there was last compared with what is to be read.
	judged []Judged
	// toldOld says that it was said what the brokers are too old to tell.
	toldOld bool
	// seen is what offsets of the newest batches took; weighed says that those of other runs are among them.
	seen    seen
	weighed bool
	summary progress.Summary
	// reflection is about Mirror.
	reflection reflection
}

func newRun(q *Query) *run {
	own := *q
	if own.Started.IsZero() {
		own.Started = own.Now()
	}
	return &run{Query: &own, summary: progress.Summary{Query: q.Name, RunID: q.RunID, FirstBatch: batch.None, LastBatch: batch.None, Lag: -1, Table: q.TableName, ConsumerGroup: q.mirrored()}}
}

// do is the life of a run: read and judge, recover, freeze, and batch after batch until the frozen ends. Up to the lease
// nothing is written.
func (r *run) do(ctx context.Context) error {
	if _, err := r.preflight(ctx); err != nil {
		return r.because(ctx, err)
	}
	held, epoch, err := r.Lease.Acquire(ctx)
	if err != nil {
		return r.because(ctx, err)
	}
	r.held, r.epoch = true, epoch
	return r.because(held, r.underLease(held))
}

// underLease is the part of a run that may write.
func (r *run) underLease(ctx context.Context) error {
	if err := r.identify(ctx); err != nil {
		return err
	}
	r.record(ctx, nil, nil)
	if err := r.read(ctx); err != nil {
		return err
	}
	next, err := r.nextStep(ctx)
	for _, text := range r.unused {
		r.Reporter.Notice(text)
	}
	for _, text := range r.remarks {
		r.Reporter.Warning(text)
	}
	if err != nil {
		return err
	}
	if err := r.recover(ctx, next); err != nil {
		return err
	}
	found := r.position
	if err := r.freeze(ctx); err != nil {
		return err
	}
	if err := r.batches(ctx); err != nil {
		return err
	}
	r.catchUp(ctx, found)
	return nil
}

// because prefers the reason why ctx ended (a signal, the lost lease) to the errors that this led to: whatever waited
// then says that it was cancelled, or just that it failed. What was found out about table, checkpoint or log stays: a
// context that ends leaves a commit unknown, and takes no record away.
func (r *run) because(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil {
		return err
	}
	cancelled := errors.Is(err, context.Canceled) || errors.Is(err, cause)
	switch class := batch.ClassOf(err); {
	case class == batch.Failed, class == batch.NotSetUp && cancelled: // a name that was not resolved in time, say
	default:
		return err
	}
	if !cancelled {
		r.Reporter.Notice("this failed while the run was ending for another reason", "error", err)
	}
	return cause
}

// recover makes checkpoint and table agree.
func (r *run) recover(ctx context.Context, next *step) error {
	begun := r.table.Applied.Batch
	if err := r.openTable(ctx); err != nil {
		return err
	}
	switch {
	case r.missing && begun != batch.None:
		r.Reporter.Notice("the "+r.table.Word()+" was begun by Spark, and is gone on with", "table", r.TableName, "batch", begun)
	case r.missing:
		r.summary.TableMade = true
		r.Reporter.Notice("the "+r.table.Word()+" was not there and was made", "table", r.TableName, "location", r.table.Location)
	}
	if err := r.sign(ctx); err != nil {
		return err
	}
	if err := r.perform(ctx, next); err != nil {
		return err
	}
	r.enter(next)
	if next.action == Next || next.action == Mark {
		r.expectAnew(r.entries.Plan) // of which a run that was cut short did not tell
	}
	return nil
}

// openTable makes the table if it is not there.
func (r *run) openTable(ctx context.Context) (err error) {
	if r.table.Exists {
		return nil
	}
	r.missing = true
	if err := r.shape(ctx); err != nil {
		return err
	}
	r.table, err = r.Sink.Table(ctx, r.queryID)
	return err
}

// shape makes the table if it is not there, and checks, once a run, that it takes our rows.
func (r *run) shape(ctx context.Context) error {
	if r.shaped {
		return nil
	}
	value, err := r.jobValue()
	if err != nil {
		return err
	}
	decoder, err := r.NewDecoder(value, r.IncludeHeaders)
	if err != nil {
		return err
	}
	err = r.Sink.Create(ctx, decoder.Schema())
	if r.Widening.grows(value) && batch.ClassOf(err) == batch.Inconsistent { // it may be altered, once a batch is planned
		_, err = r.Widening.Evolution(ctx, decoder.Schema())
	}
	if err != nil {
		return err
	}
	if err := r.shapeLetters(ctx); err != nil {
		return err
	}
	r.shaped = true
	return nil
}

// freeze reads, once, where the log ends now: that is what this run drains. Records and partitions that appear later
// wait for the next run.
func (r *run) freeze(ctx context.Context) (err error) {
	if r.view == nil {
		if r.view, err = r.Source.View(ctx, r.Isolation, r.reached); err != nil {
			return err
		}
		r.viewed, r.bound = r.Now(), nil
	}
	failure := r.face(ctx, r.position, nil)
	if r.summary.Blocked = r.inside.Blocked(); r.summary.Blocked > 0 {
		r.Reporter.Notice("open transactions hold back records: they are read once the transactions end", "offsets", r.summary.Blocked, "partitions", HeldBack(r.inside))
	}
	if failure != nil {
		return failure
	}
	if err := r.checkBound(r.reached, r.next == 0); err != nil {
		return err
	}
	r.goOn()
	return nil
}

// plan is the next batch, nil if there is nothing to do.
func (r *run) plan() *batch.Plan {
	plan := nextPlan(r.next, r.reached, r.inside, r.limit())
	if plan == nil && (r.accepted != nil || len(r.losses) > 0) {
		plan = standing(r.next, r.reached, r.inside) // it makes durable what was decided
	}
	if plan == nil {
		return nil
	}
	plan.Losses, plan.Absent = r.losses, r.absent
	for tp := range r.absent { // whether it is the same topic that comes back, its id tells
		if id, known := r.topicIDs[tp.Topic]; known && plan.TopicIDs[tp.Topic] == "" {
			plan.TopicIDs[tp.Topic] = id
		}
		if epoch, known := r.epochs[tp]; known {
			plan.LeaderEpochs[tp] = epoch
		}
	}
	return plan
}

// batches plans and carries out batch after batch until the frozen ends are reached or a limit says stop.
func (r *run) batches(ctx context.Context) error {
	if r.summary.Waiting = r.waits(ctx); r.summary.Waiting != nil {
		r.summary.Stopped = progress.StoppedWaiting
		return nil
	}
	r.weigh(ctx)
	for {
		began := r.Now()
		plan := r.plan()
		if plan == nil {
			r.summary.CaughtUp = true
			return nil
		}
		if r.summary.Stopped = r.limitReached(); r.summary.Stopped != "" {
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
		r.position = behind(plan)
	}
}

// limitReached names the limit that the run has come to, empty if there is none.
func (r *run) limitReached() string {
	switch {
	case r.MaxBatches > 0 && r.summary.Batches >= int64(r.MaxBatches):
		return "max-batches"
	case r.MaxDuration > 0 && r.Now().Sub(r.Started) >= r.MaxDuration:
		return "max-duration"
	}
	return ""
}

// publish makes a plan durable and then looks at the table again. Winning the slot offsets/N proves nothing by itself:
// a run that slept while others went on and purged may win a slot that was used before. The table cannot have reached
// batch N before N was planned, so if it is still at N-1, the slot is fresh.
func (r *run) publish(ctx context.Context, plan *batch.Plan) error {
	if err := r.shape(ctx); err != nil {
		return err
	}
	letters, err := r.haveLetters(ctx)
	if err != nil {
		return err
	}
	plan.Tables = map[string]string{mainTable: r.table.UUID}
	if letters != nil {
		plan.Tables[letterTable] = letters.table.UUID
		if err := r.sign(ctx); err != nil {
			return err
		}
	}
	plan.Isolation, plan.MaxOffsets, plan.MaxBytes, plan.LeaseEpoch = r.Isolation, r.MaxOffsetsPerTrigger, r.MaxBytesPerTrigger, r.epoch
	headers := r.IncludeHeaders
	value, err := r.jobValue()
	if err != nil {
		return err
	}
	plan.IncludeHeaders, plan.Value = &headers, &value
	plan.TimestampMs, plan.TableSequence = r.Now().UnixMilli(), r.table.Sequence
	plan.Nonce, plan.Accepted = uuid.NewString(), r.accepted
	if err := r.Log.WritePlan(ctx, plan); err != nil {
		return err
	}
	table, err := r.Sink.Table(ctx, r.queryID)
	if err != nil {
		return err
	}
	if at := table.Applied.Batch; at != plan.Batch-1 && !plan.Accepted.Covers(&table.Applied) {
		return overtaken(fmt.Sprintf("the table is at batch %d, and this run has just planned batch %d", at, plan.Batch))
	}
	r.table = table
	return r.checkPlanned(plan)
}
