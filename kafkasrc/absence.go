package kafkasrc

import (
	"time"

	"sluice/offsets"
)

// absence is for how long metadata has lacked a topic or partition, without having had it meanwhile.
type absence struct {
	first, last time.Time
	// gone says that this was so for the whole patience. Only metadata that has it again takes that back.
	gone bool
}

// absences are known to all readers of a source, so that what does not come back is waited for once in a run: brokers that have
// just started lack topics too. A topic as a whole has the partition wholeTopic. The cluster's lock guards them.
type absences struct {
	of map[offsets.TopicPartition]*absence
	// patience is how long is waited, pause how far apart two looks may be to count as one wait.
	patience, pause time.Duration
}

func newAbsences(l Limits) absences {
	return absences{of: map[offsets.TopicPartition]*absence{}, patience: l.NoProgress, pause: max(l.Telling, l.NoProgress/4)}
}

// lack notes that metadata does not have it.
func (a *absences) lack(tp offsets.TopicPartition, now time.Time) *absence {
	is := a.of[tp]
	if is == nil || !is.gone && now.Sub(is.last) > a.pause {
		is = &absence{first: now}
		a.of[tp] = is
	}
	is.last = now
	return is
}

// see notes what an answer says of a topic, and of its partitions that were lacking.
func (a *absences) see(name string, t *topic, now time.Time) {
	whole := offsets.TopicPartition{Topic: name, Partition: wholeTopic}
	if absent(t.err) {
		a.lack(whole, now)
		return
	}
	if t.err != nil { // nothing is said of what there is
		return
	}
	delete(a.of, whole)
	for tp := range a.of {
		if tp.Topic != name {
			continue
		}
		if _, err := t.leaderOf(tp); absent(err) {
			a.lack(tp, now)
		} else {
			delete(a.of, tp)
		}
	}
}

// waiting adds the topics that are looked out for: who waits for one has all the others looked for too, and so the waits are one.
func (a *absences) waiting(names []string) []string {
	asked := map[string]bool{}
	for _, name := range names {
		asked[name] = true
	}
	for tp, is := range a.of {
		if !is.gone && !asked[tp.Topic] {
			asked[tp.Topic] = true
			names = append(names, tp.Topic)
		}
	}
	return names
}

// overdue says that it was lacking for the whole patience, and so takes all that was for gone.
func (c *cluster) overdue(tp offsets.TopicPartition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.absences.of[tp]
	if is == nil {
		is = c.absences.lack(tp, time.Now())
	}
	for _, other := range c.absences.of {
		other.gone = other.gone || other.last.Sub(other.first) >= c.absences.patience
	}
	return is.gone
}

// giveUp takes it for gone.
func (c *cluster) giveUp(tp offsets.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absences.lack(tp, time.Now()).gone = true
}

// unmentioned notes topics that a list of all topics does not have.
func (c *cluster) unmentioned(missing []offsets.TopicPartition, told map[string]*topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, tp := range missing {
		if told[tp.Topic] == nil {
			c.absences.lack(offsets.TopicPartition{Topic: tp.Topic, Partition: wholeTopic}, now)
		}
	}
}
