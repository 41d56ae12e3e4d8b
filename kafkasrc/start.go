package kafkasrc

import (
	"fmt"
	"strings"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// explicitStart resolves offsets that a user wrote down against what is there.
// Those below the log start are a fault, unless expired ones are to be kept as they are.
func explicitStart(wanted offsets.Offsets, bounds map[offsets.TopicPartition]offsets.Bounds, keepExpired bool) (offsets.Offsets, error) {
	if err := samePartitions(wanted, bounds); err != nil {
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

// noneSince is the fault of partitions that a starting timestamp says nothing about.
func noneSince(t time.Time, partitions []string) error {
	return notSetUp("Give an earlier time, or set source.startingOffsetsByTimestampStrategy to latest: such a partition then begins at its end.",
		"starting timestamp: nothing of %s or later is in %s", t.UTC().Format(time.RFC3339Nano), strings.Join(partitions, ", "))
}

// samePartitions checks that the offsets name every partition that is read and no other, as Spark asks.
func samePartitions(wanted offsets.Offsets, bounds map[offsets.TopicPartition]offsets.Bounds) error {
	var faults []string
	if names := without((&offsets.View{Partitions: bounds}).Ends(), wanted); len(names) > 0 {
		faults = append(faults, "no offset is given for "+strings.Join(names, ", "))
	}
	if names := without(wanted, (&offsets.View{Partitions: bounds}).Ends()); len(names) > 0 {
		faults = append(faults, "offsets are given for "+strings.Join(names, ", ")+", which the subscription does not have")
	}
	if len(faults) == 0 {
		return nil
	}
	return notSetUp("Name exactly the partitions that are read; -2 is the earliest offset, -1 the latest.",
		"starting offsets: %s", strings.Join(faults, "; "))
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
