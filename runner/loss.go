package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// loss is one thing that a log does not have any more.
type loss struct {
	kind lossKind
	// partitions are those that it is about, all of one topic.
	partitions []offsets.TopicPartition
	text       string
}

type lossKind int

// The kinds of loss. For each there is another way on.
const (
	// deleted: retention was faster than the query.
	deleted lossKind = iota
	// truncated: the log ends before what was read of it.
	truncated
	// recreated: the topic is another one.
	recreated
	// gone: the partition, or its topic, is not there.
	gone
)

// checkLoss compares what a query is about to read from (positions, with the topic ids that it knew there) with what
// the log holds now. Records that are gone, and logs that are no longer the ones the query read, are one DataLoss fault
// that lists every partition. Gaps inside the log are none of its business: compaction and transactions leave them.
func checkLoss(positions offsets.Offsets, topicIDs map[string]string, view *offsets.View) error {
	losses := findLosses(positions, topicIDs, view)
	if len(losses) == 0 {
		return nil
	}
	texts := make([]string, len(losses))
	for i, l := range losses {
		texts[i] = l.text
	}
	return &batch.Fault{Class: batch.DataLoss, Message: "records are gone from Kafka: " + list(texts), Hint: wayOn(losses, positions, view)}
}

// findLosses lists what is lost: topics that are other ones, then partitions.
func findLosses(positions offsets.Offsets, topicIDs map[string]string, view *offsets.View) (losses []loss) {
	other := map[string]bool{}
	for _, topic := range positions.Topics() {
		was, is := topicIDs[topic], view.TopicIDs[topic]
		if otherTopic(was, is) {
			other[topic] = true
			losses = append(losses, loss{recreated, partitionsOf(topic, positions), fmt.Sprintf("topic %s was deleted and created again: its id was %s and is %s", topic, was, is)})
		}
	}
	for _, tp := range positions.Partitions() {
		if other[tp.Topic] {
			continue
		}
		at := positions[tp]
		lose := func(kind lossKind, format string, parts ...any) {
			losses = append(losses, loss{kind, []offsets.TopicPartition{tp}, fmt.Sprintf(format, parts...)})
		}
		bounds, ok := view.Partitions[tp]
		switch {
		case !ok:
			lose(gone, "%s is gone; the query had reached offset %d", tp, at)
		case bounds.Start > at:
			lose(deleted, "%s: offsets [%d,%d), %d in all, were deleted before they were read; the log starts at %d now", tp, at, bounds.Start, bounds.Start-at, bounds.Start)
		case bounds.HighWatermark < at:
			lose(truncated, "%s ends at offset %d, before offset %d, which the query has reached: the log was truncated or replaced", tp, bounds.HighWatermark, at)
		}
	}
	return losses
}

// otherTopic compares the ids of topics of one name. Not every broker tells them, and Spark does not keep them.
func otherTopic(was, is string) bool { return was != "" && is != "" && was != is }

func partitionsOf(topic string, at offsets.Offsets) []offsets.TopicPartition {
	return slices.DeleteFunc(at.Partitions(), func(tp offsets.TopicPartition) bool { return tp.Topic != topic })
}

// wayOn is what to do about losses: a new query that reads what is still there once. It goes by what is lost, for what
// helps with one kind does harm with another.
func wayOn(losses []loss, positions offsets.Offsets, view *offsets.View) string {
	kinds := map[lossKind]bool{}
	for _, l := range losses {
		kinds[l.kind] = true
	}
	starts := resumption(losses, positions, view)
	if len(starts) == 0 {
		return "nothing was read or changed; see whether the topic was deleted on purpose, and whether this is the right cluster: there is nothing left to read; if the topic is made again, start a new query (new name and checkpoint) that reads it from its start"
	}
	from, also, then := []string{}, "", ""
	if kinds[deleted] {
		from = append(from, "the log's start where it has moved on")
		then = "; and raise the topic's retention above the longest pause of this job"
	}
	if kinds[recreated] {
		from = append(from, "the start of a topic that was created again")
	}
	if kinds[truncated] {
		from = append(from, "the log's end where it was truncated")
		also = " and --new-query, which is needed because offsets beyond that end are used again, for other records than the table has; if the log was replaced rather than truncated, begin there at -2"
	}
	text := fmt.Sprintf("start a new query (new name and checkpoint) with startingOffsets %s%s", starts, also)
	if kinds[gone] {
		text = fmt.Sprintf("leave what is gone out of subscribe or assign, and start a new query (new name and checkpoint) with startingOffsets %s%s; but see first whether it was deleted on purpose, and whether this is the right cluster", starts, also)
	}
	from = append(from, "where this one stands elsewhere")
	return "nothing was read or changed; to go on without those records " + text + "; these offsets are " + strings.Join(from, ", ") + then
}

// resumption is where a new query has to start so that what is still there is read once: at the positions reached, but
// at the log's start where that is later, or where the topic is another one, and at its end where it was truncated:
// what is left of it has been read.
func resumption(losses []loss, positions offsets.Offsets, view *offsets.View) offsets.Offsets {
	starts := offsets.Offsets{}
	for tp, bounds := range view.Partitions {
		at, read := positions[tp]
		if !read {
			at = bounds.Start
		}
		starts[tp] = at
	}
	for _, l := range losses {
		for tp, bounds := range view.Partitions {
			switch {
			case l.kind == recreated && tp.Topic == l.partitions[0].Topic, l.kind == deleted && tp == l.partitions[0]:
				starts[tp] = bounds.Start
			case l.kind == truncated && tp == l.partitions[0]:
				starts[tp] = bounds.HighWatermark
			}
		}
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
