package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/batch"
)

// misfits gathers what the tasks say of records that are no rows, and counts all that were delivered.
func misfits(results []batch.TaskResult) (all batch.Misfits, delivered int64) {
	for i := range results {
		all.Add(results[i].Misfits)
		for _, p := range results[i].Pieces {
			delivered += p.Delivered
		}
	}
	return all, delivered
}

// tolerable refuses a batch with more malformed records than the job bears.
func tolerable(n int64, value *batch.Value, results []batch.TaskResult) error {
	all, delivered := misfits(results)
	limit := ""
	switch {
	case value.MaxBadRecords > 0 && all.Malformed > value.MaxBadRecords:
		limit = fmt.Sprintf("value.maxBadRecords is %d", value.MaxBadRecords)
	case value.MaxBadRatio > 0 && float64(all.Malformed) > value.MaxBadRatio*float64(delivered):
		limit = fmt.Sprintf("value.maxBadRatio is %v", value.MaxBadRatio)
	default:
		return nil
	}
	var examples []string
	for _, e := range all.Examples {
		examples = append(examples, fmt.Sprintf("%s-%d at offset %d: %s", e.Topic, e.Partition, e.Offset, e.Text))
	}
	return &batch.Fault{Class: batch.BadRecords,
		Message: fmt.Sprintf("batch %d has %d malformed records among %d, and %s; by reason: %s; the first: %s", n, all.Malformed, delivered, limit, reasonsText(all.Reasons), strings.Join(examples, "; ")),
		Hint:    "see whether value.schema still fits what is in the topic (sluice peek --topic); if such records are to be expected, raise the limit; nothing of the batch is in any table, and the next run finishes it"}
}

func reasonsText(reasons map[string]int64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, reasons[reason]))
	}
	return strings.Join(parts, ", ")
}
