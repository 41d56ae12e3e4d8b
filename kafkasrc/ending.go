package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// Ending says where runs end at the latest; the zero value is the end of every partition. At most one of its fields is set.
type Ending struct {
	// Offsets is the first offset that is not read, for every assigned partition and no other; offsets.Latest is the end.
	Offsets offsets.Offsets
	// Timestamp ends before the first record that is not older, Times the same with a time for each assigned partition, in
	// milliseconds since 1970.
	Timestamp time.Time
	Times     offsets.Offsets
}

// Ahead is the bound of a partition of which the record to end at is not there yet: beyond all that the log has.
const Ahead = int64(math.MaxInt64)

func (e Ending) validate() error {
	given := 0
	for _, set := range []bool{e.Offsets != nil, !e.Timestamp.IsZero(), e.Times != nil} {
		if set {
			given++
		}
	}
	if given > 1 {
		return errors.New("several of offsets, a timestamp and timestamps are given to end at, at most one is allowed")
	}
	for _, tp := range e.Offsets.Partitions() {
		if e.Offsets[tp] < offsets.Latest {
			return fmt.Errorf("ending offset %d of %s: no offset is below %d", e.Offsets[tp], tp, offsets.Latest)
		}
	}
	return nil
}

// Bound resolves where runs end at the latest, nil if nothing says so: the first offset that is not read, by partition. One
// that is not there ends where its log does; one that has no record of its time or later, and whose time is after now
// or which open transactions hold back, is Ahead. view is what the partitions hold, known where the query stands. What a user wrote down must name exactly the
// partitions of both: others are one NotSetUp fault. Repeatable; it changes nothing.
func (s *Source) Bound(ctx context.Context, isolation batch.Isolation, view *offsets.View, known offsets.Offsets, now time.Time) (offsets.Offsets, error) {
	ending := s.options.Ending
	all := make(map[offsets.TopicPartition]offsets.Bounds, len(view.Partitions))
	for tp, b := range view.Partitions {
		all[tp] = b
	}
	for tp, at := range known {
		if _, there := all[tp]; !there { // gone, or gone on without
			all[tp] = offsets.Bounds{Start: at, End: at, HighWatermark: at, LeaderEpoch: -1}
		}
	}
	switch {
	case ending.Offsets != nil:
		if err := samePartitions("ending offsets", "offset", ending.Offsets, all); err != nil {
			return nil, err
		}
		bound := offsets.Offsets{}
		for tp, at := range ending.Offsets {
			if at != offsets.Latest {
				bound[tp] = at
			}
		}
		return bound, nil
	case ending.Times != nil:
		if err := samePartitions("ending times", "time", ending.Times, all); err != nil {
			return nil, err
		}
		return s.endAt(ctx, ending.Times, isolation, view, now)
	case !ending.Timestamp.IsZero():
		return s.endAt(ctx, everywhere(ending.Timestamp, view.Partitions), isolation, view, now)
	}
	return nil, nil
}

// endAt finds the first record of each partition that is not older than its time.
func (s *Source) endAt(ctx context.Context, times offsets.Offsets, isolation batch.Isolation, view *offsets.View, now time.Time) (offsets.Offsets, error) {
	level, err := isolationLevel(isolation)
	if err != nil {
		return nil, err
	}
	bound, err := s.listOffsets(ctx, view.Ends().Partitions(), query{each: times, level: level})
	if err != nil {
		return nil, err
	}
	for tp, at := range bound {
		switch {
		case at >= 0:
		case times[tp] > now.UnixMilli() || view.Partitions[tp].Blocked() > 0: // or what decides is held back by a transaction
			bound[tp] = Ahead
		default:
			delete(bound, tp)
		}
	}
	return bound, nil
}
