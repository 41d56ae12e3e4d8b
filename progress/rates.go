package progress

import (
	"cmp"
	"math"
	"slices"
	"time"

	"sluice/offsets"
)

// RecentBatches is how many of the newest reports rates are taken from, at most: each is a request to the checkpoint.
const RecentBatches = 5

const (
	// leastWindow is the shortest time over which what comes in says anything, longestWindow the longest that is still recent:
	// beyond it a clock was wrong, or the query stood still.
	leastWindow, longestWindow = time.Minute, 7 * 24 * time.Hour
	// longestDrain is the longest time that anybody plans with.
	longestDrain = 365 * 24 * time.Hour
)

// Rates is how fast a query goes by its newest reports, how fast records come in, and what that makes of the backlog. What is
// not known is nil. Rates per second have one decimal.
type Rates struct {
	// Batches is how many batches the three rates below are of, which are sums over sums of their durations.
	Batches          int64    `json:"batches"`
	RecordsPerSecond *float64 `json:"recordsPerSecond"`
	OffsetsPerSecond *float64 `json:"offsetsPerSecond"`
	// BytesPerSecond is what the records take in Kafka.
	BytesPerSecond *float64 `json:"bytesPerSecond"`
	// Input is how fast the ends of the log moved in InputWindowMs up to now, the sum of InputTopics.
	Input         *float64     `json:"inputOffsetsPerSecond"`
	InputWindowMs *int64       `json:"inputWindowMs"`
	InputTopics   []TopicInput `json:"inputTopics"`
	// Backlog is how many offsets the next run would read, in BacklogBatches batches that take about BacklogBytes in Kafka and
	// DrainMs at the rate above, if nothing came in meanwhile.
	Backlog        *int64 `json:"backlogOffsets"`
	BacklogBytes   *int64 `json:"backlogBytes"`
	BacklogBatches *int64 `json:"backlogBatches"`
	DrainMs        *int64 `json:"drainMs"`
	// FallingBehind says that more comes in than batches take while they run.
	FallingBehind *bool `json:"fallingBehind"`
}

// TopicInput is how fast the ends of a topic's partitions moved.
type TopicInput struct {
	Topic            string   `json:"topic"`
	OffsetsPerSecond *float64 `json:"offsetsPerSecond"`
}

// Backlog is what a run would read, as far as that is known: -1 is unknown.
type Backlog struct{ Offsets, Batches int64 }

// Now is what Kafka says at a moment.
type Now struct {
	Time time.Time
	// Ends are as in SourceReport.LatestOffset; nil if Kafka was not asked.
	Ends offsets.Offsets
	// Other are topics that are not those of the reports, whatever their names.
	Other map[string]bool
}

// Estimate makes the rates of reports, newest first, and what Kafka and the planner say now. Of one batch only the newest
// report counts.
func Estimate(reports []*Batch, now Now, backlog Backlog) *Rates {
	reports = newestOfEach(reports)
	r := &Rates{InputTopics: []TopicInput{}}
	paced := typical(reports)
	r.pace(paced)
	r.input(reports, now)
	if backlog.Offsets >= 0 {
		r.Backlog = &backlog.Offsets
		r.BacklogBytes = bytesOf(reports, backlog.Offsets)
		r.DrainMs = drain(paced, backlog.Offsets)
	}
	if backlog.Batches >= 0 {
		r.BacklogBatches = &backlog.Batches
	}
	if r.Input != nil && r.OffsetsPerSecond != nil {
		behind := *r.Input > *r.OffsetsPerSecond
		r.FallingBehind = &behind
	}
	return r
}

func newestOfEach(reports []*Batch) (kept []*Batch) {
	seen := map[int64]bool{}
	for _, b := range reports {
		if b != nil && !seen[b.BatchID] {
			seen[b.BatchID], kept = true, append(kept, b)
		}
	}
	return kept
}

// typical are the batches that tell how fast the query is: those with records and a duration. Of three or more the fastest and
// the slowest are left out, so that one that waited for a broker, or found nothing to decode, does not decide.
func typical(reports []*Batch) []*Batch {
	var kept []*Batch
	for _, b := range reports {
		if b.BatchDuration > 0 && b.NumInputRows > 0 && b.Sluice.Offsets > 0 {
			kept = append(kept, b)
		}
	}
	if len(kept) < 3 {
		return kept
	}
	slices.SortStableFunc(kept, func(a, b *Batch) int {
		return cmp.Compare(float64(a.Sluice.Offsets)/float64(a.BatchDuration), float64(b.Sluice.Offsets)/float64(b.BatchDuration))
	})
	return kept[1 : len(kept)-1]
}

// pace sums up, so that a batch counts for as long as it took.
func (r *Rates) pace(batches []*Batch) {
	var records, span, ms, bytes, bytesMs float64
	for _, b := range batches {
		records, span, ms = records+float64(b.NumInputRows), span+float64(b.Sluice.Offsets), ms+float64(b.BatchDuration)
		if b.Sluice.RecordBytes > 0 {
			bytes, bytesMs = bytes+float64(b.Sluice.RecordBytes), bytesMs+float64(b.BatchDuration)
		}
	}
	r.Batches = int64(len(batches))
	r.RecordsPerSecond, r.OffsetsPerSecond, r.BytesPerSecond = ratePerSecond(records, ms), ratePerSecond(span, ms), ratePerSecond(bytes, bytesMs)
}

// ratePerSecond is a rate per second with one decimal, nil over no time.
func ratePerSecond(n, ms float64) *float64 {
	if ms <= 0 {
		return nil
	}
	rate := math.Round(n/ms*1000*10) / 10
	return &rate
}

// drain is how long so many offsets take the batches, in whole seconds; nil if nobody can tell, or it is beyond all planning.
func drain(batches []*Batch, backlog int64) *int64 {
	var span, ms float64
	for _, b := range batches {
		span, ms = span+float64(b.Sluice.Offsets), ms+float64(b.BatchDuration)
	}
	if span <= 0 {
		return nil
	}
	seconds := math.Ceil(float64(backlog) * ms / span / 1000)
	if seconds > longestDrain.Seconds() {
		return nil
	}
	took := int64(seconds) * 1000
	return &took
}

// bytesOf is what so many offsets take in Kafka, by all reports that know what theirs took.
func bytesOf(reports []*Batch, backlog int64) *int64 {
	var bytes, span float64
	for _, b := range reports {
		if b.Sluice.Offsets > 0 && b.Sluice.RecordBytes > 0 {
			bytes, span = bytes+float64(b.Sluice.RecordBytes), span+float64(b.Sluice.Offsets)
		}
	}
	estimate := math.Round(bytes / span * float64(backlog))
	if span == 0 || estimate >= math.MaxInt64 {
		return nil
	}
	n := int64(estimate)
	return &n
}
