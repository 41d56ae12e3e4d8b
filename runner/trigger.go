package runner

import (
	"context"
	"encoding/json"
	"time"

	"sluice/progress"
)

// waits says that too little is there for a run to begin (MinOffsetsPerTrigger), and until when; nil if the run begins. It is
// asked once, before the first batch. What nothing more is to be added to is never waited for, nor is a decision that has to
// become durable.
func (r *run) waits(ctx context.Context) *progress.Waiting {
	backlog := lag(r.reached, r.inside)
	switch {
	case r.MinOffsetsPerTrigger <= 0 || backlog == 0 || backlog >= r.MinOffsetsPerTrigger, r.accepted != nil, len(r.losses) > 0, r.isComplete():
		return nil
	}
	done, known := r.lastDone(ctx)
	if age := r.Now().Sub(done); !known || age >= r.MaxTriggerDelay || age < 0 { // a clock that is ahead of ours keeps nothing waiting
		return nil
	}
	return &progress.Waiting{Offsets: backlog, MinOffsets: r.MinOffsetsPerTrigger, Since: progress.Timestamp{Time: done}, Until: progress.Timestamp{Time: done.Add(r.MaxTriggerDelay)}}
}

// isComplete says that all up to the bound is there, in every partition.
func (r *run) isComplete() bool {
	if len(r.bound) == 0 {
		return false
	}
	for tp, b := range r.view.Partitions {
		if until, bounded := r.bound[tp]; !bounded || b.End < until {
			return false
		}
	}
	return true
}

// lastDone is when the newest batch was done: by its report, else, if that is missing or Spark's, when it was planned. known
// is false for a query without a batch.
func (r *run) lastDone(ctx context.Context) (done time.Time, known bool) {
	newest := r.next - 1
	if r.summary.Batches > 0 {
		return r.Now(), true
	}
	if report := r.reportOf(ctx, newest); report != nil {
		return report.Timestamp.Add(time.Duration(report.BatchDuration) * time.Millisecond), true
	}
	if plan := r.entries.Plan; plan != nil && plan.Batch == newest {
		return time.UnixMilli(plan.TimestampMs), true
	}
	return time.Time{}, false
}

// reportOf is the report of a batch, nil if there is none that can be read: it is there to go by, and nothing depends on it.
func (r *run) reportOf(ctx context.Context, n int64) *progress.Batch {
	if n < 0 {
		return nil
	}
	text, err := r.Journal.Progress(ctx, n)
	if err != nil {
		r.Reporter.Notice("the report of a batch could not be read; it goes without", "batch", n, "error", err)
	}
	report := &progress.Batch{}
	if err != nil || text == nil || json.Unmarshal(text, report) != nil || report.BatchID != n {
		return nil
	}
	return report
}

// unknownOffsetBytes is what an offset counts for a limit in bytes before any has been seen: more than most records take, so
// that the first batch is a small one, which the next goes by.
const unknownOffsetBytes = 64 << 10

// seenBatches is how many of the newest batches a limit in bytes goes by.
const seenBatches = 5

// seen is what offsets of the newest batches took in Kafka.
type seen struct {
	batches []weighed
}

// weighed is one batch.
type weighed struct{ offsets, bytes int64 }

func (s *seen) add(b *progress.Batch) {
	if b.Sluice.Offsets > 0 && b.Sluice.RecordBytes > 0 {
		s.batches = append(s.batches, weighed{b.Sluice.Offsets, b.Sluice.RecordBytes})
	}
	s.batches = s.batches[max(0, len(s.batches)-seenBatches):]
}

// offsetsOf is how many offsets so many bytes are, at least 1.
func (s *seen) offsetsOf(bytes int64) int64 {
	total := weighed{}
	for _, b := range s.batches {
		total.offsets, total.bytes = total.offsets+b.offsets, total.bytes+b.bytes
	}
	if total.offsets == 0 {
		total = weighed{1, unknownOffsetBytes}
	}
	return max(1, scaled(bytes, total.offsets, total.bytes))
}

// weigh reads what the newest batches took, once a run, where a limit goes by it.
func (r *run) weigh(ctx context.Context) {
	if r.MaxBytesPerTrigger <= 0 || r.weighed {
		return
	}
	r.weighed = true
	own, before := r.seen, seen{}
	newest := r.next - 1 - r.summary.Batches
	for n := max(0, newest-seenBatches+1); n <= newest; n++ {
		if report := r.reportOf(ctx, n); report != nil {
			before.add(report)
		}
	}
	r.seen = seen{append(before.batches, own.batches...)}
}

// limit is how many offsets the next batch may have, 0 for no limit. Of two limits the smaller one holds.
func (r *run) limit() int64 {
	limit := r.MaxOffsetsPerTrigger
	if r.MaxBytesPerTrigger > 0 {
		bytes := r.seen.offsetsOf(r.MaxBytesPerTrigger)
		if limit <= 0 || bytes < limit {
			limit = bytes
		}
	}
	return limit
}

// bytesOf is what so many offsets take in Kafka by what was seen, -1 if nothing was.
func (s *seen) bytesOf(n int64) int64 {
	total := weighed{}
	for _, b := range s.batches {
		total.offsets, total.bytes = total.offsets+b.offsets, total.bytes+b.bytes
	}
	if total.offsets == 0 {
		return -1
	}
	return scaled(n, total.bytes, total.offsets)
}
