package checkpoint

import (
	"context"
	"fmt"
	"time"
)

const (
	// minRetain is what Spark needs to start: offsets/<N> and offsets/<N-1>.
	minRetain = 2
	// One Purge removes at most maxPurge batches and takes at most purgeTime; the rest is left to the next.
	maxPurge  = 1000
	purgeTime = 30 * time.Second
)

// Purge removes the entries of all batches but the Retain newest, newest being the last one done: everything at or
// below the bound, all markers first, then plans and reports. It goes by what Last has listed and what was written
// since, and asks for no listing of its own. Its failure harms nothing.
//
// A run that was overtaken must not purge. That purged numbers can be won again by a run that slept is the runner's to
// catch: it looks at the table after every plan.
func (l *Log) Purge(ctx context.Context, newest int64) error {
	if !l.listed {
		if _, err := l.Last(ctx); err != nil {
			return fmt.Errorf("purge: %w", err)
		}
	}
	bound := newest - int64(max(l.Retain, minRetain))
	ctx, cancel := context.WithTimeoutCause(ctx, purgeTime, fmt.Errorf("purging took longer than %s", purgeTime))
	defer cancel()

	markers, plans := atMost(l.markers, bound), atMost(l.plans, bound)
	if err := l.remove(ctx, markers, markerKey); err != nil {
		return err
	}
	l.markers = l.markers[len(markers):]
	if err := l.remove(ctx, plans, planKey, progressKey); err != nil {
		return err
	}
	l.plans = l.plans[len(plans):]
	return nil
}

func (l *Log) remove(ctx context.Context, numbers []int64, names ...func(int64) string) error {
	var keys []string
	for _, n := range numbers {
		for _, name := range names {
			keys = append(keys, name(n))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := l.store.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	return nil
}

// atMost is the front of an ascending list: what is at or below the bound, up to maxPurge.
func atMost(numbers []int64, bound int64) []int64 {
	for i, n := range numbers {
		if n > bound || i == maxPurge {
			return numbers[:i]
		}
	}
	return numbers
}
