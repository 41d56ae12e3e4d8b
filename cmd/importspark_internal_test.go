package cmd

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/offsets"
)

// Every state that a query of Spark's can be left in, against what its output and a person can say: what is not known is never
// guessed.
func TestWhereAQueryOfSparksHasStopped(t *testing.T) {
	p := offsets.TopicPartition{Topic: "t"}
	before, end := offsets.Offsets{p: 5}, offsets.Offsets{p: 9}
	open := checkpoint.SparkStop{Planned: 7, Committed: 6, Before: before, End: end}
	with := func(s checkpoint.SparkStop, change func(*checkpoint.SparkStop)) checkpoint.SparkStop {
		change(&s)
		return s
	}
	marked := with(open, func(s *checkpoint.SparkStop) { s.Committed = 7 })
	gap := with(open, func(s *checkpoint.SparkStop) { s.Committed = 4 })
	first := with(open, func(s *checkpoint.SparkStop) { s.Planned, s.Committed = 0, batch.None })
	startless := with(open, func(s *checkpoint.SparkStop) { s.Before = nil })
	unplanned := checkpoint.SparkStop{Planned: batch.None, Committed: batch.None, Before: before}
	at := func(n int64) *witness { return &witness{batch: n, where: "table x"} }
	for _, c := range []struct {
		name string
		stop checkpoint.SparkStop
		seen *witness
		said string
		want int64 // 0: refused
		says string
	}{
		{"marked", marked, nil, "", 9, "the end of batch 7, which is marked as done"},
		{"marked and there", marked, at(7), "", 9, "marked as done"},
		{"marked, and a person agrees", marked, nil, batchApplied, 9, "marked as done"},
		{"marked, and a person does not", marked, nil, batchNotApplied, 0, "contradicts the checkpoint"},
		{"marked and not there", marked, at(6), "", 0, "the newest batch of the query in table x is 6"},
		{"marked, not there, and a person knows", marked, at(6), batchApplied, 9, "marked as done"},
		{"an older copy", marked, at(8), "", 0, "table x has batch 8, and the newest plan in the checkpoint is that of batch 7"},
		{"an older copy, whatever is said", open, at(8), batchApplied, 0, "newest plan"},

		{"open, and there", open, at(7), "", 9, "it is in table x"},
		{"open, and not there", open, at(6), "", 5, "the start of batch 7, which was planned and not applied; table x has batch 6"},
		{"open, and nobody knows", open, nil, "", 0, "whether its rows were written cannot be told: no output that was asked knows the query"},
		{"open, and the output is far behind", open, at(3), "", 0, "the newest batch in table x is 3"},
		{"open, and a person knows that it is there", open, nil, batchApplied, 9, "as you say"},
		{"open, and a person knows that it is not", open, nil, batchNotApplied, 5, "as you say"},
		{"open, and a person is wrong", open, at(7), batchNotApplied, 0, "contradicts table x"},
		{"open, and a person is wrong the other way", open, at(6), batchApplied, 0, "contradicts table x"},
		{"open, and a person confirms", open, at(6), batchNotApplied, 5, "table x has batch 6"},
		{"open, not applied, and its start is lost", startless, at(6), "", 0, "where it begins is not in the checkpoint"},
		{"open, applied, and its start is lost", startless, at(7), "", 9, "it is in table x"},

		{"the first is open", first, nil, "", 0, "cannot be told"},
		{"the first is open and there", first, at(0), "", 9, "it is in table x"},
		{"the first is open, and a person knows", first, nil, batchNotApplied, 5, "as you say"},

		{"marks are missing", gap, nil, "", 0, "the newest mark is that of batch 4"},
		{"marks are missing, and it is there", gap, at(7), "", 9, "it is in table x"},
		{"marks are missing, and all before is there", gap, at(6), "", 5, "table x has batch 6"},
		{"marks are missing, and a person knows of the last alone", gap, nil, batchNotApplied, 0, "the newest mark is that of batch 4"},

		{"nothing was planned", unplanned, nil, "", 5, "nothing was planned"},
		{"nothing was planned or pinned", with(unplanned, func(s *checkpoint.SparkStop) { s.Before = nil }), nil, "", 0, "has planned nothing"},
		{"with state", with(marked, func(s *checkpoint.SparkStop) { s.State = "state/0/0/1.delta" }), at(7), batchApplied, 0, "keeps state"},
	} {
		told, reached, err := settleSpark(&c.stop, c.seen, c.said)
		switch {
		case c.want == 0 && (batch.ClassOf(err) != batch.Inconsistent || batch.HintOf(err) == "" || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: got %s, %v, want it refused with %q and a hint", c.name, told, err, c.says)
		case c.want != 0 && (err != nil || told[p] != c.want || !strings.Contains(reached, c.says)):
			t.Errorf("%s: got %s, %q, %v, want %d and %q", c.name, told, reached, err, c.want, c.says)
		}
	}
	if _, _, err := settleSpark(&open, nil, ""); !strings.Contains(batch.HintOf(err), `--last-batch applied begins at {"t":{"0":9}}, --last-batch not-applied begins at {"t":{"0":5}}`) {
		t.Errorf("the hint is %q", batch.HintOf(err))
	}
}
