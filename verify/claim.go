package verify

import (
	"fmt"

	"sluice/batch"
	"sluice/offsets"
)

// claim is what one ledger says of a partition, or of a log that was there under its name before: of a topic that was created
// again, or of a log that was cut. Offsets begin anew with each, so that one may be in the table once for each, as it may
// for several queries.
type claim struct {
	ledger  *batch.Ledger
	account batch.Account
	// topic is the id of the topic that it is about, empty if unknown.
	topic string
	// past says that the log is gone; cut is where it was cut, if the topic is the same still, else -1.
	past bool
	cut  int64
	// lost are the ranges that the ledger names as lost.
	lost []offsets.Range
}

// readings are what the ledger says was read: all that it passed, but for what it says was lost.
func (c *claim) readings() (all []reading) {
	at := max(0, c.account.First)
	for _, l := range c.lost {
		if l.From >= at && l.Until <= c.account.Next {
			all = append(all, reading{from: at, until: l.From, counted: true})
			at = l.Until
		}
	}
	return append(all, reading{from: at, until: c.account.Next, counted: true})
}

// live are the readings whose offsets are those of the log that Kafka has now, if it has the claim's topic.
func (c *claim) live() (all []reading) {
	for _, r := range c.readings() {
		if c.past {
			r.until = min(r.until, c.cut)
		}
		all = append(all, r)
	}
	return all
}

// unplaced is how many offsets are lost that no range is named of.
func (c *claim) unplaced() int64 {
	n := max(0, c.account.Lost)
	for _, l := range c.lost {
		n -= l.Len()
	}
	return max(0, n)
}

// text is what was read, in words.
func (c *claim) text() string {
	text := fmt.Sprintf("query %s has read [%d,%d)", queryName(c.ledger), c.account.First, c.account.Next)
	switch {
	case c.past && c.cut >= 0:
		text += fmt.Sprintf(" of the log before it was cut at %d", c.cut)
	case c.past:
		text += " of the topic that was deleted"
	}
	if n := c.account.Lost; n > 0 {
		text += fmt.Sprintf(" but for %s that were lost", count(n, "offset"))
	}
	return text
}

// claims gathers what all ledgers say, by partition: what is gone first.
func claims(ledgers []*batch.Ledger) map[offsets.TopicPartition][]claim {
	all := map[offsets.TopicPartition][]claim{}
	for _, l := range ledgers {
		for _, p := range l.Past {
			all[p.TopicPartition] = append(all[p.TopicPartition], claim{ledger: l, account: p.Account, topic: p.TopicID, past: true, cut: p.Cut})
		}
		lost := map[offsets.TopicPartition][]offsets.Range{}
		for _, r := range l.Lost {
			lost[r.TopicPartition] = append(lost[r.TopicPartition], r)
		}
		for tp, a := range l.Accounts {
			all[tp] = append(all[tp], claim{ledger: l, account: a, topic: l.TopicIDs[tp.Topic], cut: -1, lost: lost[tp]})
		}
	}
	return all
}

// began is where a query began to read a partition, of whichever log was there then.
func began(l *batch.Ledger, tp offsets.TopicPartition) (int64, bool) {
	for _, p := range l.Past {
		if p.TopicPartition == tp {
			return p.First, true
		}
	}
	a, known := l.Accounts[tp]
	return a.First, known
}
