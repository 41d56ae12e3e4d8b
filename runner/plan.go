package runner

import (
	"sluice/batch"
	"sluice/offsets"
)

// nextPlan plans batch number n: from the position that the query has reached to the frozen ends, cut to limit offsets
// in all (0 for no limit). Partitions that the query has not seen yet start at the beginning of their log. It returns
// nil where there is nothing to read. What it returns depends on its arguments alone.
func nextPlan(n int64, reached offsets.Offsets, view *offsets.View, limit int64) *batch.Plan {
	start, frozen := positions(reached, view)
	from := readable(start, view)
	tps := frozen.Partitions()
	backlogs := make([]int64, len(tps))
	var total int64
	for i, tp := range tps {
		backlogs[i] = frozen[tp] - from[tp]
		total += backlogs[i]
	}
	if total == 0 {
		return nil
	}
	if limit <= 0 {
		limit = total
	}
	end := make(offsets.Offsets, len(tps))
	for i, share := range apportion(backlogs, limit, n) {
		end[tps[i]] = from[tps[i]] + share
	}
	return planOf(n, start, end, view)
}

// standing is a plan that reads nothing.
func standing(n int64, reached offsets.Offsets, view *offsets.View) *batch.Plan {
	start, _ := positions(reached, view)
	return planOf(n, start, readable(start, view), view)
}

// planOf adds to the ranges what the log says of itself.
func planOf(n int64, start, end offsets.Offsets, view *offsets.View) *batch.Plan {
	plan := &batch.Plan{Batch: n, Start: start, End: end, TopicIDs: map[string]string{}, LeaderEpochs: map[offsets.TopicPartition]int32{}}
	for tp := range end {
		if id, ok := view.TopicIDs[tp.Topic]; ok {
			plan.TopicIDs[tp.Topic] = id
		}
		if b, ok := view.Partitions[tp]; ok && b.LeaderEpoch >= 0 {
			plan.LeaderEpochs[tp] = b.LeaderEpoch
		}
	}
	return plan
}

// readable is where reading can begin: retention may have moved the start of a log beyond the position. A run comes to that
// only where its policies accept it.
func readable(start offsets.Offsets, view *offsets.View) offsets.Offsets {
	from := start.Clone()
	for tp, at := range start {
		from[tp] = max(at, view.Partitions[tp].Start)
	}
	return from
}

// positions joins what the query has reached with what the log holds: where each partition is read from, and where
// what is available now ends. An end below the start (an open transaction, a broker behind) is no backlog, never a
// rewind.
func positions(reached offsets.Offsets, view *offsets.View) (start, end offsets.Offsets) {
	start, end = reached.Clone(), make(offsets.Offsets, len(view.Partitions))
	for tp, bounds := range view.Partitions {
		if _, ok := start[tp]; !ok {
			start[tp] = bounds.Start
		}
	}
	for tp, from := range start {
		end[tp] = from
		if bounds, ok := view.Partitions[tp]; ok {
			end[tp] = max(from, bounds.Start, bounds.End)
		}
	}
	return start, end
}

// lag sums the offsets between what the query has reached and the ends of the view.
func lag(reached offsets.Offsets, view *offsets.View) int64 {
	start, end := positions(reached, view)
	return offsets.Total(offsets.Between(readable(start, view), end))
}
