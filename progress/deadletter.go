package progress

import "io"

// DeadLetters is what is in a query's tables of dead letters.
type DeadLetters struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	// Tables are their names.
	Tables []string `json:"tables"`
	// DeadLetters counts them, in all batches.
	DeadLetters int64 `json:"deadLetters"`
	// ByTopic, ByReason and ByBatch count them; of batches the newest few that have any.
	ByTopic  []DeadLetterCount `json:"byTopic"`
	ByReason []DeadLetterCount `json:"byReason"`
	ByBatch  []DeadLetterCount `json:"byBatch"`
	// Newest are the newest few, without their bytes.
	Newest []DeadLetterPlace `json:"newest"`
}

// DeadLetterCount is how many dead letters have something in common: a topic, a reason, or a batch's number.
type DeadLetterCount struct {
	Of          string `json:"of"`
	DeadLetters int64  `json:"deadLetters"`
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
}

// Type is "deadletters".
func (d *DeadLetters) Type() string { return "deadletters" }

// WriteText writes the counts, then the newest few.
func (d *DeadLetters) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: %s", printable(d.Query), plural(d.DeadLetters, "dead letter"))
	for _, part := range []struct {
		heading string
		counts  []DeadLetterCount
	}{{"topic", d.ByTopic}, {"reason", d.ByReason}, {"batch", d.ByBatch}} {
		t := &table{headings: []string{part.heading, ">dead letters"}}
		for _, c := range part.counts {
			t.add(printable(c.Of), count(c.DeadLetters))
		}
		out.section("", "  ", t)
	}
	t := &table{headings: []string{"topic", ">partition", ">offset", ">batch", "why"}}
	for _, p := range d.Newest {
		t.add(printable(p.Topic), number(int64(p.Partition)), number(p.Offset), number(p.Batch), printable(p.Error))
	}
	out.section("newest", "  ", t)
	return out.to(w)
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
	out.pairs("  ", [][2]string{{"error", printable(d.Error)}, {"reason", printable(d.Reason)}, {"batch", number(d.Batch)}, {"query", printable(d.Query)},
		{"timestamp", at}, {"key", printable(cellText(d.Key))}, {"value", printable(cellText(d.Value))}, {"headers", printable(cellText(d.Headers))}})
	return out.to(w)
}

// DeadLetterReplay is what decoding dead letters again came to.
type DeadLetterReplay struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
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
	out.linef("%s: %s of %s", printable(d.Query), plural(d.Rows, "new row"), plural(d.DeadLetters, "dead letter"))
	still := ""
	if d.Still > 0 {
		still = count(d.Still) + reasons(d.Reasons)
	}
	out.pairs("  ", [][2]string{{"rows now", nonzero(d.Rows)}, {"rows before", nonzero(d.Before)}, {"still no rows", still}, {"table", d.Table}})
	t := &table{headings: []string{"topic", ">partition", ">offset", "why it is no row"}}
	for _, p := range d.Examples {
		t.add(printable(p.Topic), number(int64(p.Partition)), number(p.Offset), printable(p.Error))
	}
	out.section("", "  ", t)
	return out.to(w)
}
