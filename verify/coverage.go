package verify

import (
	"cmp"
	"slices"
)

// stretch is offsets of one partition that the same queries have read.
type stretch struct {
	from, until int64
	// counted is how many ledgers cover it, uncounted how many queries besides have had Spark read it, which keeps no
	// ledger. An offset may be in the table once for each.
	counted, uncounted int
}

// copies is how often each of its offsets may be in the table.
func (s stretch) copies() int { return s.counted + s.uncounted }

// coverage is what queries have read of one partition: stretches, ascending and apart.
type coverage []stretch

// reading is one query's reading of a partition.
type reading struct {
	from, until int64
	counted     bool
}

// cover lays readings over each other.
func cover(readings []reading) coverage {
	type edge struct {
		at                 int64
		counted, uncounted int
	}
	var edges []edge
	for _, r := range readings {
		if r.from >= r.until {
			continue
		}
		c, u := 0, 1
		if r.counted {
			c, u = 1, 0
		}
		edges = append(edges, edge{r.from, c, u}, edge{r.until, -c, -u})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var whole coverage
	var open stretch
	for _, e := range edges {
		if open.counted+open.uncounted > 0 && e.at > open.from {
			open.until = e.at
			whole = append(whole, open)
		}
		open.from = e.at
		open.counted += e.counted
		open.uncounted += e.uncounted
	}
	return whole
}

// depth is the most copies of an offset that are in order.
func (c coverage) depth() int {
	n := 0
	for _, s := range c {
		n = max(n, s.copies())
	}
	return n
}

// clip is what of the coverage lies in [from, until).
func (c coverage) clip(from, until int64) coverage {
	var within coverage
	for _, s := range c {
		s.from, s.until = max(s.from, from), min(s.until, until)
		if s.from < s.until {
			within = append(within, s)
		}
	}
	return within
}

// offsets counts what was read, each offset once for every query that read it.
func (c coverage) offsets() (n int64) {
	for _, s := range c {
		n += (s.until - s.from) * int64(s.copies())
	}
	return n
}

// holes lists what lies between the stretches.
func (c coverage) holes() []Span {
	var holes []Span
	for i := 1; i < len(c); i++ {
		if c[i-1].until < c[i].from {
			holes = append(holes, Span{c[i-1].until, c[i].from})
		}
	}
	return holes
}

// span is the offsets from the first to the last stretch.
func (c coverage) span() Span {
	if len(c) == 0 {
		return Span{}
	}
	return Span{c[0].from, c[len(c)-1].until}
}

// uncovered lists what lies before, between and after the stretches, from 0 on.
func (c coverage) uncovered() []Span {
	var rest []Span
	at := int64(0)
	for _, s := range c {
		if s.from > at {
			rest = append(rest, Span{at, s.from})
		}
		at = s.until
	}
	return append(rest, Span{at, maxOffset})
}

const maxOffset = 1<<63 - 1

// counts is a tally seen through a coverage: every row is in exactly one of them.
type counts struct {
	// counted rows are those that ledgers count, uncounted those that only Spark can have written.
	counted, uncounted int64
	// duplicates are rows beyond what the coverage allows, outside the first row of every offset that nobody read.
	duplicates, outside int64
}

// sort splits a tally by a coverage.
func (c coverage) sort(t *tally) counts {
	n := counts{duplicates: t.beyond}
	for i, level := range t.levels {
		rest := int64(level.GetCardinality())
		for _, s := range c {
			if i >= s.copies() {
				continue
			}
			k := within(level, s.from, s.until)
			rest -= k
			if i < s.counted {
				n.counted += k
			} else {
				n.uncounted += k
			}
		}
		if i == 0 {
			n.outside += rest
		} else {
			n.duplicates += rest
		}
	}
	return n
}

// duplicated lists the first n offsets that are there too often, ascending.
func (c coverage) duplicated(t *tally, n int) []Span {
	var found []Span
	if len(t.levels) > 1 {
		for _, s := range c.uncovered() {
			found = append(found, spans(t.level(1), s.From, s.Until, n)...)
		}
	}
	for _, s := range c {
		found = append(found, spans(t.level(s.copies()), s.from, s.until, n)...)
	}
	return first(found, n)
}

// outside lists the first n offsets that are there and that nobody has read, ascending; negative ones come last.
func (c coverage) outside(t *tally, n int) []Span {
	var found []Span
	for _, s := range c.uncovered() {
		found = append(found, spans(t.level(0), s.From, s.Until, n)...)
	}
	found = first(found, n)
	it := t.level(0).Iterator()
	it.AdvanceIfNeeded(maxOffset + 1)
	for len(found) < n && it.HasNext() {
		o := int64(it.Next())
		found = append(found, Span{o, o + 1})
	}
	return found
}

// lacking lists the first n gaps among the offsets that ledgers cover, and how many offsets all gaps have together.
func (c coverage) lacking(t *tally, n int) (first []Span, total int64) {
	for _, s := range c {
		for i := range s.counted {
			total += s.until - s.from - within(t.level(i), s.from, s.until)
		}
		if s.counted > 0 && len(first) < n {
			first = append(first, gaps(t.level(s.counted-1), s.from, s.until, n-len(first))...)
		}
	}
	return first, total
}

func first(found []Span, n int) []Span {
	slices.SortFunc(found, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return found[:min(n, len(found))]
}
