package kafkasrc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// explicitStart resolves offsets that a user wrote down against what is there.
// Those below the log start are a fault, unless expired ones are to be kept as they are.
func explicitStart(wanted offsets.Offsets, bounds map[offsets.TopicPartition]offsets.Bounds, keepExpired bool) (offsets.Offsets, error) {
	if err := samePartitions("starting offsets", "offset", wanted, bounds); err != nil {
		return nil, err
	}
	start := make(offsets.Offsets, len(wanted))
	var expired, beyond []string
	for _, tp := range wanted.Partitions() {
		at, b := wanted[tp], bounds[tp]
		switch {
		case at == offsets.Earliest:
			at = b.Start
		case at == offsets.Latest:
			at = b.End
		case at < b.Start && !keepExpired:
			expired = append(expired, fmt.Sprintf("%s: %d is below the log start %d", tp, at, b.Start))
		case at > b.HighWatermark:
			beyond = append(beyond, fmt.Sprintf("%s: %d is beyond the end %d", tp, at, b.HighWatermark))
		}
		start[tp] = at
	}
	switch {
	case len(expired) > 0:
		return nil, &batch.Fault{
			Class:   batch.DataLoss,
			Message: "starting offsets: " + strings.Join(append(expired, beyond...), "; "),
			Hint:    "Start at the log start (-2), or at offsets that are still there; " + Retention.Option() + " begins there and records the rest as lost.",
		}
	case len(beyond) > 0:
		return nil, notSetUp("Start at the end (-1), or at offsets that are there.", "starting offsets: %s", strings.Join(beyond, "; "))
	}
	return start, nil
}

// startAt finds the first record of each partition that is not older than its time. A partition that has none begins at its
// end or is a fault, as is chosen, but never begins at its beginning (https://github.com/apache/hudi/issues/19658).
func (s *Source) startAt(ctx context.Context, starting Starting, level int8, bounds map[offsets.TopicPartition]offsets.Bounds) (offsets.Offsets, error) {
	times := starting.Times
	if times == nil {
		times = everywhere(starting.Timestamp, bounds)
	} else if err := samePartitions("starting times", "time", times, bounds); err != nil {
		return nil, err
	}
	start, err := s.listOffsets(ctx, times.Partitions(), query{each: times, level: level})
	if err != nil {
		return nil, err
	}
	var none []offsets.TopicPartition
	for _, tp := range times.Partitions() {
		if start[tp] < 0 {
			start[tp] = bounds[tp].End
			none = append(none, tp)
		}
	}
	if len(none) > 0 && !starting.EndIfNone {
		return nil, noneSince(starting, none)
	}
	return start, nil
}

// everywhere is one time for all partitions. Kafka's clock has milliseconds.
func everywhere(t time.Time, bounds map[offsets.TopicPartition]offsets.Bounds) offsets.Offsets {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	times := make(offsets.Offsets, len(bounds))
	for tp := range bounds {
		times[tp] = max(ms, 0)
	}
	return times
}

// noneSince is the fault of partitions that a time to start at says nothing about.
func noneSince(starting Starting, partitions []offsets.TopicPartition) error {
	var names []string
	for _, tp := range partitions {
		name := tp.String()
		if starting.Times != nil {
			name += " (" + clock(time.UnixMilli(starting.Times[tp])) + ")"
		}
		names = append(names, name)
	}
	hint := "Give an earlier time, or set source.startingOffsetsByTimestampStrategy to latest: such a partition then begins at its end."
	if starting.Times != nil {
		return notSetUp(hint, "starting times: nothing of its time or later is in %s", strings.Join(names, ", "))
	}
	return notSetUp(hint, "starting timestamp: nothing of %s or later is in %s", clock(starting.Timestamp), strings.Join(names, ", "))
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// samePartitions checks that what a user wrote down names every partition that is read and no other, as Spark asks. what
// names it, noun what each partition has in it.
func samePartitions(what, noun string, wanted offsets.Offsets, bounds map[offsets.TopicPartition]offsets.Bounds) error {
	var faults []string
	there := (&offsets.View{Partitions: bounds}).Ends()
	if names := without(there, wanted); len(names) > 0 {
		faults = append(faults, "no "+noun+" is given for "+strings.Join(names, ", "))
	}
	if names := without(wanted, there); len(names) > 0 {
		faults = append(faults, noun+"s are given for "+strings.Join(names, ", ")+", which the subscription does not have")
	}
	if len(faults) == 0 {
		return nil
	}
	hint := "Name exactly the partitions that are read."
	if noun == "offset" {
		hint = "Name exactly the partitions that are read; -2 is the earliest offset, -1 the latest."
	}
	return notSetUp(hint, "%s: %s", what, strings.Join(faults, "; "))
}

// without lists the partitions of all that other lacks.
func without(all, other offsets.Offsets) []string {
	var names []string
	for _, tp := range all.Partitions() {
		if _, ok := other[tp]; !ok {
			names = append(names, tp.String())
		}
	}
	return names
}
