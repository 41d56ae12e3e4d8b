package progress

import (
	"fmt"
	"strings"
)

// GivenUp is what was gone from Kafka before it was read and was accepted as lost. Its fields are those of the judge's report.
type GivenUp struct {
	// Offsets counts them, as far as they can be counted.
	Offsets int64 `json:"offsets"`
	// Partitions are those that something was lost of.
	Partitions []GivenUpPartition `json:"partitions"`
	// Batches are those that went on without something, the newest first, as far as the table's history goes back.
	Batches []GivenUpBatch `json:"batches"`
}

// GivenUpPartition is what one query has given up of a partition.
type GivenUpPartition struct {
	Query     string `json:"query"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offsets   int64  `json:"offsets"`
	// Ranges are where they were, as far as that is known still.
	Ranges []Span `json:"ranges,omitempty"`
	// GoneFrom are the offsets up to which logs were read that are gone. Nobody can tell how many records came after.
	GoneFrom []int64 `json:"goneFrom,omitempty"`
}

// GivenUpBatch is what a batch goes on without.
type GivenUpBatch struct {
	Query string `json:"query"`
	Batch int64  `json:"batch"`
	// Timestamp is when it was committed.
	Timestamp Timestamp `json:"timestamp"`
	Offsets   int64     `json:"offsets"`
	// What names the first ranges and their causes.
	What string `json:"what"`
}

// uncounted says that something is gone of which nobody can tell how much.
func (g *GivenUp) uncounted() bool {
	for _, p := range g.Partitions {
		if len(p.GoneFrom) > 0 {
			return true
		}
	}
	for _, b := range g.Batches { // of a partition that is gone nothing is counted
		if b.Offsets == 0 {
			return true
		}
	}
	return false
}

// text is how much was given up, empty for nothing.
func (g *GivenUp) text() string {
	switch {
	case g == nil:
		return ""
	case !g.uncounted():
		return plural(g.Offsets, "offset")
	case g.Offsets == 0:
		return "an unknown number of records"
	}
	return plural(g.Offsets, "offset") + " and an unknown number of records"
}

// line is text as a value of its own.
func (g *GivenUp) line() string {
	if g == nil {
		return ""
	}
	return g.text() + ", as accepted"
}

// write adds the tables of what was lost where, and when.
func (g *GivenUp) write(out *page) {
	if g == nil {
		return
	}
	where := &table{headings: []string{"topic", ">partition", ">offsets", "which"}}
	for i := range g.Partitions {
		p := &g.Partitions[i]
		where.add(printable(p.Topic), number(int64(p.Partition)), count(p.Offsets), p.which())
	}
	title := "lost in Kafka before it was read, and accepted"
	if len(where.rows) > 0 {
		out.section(title, "  ", where)
		title = "by these batches"
	}
	when := &table{headings: []string{">batch", "committed", "went on without"}}
	for _, b := range g.Batches[:min(mostGivenUp, len(g.Batches))] {
		when.add(number(b.Batch), stamp(b.Timestamp.Time), printable(b.What))
	}
	out.section(title, "  ", when)
	if more := len(g.Batches) - len(when.rows); more > 0 {
		out.linef("  and %s before", plural(int64(more), "batch"))
	}
}

// mostGivenUp is how many ranges of a partition, and how many batches, the text names.
const mostGivenUp = 10

// which names the newest ranges, and logs that are gone.
func (p *GivenUpPartition) which() string {
	var parts []string
	unnamed := p.Offsets
	named := p.Ranges[max(0, len(p.Ranges)-mostGivenUp):]
	for _, r := range named {
		parts = append(parts, fmt.Sprintf("%d to %d", r.From, r.Until-1))
		unnamed -= r.Until - r.From
	}
	if unnamed > 0 && len(named) > 0 {
		parts = append(parts, "and "+plural(unnamed, "offset")+" before")
	}
	for _, at := range p.GoneFrom {
		parts = append(parts, fmt.Sprintf("whatever came from %d on in a log that is gone", at))
	}
	return strings.Join(parts, ", ")
}
