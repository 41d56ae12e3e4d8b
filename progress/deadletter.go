package progress

import (
	"fmt"
	"io"
)

// DeadLetters is what is in a query's tables of dead letters.
type DeadLetters struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	// Tables are their names.
	Tables []string `json:"tables"`
	// DeadLetters counts them, in all batches: Replayed those that are rows now, since they were decoded again, -1 where the
	// table of the rows does not tell; Unfinished those of a batch whose rows are not in the table yet.
	DeadLetters int64 `json:"deadLetters"`
	Replayed    int64 `json:"replayed"`
	Unfinished  int64 `json:"unfinished"`
	// ByTopic, ByReason and ByBatch count them; of batches the newest few that have any.
	ByTopic  []DeadLetterCount `json:"byTopic"`
	ByReason []DeadLetterCount `json:"byReason"`
	ByBatch  []DeadLetterCount `json:"byBatch"`
	// Newest are the newest few, without their bytes.
	Newest []DeadLetterPlace `json:"newest"`
	// Lost are tables that are not as the query left them: gone, replaced or rolled back, and dead letters with them.
	Lost []DeadLetterLoss `json:"lost"`
}

// DeadLetterLoss is a table of dead letters that is not as the query left it.
type DeadLetterLoss struct {
	Table string `json:"table"`
	// Error says how it was found, Hint what to do.
	Error string `json:"error"`
	Hint  string `json:"hint"`
}

// DeadLetterCount is how many dead letters have something in common: a topic, a reason, or a batch's number.
type DeadLetterCount struct {
	Of          string `json:"of"`
	DeadLetters int64  `json:"deadLetters"`
	// Replayed are those that are rows now; 0 also where the table of the rows does not tell.
	Replayed int64 `json:"replayed"`
}

// DeadLetterPlace says which record a dead letter is, and why.
type DeadLetterPlace struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// Reason is the class of the fault, Error says it in full.
	Reason string `json:"reason"`
	Error  string `json:"error"`
	// Batch is the one that read it, Table where it is.
	Batch int64  `json:"batch"`
	Table string `json:"table"`
	// Replayed says that it is a row now, since it was decoded again; nil where nobody looked, or could.
	Replayed *bool `json:"replayed,omitempty"`
}

// now says what became of it.
func (p *DeadLetterPlace) now() string {
	if p.Replayed != nil && *p.Replayed {
		return "a row"
	}
	return ""
}

// Type is "deadletters".
func (d *DeadLetters) Type() string { return "deadletters" }

// WriteText writes the counts, then the newest few.
func (d *DeadLetters) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: %s%s", printable(d.Query), plural(d.DeadLetters, "dead letter"), d.became())
	for _, part := range []struct {
		heading string
		counts  []DeadLetterCount
	}{{"topic", d.ByTopic}, {"reason", d.ByReason}, {"batch", d.ByBatch}} {
		t := &table{headings: []string{part.heading, ">dead letters", ">rows now"}}
		for _, c := range part.counts {
			t.add(printable(c.Of), count(c.DeadLetters), nonzero(c.Replayed))
		}
		out.section("", "  ", t.trimmed())
	}
	t := &table{headings: []string{"topic", ">partition", ">offset", ">batch", "why", "now"}}
	for _, p := range d.Newest {
		t.add(printable(p.Topic), number(int64(p.Partition)), number(p.Offset), number(p.Batch), printable(p.Error), p.now())
	}
	out.section("newest", "  ", t.trimmed())
	return out.to(w)
}

// became says what has become of them.
func (d *DeadLetters) became() string {
	text := ""
	switch {
	case d.Replayed < 0:
		text = "; whether any are rows now is not known"
	case d.Replayed > 0:
		text = fmt.Sprintf(", of which %s are rows now", count(d.Replayed))
	}
	if d.Unfinished > 0 {
		text += fmt.Sprintf("; %s of a batch that is not finished", count(d.Unfinished))
	}
	return text
}

// DeadLetter is one dead letter, whole.
type DeadLetter struct {
	DeadLetterPlace
	// Timestamp is the record's, nil if it has none.
	Timestamp *Timestamp   `json:"timestamp"`
	Key       Bytes        `json:"key"`
	Value     Bytes        `json:"value"`
	Headers   []PeekHeader `json:"headers"`
	Query     string       `json:"query"`
}

// Type is "deadletter".
func (d *DeadLetter) Type() string { return "deadletter" }

// WriteText writes the record with everything in it that could upset a terminal escaped.
func (d *DeadLetter) WriteText(w io.Writer) error {
	var out page
	at := ""
	if d.Timestamp != nil {
		at = d.Timestamp.UTC().Format("2006-01-02 15:04:05.000")
	}
	out.linef("%s-%d at offset %d", printable(d.Topic), d.Partition, d.Offset)
	out.pairs("  ", [][2]string{{"error", printable(d.Error)}, {"reason", printable(d.Reason)}, {"batch", number(d.Batch)}, {"now", d.now()}, {"query", printable(d.Query)},
		{"timestamp", at}, {"key", printable(cellText(d.Key))}, {"value", printable(cellText(d.Value))}, {"headers", printable(cellText(d.Headers))}})
	return out.to(w)
}

// DeadLetterReplay is what decoding dead letters again came to.
type DeadLetterReplay struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	// DryRun says that nothing was written: Rows would be rows.
	DryRun bool `json:"dryRun"`
	// DeadLetters counts those that were there, each record once: Before were rows already, Rows are rows now, and Still are
	// none.
	DeadLetters int64 `json:"deadLetters"`
	Before      int64 `json:"before"`
	Rows        int64 `json:"rows"`
	Still       int64 `json:"still"`
	// Reasons says why Still are no rows; absent if there are none.
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// Examples are the first few of them.
	Examples []DeadLetterPlace `json:"examples"`
	// Table got the rows, in the snapshot Snapshot; 0 if there are none.
	Table    string `json:"table"`
	Snapshot int64  `json:"snapshot"`
}

// Type is "replay".
func (d *DeadLetterReplay) Type() string { return "replay" }

// WriteText writes what became of them.
func (d *DeadLetterReplay) WriteText(w io.Writer) error {
	var out page
	would, rows := "", "rows now"
	if d.DryRun {
		would, rows = "would be ", "would be rows"
	}
	out.linef("%s: %s%s of %s", printable(d.Query), would, plural(d.Rows, "new row"), plural(d.DeadLetters, "dead letter"))
	still := ""
	if d.Still > 0 {
		still = count(d.Still) + reasons(d.Reasons)
	}
	out.pairs("  ", [][2]string{{rows, nonzero(d.Rows)}, {"rows before", nonzero(d.Before)}, {"still no rows", still}, {sinkWord(d.Table), d.Table}})
	t := &table{headings: []string{"topic", ">partition", ">offset", "why it is no row"}}
	for _, p := range d.Examples {
		t.add(printable(p.Topic), number(int64(p.Partition)), number(p.Offset), printable(p.Error))
	}
	out.section("", "  ", t)
	return out.to(w)
}
