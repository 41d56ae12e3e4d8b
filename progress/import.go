package progress

import (
	"fmt"
	"io"
)

// The states of an import.
const (
	// ImportNew: the checkpoint is empty, and gets the beginning of a query.
	ImportNew = "new"
	// ImportUnfinished: the same import was cut short, and is finished.
	ImportUnfinished = "unfinished"
	// ImportDone: the same was imported before; nothing is left to do.
	ImportDone = "done"
)

// Import is where another system stopped, and what became of it as the beginning of a query.
type Import struct {
	Query string `json:"query"`
	// QueryID is the id of the query; empty while it is not imported.
	QueryID string `json:"queryId"`
	// From is the kind of system, Place what was read there, and Reached how far it is.
	From    string `json:"from"`
	Place   string `json:"place"`
	Reached string `json:"reached"`
	// State is one of the constants above, and Written says that something was written now.
	State   string `json:"state"`
	Written bool   `json:"written"`
	// Refusal is why it is not imported; nil if it can be.
	Refusal *Refusal `json:"refusal"`
	// Planned is the newest batch that the query has planned since it was imported, -1 if none.
	Planned int64 `json:"planned"`
	// Partitions are those that the job reads.
	Partitions []ImportPartition `json:"partitions"`
	// Losses are the records that are gone from Kafka already; absent if there are none.
	Losses []LossAhead `json:"losses,omitempty"`
	// LeftOut names what the other system has offsets of and the job does not read.
	LeftOut []string `json:"leftOut"`
	// Unknown is what could not be known, and so is for a person to see to.
	Unknown []string `json:"unknown"`
	// Notes are what a person should know besides.
	Notes []string `json:"notes"`
}

// ImportPartition is where one partition is read from.
type ImportPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Offset is the other system's: the next one that it would have read; -1 where it has none.
	Offset int64 `json:"offset"`
	// LogStart and LogEnd are what Kafka has now; -1 where the partition is not there.
	LogStart int64 `json:"logStart"`
	LogEnd   int64 `json:"logEnd"`
	// Next is the first offset that is read, and Waiting how many there are from it to LogEnd; of what was imported before, both
	// are of where it began: Next is the offset that was imported, wherever the log begins now, and Waiting 0.
	Next    int64 `json:"next"`
	Waiting int64 `json:"waiting"`
}

// Type is "import".
func (i *Import) Type() string { return "import" }

// WriteText writes where every partition goes on, what is lost, and what is for a person to see to.
func (i *Import) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: %s", i.Query, i.headline())
	pairs := append(i.Refusal.pairs(), [][2]string{{"from", printable(i.From + " " + i.Place)}, {"reached", printable(i.Reached)}, {"query id", i.QueryID}}...)
	if i.Planned >= 0 {
		pairs = append(pairs, [2]string{"since then", "batch " + number(i.Planned) + " was planned"})
	}
	out.pairs("  ", pairs)
	out.section("", "  ", i.partitions())
	out.section("gone from Kafka", "  ", lossesAhead(i.Losses))
	out.list("\nnot taken over, since the job does not read it:", i.LeftOut)
	out.list("\nnot known, and for you to see to:", i.Unknown)
	out.notes(i.Notes)
	if i.State == ImportDone {
		out.linef("\nThis is how it began. sluice status tells how far it is now.")
	} else if !i.Written && i.Refusal == nil {
		out.linef("\nNothing was changed. With --yes the checkpoint gets these offsets.")
	}
	return out.to(w)
}

// partitions is where each goes on. What was imported before is only where it began: the logs have nothing to do with that any more.
func (i *Import) partitions() *table {
	if i.State == ImportDone {
		began := &table{headings: []string{"topic", ">partition", ">offset there", ">began at"}}
		for k := range i.Partitions {
			p := &i.Partitions[k]
			began.add(printable(p.Topic), number(int64(p.Partition)), dashed(p.Offset, number), number(p.Next))
		}
		return began
	}
	shown := &table{headings: []string{"topic", ">partition", ">offset there", ">log start", ">log end", ">read from", ">waiting", "because"}}
	for k := range i.Partitions {
		p := &i.Partitions[k]
		shown.add(printable(p.Topic), number(int64(p.Partition)), dashed(p.Offset, number), dashed(p.LogStart, number), dashed(p.LogEnd, number), number(p.Next), count(p.Waiting), p.because())
	}
	return shown.trimmed()
}

// headline is what was done, or would be.
func (i *Import) headline() string {
	switch {
	case i.Refusal != nil:
		return fmt.Sprintf("it is not imported (exit %d, %s)", i.Refusal.ExitCode, i.Refusal.Class)
	case i.State == ImportDone:
		if i.Planned >= 0 {
			return "it was imported before, and has run since: nothing to do"
		}
		return "it was imported before: nothing to do; sluice run goes on from there"
	case i.Written && i.State == ImportUnfinished:
		return "an import that was cut short is finished; sluice run goes on from there"
	case i.Written:
		return "imported; sluice run goes on from there"
	case i.State == ImportUnfinished:
		return "an import was cut short; with --yes it is finished"
	}
	return "it can be imported"
}

// because says why it is read from there, where that is not the offset of the other system.
func (p *ImportPartition) because() string {
	switch {
	case p.Offset < 0:
		return "no offset there: from the earliest"
	case p.LogStart < 0:
		return "Kafka does not have it"
	case p.Next > p.Offset:
		return "deleted before it"
	case p.Offset > p.LogEnd:
		return "the log ends before it, or open transactions hold it back"
	}
	return ""
}

// list writes a title and a line each; nothing if there are none.
func (p *page) list(title string, lines []string) {
	if len(lines) > 0 {
		p.linef("%s", title)
	}
	for _, line := range lines {
		p.linef("  - %s", printable(line))
	}
}
