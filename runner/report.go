package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"sluice/batch"
	"sluice/progress"
)

// stopwatch splits the time of a batch into Spark's phases.
type stopwatch struct {
	now         func() time.Time
	began, last time.Time
	laps        map[string]int64
}

func newStopwatch(now func() time.Time, began time.Time) *stopwatch {
	return &stopwatch{now: now, began: began, last: began, laps: map[string]int64{}}
}

// lap adds the time since the last lap to a phase.
func (w *stopwatch) lap(phase string) {
	t := w.now()
	w.laps[phase] += t.Sub(w.last).Milliseconds()
	w.last = t
}

func (r *run) report(plan *batch.Plan, work *work, replayed bool, watch *stopwatch) *progress.Batch {
	took := watch.last.Sub(watch.began)
	watch.laps["triggerExecution"] = took.Milliseconds()
	extra := progress.Extra{Offsets: plan.Offsets(), Snapshot: r.table.Applied.Snapshot, Replayed: replayed,
		Blocked: r.summary.Blocked, Frozen: &progress.Timestamp{Time: r.viewed}, Lag: lag(plan.End, r.inside), PeakMemoryBytes: progress.PeakMemory()}
	if a := plan.Accepted; a != nil {
		extra.Accepted = &progress.Accepted{Choice: string(a.Choice), Batch: a.Batch, Snapshot: a.Snapshot}
	}
	extra.Losses = lossesOf(append(slices.Clip(plan.Losses), batch.LostIn(work.results)...))
	extra.Lost = countLost(extra.Losses)
	var records int64
	for _, result := range work.results {
		extra.ReadBytes += result.ReadBytes
		extra.RecordBytes += result.RecordBytes
		extra.SpilledBytes += result.Spilled.Bytes
		for _, p := range result.Pieces {
			records += p.Delivered
			extra.Rows += p.Rows
			extra.DeadLetters += p.DeadLetters
			extra.Dropped += p.Dropped
			extra.Nulled += p.Nulled
		}
		for _, f := range result.Files {
			extra.Files++
			extra.WrittenBytes += f.Bytes
		}
		if d := result.DeadLetters; d != nil && !work.letters.forgets() {
			for _, f := range d.Files {
				extra.DeadLetterFiles++
				extra.WrittenBytes += f.Bytes
			}
		}
	}
	bad, _ := misfits(work.results)
	if extra.Reasons = bad.Reasons; extra.DeadLetters > 0 {
		extra.DeadLetterSnapshot = work.letters.table.Applied.Snapshot
		switch place := work.letters.place; place.Kind {
		case batch.InTable:
			extra.DeadLetterTable = place.Name
		case batch.InTopic:
			extra.DeadLetterTopic = place.Name
		case batch.InPath:
			extra.DeadLetterPath = place.Name
		}
	}
	rate := perSecond(records, took)
	return &progress.Batch{ID: r.queryID, RunID: r.RunID, Name: r.Name, Timestamp: progress.Timestamp{Time: watch.began}, BatchID: plan.Batch,
		BatchDuration: took.Milliseconds(), NumInputRows: records, InputRowsPerSecond: rate, ProcessedRowsPerSecond: rate,
		DurationMs: watch.laps, StateOperators: []json.RawMessage{},
		Sources: []progress.SourceReport{{Description: r.SourceName, StartOffset: plan.Start, EndOffset: plan.End, LatestOffset: r.view.Ends(),
			NumInputRows: records, InputRowsPerSecond: rate, ProcessedRowsPerSecond: rate, Metrics: r.behindEnds(plan)}},
		Sink:   progress.SinkReport{Description: r.SinkName, NumOutputRows: extra.Rows},
		Sluice: extra,
	}
}

func lossesOf(losses []batch.Loss) (all []progress.Loss) {
	for _, l := range losses {
		all = append(all, Told(l))
	}
	return all
}

// Told is a loss as it is reported.
func Told(l batch.Loss) progress.Loss {
	told := progress.Loss{Topic: l.Topic, Partition: l.Partition, Cause: string(l.Cause), From: l.From, Until: l.Until, Offsets: l.Range().Len()}
	if l.Uncounted() {
		told.Offsets = -1
	}
	return told
}

func countLost(losses []progress.Loss) (n int64) {
	for _, l := range losses {
		n += max(0, l.Offsets)
	}
	return n
}

// behindEnds is Spark's Kafka metrics: how far the batch's ends are from the frozen ones.
func (r *run) behindEnds(plan *batch.Plan) map[string]string {
	if len(plan.End) == 0 {
		return map[string]string{}
	}
	least, most, sum := int64(math.MaxInt64), int64(0), int64(0)
	for tp, end := range plan.End {
		n := max(0, r.view.Partitions[tp].End-end)
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	average := float64(sum) / float64(len(plan.End))
	return map[string]string{"minOffsetsBehindLatest": strconv.FormatInt(least, 10), "maxOffsetsBehindLatest": strconv.FormatInt(most, 10),
		"avgOffsetsBehindLatest": strconv.FormatFloat(average, 'f', 1, 64)}
}

// perSecond is a rate rounded half up to one decimal; times under a millisecond count as one.
func perSecond(n int64, took time.Duration) float64 {
	return math.Round(float64(n)/max(took, time.Millisecond).Seconds()*10) / 10
}

func (r *run) count(b *progress.Batch) {
	s := &r.summary
	if s.FirstBatch == batch.None {
		s.FirstBatch = b.BatchID
	}
	s.LastBatch = b.BatchID
	r.seen.add(b)
	s.Batches++
	s.Records += b.NumInputRows
	s.Rows += b.Sluice.Rows
	s.DeadLetters += b.Sluice.DeadLetters
	s.Dropped += b.Sluice.Dropped
	s.Nulled += b.Sluice.Nulled
	s.Bytes += b.Sluice.WrittenBytes
	s.SpilledBytes += b.Sluice.SpilledBytes
	s.Files += b.Sluice.Files + b.Sluice.DeadLetterFiles
	s.Lost += b.Sluice.Lost
	s.Losses = append(s.Losses, b.Sluice.Losses[:min(len(b.Sluice.Losses), progress.MostLosses-len(s.Losses))]...)
	s.DeadLetterTable, s.DeadLetterTopic = cmp.Or(b.Sluice.DeadLetterTable, s.DeadLetterTable), cmp.Or(b.Sluice.DeadLetterTopic, s.DeadLetterTopic)
	s.DeadLetterPath = cmp.Or(b.Sluice.DeadLetterPath, s.DeadLetterPath)
	if len(b.Sluice.Reasons) > 0 && s.Reasons == nil {
		s.Reasons = map[string]int64{}
	}
	for reason, n := range b.Sluice.Reasons {
		s.Reasons[reason] += n
	}
}

// finish writes down how the run ended and lets the next one in. Nothing in it can fail the run.
func (r *run) finish(ctx context.Context, err error) *progress.Summary {
	ctx, cancel := outlive(ctx, r.Grace)
	defer cancel()
	s := &r.summary
	s.QueryID, s.ExitCode = r.queryID, r.ExitCode(err)
	if r.table != nil {
		s.TableLocation = r.table.Location
	}
	if err != nil {
		s.Error, s.Stopped = err.Error(), "error"
		if errors.Is(err, ErrInterrupted) {
			s.Stopped = "signal"
		}
	}
	if errors.Is(err, ErrInterrupted) && r.view != nil && r.reached != nil {
		s.Lag = lag(r.reached, r.view) // whoever stops a run does not wait for another question
	}
	if err == nil {
		s.Bound = r.atBound(r.reached)
		s.Lag = r.liveLag(ctx)
		if s.Batches%purgeEvery != 0 { // a run that failed or was overtaken deletes nothing
			r.purge(ctx, s.LastBatch)
		}
	}
	s.DurationMs = r.Now().Sub(r.Started).Milliseconds()
	if r.queryID != "" && (r.held || batch.ClassOf(err) != batch.Fenced) { // one that only found another at work is no run of the query
		r.record(ctx, err, s)
	}
	if r.held {
		if err := r.Lease.Release(ctx); err != nil {
			r.Reporter.Notice("the lease was not released; the next run may have to wait for it to run out", "error", err)
		}
	}
	return s
}

// liveLag is the distance to the live end of the log, not the frozen one; -1 if it could not be asked.
func (r *run) liveLag(ctx context.Context) int64 {
	view, err := r.Source.View(ctx, r.Isolation, r.reached)
	if err != nil {
		r.Reporter.Notice("the live end of the log could not be read; lag is unknown", "error", err)
		return -1
	}
	return lag(r.reached, view)
}

// record keeps what is known of this run in the checkpoint: with a summary once it has ended.
func (r *run) record(ctx context.Context, failure error, s *progress.Summary) {
	host, _ := os.Hostname() // for people; a host without a name is no reason to fail
	record := progress.RunRecord{Version: batch.FormatVersion, RunID: r.RunID, Query: r.Name, QueryID: r.queryID, State: "running",
		Started: progress.Timestamp{Time: r.Started}, Host: host, PID: os.Getpid(), Summary: s}
	if s != nil {
		record.State = "done"
		record.Finished = &progress.Timestamp{Time: r.Now()}
	}
	if failure != nil {
		record.State, record.Class, record.Hint = "failed", className(failure), batch.HintOf(failure)
	}
	if errors.Is(failure, ErrInterrupted) {
		record.State = progress.Interrupted
	}
	text, err := json.Marshal(record)
	if err == nil {
		err = r.Journal.WriteRun(ctx, r.RunID, text)
	}
	if err != nil {
		r.Reporter.Notice("the record of this run was not stored", "error", err)
	}
}

// className is the word for an error in the record, the one that the command line uses.
func className(failure error) string {
	if errors.Is(failure, ErrInterrupted) {
		return progress.Interrupted
	}
	return batch.ClassOf(failure).String()
}

// tellCrowded says once that temporary files had no room for rows: nobody has to get up for that.
func (r *run) tellCrowded(plan *batch.Plan, results []batch.TaskResult) {
	for i := range results {
		if failure := results[i].Spilled.Failure; failure != "" && !r.crowded {
			r.crowded = true
			r.Reporter.Notice("rows were more than memory holds and could not be kept in temporary files: there are more data files, smaller ones; let TMPDIR name a folder with room, or raise --memory",
				"batch", plan.Batch, "error", failure)
		}
	}
}
