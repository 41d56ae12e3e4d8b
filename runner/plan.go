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
	tps := frozen.Partitions()
	backlogs := make([]int64, len(tps))
	var total int64
	for i, tp := range tps {
		backlogs[i] = frozen[tp] - start[tp]
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
		end[tps[i]] = start[tps[i]] + share
	}
	plan := &batch.Plan{Batch: n, Start: start, End: end, TopicIDs: map[string]string{}, LeaderEpochs: map[offsets.TopicPartition]int32{}}
	for _, tp := range tps {
		if id, ok := view.TopicIDs[tp.Topic]; ok {
			plan.TopicIDs[tp.Topic] = id
		}
		if b, ok := view.Partitions[tp]; ok && b.LeaderEpoch >= 0 {
			plan.LeaderEpochs[tp] = b.LeaderEpoch
		}
	}
	return plan
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
			end[tp] = max(from, bounds.End)
		}
	}
	return start, end
}

// lag sums the offsets between what the query has reached and the ends of the view.
func lag(reached offsets.Offsets, view *offsets.View) int64 {
	return offsets.Total(offsets.Between(positions(reached, view)))
}
