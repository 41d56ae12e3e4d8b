package progress

import (
	"maps"
	"slices"
	"time"

	"sluice/offsets"
)

// mark is where the ends of the log were at a moment.
type mark struct {
	at   time.Time
	ends offsets.Offsets
	// other are topics that are not the ones of now, as far as later reports tell.
	other map[string]bool
}

// input is how fast the ends moved since the earliest mark that knows all topics; if there is none, since the earliest that
// knows any.
func (r *Rates) input(reports []*Batch, now Now) {
	for _, topic := range topicsOf(now.Ends) {
		r.InputTopics = append(r.InputTopics, TopicInput{Topic: topic})
	}
	for _, m := range marks(reports, now) {
		topics, total := m.until(now)
		if total == nil && (r.InputWindowMs != nil || !slices.ContainsFunc(topics, func(t TopicInput) bool { return t.OffsetsPerSecond != nil })) {
			continue
		}
		window := now.Time.Sub(m.at).Milliseconds()
		if r.InputTopics, r.Input, r.InputWindowMs = topics, total, &window; total != nil {
			return
		}
	}
}

// marks are the moments of the reports, the earliest first. Batches of one run have one. They end where a clock went back:
// what is before that has no time that could be told.
func marks(reports []*Batch, now Now) []mark {
	if now.Ends == nil {
		return nil
	}
	var found []mark
	last, other := now.Time, maps.Clone(now.Other)
	for _, b := range reports {
		if b.Sluice.Frozen != nil && len(b.Sources) == 1 {
			at := b.Sluice.Frozen.Time
			if at.After(last) || now.Time.Sub(at) > longestWindow {
				break
			}
			if !at.Equal(last) && now.Time.Sub(at) >= leastWindow {
				found = append(found, mark{at, b.Sources[0].LatestOffset, maps.Clone(other)})
			}
			last = at
		}
		other = b.others(other)
	}
	slices.Reverse(found)
	return found
}

// others adds the topics that were other ones before the batch: created again, gone, or cut.
func (b *Batch) others(before map[string]bool) map[string]bool {
	all := map[string]bool{}
	maps.Copy(all, before)
	for _, l := range b.Sluice.Losses {
		if l.Cause != "retention" { // which moves the beginning of a log, never its end
			all[l.Topic] = true
		}
	}
	return all
}

// until is how fast each topic's ends moved; total is nil unless that is known of all.
func (m *mark) until(now Now) (topics []TopicInput, total *float64) {
	ms, sum, complete := float64(now.Time.Sub(m.at).Milliseconds()), int64(0), len(now.Ends) > 0
	for _, topic := range topicsOf(now.Ends) {
		one := TopicInput{Topic: topic}
		moved, known := m.moved(topic, now.Ends)
		if known {
			one.OffsetsPerSecond = ratePerSecond(float64(moved), ms)
		}
		topics, sum, complete = append(topics, one), sum+moved, complete && known
	}
	if complete {
		total = ratePerSecond(float64(sum), ms)
	}
	return topics, total
}

// moved is how far the ends of a topic moved. A partition that was added since began at 0. known is false for a topic that
// was not there, is another one, or has an end below what it was.
func (m *mark) moved(topic string, ends offsets.Offsets) (n int64, known bool) {
	for tp := range m.ends {
		if _, there := ends[tp]; tp.Topic == topic && !there {
			return 0, false
		}
	}
	for tp, end := range ends {
		if tp.Topic != topic {
			continue
		}
		before, there := m.ends[tp]
		if known = known || there; end < before {
			return 0, false
		}
		n += end - before
	}
	if !known || m.other[topic] {
		return 0, false
	}
	return n, true
}

func topicsOf(ends offsets.Offsets) []string {
	names := map[string]bool{}
	for tp := range ends {
		names[tp.Topic] = true
	}
	return slices.Sorted(maps.Keys(names))
}
