package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// checkLoss compares what a query is about to read from (positions, with the topic ids that it knew there) with what
// the log holds now. Records that are gone, and logs that are no longer the ones the query read, are one DataLoss fault
// that lists every partition. Gaps inside the log are none of its business: compaction and transactions leave them.
func checkLoss(positions offsets.Offsets, topicIDs map[string]string, view *offsets.View) error {
	var losses []string
	recreated := map[string]bool{}
	for _, topic := range positions.Topics() {
		was, is := topicIDs[topic], view.TopicIDs[topic]
		if was != "" && is != "" && was != is {
			recreated[topic] = true
			losses = append(losses, fmt.Sprintf("topic %s was deleted and created again: its id was %s and is %s", topic, was, is))
		}
	}
	for _, tp := range positions.Partitions() {
		if recreated[tp.Topic] {
			continue
		}
		at := positions[tp]
		bounds, ok := view.Partitions[tp]
		switch {
		case !ok:
			losses = append(losses, fmt.Sprintf("%s is gone; the query had reached offset %d", tp, at))
		case bounds.Start > at:
			losses = append(losses, fmt.Sprintf("%s: offsets [%d,%d), %d in all, were deleted before they were read; the log starts at %d now", tp, at, bounds.Start, bounds.Start-at, bounds.Start))
		case bounds.HighWatermark < at:
			losses = append(losses, fmt.Sprintf("%s ends at offset %d, before offset %d, which the query has reached: the log was truncated or replaced", tp, bounds.HighWatermark, at))
		}
	}
	if len(losses) == 0 {
		return nil
	}
	return &batch.Fault{Class: batch.DataLoss, Message: "records are gone from Kafka: " + list(losses),
		Hint: fmt.Sprintf("nothing was read or changed; to go on without those records start a new query (new name and checkpoint, --new-query) with startingOffsets %s, which is where this one stands, "+
			"or the log's start where it has moved on; and raise the topic's retention above the longest pause of this job", resumption(positions, recreated, view)),
	}
}

// resumption is where a new query has to start so that what is still there is read once: at the positions reached, but
// at the log's start where that is later, or where the topic is another one.
func resumption(positions offsets.Offsets, recreated map[string]bool, view *offsets.View) offsets.Offsets {
	starts := offsets.Offsets{}
	for tp, bounds := range view.Partitions {
		at, read := positions[tp]
		switch {
		case !read, recreated[tp.Topic], bounds.Start > at, bounds.HighWatermark < at:
			at = bounds.Start
		}
		starts[tp] = at
	}
	return starts
}

// HeldBack names the first few partitions in which open transactions hold back records, those that hold back most first;
// empty if there is none.
func HeldBack(view *offsets.View) string {
	var blocked []offsets.TopicPartition
	for tp, bounds := range view.Partitions {
		if bounds.Blocked() > 0 {
			blocked = append(blocked, tp)
		}
	}
	slices.SortFunc(blocked, func(a, b offsets.TopicPartition) int {
		return cmp.Or(cmp.Compare(view.Partitions[b].Blocked(), view.Partitions[a].Blocked()), offsets.Compare(a, b))
	})
	var named []string
	for _, tp := range blocked {
		named = append(named, fmt.Sprintf("%s %d from offset %d", tp, view.Partitions[tp].Blocked(), view.Partitions[tp].End))
	}
	return list(named)
}

// list joins the first few of many.
func list(items []string) string {
	const most = 10
	if len(items) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(items[:most], "; "), len(items)-most)
	}
	return strings.Join(items, "; ")
}
