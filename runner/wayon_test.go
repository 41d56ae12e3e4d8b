package runner_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/runner"
)

// startingAt is a source whose job names its startingOffsets.
type startingAt struct {
	runner.Source
	at offsets.Offsets
}

func (s startingAt) Start(context.Context) (offsets.Offsets, error) { return s.at, nil }

// A log that was truncated has been read as far as it goes: what it gets from there on is read once, under a new query.
// Its offsets are used again, so that has to be said with --new-query. (The other losses are in cmd, with a broker.)
func TestTheHintOfATruncatedLogWorksAsWritten(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	before, err := w.lake.rows()
	if err != nil {
		t.Fatal(err)
	}
	k := w.kafka
	k.records[0], k.end[0] = k.records[0][:3], 3
	_, _, err = w.run(nil)
	hint := batch.HintOf(err)
	if batch.ClassOf(err) != batch.DataLoss || !strings.Contains(hint, "--new-query") || strings.Contains(hint, "retention") {
		t.Fatalf("got %v (%q)", err, hint)
	}
	at, err := offsets.Parse([]byte(regexp.MustCompile(`startingOffsets (\{\S*\})`).FindStringSubmatch(hint)[1]))
	if err != nil {
		t.Fatal(err)
	}
	k.put(0, 6) // offsets 3 to 8, of which the table has 3 to 6 of before
	w.store = objectstore.NewMemory("other")
	change := func(q *runner.Query) {
		q.Name, q.NewQuery, q.Source = "other", true, startingAt{q.Source, at}
	}
	w.refuses(t, batch.Inconsistent, func(q *runner.Query) { change(q); q.NewQuery = false }, "has read the same records")
	s, said, err := w.run(change)
	if err != nil || s.Records != 6 {
		t.Fatalf("got %+v, %v, want the 6 records that came after the truncation", s, err)
	}
	if strings.Contains(strings.Join(said.said, "\n"), "no effect") {
		t.Errorf("said %q", said.said)
	}
	after, err := w.lake.rows()
	if err != nil || len(after) < len(before) || after[row{0, 2}] != 1 || after[row{0, 3}] != 2 {
		t.Errorf("got %v, %v", after, err)
	}
}
