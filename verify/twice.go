package verify

import (
	"fmt"
	"strings"
)

// pass is a query's way through a partition: what it has read there, by us or by Spark.
type pass struct {
	query, name string
	// topic is the topic's id, empty if unknown. Topics of one name in two clusters have different ones, and so have a
	// topic and the one that was created in its place: their records are not the same.
	topic       string
	from, until int64
}

func (p pass) String() string {
	who := p.query
	if p.name != "" {
		who = fmt.Sprintf("%s (%s)", p.name, p.query)
	}
	return fmt.Sprintf("%s has read [%d,%d)", who, p.from, p.until)
}

// passes lists who has read a partition.
func (c *court) passes(k *partitionCase) []pass {
	var all []pass
	for _, claim := range k.claims {
		all = append(all, pass{claim.ledger.Query, claim.ledger.Name, claim.topic, max(0, claim.account.First), claim.account.Next})
	}
	for _, r := range c.spark[k.TopicPartition] {
		all = append(all, pass{query: c.Query, name: "Spark", from: r.from, until: r.until})
	}
	return all
}

// common is what two passes of different queries have in common: offsets of records that both have put into the table.
func common(a, b pass) (reading, bool) {
	r := reading{from: max(a.from, b.from), until: min(a.until, b.until)}
	return r, a.query != b.query && (a.topic == b.topic || a.topic == "" || b.topic == "") && r.from < r.until
}

// readTwice tells of records that several queries have put into the table. No ledger contradicts another there, yet
// whoever reads the table sees them more than once. What counts is what is there now: rows that were deleted since, or
// are missing, are not twice there.
func (c *court) readTwice(k *partitionCase) {
	var readers []pass
	var shared []reading
	all := c.passes(k)
	for i, a := range all {
		meets := false
		for j, b := range all {
			r, same := common(a, b)
			if meets = meets || same; same && i < j {
				shared = append(shared, r)
			}
		}
		if meets {
			readers = append(readers, a)
		}
	}
	if len(readers) == 0 {
		return
	}
	both := cover(shared)
	if c.rowsUnread {
		c.limit(Limit{Kind: ReadTwice, What: fmt.Sprintf("that the records of %s are there once", k),
			Why: fmt.Sprintf("several queries have read offsets %s: %s; the rows could not be read", both.text(), passesText(readers))})
		return
	}
	n, where := k.repeated(both)
	if n == 0 {
		return
	}
	k.line.ReadTwice, k.line.Verdict = n, Broken
	c.problem(Problem{Kind: ReadTwice, Count: n, Offsets: where, What: fmt.Sprintf("%s has %s of records that two queries or more have read", k, count(n, "surplus row")),
		Evidence: fmt.Sprintf("%s: offsets %s were read by each of them, and the table holds %s%s once for each",
			passesText(readers), both.text(), spansText(where), more(k.repeatedOffsets(both), where)),
		Todo: "Whoever reads the table sees these records more than once. Delete the rows of one query (the names of its data files begin with its id), or give each query " +
			"a table of its own."}.at(k.TopicPartition))
}

// tellHoles notes which offsets no query has read, between those that were: where a new query began after records were
// lost, for instance. A topic and the one that was created in its place are looked at apart.
func (c *court) tellHoles(all []*partitionCase) {
	told, more := 0, 0
	for _, k := range all {
		var holes []Span
		for _, readings := range byTopic(c.passes(k)) {
			holes = append(holes, cover(readings).holes()...)
		}
		switch {
		case len(holes) == 0:
		case told == maxFindings:
			more++
		default:
			told++
			c.note("%s: %s", k, holesText(first(holes, len(holes))))
		}
	}
	if more > 0 {
		c.note("%s more have offsets that were read by no query", count(int64(more), "partition"))
	}
}

func holesText(holes []Span) string {
	var total int64
	var parts []string
	for i, h := range holes {
		total += h.Until - h.From
		if i < maxSpans {
			parts = append(parts, fmt.Sprintf("[%d,%d)", h.From, h.Until))
		}
	}
	if n := len(holes) - maxSpans; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more stretches", n))
	}
	return fmt.Sprintf("offsets %s were read by no query, %d in all", strings.Join(parts, ", "), total)
}

// byTopic sorts passes by the id of the topic that they read. Those of which it is not known may have read any.
func byTopic(all []pass) map[string][]reading {
	topics := map[string][]reading{"": nil}
	for _, p := range all {
		topics[p.topic] = nil
	}
	if len(topics) > 1 {
		delete(topics, "")
	}
	for _, p := range all {
		for id := range topics {
			if p.topic == "" || p.topic == id {
				topics[id] = append(topics[id], reading{from: p.from, until: p.until})
			}
		}
	}
	return topics
}

// repeated counts the rows beyond the first of each offset in a coverage, as far as queries account for them, and lists
// the first offsets.
func (k *partitionCase) repeated(both coverage) (rows int64, where []Span) {
	for _, b := range both {
		for _, s := range k.coverage {
			from, until := max(b.from, s.from), min(b.until, s.until)
			for level := 1; level < s.copies(); level++ {
				rows += within(k.seen.level(level), from, until)
			}
		}
		where = append(where, spans(k.seen.level(1), b.from, b.until, maxSpans-len(where))...)
	}
	return rows, where
}

func (k *partitionCase) repeatedOffsets(both coverage) (n int64) {
	for _, b := range both {
		n += within(k.seen.level(1), b.from, b.until)
	}
	return n
}

// text renders the stretches as half-open ranges.
func (c coverage) text() string {
	var parts []string
	for i := 0; i < len(c); i++ {
		from := c[i].from
		for i+1 < len(c) && c[i+1].from == c[i].until { // the same, only by more queries or by fewer
			i++
		}
		parts = append(parts, fmt.Sprintf("[%d,%d)", from, c[i].until))
	}
	return strings.Join(parts, ", ")
}

func passesText(all []pass) string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.String()
	}
	return "query " + strings.Join(parts, ", query ")
}
