package progress

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/batch"
)

// WriteText writes one line.
func (b *Batch) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, b.line()+"\n")
	return err
}

// line is what a person reads of a batch: batch 7: 1,000,000 records in 12.3 s, 81,301/s, 4 files, 84.2 MiB; 2,500,000 left.
func (b *Batch) line() string {
	s := fmt.Sprintf("batch %d", b.BatchID)
	if b.Sluice.Replayed {
		s += ", replayed"
	}
	duration := time.Duration(b.BatchDuration) * time.Millisecond
	s += fmt.Sprintf(": %s in %s, %s, %s, %s", plural(b.NumInputRows, "record"), took(duration), rate(b.NumInputRows, duration),
		plural(b.Sluice.Files+b.Sluice.DeadLetterFiles, "file"), size(b.Sluice.WrittenBytes))
	if b.Sluice.DeadLetters > 0 {
		s += ", " + plural(b.Sluice.DeadLetters, "dead letter") + " (see " + listLetters + ")"
	}
	if b.Sluice.Dropped > 0 {
		s += ", " + count(b.Sluice.Dropped) + " dropped"
	}
	if b.Sluice.Nulled > 0 {
		s += ", " + count(b.Sluice.Nulled) + " malformed"
	}
	if n := len(b.Sluice.Altered); n > 0 {
		s += ", table altered: " + printable(b.Sluice.Altered[0])
		if n > 1 {
			s += " and " + plural(int64(n-1), "more change")
		}
	}
	if b.Sluice.Lag > 0 {
		s += "; " + count(b.Sluice.Lag) + " left"
	}
	return s
}

// WriteText writes a block of several lines, or a single one if there was nothing to do.
func (s *Summary) WriteText(w io.Writer) error { return (&closing{Summary: s}).WriteText(w) }

// closing is a summary with what stands before it, and look, the line to paste into DuckDB.
type closing struct {
	*Summary
	stamp, look string
}

// WriteText ends with look, unless there is nothing to see.
func (c *closing) WriteText(w io.Writer) error {
	var p page
	p.linef("%s%s: %s", c.stamp, c.Query, c.headline())
	if c.Batches > 0 {
		p.pairs("  ", c.pairs())
		if c.look != "" && c.Rows > 0 {
			p.linef("\nTo see the rows, paste into DuckDB:\n%s", c.look)
		}
	}
	return p.to(w)
}

// headline says how the run ended.
func (s *Summary) headline() string {
	duration := " in " + millis(s.DurationMs)
	done := ""
	if s.Batches > 0 {
		done = " after " + plural(s.Batches, "batch")
	}
	switch {
	case s.Stopped == "error":
		return "failed" + done + duration
	case s.Stopped == "signal":
		text := "stopped by a signal" + done + duration
		if s.Lag >= 0 {
			text += ", " + count(s.Lag) + " left"
		}
		return text
	case s.Waiting != nil:
		return "waiting" + done + ": " + s.Waiting.text()
	case s.Stopped != "":
		return fmt.Sprintf("stopped by --%s%s%s, %s left", s.Stopped, done, duration, known(s.Lag))
	case s.Batches == 0:
		text := "nothing new"
		if s.Bound != nil {
			text += ", end of the job " + s.Bound.text()
		}
		if s.Blocked > 0 {
			text += ", " + count(s.Blocked) + " held back by open transactions"
		}
		return text
	}
	return "caught up" + duration
}

func (s *Summary) pairs() [][2]string {
	batches := count(s.Batches)
	if s.Batches == 1 {
		batches += fmt.Sprintf(" (number %d)", s.FirstBatch)
	} else {
		batches += fmt.Sprintf(" (numbers %d to %d)", s.FirstBatch, s.LastBatch)
	}
	pairs := [][2]string{
		{"batches", batches},
		{"records", count(s.Records) + ", " + rate(s.Records, time.Duration(s.DurationMs)*time.Millisecond)},
		{"rows", count(s.Rows)},
		{"malformed", malformed(s.Nulled)},
		{"dropped", nonzero(s.Dropped)},
		{"dead letters", s.letters()},
		{"files", count(s.Files) + ", " + size(s.Bytes)},
		{"lost", lost(s.Lost, s.Losses)},
		{"lag", known(s.Lag)},
		{"end", s.Bound.text()},
		{"held back", heldBack(s.Blocked)},
		{"group", s.ConsumerGroup.text()},
		{sinkWord(s.Table), place(s.Table, s.TableLocation)},
	}
	return pairs
}

// text is the group's name, with what went wrong; empty where there is no group.
func (g *ConsumerGroup) text() string {
	switch {
	case g == nil:
		return ""
	case g.Failures > 0:
		return g.Name + ", " + plural(g.Failures, "failure")
	}
	return g.Name
}

// sinkWord is what the text calls where rows go, by its name: a folder of files has an address and no name.
func sinkWord(name string) string {
	if strings.HasPrefix(name, "/") || strings.Contains(name, "://") {
		return "folder"
	}
	return "table"
}

// place is the name with the location, once where both are the same.
func place(name, location string) string {
	if name == location {
		location = ""
	}
	return joined(name, location)
}

// letters is how many dead letters there are, and where.
func (s *Summary) letters() string {
	var places []string
	for _, place := range []batch.LetterPlace{{Kind: batch.InTable, Name: s.DeadLetterTable}, {Kind: batch.InTopic, Name: s.DeadLetterTopic}, {Kind: batch.InPath, Name: s.DeadLetterPath}} {
		if place.Name != "" {
			places = append(places, printable(place.String()))
		}
	}
	if s.DeadLetters == 0 || len(places) == 0 {
		return nonzero(s.DeadLetters)
	}
	return count(s.DeadLetters) + " in " + strings.Join(places, " and ") + reasons(s.Reasons) + "; see " + listLetters
}

// listLetters is the verb that lists dead letters.
const listLetters = "sluice deadletter ls"

// reasons lists why records are no rows, the most frequent first.
func reasons(counts map[string]int64) string {
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, word := range words {
		parts = append(parts, word+" "+count(counts[word]))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// malformed says what became of records that are no rows of the schema.
func malformed(n int64) string {
	if n == 0 {
		return ""
	}
	return count(n) + ", now rows of nulls"
}

func nonzero(n int64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// heldBack says what open transactions keep from being read.
func heldBack(offsets int64) string {
	if offsets == 0 {
		return ""
	}
	return plural(offsets, "offset") + ", by open transactions"
}

// joined renders "name at place", or what there is of both.
func joined(name, place string) string {
	switch {
	case place == "":
		return name
	case name == "":
		return place
	}
	return name + " at " + place
}
