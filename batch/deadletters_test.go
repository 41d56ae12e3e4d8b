package batch

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/offsets"
)

// A digest is that of a set, however a batch was cut into tasks and in whichever order they ended.
func TestADigestDependsOnTheRecordsAlone(t *testing.T) {
	type place struct {
		topic     string
		partition int32
		offset    int64
	}
	var all []place
	for i := range int64(200) {
		all = append(all, place{"orders", int32(i % 3), i * i})
	}
	random := rand.New(rand.NewPCG(1, 2))
	var want Digest
	for _, p := range all {
		want.Add(p.topic, p.partition, p.offset)
	}
	for range 20 {
		shuffled := slices.Clone(all)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		parts := make([]Digest, 4)
		for i, p := range shuffled {
			parts[i*7%4].Add(p.topic, p.partition, p.offset)
		}
		var got Digest
		for _, part := range parts {
			got.Plus(part)
		}
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for name, other := range map[string]place{"topic": {"order", 0, 0}, "partition": {"orders", 1, 0}, "offset": {"orders", 0, 1}, "again": all[1], "a name that ends in what follows": {"orders\x000", 0, 0}} {
		got := want
		got.Add(other.topic, other.partition, other.offset)
		var lone Digest
		lone.Add("orders", 0, 0)
		without := want
		without.Plus(lone)
		if got == want || got == without {
			t.Errorf("%s makes no difference", name)
		}
	}
	var zero, one Digest
	zero[31], one[31] = 1, 255
	if zero.Plus(one); zero[31] != 0 || zero[30] != 1 {
		t.Errorf("got %s, want a carry", zero)
	}
	full := Digest(slices.Repeat([]byte{255}, 32))
	var unit Digest
	unit[31] = 1
	if full.Plus(unit); full != (Digest{}) {
		t.Errorf("got %s, want 0: the sum is modulo 2^256", full)
	}
}

func TestADigestIsHexInJSON(t *testing.T) {
	var d Digest
	d.Add("orders", 3, 1042)
	text, err := json.Marshal(Letters{Count: 1, Digest: d})
	if err != nil || !strings.Contains(string(text), `"digest":"`+d.String()+`"`) {
		t.Fatalf("got %s, %v", text, err)
	}
	var back Letters
	if err := json.Unmarshal(text, &back); err != nil || back.Digest != d || back.Count != 1 {
		t.Errorf("got %+v, %v", back, err)
	}
	for _, bad := range []string{`{"digest":"00"}`, `{"digest":"xy"}`, `{"digest":"` + strings.Repeat("0", 66) + `"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s passed", bad)
		}
	}
}

func TestTheLedgerOfDeadLettersSaysWhatTheBatchPutThere(t *testing.T) {
	plan := &Plan{Batch: 7, Hash: "h7", Start: offsets.Offsets{tp("t", 0): 10, tp("t", 1): 0}, End: offsets.Offsets{tp("t", 0): 20, tp("t", 1): 4}}
	pieces := []PieceResult{{Piece: Piece{Topic: "t", Partition: 0, From: 10, Until: 20}, Position: 20, Delivered: 10, Rows: 7, DeadLetters: 2, Dropped: 1}}
	var d Digest
	d.Add("t", 0, 11)
	d.Add("t", 0, 12)
	results := []TaskResult{
		{Version: 1, Batch: 7, Plan: "h7", Pieces: pieces, Files: []DataFile{{Records: 7}}, SchemaID: 1, DeadLetters: &DeadLetters{Files: []DataFile{{Path: "dead", Records: 2}}, SchemaID: 5, SpecID: 6, Digest: d}},
		{Version: 1, Batch: 7, Plan: "h7", Index: 1},
	}
	own, all := DeadLetterResults(results)
	if len(own) != 1 || own[0].SchemaID != 5 || own[0].SpecID != 6 || own[0].Files[0].Path != "dead" || all != (Letters{2, d}) {
		t.Fatalf("got %+v, %+v", own, all)
	}
	c := &Commit{Query: "q", Name: "n", Run: "r", Plan: plan, Results: own, DeadLetters: &all}
	prior := &Ledger{Query: "q", Batch: 3, Uncounted: None, Accounts: map[offsets.TopicPartition]Account{tp("t", 0): {First: 5, Next: 8, Rows: 1}}, Letters: &Letters{Count: 1}}
	l := c.Ledger(prior)
	if a := l.Accounts[tp("t", 0)]; a.First != 5 || a.Next != 20 || a.Rows != 3 || a.DeadLetters != 0 || a.Dropped != 0 || l.Letters == nil || *l.Letters != all || l.Batch != 7 {
		t.Errorf("got %+v with %+v", a, l)
	}
	props, err := l.Properties()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseLedger(props, "q"); err != nil || !reflect.DeepEqual(back.Letters, l.Letters) {
		t.Errorf("got %+v, %v", back, err)
	}
	if main := (&Commit{Query: "q", Plan: plan, Results: results}).Ledger(nil); main.Letters != nil || main.Accounts[tp("t", 0)].DeadLetters != 2 {
		t.Errorf("the ledger of the rows is %+v", main)
	}
}

func TestAccountsKeepWhatIsReplayed(t *testing.T) {
	for _, a := range []Account{{Next: 9, Replayed: 3}, {Next: 9, Replayed: 3, Nulled: 2}, {Next: 9, Nulled: 2}, {Next: 9}} {
		l := &Ledger{Query: "q", Accounts: map[offsets.TopicPartition]Account{tp("t", 0): a}}
		props, err := l.Properties()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseLedger(props, "q")
		if err != nil || back.Accounts[tp("t", 0)] != a {
			t.Errorf("got %+v, %v, want %+v", back, err, a)
		}
	}
}

func TestDeadLettersThatDoNotAddUpAreRefused(t *testing.T) {
	task := &Task{DeadLetters: &DeadLetterOutput{SchemaID: 5, SpecID: 6}}
	whole := func() *DeadLetters {
		return &DeadLetters{Files: []DataFile{{Records: 2}, {Records: 1}}, SchemaID: 5, SpecID: 6}
	}
	if err := whole().fits(task, 3); err != nil {
		t.Error(err)
	}
	if err := (*DeadLetters)(nil).fits(&Task{}, 0); err != nil {
		t.Error(err)
	}
	other := whole()
	other.SchemaID = 4
	for name, err := range map[string]error{"lost": (*DeadLetters)(nil).fits(task, 1), "fewer": whole().fits(task, 4), "more": whole().fits(task, 2),
		"not asked for": whole().fits(&Task{}, 3), "another shape": other.fits(task, 3)} {
		if err == nil {
			t.Errorf("%s: passed", name)
		}
	}
}

func TestMisfitsKeepTheFirstFewExamples(t *testing.T) {
	var m Misfits
	m.Add(nil)
	for i := range int64(4) {
		m.Add(&Misfits{Malformed: 3, Reasons: map[string]int64{"type": 2, "syntax": 1}, Examples: []Misfit{{Offset: 10 * i}, {Offset: 10*i + 1}}})
	}
	if m.Malformed != 12 || m.Reasons["type"] != 8 || m.Reasons["syntax"] != 4 || len(m.Examples) != MaxExamples || m.Examples[4].Offset != 20 {
		t.Errorf("got %+v", m)
	}
}
