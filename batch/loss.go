package batch

import (
	"fmt"
	"slices"

	"sluice/offsets"
)

// Cause says how records that a query has yet to read were lost.
type Cause string

// The causes.
const (
	// Retention: the log start has moved past them, by retention or by DeleteRecords.
	Retention Cause = "retention"
	// Recreated: the topic was deleted and created again (KIP-516).
	Recreated Cause = "recreated"
	// Diverged: the log was cut below them, although it once held them, as after an unclean leader election (KIP-320).
	Diverged Cause = "diverged"
	// Missing: the topic or the partition is gone.
	Missing Cause = "missing"
)

// choices are the words that accept a loss, by its cause.
var choices = map[Cause]string{Retention: "skip", Recreated: "restart", Diverged: "continue", Missing: "drop"}

// Choice is the word in a job that accepts losses of this cause.
func (c Cause) Choice() string { return choices[c] }

// Option is the setting of a job that accepts losses of this cause, as a flag.
func (c Cause) Option() string { return "--on-data-loss-" + string(c) + " " + c.Choice() }

// Causes are those whose losses somebody accepts. The order has no meaning.
type Causes []Cause

// Accept reports whether a loss of this cause is accepted.
func (c Causes) Accept(cause Cause) bool { return slices.Contains(c, cause) }

// Loss is a range of one partition that a query goes on without, by somebody's decision.
type Loss struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From and Until are the offsets [From, Until). They are the same where nobody can tell how many were lost: whatever the
	// log had from From on.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	Cause Cause `json:"cause"`
	// TopicID is the id of the topic that had them, empty if unknown.
	TopicID string `json:"topicId,omitempty"`
}

// Range is the loss as a range.
func (l Loss) Range() offsets.Range {
	return offsets.Range{TopicPartition: l.at(), From: l.From, Until: l.Until}
}

func (l Loss) at() offsets.TopicPartition {
	return offsets.TopicPartition{Topic: l.Topic, Partition: l.Partition}
}

// Uncounted says that nobody can tell how many were lost.
func (l Loss) Uncounted() bool { return l.Until <= l.From }

// String renders orders-3[10,20) retention, or orders-3 from 10 on, missing.
func (l Loss) String() string {
	if l.Uncounted() {
		return fmt.Sprintf("%s from %d on, %s", l.at(), l.From, l.Cause)
	}
	return fmt.Sprintf("%s %s", l.Range(), l.Cause)
}

// LostOffsets counts the offsets of all losses, as far as they can be counted.
func LostOffsets(losses []Loss) (n int64) {
	for _, l := range losses {
		n += l.Range().Len()
	}
	return n
}

// LostIn lists the losses that tasks came upon, in the order of their results.
func LostIn(results []TaskResult) (losses []Loss) {
	for i := range results {
		for _, p := range results[i].Pieces {
			losses = append(losses, p.Lost...)
		}
	}
	return losses
}

// restarts maps the partitions that begin anew in the plan to the loss that made them: a log of which nothing comes after
// what was read of it, since the topic is another one or the log was cut below that.
func (p *Plan) restarts() map[offsets.TopicPartition]Loss {
	found := map[offsets.TopicPartition]Loss{}
	for _, l := range p.Restarts() {
		found[l.at()] = l
	}
	return found
}

// Restarts lists the losses that begin a partition anew: of topics that were created again and of logs that were cut.
func (p *Plan) Restarts() (losses []Loss) {
	for _, l := range p.Losses {
		if l.Cause == Recreated || l.Cause == Diverged {
			losses = append(losses, l)
		}
	}
	return losses
}

// Before is where the query was before the plan: its Start, but in partitions that begin anew in it where the log that
// came before was read to.
func (p *Plan) Before() offsets.Offsets {
	restarts := p.restarts()
	if len(restarts) == 0 {
		return p.Start
	}
	before := p.Start.Clone()
	for tp, l := range restarts {
		before[tp] = l.From
	}
	return before
}

// ReadFrom is where reading begins in every partition: Start, or what retention has left after it when the plan was made.
func (p *Plan) ReadFrom() offsets.Offsets {
	from := p.Start.Clone()
	for _, l := range p.Losses {
		if l.Cause == Retention {
			from[l.at()] = max(from[l.at()], l.Until)
		}
	}
	return from
}

// validLosses checks that every loss is about a partition of the plan, or one that it leaves behind.
func (p *Plan) validLosses() error {
	for _, l := range p.Losses {
		start, there := p.Start[l.at()]
		switch {
		case l.From < 0 || l.Until < l.From:
			return fmt.Errorf("plan %d: lost is %s from %d to %d", p.Batch, l.at(), l.From, l.Until)
		case l.Cause == Retention && (!there || l.From != start || l.Until > p.End[l.at()]):
			return fmt.Errorf("plan %d: lost is %s, which is not where the plan begins to read %s", p.Batch, l, l.at())
		case l.Cause == Missing && !there:
			return fmt.Errorf("plan %d: lost is %s, and the plan has no such partition", p.Batch, l)
		case !slices.Contains([]Cause{Retention, Recreated, Diverged, Missing}, l.Cause):
			return fmt.Errorf("plan %d: %s was lost by %q", p.Batch, l.at(), l.Cause)
		}
	}
	return nil
}
