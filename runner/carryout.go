package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sluice/batch"
	"sluice/progress"
)

// purgeEvery is after how many batches old entries are removed within a run; a run also does so at its end.
const purgeEvery = 50

// carryOut takes a durable plan to the table: execute its tasks, reconcile, commit, mark as done.
func (r *run) carryOut(ctx context.Context, plan *batch.Plan, replayed bool, began time.Time) error {
	watch := newStopwatch(r.Now, began)
	left := int64(-1)
	if !replayed {
		left = lag(plan.End, r.inside)
	} else if len(plan.Losses) > 0 {
		r.Reporter.Warning("records are gone from Kafka, and the batch was planned without them, as the job said", "batch", plan.Batch, "offsets", batch.LostOffsets(plan.Losses), "lost", named(plan.Losses))
	}
	r.Reporter.Planned(plan.Batch, plan.Offsets(), left, replayed)
	watch.lap("walCommit")

	work, applied, err := r.land(ctx, plan, replayed, watch)
	if err != nil {
		return err
	}
	// What is in the table is finished even if ctx is cancelled, within the grace.
	held := ctx
	ctx, cancel := outlive(ctx, r.Grace)
	defer cancel()
	r.table.Applied = *applied
	if err := r.Log.WriteCommit(ctx, plan.Batch); err != nil {
		return err
	}
	watch.lap("commitOffsets")

	r.tellCrowded(plan, work.results)
	report := r.report(plan, work, replayed, watch)
	report.Sluice.Altered = work.altered
	if found := batch.LostIn(work.results); len(found) > 0 {
		r.Reporter.Warning("records of a batch were gone when they were read, and the run goes on without them, as the job says", "batch", plan.Batch, "offsets", batch.LostOffsets(found), "lost", named(found))
	}
	r.count(report)
	r.Reporter.Committed(report)
	r.mirrorBatch(ctx, held, plan)
	r.housekeep(ctx, plan.Batch, report)
	return nil
}

// mostShapes bounds how often a batch is made, where others alter the table each time before it is committed.
const mostShapes = 3

// land makes a batch and commits it. Where somebody altered the table meanwhile, so that what was made does not fit it any
// more, the batch is made again for the table as it is: same plan, same rows. Files that were made in vain are left to orphan
// removal.
func (r *run) land(ctx context.Context, plan *batch.Plan, replayed bool, watch *stopwatch) (*work, *batch.Applied, error) {
	var altered []string
	for shapes := 1; ; shapes++ {
		work, err := r.execute(ctx, plan, replayed)
		watch.lap("addBatch")
		var applied *batch.Applied
		if err == nil {
			work.altered = append(altered, work.altered...)
			applied, err = r.commitWork(ctx, plan, work, replayed)
			watch.lap("commitBatch")
		}
		if !batch.IsStale(err) || shapes == mostShapes {
			return work, applied, err
		}
		r.Reporter.Notice("the table was altered while a batch was made for it; the batch is made again for the table as it is", "batch", plan.Batch, "found", err)
		if work != nil {
			r.Reporter.Advanced(-delivered(work.results))
			altered = work.altered
		}
		if err := r.readAgain(ctx, plan); err != nil {
			return nil, nil, err
		}
	}
}

// commitWork makes what was made part of the tables. It outlives ctx by the grace.
func (r *run) commitWork(ctx context.Context, plan *batch.Plan, work *work, replayed bool) (*batch.Applied, error) {
	ctx, cancel := outlive(ctx, r.Grace)
	defer cancel()
	if err := r.commitLetters(ctx, plan, work, replayed); err != nil {
		return nil, err
	}
	return r.commit(ctx, r.Sink, &batch.Commit{Query: r.queryID, Name: r.Name, Run: r.RunID, Plan: plan, Results: work.results, TableUUID: r.table.UUID, Altered: work.altered})
}

// readAgain reads the tables that an open plan is made for afresh. Whatever else has become of them meanwhile is found here,
// and not taken for an alteration.
func (r *run) readAgain(ctx context.Context, plan *batch.Plan) (err error) {
	if r.letters != nil {
		if err := r.letters.read(ctx, r.queryID); err != nil {
			return err
		}
		if err := r.letters.check(r.identity, r.table); err != nil {
			return err
		}
	}
	if r.table, err = r.Sink.Table(ctx, r.queryID); err != nil {
		return err
	}
	if err := r.checkTable(); err != nil {
		return err
	}
	if err := r.checkPlanned(plan); err != nil {
		return err
	}
	if at := &r.table.Applied; at.Batch >= plan.Batch && !plan.Accepted.Covers(at) {
		return overtaken(fmt.Sprintf("the table has batch %d, which this run was about to commit", at.Batch))
	}
	return nil
}

// work is what carrying out a plan's tasks made.
type work struct {
	tasks   []batch.Task
	results []batch.TaskResult
	// altered says how the rows' table was altered for it.
	altered []string
	// letters is where the dead letters go, nil if the batch can have none.
	letters *letters
}

// execute reads the plan into files, and reconciles what was read with what was planned.
func (r *run) execute(ctx context.Context, plan *batch.Plan, replayed bool) (*work, error) {
	job, err := r.jobValue()
	if err != nil {
		return nil, err
	}
	// What rows the records make is the plan's to say: a job that was changed since is the next batch's.
	done, err := r.executeAs(ctx, plan, *settled(plan.Value, &job), *settled(plan.IncludeHeaders, &r.IncludeHeaders))
	if err != nil && replayed && r.cures(plan, job, err) {
		r.Reporter.Notice("the batch cannot be finished with the settings that it was planned with; it is finished with those that the job has now", "batch", plan.Batch, "error", err)
		done, err = r.executeAs(ctx, plan, job, r.IncludeHeaders)
	}
	return done, err
}

func (r *run) executeAs(ctx context.Context, plan *batch.Plan, value batch.Value, headers bool) (*work, error) {
	letters, err := r.lettersFor(ctx, plan, &value)
	if err != nil {
		return nil, err
	}
	done := &work{letters: letters}
	if err := r.readAs(ctx, plan, value, headers, done); err != nil {
		return nil, err
	}
	if err := tolerable(plan.Batch, &value, done.results); err != nil {
		return nil, err
	}
	if err := batch.Covers(plan, done.tasks, done.results); err != nil {
		return nil, &batch.Fault{Class: batch.Failed, Message: "batch does not add up and was not committed", Err: err,
			Hint: "run again; if it repeats, this is a defect of sluice: keep the log"}
	}
	return done, nil
}

// lettersFor is the place for what is rejected while a plan is carried out with the given settings, nil if nothing can be
// and the plan named none. Where the plan has one that can be used, it is that one, whatever the settings name.
func (r *run) lettersFor(ctx context.Context, plan *batch.Plan, value *batch.Value) (*letters, error) {
	l, err := r.lettersOf(ctx, plan)
	if err == nil && (l == nil || l.forgets() && r.letters != nil && value.LetterPlace() == r.letters.place) && value.Rejects() {
		l, err = r.haveLetters(ctx)
	}
	if err == nil && l != nil {
		err = r.makeLetters(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	value.SendLetters(batch.LetterPlace{})
	if l != nil && value.Rejects() {
		value.SendLetters(l.place)
	}
	return l, nil
}

// settled is the plan's own setting, or the job's where the plan does not tell.
func settled[T any](plans, jobs *T) *T {
	if plans != nil {
		return plans
	}
	return jobs
}

func (r *run) tasksAs(plan *batch.Plan, value batch.Value, headers bool) []batch.Task {
	tasks := splitTasks(plan, r.queryID, r.table, r.cutting())
	for i := range tasks {
		tasks[i].Value, tasks[i].IncludeHeaders, tasks[i].QueryName = value, headers, r.Name
		tasks[i].Accepts = r.Accepts
	}
	return tasks
}

// cures says whether the settings of the job, which are others than the plan's, may finish a batch that failed with the
// plan's because of a record or of the table's columns. It would otherwise fail forever: a record stays as it is. Nothing
// of the batch is in the table, so that no record gets two rows by it.
func (r *run) cures(plan *batch.Plan, job batch.Value, failure error) bool {
	switch class := batch.ClassOf(failure); {
	case class == batch.BadRecords, class == batch.Inconsistent, class == batch.NotSetUp && r.movesOn(plan, job):
		return !settled(plan.Value, &job).Equal(job) || *settled(plan.IncludeHeaders, &r.IncludeHeaders) != r.IncludeHeaders
	}
	return false
}

// movesOn says that the dead letters of the plan go to a place that binds nobody, and the job has another one.
func (r *run) movesOn(plan *batch.Plan, job batch.Value) bool {
	if plan.Value == nil {
		return false
	}
	was := letters{place: plan.Value.LetterPlace()}
	return was.forgets() && job.LetterPlace() != was.place
}

// lastWords is how long a sink has, when the grace is over, to say what it knows of the commit in hand.
const lastWords = 5 * time.Second

// commit makes a batch part of the table. A sink waits for an answer longer than any grace, since it wants to know: once
// the grace is over, nobody does, and the process may end. Should the commit still land, the next run finds it.
func (r *run) commit(ctx context.Context, sink Sink, c *batch.Commit) (*batch.Applied, error) {
	name := r.TableName
	if c.DeadLetters != nil {
		name = "of dead letters"
	}
	type answer struct {
		applied *batch.Applied
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		applied, err := sink.Commit(ctx, c)
		answered <- answer{applied, err}
	}()
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, func() { close(over) }) })
	defer stop()
	select {
	case a := <-answered:
		return a.applied, a.err
	case <-over:
		return nil, &batch.Fault{Class: batch.UnknownOutcome,
			Message: fmt.Sprintf("batch %d may or may not be in table %s: its commit was not answered before the run had to end (%v)", c.Plan.Batch, name, context.Cause(ctx)),
			Hint:    "run again: the next run finds out and goes on; nothing was deleted"}
	}
}

// housekeep does what may fail without harm: the report for monitoring, bounded metadata, old entries.
func (r *run) housekeep(ctx context.Context, n int64, report *progress.Batch) {
	text, err := json.Marshal(report)
	if err == nil {
		err = r.Journal.WriteProgress(ctx, n, text)
	}
	if err != nil {
		r.Reporter.Notice("the report of the batch was not stored; the batch is in the table", "batch", n, "error", err)
	}
	if err := r.Sink.Maintain(ctx, &r.table.Applied); err != nil {
		r.Reporter.Notice(r.table.Word()+" maintenance failed; it is tried again later, no row is affected", "batch", n, "error", err)
	}
	if r.letters != nil && r.letters.table.Applied.Batch == n {
		if err := r.letters.sink.Maintain(ctx, &r.letters.table.Applied); err != nil {
			r.Reporter.Notice("maintenance of the place of dead letters failed; it is tried again later, nothing in it is affected", "batch", n, "error", err)
		}
	}
	if r.summary.Batches%purgeEvery == 0 {
		r.purge(ctx, n)
	}
}

func (r *run) purge(ctx context.Context, newest int64) {
	if err := r.Journal.Purge(ctx, newest); err != nil {
		r.Reporter.Notice("old checkpoint entries were not removed; it is tried again by the next run", "error", err)
	}
}

// outlive returns a context that goes on for grace after parent has been cancelled.
func outlive(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		timer := time.AfterFunc(grace, func() { cancel(context.Cause(parent)) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() { stop(); cancel(context.Canceled) }
}
