package job

import (
	"fmt"
	"slices"
	"strings"

	"sluice/offsets"
)

// isReplaced says that a default does not count, since another key says where to begin or to end.
func (s *Source) isReplaced(path string) bool {
	switch path {
	case startOffsetsPath:
		return !s.StartingTimestamp.IsZero() || s.StartingOffsetsByTimestamp != nil
	case endOffsetsPath:
		return !s.EndingTimestamp.IsZero() || s.EndingOffsetsByTimestamp != nil
	}
	return false
}

// checkPlaces compares the partitions that have a place to begin or to end at with those that are read, as far as the job
// tells.
func (l *loading) checkPlaces() {
	s := &l.job.Source
	l.checkPartitions(startOffsetsPath, "offset", s.StartingOffsets.Each)
	l.checkPartitions(startTimesPath, "time", s.StartingOffsetsByTimestamp)
	l.checkPartitions(endOffsetsPath, "offset", s.EndingOffsets)
	l.checkPartitions(endTimesPath, "time", s.EndingOffsetsByTimestamp)
}

func (l *loading) checkPartitions(path, noun string, each offsets.Offsets) {
	if each == nil {
		return
	}
	source := &l.job.Source
	wrong := func(what, names string) {
		l.report(l.job.origins[path], path, what+": "+names)
	}
	var extra, lacking []string
	have := each.Topics()
	for _, topic := range have {
		if !source.selectsTopic(topic) {
			extra = append(extra, topic)
		}
	}
	for _, topic := range source.Subscribe {
		if !slices.Contains(have, topic) {
			lacking = append(lacking, topic)
		}
	}
	for _, tp := range source.Assign {
		if _, ok := each[tp]; !ok {
			lacking = append(lacking, tp.String())
		}
	}
	for _, tp := range each.Partitions() {
		if len(source.Assign) > 0 && source.selectsTopic(tp.Topic) && !slices.Contains(source.Assign, tp) {
			extra = append(extra, tp.String())
		}
	}
	if len(extra) > 0 {
		wrong("names what is not read", strings.Join(extra, ", "))
	}
	if len(lacking) > 0 {
		wrong("has no "+noun+" for", strings.Join(lacking, ", "))
	}
}

// checkEnds reports an end that lies before the beginning, as far as the job tells, and two maps of different partitions.
func (l *loading) checkEnds() {
	s := &l.job.Source
	l.checkOrder(endOffsetsPath, startOffsetsPath, s.EndingOffsets, s.StartingOffsets.Each)
	l.checkOrder(endTimesPath, startTimesPath, s.EndingOffsetsByTimestamp, s.StartingOffsetsByTimestamp)
	if !s.EndingTimestamp.IsZero() && s.EndingTimestamp.Before(s.StartingTimestamp) {
		l.report(l.job.origins[endTimePath], endTimePath, "is before "+startTimePath+" ("+l.job.origins[startTimePath].String()+"), so that nothing would be read")
	}
}

func (l *loading) checkOrder(path, startPath string, end, start offsets.Offsets) {
	if end == nil || start == nil {
		return
	}
	beside := startPath + " (" + l.job.origins[startPath].String() + ")"
	var before, alone []string
	for _, tp := range end.Partitions() {
		from, ok := start[tp]
		switch until := end[tp]; {
		case !ok:
			alone = append(alone, tp.String())
		case from >= 0 && until >= 0 && until < from:
			before = append(before, fmt.Sprintf("%s begins at %d and ends at %d", tp, from, until))
		}
	}
	for _, tp := range start.Partitions() {
		if _, ok := end[tp]; !ok {
			alone = append(alone, tp.String())
		}
	}
	if len(before) > 0 {
		l.report(l.job.origins[path], path, "lies before "+beside+": "+strings.Join(before, ", "))
	}
	if len(alone) > 0 {
		l.report(l.job.origins[path], path, "and "+beside+" do not name the same partitions: only one of them has "+strings.Join(alone, ", "))
	}
}
