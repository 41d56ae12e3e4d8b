package batch

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"sluice/offsets"
)

func part(n int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: "t", Partition: n} }

// A loss by retention is at the beginning of a range and is not read; it is counted, so that the next range follows.
func TestAPlanReadsWhatItHasNotLost(t *testing.T) {
	plan := &Plan{Start: offsets.Offsets{part(0): 5, part(1): 3}, End: offsets.Offsets{part(0): 12, part(1): 3},
		Losses: []Loss{{Topic: "t", From: 5, Until: 8, Cause: Retention}, {Topic: "t", Partition: 1, From: 3, Until: 3, Cause: Missing}}}
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(plan.Ranges()); got != "[t-0[8,12)]" || plan.Offsets() != 4 || !plan.Before().Equal(plan.Start) {
		t.Errorf("got %s, %d offsets after %v", got, plan.Offsets(), plan.Before())
	}
	l := Advance(&Ledger{Accounts: map[offsets.TopicPartition]Account{part(0): {First: 1, Next: 5, Rows: 4}}}, plan, "q", "n", "r", nil)
	if a := l.Accounts[part(0)]; a.Lost != 3 || a.First != 1 || a.Next != 12 || fmt.Sprint(l.Lost) != "[t-0[5,8)]" {
		t.Errorf("got %+v, %v", a, l.Lost)
	}
	for _, bad := range []Loss{{Topic: "t", From: 6, Until: 8, Cause: Retention}, {Topic: "t", From: 5, Until: 13, Cause: Retention}, {Topic: "u", Cause: Missing}, {Topic: "t", Cause: "fire"}, {Topic: "t", From: 5, Until: 4, Cause: Diverged}} {
		plan.Losses = []Loss{bad}
		if plan.Validate() == nil {
			t.Errorf("%v is taken for a loss of the plan", bad)
		}
	}
}

// Offsets begin anew with a topic that was created again, and with a log that was cut: what was applied of the one before is
// closed, and what follows is checked against where that was left.
func TestALedgerTellsTheLivesOfAPartitionApart(t *testing.T) {
	prior := &Ledger{Query: "q", TopicIDs: map[string]string{"t": "old"}, Lost: []offsets.Range{{TopicPartition: part(0), From: 2, Until: 4}},
		Accounts: map[offsets.TopicPartition]Account{part(0): {First: 1, Next: 100, Epoch: 3, Rows: 90, Lost: 2}, part(1): {Next: 7, Epoch: 3, Rows: 7}}}
	plan := &Plan{Batch: 1, Start: offsets.Offsets{part(0): 0}, End: offsets.Offsets{part(0): 20}, TopicIDs: map[string]string{"t": "new"},
		Losses: []Loss{{Topic: "t", From: 100, Until: 100, Cause: Recreated, TopicID: "old"}, {Topic: "t", Partition: 1, From: 7, Until: 7, Cause: Recreated, TopicID: "old"}}}
	if got := plan.Before(); !got.Equal(offsets.Offsets{part(0): 100, part(1): 7}) {
		t.Errorf("got %v before the plan", got)
	}
	l := Advance(prior, plan, "q", "n", "r", nil)
	want := []PastAccount{{part(0), "old", prior.Accounts[part(0)], -1}, {part(1), "old", prior.Accounts[part(1)], -1}}
	if !reflect.DeepEqual(l.Past, want) || len(l.Accounts) != 1 || l.Accounts[part(0)].First != 0 || l.Accounts[part(0)].Next != 20 || len(l.Lost) != 0 {
		t.Errorf("got %+v", l)
	}
	cut := &Plan{Batch: 2, Start: offsets.Offsets{part(0): 15}, End: offsets.Offsets{part(0): 30}, Losses: []Loss{{Topic: "t", From: 20, Until: 20, Cause: Diverged}}}
	if l = Advance(l, cut, "q", "n", "r", nil); len(l.Past) != 3 || l.Past[2].Cut != 15 || l.Past[2].Next != 20 || l.Past[2].TopicID != "new" || l.Accounts[part(0)].First != 15 {
		t.Errorf("got %+v after the log was cut", l)
	}
	if len(prior.Past) != 0 || len(prior.Accounts) != 2 {
		t.Errorf("the ledger before was changed: %+v", prior)
	}
}

// However much there is of it, a ledger comes back as it was, in values that every catalog takes.
func TestALedgerWithLossesAndAPastComesBackAsItWas(t *testing.T) {
	for _, partitions := range []int32{1, 300} {
		l := &Ledger{Query: "q", Name: "n", Uncounted: None, TopicIDs: map[string]string{"t": "new"}, Accounts: map[offsets.TopicPartition]Account{}}
		for n := range partitions {
			a := Account{First: 1 << 40, Next: 1<<40 + 100, Epoch: 7, Rows: 50, DeadLetters: 1, Dropped: 2, Lost: 10, Nulled: int64(n % 2), Replayed: int64(n % 3)}
			l.Accounts[part(n)] = a
			l.Past = append(l.Past, PastAccount{part(n), "old", a, -1}, PastAccount{part(n), "older", a, 1<<40 + 5})
			if n < MostLost {
				l.Lost = append(l.Lost, offsets.Range{TopicPartition: part(n), From: 1 << 40, Until: 1<<40 + 10})
			}
		}
		properties, err := l.Properties()
		if err != nil {
			t.Fatal(err)
		}
		for key, text := range properties {
			if len(text) > maxPropertyBytes {
				t.Errorf("%s has %d bytes", key, len(text))
			}
		}
		got, err := ParseLedger(properties, "q")
		if err != nil || !maps.Equal(got.Accounts, l.Accounts) || !reflect.DeepEqual(got.Past, l.Past) || !reflect.DeepEqual(got.Lost, l.Lost) || !maps.Equal(got.TopicIDs, l.TopicIDs) {
			t.Errorf("%d partitions: got %+v, %v, want %+v", partitions, got, err, l)
		}
	}
}

func TestTheLedgerNamesTheNewestLosses(t *testing.T) {
	l := &Ledger{Accounts: map[offsets.TopicPartition]Account{part(0): {Next: 1000}}}
	for i := range int64(MostLost + 5) {
		l.lose(Loss{Topic: "t", From: 2 * i, Until: 2*i + 1, Cause: Retention})
	}
	if len(l.Lost) != MostLost || l.Lost[0].From != 10 || l.Accounts[part(0)].Lost != MostLost+5 {
		t.Errorf("got %d ranges from %v on, %+v", len(l.Lost), l.Lost[0], l.Accounts[part(0)])
	}
}

// What a task says that it lost is of its pieces, counted once, and accepted.
func TestAResultLosesOnlyWhatItMay(t *testing.T) {
	piece := Piece{Topic: "t", From: 0, Until: 10, LeaderEpoch: -1}
	plan := &Plan{Hash: "h", Start: offsets.Offsets{part(0): 0}, End: offsets.Offsets{part(0): 10}}
	task := Task{Plan: "h", Pieces: []Piece{piece}, Accepts: Causes{Retention}}
	covers := func(rows int64, lost ...Loss) error {
		result := TaskResult{Version: FormatVersion, Plan: "h", Pieces: []PieceResult{{Piece: piece, Position: 10, Delivered: rows, Rows: rows, Lost: lost}}, Files: []DataFile{{Records: rows}}}
		return Covers(plan, []Task{task}, []TaskResult{result})
	}
	if err := covers(6, Loss{Topic: "t", From: 0, Until: 4, Cause: Retention}); err != nil {
		t.Error(err)
	}
	for says, err := range map[string]error{
		"nobody has accepted": covers(6, Loss{Topic: "t", From: 0, Until: 4, Cause: Missing}),
		"said to have lost":   covers(6, Loss{Topic: "t", From: 0, Until: 11, Cause: Retention}),
		"and lost 4 offsets":  covers(7, Loss{Topic: "t", From: 0, Until: 4, Cause: Retention}),
		"lost t-0[2,4)":       covers(2, Loss{Topic: "t", From: 0, Until: 4, Cause: Retention}, Loss{Topic: "t", From: 2, Until: 4, Cause: Retention}),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
