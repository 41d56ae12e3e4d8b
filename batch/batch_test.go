package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"sluice/offsets"
)

func tp(topic string, partition int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: topic, Partition: partition}
}

func TestLedgerSurvivesItsPropertiesWhateverItsSize(t *testing.T) {
	for _, partitions := range []int{0, 1, 40, 2000} {
		l := &Ledger{Query: "3f6c0a52-0000-4000-8000-000000000001", Name: "orders", Batch: 42, Plan: strings.Repeat("a", 64), Run: "run",
			Snapshot: 3510441037372461004, Sequence: 43, Uncounted: None, TopicIDs: map[string]string{}, Accounts: map[offsets.TopicPartition]Account{}}
		for p := range partitions {
			topic := fmt.Sprintf("topic-%d", p%7)
			l.TopicIDs[topic] = "id of " + topic
			l.Accounts[tp(topic, int32(p))] = Account{First: int64(p), Next: math.MaxInt64 - int64(p), Epoch: int32(p % 3), Rows: 1 << 50, DeadLetters: 2, Dropped: 3, Lost: 4, Nulled: int64(p % 2)}
		}
		props, err := l.Properties()
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range props {
			if len(value) > 3500 {
				t.Errorf("%d partitions: %s has %d bytes; Hive keeps 4,000 characters at most", partitions, key, len(value))
			}
		}
		got, err := ParseLedger(props, l.Query)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, l) {
			t.Errorf("%d partitions: the ledger came back changed (%d accounts)", partitions, len(got.Accounts))
		}
		names, err := LedgerQueries(props)
		if err != nil || !maps.Equal(names, map[string]string{l.Query: "orders"}) {
			t.Errorf("%d partitions: queries %v, %v", partitions, names, err)
		}
	}
}

func TestALedgerThatIsNotWholeIsAnErrorNeverNone(t *testing.T) {
	l := &Ledger{Query: "q", Accounts: map[offsets.TopicPartition]Account{}}
	for p := range int32(500) {
		l.Accounts[tp("t", p)] = Account{Next: int64(p) << 30}
	}
	whole, err := l.Properties()
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(map[string]string){
		"a part is missing":           func(p map[string]string) { delete(p, "sluice.query.q.1") },
		"a part is cut":               func(p map[string]string) { p["sluice.query.q.0"] = p["sluice.query.q.0"][:100] },
		"the head is no JSON":         func(p map[string]string) { p["sluice.query.q"] = "x" },
		"a later format":              func(p map[string]string) { p["sluice.query.q"] = `{"v":2}` },
		"the head is emptied":         func(p map[string]string) { p["sluice.query.q"] = "" },
		"an account is short":         func(p map[string]string) { p["sluice.query.q.0"] = `[{"t":"t","p":[[1,2]]}]` },
		"a partition is listed twice": func(p map[string]string) { p["sluice.query.q.1"] = p["sluice.query.q.0"] },
	} {
		props := maps.Clone(whole)
		forge(props)
		if got, err := ParseLedger(props, "q"); err == nil {
			t.Errorf("%s: got %d accounts and no error", name, len(got.Accounts))
		}
	}
	if got, err := ParseLedger(whole, "another"); got != nil || err != nil {
		t.Errorf("a query without a ledger: got %v, %v", got, err)
	}
}

func TestAdvanceAddsABatchToTheAccounts(t *testing.T) {
	a, b := tp("t", 0), tp("t", 1)
	first := Advance(nil, &Plan{Batch: 0, Hash: "h0", Start: offsets.Offsets{a: 5}, End: offsets.Offsets{a: 10}, TopicIDs: map[string]string{"t": "id"},
		LeaderEpochs: map[offsets.TopicPartition]int32{a: 2}}, "q", "orders", "r0",
		[]TaskResult{{Pieces: []PieceResult{{Piece: Piece{Topic: "t", From: 5, Until: 10}, Delivered: 4, Rows: 3, DeadLetters: 1}}}})
	second := Advance(first, &Plan{Batch: 1, Hash: "h1", Start: offsets.Offsets{a: 10, b: 100}, End: offsets.Offsets{a: 10, b: 120}}, "q", "orders", "r1",
		[]TaskResult{{Pieces: []PieceResult{{Piece: Piece{Topic: "t", Partition: 1, From: 100, Until: 110}, Rows: 10}}},
			{Pieces: []PieceResult{{Piece: Piece{Topic: "t", Partition: 1, From: 110, Until: 120}, Rows: 7, Dropped: 2}}}})
	if got, want := second.Accounts[a], (Account{First: 5, Next: 10, Epoch: -1, Rows: 3, DeadLetters: 1}); got != want {
		t.Errorf("%s: got %+v, want %+v", a, got, want)
	}
	if got, want := second.Accounts[b], (Account{First: 100, Next: 120, Epoch: -1, Rows: 17, Dropped: 2}); got != want {
		t.Errorf("%s: got %+v, want %+v", b, got, want)
	}
	if first.Accounts[a].Epoch != 2 || len(first.Accounts) != 1 {
		t.Errorf("the earlier ledger was changed: %+v", first)
	}
	if second.TopicIDs["t"] != "id" || second.Batch != 1 || second.Plan != "h1" || second.Rows() != 20 {
		t.Errorf("got %+v", second)
	}
}

func TestCoversRefusesWhatDoesNotAddUp(t *testing.T) {
	plan := &Plan{Batch: 3, Hash: "h", Start: offsets.Offsets{tp("t", 0): 0, tp("t", 1): 5}, End: offsets.Offsets{tp("t", 0): 10, tp("t", 1): 5}}
	piece := func(from, until int64) Piece { return Piece{Topic: "t", From: from, Until: until} }
	fresh := func() ([]Task, []TaskResult) {
		tasks := []Task{{Index: 0, Pieces: []Piece{piece(0, 4)}}, {Index: 1, Pieces: []Piece{piece(4, 10)}}}
		var results []TaskResult
		for _, task := range tasks {
			p := task.Pieces[0]
			results = append(results, TaskResult{Version: 1, Batch: 3, Plan: "h", Index: task.Index, Files: []DataFile{{Records: 2}},
				Pieces: []PieceResult{{Piece: p, Position: p.Until + 1, Delivered: 3, Rows: 2, Dropped: 1}}})
		}
		return tasks, results
	}
	if tasks, results := fresh(); Covers(plan, tasks, results) != nil {
		t.Fatal(Covers(plan, tasks, results))
	}
	for name, spoil := range map[string]func(*[]Task, *[]TaskResult){
		"a result is missing": func(_ *[]Task, r *[]TaskResult) { *r = (*r)[:1] },
		"a result twice":      func(_ *[]Task, r *[]TaskResult) { *r = append(*r, (*r)[0]) },
		"a result of no task": func(_ *[]Task, r *[]TaskResult) {
			*r = append(*r, TaskResult{Version: 1, Batch: 3, Plan: "h", Index: 7})
		},
		"another batch":            func(_ *[]Task, r *[]TaskResult) { (*r)[0].Batch = 2 },
		"another plan":             func(_ *[]Task, r *[]TaskResult) { (*r)[0].Plan = "g" },
		"another format":           func(_ *[]Task, r *[]TaskResult) { (*r)[0].Version = 2 },
		"another schema":           func(_ *[]Task, r *[]TaskResult) { (*r)[0].SchemaID = 9 },
		"not read to the end":      func(_ *[]Task, r *[]TaskResult) { (*r)[1].Pieces[0].Position = 9 },
		"a record unaccounted for": func(_ *[]Task, r *[]TaskResult) { (*r)[1].Pieces[0].Delivered = 4 },
		"a row that is in no file": func(_ *[]Task, r *[]TaskResult) { (*r)[1].Files = nil },
		"other pieces than asked":  func(_ *[]Task, r *[]TaskResult) { (*r)[1].Pieces[0].From = 5 },
		"an offset in no task":     func(ts *[]Task, r *[]TaskResult) { (*ts)[1].Pieces[0].From = 5; (*r)[1].Pieces[0].From = 5 },
		"an offset in two tasks":   func(ts *[]Task, r *[]TaskResult) { (*ts)[1].Pieces[0].From = 3; (*r)[1].Pieces[0].From = 3 },
		"beyond the plan":          func(ts *[]Task, r *[]TaskResult) { (*ts)[1].Pieces[0].Until = 11; (*r)[1].Pieces[0].Until = 11 },
	} {
		tasks, results := fresh()
		spoil(&tasks, &results)
		if Covers(plan, tasks, results) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTaskAndResultSurviveJSON(t *testing.T) {
	result := TaskResult{Version: 1, Query: "q", Batch: 9007199254740993, Files: []DataFile{{Path: "p", Partition: map[int]json.RawMessage{1000: json.RawMessage(`"2026-03-04"`)},
		LowerBounds: map[int][]byte{5: {0, 255}}, SplitOffsets: []int64{4}}}, Pieces: []PieceResult{{Piece: Piece{Topic: "t", Until: 3, LeaderEpoch: -1}}}}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var got TaskResult
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, result) {
		t.Errorf("got %+v, %v, want %+v", got, err, result)
	}
}

func TestFaultsKeepClassAndHintThroughWrapping(t *testing.T) {
	cause := errors.New("boom")
	err := fmt.Errorf("read plan 7: %w", &Fault{Class: DataLoss, Message: "gone", Err: fmt.Errorf("x: %w", &Fault{Class: NotSetUp, Hint: "look there", Err: cause})})
	if ClassOf(err) != DataLoss || HintOf(err) != "look there" || !errors.Is(err, cause) {
		t.Errorf("class %v, hint %q, is cause %v", ClassOf(err), HintOf(err), errors.Is(err, cause))
	}
	if ClassOf(cause) != Failed || HintOf(cause) != "" || HintOf(nil) != "" {
		t.Error("an error without a fault is Failed and has no hint")
	}
}

func TestAPlanMustHaveStartAndEndOfTheSamePartitions(t *testing.T) {
	a, b := tp("t", 0), tp("t", 1)
	for name, p := range map[string]Plan{
		"no start":     {End: offsets.Offsets{a: 1}},
		"no end":       {Start: offsets.Offsets{a: 1}},
		"others":       {Start: offsets.Offsets{a: 1}, End: offsets.Offsets{b: 2}},
		"backwards":    {Start: offsets.Offsets{a: 5}, End: offsets.Offsets{a: 4}},
		"still latest": {Start: offsets.Offsets{a: -1}, End: offsets.Offsets{a: 4}},
	} {
		if p.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
