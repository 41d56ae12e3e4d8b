package runner_test

import (
	"testing"

	"sluice/batch"
	"sluice/runner"
)

// A log that was truncated has been read as far as it goes: what it gets from there on is read once, beside what the table
// has of before. (The other losses are in cmd, with a broker.)
func TestALogThatWasCutGoesOnWhereItWasCutIfAccepted(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	k := w.kafka
	k.records[0], k.end[0] = k.records[0][:3], 3
	w.refuses(t, batch.DataLoss, nil, "t-0 ends at offset 3, before offset 8")
	k.epoch, k.cut = 2, map[int32]int64{0: 3}
	k.put(0, 2) // offsets 3 and 4, of which the table has others
	accept := func(q *runner.Query) { q.Accepts = batch.Causes{batch.Diverged} }
	if s, _, err := w.run(accept); err != nil || s.Records != 2 || len(s.Losses) != 1 || s.Losses[0].From != 8 || s.Losses[0].Offsets != -1 {
		t.Errorf("got %+v, want the 2 records that came after the cut", s)
	}
	k.put(0, 6)
	if s, _, err := w.run(nil); err != nil || s.Records != 6 || len(s.Losses) != 0 {
		t.Errorf("got %+v, want the next 6 records, without a choice", s)
	}
	k.epoch, k.cut = 3, map[int32]int64{0: 6}
	k.records[0], k.end[0] = k.records[0][:6], 6
	k.put(0, 40) // far past what was read
	w.refuses(t, batch.DataLoss, nil, "t-0 was cut at offset 6, before offset", "has grown past it again")
	if s, _, err := w.run(accept); err != nil || s.Records != 40 {
		t.Errorf("got %+v, %v, want the 40 records that came after the second cut", s, err)
	}
	after, err := w.lake.rows()
	if err != nil || after[row{0, 2}] != 1 || after[row{0, 3}] != 2 || after[row{0, 4}] != 2 || after[row{0, 6}] != 3 || after[row{0, 40}] != 1 {
		t.Errorf("got %v, %v", after, err)
	}
}
