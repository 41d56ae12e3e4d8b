package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// What Spark's Kafka source plans beside what is planned here, for the same log. The columns of Spark are computed by its rules,
// which are written down here as they are documented, and compared as well, so that neither side of a table can go stale.

// sparkEnds is where Spark's next batch ends: a share of float64 for each partition, rounded up below 1 and down above it.
func sparkEnds(from, until offsets.Offsets, limit int64) offsets.Offsets {
	total := 0.0
	for tp, end := range until {
		total += math.Max(0, float64(end-from[tp]))
	}
	ends := until.Clone()
	for tp, end := range until {
		size := end - from[tp]
		if total < 1 || size <= 0 {
			continue
		}
		share := float64(limit) * (float64(size) / total)
		n := math.Floor(share)
		if share < 1 {
			n = math.Ceil(share)
		}
		at := from[tp] + int64(min(n, float64(1<<62)))
		ends[tp] = min(end, at)
	}
	return ends
}

func taken(from, end offsets.Offsets) int64 { return offsets.Total(offsets.Between(from, end)) }

func TestBatchesBesideThoseOfSpark(t *testing.T) {
	for _, c := range []struct {
		name         string
		from, until  offsets.Offsets
		limit        int64
		spark, ours  offsets.Offsets
		sparks, took int64
		why          string
	}{
		{"skew and a tiny partition", at(1000, 500, 0), at(11000, 600, 3), 100, at(1098, 501, 1), at(1097, 502, 1), 100, 100,
			"one each, then the largest remainders: the second partition's is larger than the first's"},
		{"a limit below the number of partitions", at(0, 0, 0, 0, 0), at(10, 10, 10, 10, 10), 3, at(1, 1, 1, 1, 1), at(1, 1, 1, 0, 0), 5, 3,
			"Spark gives each at least one, beyond the limit; here the limit holds, and the next batch serves the others"},
		{"what rounding down leaves", at(0, 0), at(5, 5), 7, at(3, 3), at(4, 3), 6, 7, "the remainder is handed out"},
		{"a limit of all there is", at(0, 0), at(15, 7), 22, at(14, 7), at(15, 7), 21, 22, "22*(15/22) is below 15 in float64; no float touches an offset here"},
		{"a partition that is new, with a log from 20 on", at(100, 20), at(110, 30), 10, at(105, 25), at(105, 25), 10, 10, ""},
		{"an end that went backwards", at(100, 0), at(90, 40), 10, at(90, 10), at(100, 10), 10, 10, "Spark goes back to 90 and reads the ten again; a position never goes back here"},
		{"a limit beyond all numbers", at(10), at(20), math.MaxInt64, at(20), at(20), 10, 10, ""},
		{"nothing new", at(10), at(10), 5, at(10), nil, 0, 0, "no plan is made here"},
	} {
		if got := sparkEnds(c.from, c.until, c.limit); !got.Equal(c.spark) || taken(c.from, got) != c.sparks {
			t.Errorf("%s: by Spark's rules %v, %d offsets, want %v, %d", c.name, got, taken(c.from, got), c.spark, c.sparks)
		}
		view := holding()
		for tp, end := range c.until {
			view.Partitions[tp] = offsets.Bounds{End: end, HighWatermark: end}
		}
		plan := nextPlan(0, c.from, view, c.limit)
		if plan == nil {
			plan = &batch.Plan{}
		}
		if !plan.End.Equal(c.ours) || taken(c.from, plan.End) != c.took {
			t.Errorf("%s: got %v, %d offsets, want %v, %d", c.name, plan.End, taken(c.from, plan.End), c.ours, c.took)
		}
		if same := c.spark.Equal(c.ours); same == (c.why != "") {
			t.Errorf("%s: the two are the same: %v, and the reason is %q", c.name, same, c.why)
		}
	}
}

// Spark needs 4, 4 and 4 offsets for what fits into 5, 5 and 2.
func TestSeveralBatchesBesideThoseOfSpark(t *testing.T) {
	until, view := at(8, 4), holding([2]int64{0, 8}, [2]int64{0, 4})
	spark, ours := []offsets.Offsets{at(0, 0)}, []offsets.Offsets{at(0, 0)}
	for n := range int64(3) {
		spark = append(spark, sparkEnds(spark[n], until, 5))
		ours = append(ours, nextPlan(n, ours[n], view, 5).End)
	}
	for n, want := range []offsets.Offsets{at(0, 0), at(3, 1), at(6, 2), at(8, 4)} {
		if !spark[n].Equal(want) {
			t.Errorf("by Spark's rules batch %d ends at %v, want %v", n, spark[n], want)
		}
	}
	for n, want := range []offsets.Offsets{at(0, 0), at(3, 2), at(6, 4), at(8, 4)} {
		if !ours[n].Equal(want) {
			t.Errorf("batch %d ends at %v, want %v", n, ours[n], want)
		}
	}
}

// sparkFires is Spark's rule of minOffsetsPerTrigger: lastFire is in memory, 0 when a query starts; a partition that is new
// counts from 0.
func sparkFires(now, lastFire time.Time, delay time.Duration, least int64, from, until offsets.Offsets) bool {
	if now.Sub(lastFire) >= delay {
		return true
	}
	var sum int64
	for tp, end := range until {
		sum += end - from[tp]
	}
	return sum >= least
}

// noJournal is a checkpoint without reports.
type noJournal struct{ Journal }

func (noJournal) Progress(context.Context, int64) ([]byte, error) { return nil, nil }

func TestWhenARunBeginsBesideSpark(t *testing.T) {
	now, delay := time.UnixMilli(1_700_000_000_000), 15*time.Minute
	started := time.UnixMilli(0) // what Spark takes for the last time after a start
	for _, c := range []struct {
		name        string
		lastFire    time.Time     // Spark's memory
		age         time.Duration // of the newest batch
		from        offsets.Offsets
		view        *offsets.View
		least       int64
		spark, ours bool
		why         string
	}{
		{"too little, and a young batch", now.Add(-time.Minute), time.Minute, at(10), holding([2]int64{0, 15}), 10, false, false, ""},
		{"enough", now.Add(-time.Minute), time.Minute, at(10), holding([2]int64{0, 20}), 10, true, true, ""},
		{"too little, and the delay is over", now.Add(-delay), delay, at(10), holding([2]int64{0, 15}), 10, true, true, ""},
		{"too little, and the process is new", started, time.Minute, at(10), holding([2]int64{0, 15}), 10, true, false, "Spark forgets with each restart when it last did something; the checkpoint does not, and with cron every run is a start"},
		{"a new partition with a log from 90 on", now.Add(-time.Minute), time.Minute, at(10), holding([2]int64{0, 10}, [2]int64{90, 95}), 10, true, false, "Spark counts it from 0 and so 95 offsets; there are 5"},
		{"an end that went backwards", now.Add(-time.Minute), time.Minute, at(100, 0), holding([2]int64{0, 90}, [2]int64{0, 12}), 10, false, true, "Spark takes 10 off the 12 that are there"},
		{"nothing at all, and the delay is over", now.Add(-delay), delay, at(10), holding([2]int64{0, 10}), 10, true, true, ""},
	} {
		if got := sparkFires(now, c.lastFire, delay, c.least, c.from, c.view.Ends()); got != c.spark {
			t.Errorf("%s: by Spark's rules %v, want %v", c.name, got, c.spark)
		}
		r := newRun(&Query{Journal: noJournal{}, Options: Options{Now: func() time.Time { return now }, MinOffsetsPerTrigger: c.least, MaxTriggerDelay: delay}})
		r.next, r.reached, r.view, r.inside = 5, c.from, c.view, c.view
		r.entries = &batch.LogState{Plan: &batch.Plan{Batch: 4, TimestampMs: now.Add(-c.age).UnixMilli()}}
		if got := r.waits(t.Context()) == nil; got != c.ours {
			t.Errorf("%s: got %v, want %v", c.name, got, c.ours)
		}
		if (c.spark == c.ours) == (c.why != "") {
			t.Errorf("%s: the reason is %q", c.name, c.why)
		}
	}
}

// sparkPieces are Spark's: those of at most so many records first, then a share of the wanted number for each range, rounded.
func sparkPieces(ranges []offsets.Range, wanted int, most int64) (pieces []offsets.Range) {
	cutUp := func(r offsets.Range, n int64) (parts []offsets.Range) {
		left, from := r.Len(), r.From
		for i := range n {
			step := left / (n - i)
			if step > 0 {
				parts = append(parts, offsets.Range{TopicPartition: r.TopicPartition, From: from, Until: from + step})
			}
			left, from = left-step, from+step
		}
		return parts
	}
	for _, r := range ranges {
		switch {
		case r.Len() == 0:
		case most > 0:
			pieces = append(pieces, cutUp(r, (r.Len()+most-1)/most)...)
		default:
			pieces = append(pieces, r)
		}
	}
	if len(pieces) >= wanted {
		return pieces
	}
	share := func(size, total int64, of int) int64 {
		return max(1, int64(math.Floor(float64(size)/float64(total)*float64(of)+0.5)))
	}
	total, rest, left := offsets.Total(pieces), int64(0), wanted
	for _, p := range pieces {
		if share(p.Len(), total, wanted) == 1 {
			left--
		} else {
			rest += p.Len()
		}
	}
	var cut []offsets.Range
	for _, p := range pieces {
		n := int64(1)
		if share(p.Len(), total, wanted) > 1 {
			n = share(p.Len(), rest, max(1, left))
		}
		cut = append(cut, cutUp(p, n)...)
	}
	return cut
}

// laidOut is a line of tasks: a[0,3) | a[3,5) b[0,2).
func laidOut(tasks [][]offsets.Range) string {
	var line []string
	for _, pieces := range tasks {
		var one []string
		for _, p := range pieces {
			one = append(one, fmt.Sprintf("%s[%d,%d)", p.Topic, p.From, p.Until))
		}
		line = append(line, strings.Join(one, " "))
	}
	return strings.Join(line, " | ")
}

func TestPiecesBesideThoseOfSpark(t *testing.T) {
	span := func(topic string, from, until int64) offsets.Range {
		return offsets.Range{TopicPartition: offsets.TopicPartition{Topic: topic}, From: from, Until: until}
	}
	for _, c := range []struct {
		wanted      int
		most        int64
		ranges      []offsets.Range
		spark, ours string
		why         string
	}{
		{3, 0, []offsets.Range{span("a", 0, 10)}, "a[0,3) | a[3,6) | a[6,10)", "a[0,3) | a[3,6) | a[6,10)", ""},
		{6, 0, []offsets.Range{span("a", 0, 40), span("b", 0, 200), span("c", 7, 7)}, "a[0,40) | b[0,40) | b[40,80) | b[80,120) | b[120,160) | b[160,200)",
			"a[0,40) | b[0,40) | b[40,80) | b[80,120) | b[120,160) | b[160,200)", ""},
		{4, 0, []offsets.Range{span("a", 0, 5), span("b", 0, 5), span("c", 0, 5)}, "a[0,5) | b[0,5) | c[0,5)", "a[0,3) | a[3,5) b[0,2) | b[2,5) c[0,1) | c[1,5)",
			"each of Spark's shares rounds to 1, and there are fewer than asked for; a task may read of several partitions here"},
		{6, 0, []offsets.Range{span("a", 0, 10), span("b", 0, 10), span("c", 0, 1)}, "a[0,3) | a[3,6) | a[6,10) | b[0,3) | b[3,6) | b[6,10) | c[0,1)",
			"a[0,3) | a[3,7) | a[7,10) | b[0,4) | b[4,7) | b[7,10) c[0,1)", "seven of unequal size, and here six that differ by one at most"},
		{5, 0, []offsets.Range{span("a", 0, 2)}, "a[0,1) | a[1,2)", "a[0,1) | a[1,2)", ""},
		{0, 4, []offsets.Range{span("a", 0, 10)}, "a[0,3) | a[3,6) | a[6,10)", "a[0,3) | a[3,6) | a[6,10)", ""},
		{4, 5, []offsets.Range{span("a", 0, 10)}, "a[0,2) | a[2,5) | a[5,7) | a[7,10)", "a[0,2) | a[2,5) | a[5,7) | a[7,10)", ""},
		{0, 5, []offsets.Range{span("a", 0, 3), span("b", 0, 3)}, "a[0,3) | b[0,3)", "a[0,3) | b[0,3)", ""},
		{0, 3, []offsets.Range{span("a", 0, 2), span("b", 0, 2), span("c", 0, 2)}, "a[0,2) | b[0,2) | c[0,2)", "a[0,2) b[0,1) | b[1,2) c[0,2)", "as many as it takes, and no more files than that"},
	} {
		var sparks [][]offsets.Range
		for _, p := range sparkPieces(c.ranges, c.wanted, c.most) {
			sparks = append(sparks, []offsets.Range{p})
		}
		if got := laidOut(sparks); got != c.spark {
			t.Errorf("%v in %d of at most %d: by Spark's rules %s, want %s", c.ranges, c.wanted, c.most, got, c.spark)
		}
		plan := &batch.Plan{Start: offsets.Offsets{}, End: offsets.Offsets{}}
		for _, r := range c.ranges {
			plan.Start[r.TopicPartition], plan.End[r.TopicPartition] = r.From, r.Until
		}
		var ours [][]offsets.Range
		for _, task := range splitTasks(plan, "q", &batch.Table{}, Cutting{Workers: 1, MinPartitions: c.wanted, MaxRecordsPerPartition: c.most}) {
			var pieces []offsets.Range
			for _, p := range task.Pieces {
				pieces = append(pieces, p.Range())
			}
			ours = append(ours, pieces)
		}
		if got := laidOut(ours); got != c.ours {
			t.Errorf("%v in %d of at most %d: got %s, want %s", c.ranges, c.wanted, c.most, got, c.ours)
		}
		if c.most > 0 && slices.ContainsFunc(ours, func(task []offsets.Range) bool { return offsets.Total(task) > c.most }) {
			t.Errorf("%v: a task has more than %d offsets", c.ranges, c.most)
		}
		if (c.spark == c.ours) == (c.why != "") {
			t.Errorf("%v: the reason is %q", c.ranges, c.why)
		}
	}
}
