package runner_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/objectstore"
	"sluice/runner"
)

// crashCase is a row of the crash table in ARCHITECTURE.md: what was left behind, the options of the next run, and the
// action that is right; none where the run has to stop.
type crashCase struct {
	left   func(*testing.T, *world)
	change func(*runner.Query)
	want   runner.Action
	class  batch.Class
}

func drained(t *testing.T, w *world) { w.drain(t, nil) }

func killedAt(effect string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) { w.dieAt(t, effect); w.arrive() }
}

func losing(keys ...string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.drain(t, nil)
		w.lose(t, keys...)
		w.arrive()
	}
}

func (w *world) lose(t *testing.T, keys ...string) {
	t.Helper()
	if err := w.store.Delete(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
}

func rolledBack(n int) func(*testing.T, *world) {
	return func(t *testing.T, w *world) { w.drain(t, nil); w.lake.rollBack(n) }
}

func createdAgain(t *testing.T, w *world) {
	w.drain(t, nil)
	w.lake = newLake()
	w.lake.uuid = "uuid-2"
	w.arrive()
}

func checkpointLost(t *testing.T, w *world) {
	w.drain(t, nil)
	w.store = objectstore.NewMemory("lost")
	w.arrive()
}

// twoCheckpoints leaves a checkpoint whose newest plan is another one than that of the copy which reached the table.
func twoCheckpoints(t *testing.T, w *world) {
	w.drain(t, nil)
	original := copied(t, w.store)
	w.arrive()
	w.dieAt(t, "create offsets/3")
	copy := w.store
	w.store = original
	if _, _, err := w.run(func(q *runner.Query) { q.MaxBatches = 1 }); err != nil {
		t.Fatal(err)
	}
	w.store = copy
}

func lostRows(choice batch.Choice) func(*runner.Query) {
	return func(q *runner.Query) { q.LostRows = choice }
}

func newQuery(q *runner.Query) { q.NewQuery = true }

// adoptAny adopts the one query that the table knows.
func adoptAny(q *runner.Query) {
	queries, err := batch.LedgerQueries(q.Sink.(*sink).lake.props)
	if err != nil {
		panic(err)
	}
	for id := range queries {
		q.Adopt = id
	}
}

// expired is a sink whose table forgot the history before a sequence number.
type expired struct {
	runner.Sink
	at int64
}

func (s expired) Table(ctx context.Context, query string) (*batch.Table, error) {
	t, err := s.Sink.Table(ctx, query)
	if err == nil {
		t.Applied.Cut, t.Applied.CutAt = true, s.at
	}
	return t, err
}

func cutAt(sequence int64) func(*runner.Query) {
	return func(q *runner.Query) { q.Sink = expired{q.Sink, sequence} }
}

var crashCases = map[string]crashCase{
	"nothing":                                {want: runner.First},
	"nothing but who it is":                  {left: killedAt("create metadata"), want: runner.First},
	"nothing but the pinned start":           {left: killedAt("create sources/0/0"), want: runner.First},
	"a clean end":                            {left: drained, want: runner.Next},
	"a clean end, and new records":           {left: func(t *testing.T, w *world) { drained(t, w); w.arrive() }, want: runner.Next},
	"death after the first plan":             {left: killedAt("create offsets/0"), want: runner.Replay},
	"death after a plan":                     {left: killedAt("create offsets/2"), want: runner.Replay},
	"death after the data files":             {left: killedAt("file"), want: runner.Replay},
	"death before the marker":                {left: killedAt("catalog: commit"), want: runner.Mark},
	"two checkpoints for one query":          {left: twoCheckpoints, class: batch.Inconsistent},
	"another query's metadata":               {left: anotherMetadata, class: batch.Inconsistent},
	"another query's metadata, and a choice": {left: anotherMetadata, change: lostRows(batch.Accept), class: batch.Inconsistent},
	"the newest entries lost":                {left: losing("offsets/2", "commits/2"), want: runner.Rebuild},
	"the newest plan lost":                   {left: losing("offsets/2"), want: runner.Rebuild},
	"all plans and markers lost":             {left: losing("offsets/0", "offsets/1", "offsets/2", "commits/0", "commits/1", "commits/2"), want: runner.Rebuild},
	"rolled back":                            {left: rolledBack(1), class: batch.Inconsistent},
	"rolled back, read again":                {left: rolledBack(2), change: lostRows(batch.Reread), want: runner.Chosen},
	"rolled back, accepted":                  {left: rolledBack(2), change: lostRows(batch.Accept), want: runner.Chosen},
	"rolled back, accepted, new records":     {left: func(t *testing.T, w *world) { rolledBack(1)(t, w); w.arrive() }, change: lostRows(batch.Accept), want: runner.Chosen},
	"rolled back, chosen, and killed":        {left: chosenAndKilled, want: runner.Replay},
	"rolled back, and no plan left":          {left: rolledBackWithoutPlans, class: batch.Inconsistent},
	"rolled back, no plan left, a choice":    {left: rolledBackWithoutPlans, change: lostRows(batch.Accept), class: batch.Inconsistent},
	"history expired, a plan open":           {left: killedAt("create offsets/1"), change: cutAt(1 << 40), class: batch.Inconsistent},
	"older history expired, a plan open":     {left: killedAt("create offsets/2"), change: cutAt(1), want: runner.Replay},
	"a job renamed":                          {left: checkpointLost, change: renamed, class: batch.Inconsistent},
	"a job renamed, a new query":             {left: checkpointLost, change: func(q *runner.Query) { renamed(q); newQuery(q) }, want: runner.First},
	"the checkpoint deleted":                 {left: checkpointLost, class: batch.Inconsistent},
	"the checkpoint deleted, adopted":        {left: checkpointLost, change: adoptAny, want: runner.Rebuild},
	"the checkpoint deleted, a new query":    {left: checkpointLost, change: newQuery, want: runner.First},
	"the checkpoint deleted, adopting none":  {left: checkpointLost, change: func(q *runner.Query) { q.Adopt = "no-such-id" }, class: batch.Inconsistent},
	"the table created again":                {left: createdAgain, class: batch.Inconsistent},
	"the table created again, read again":    {left: createdAgain, change: lostRows(batch.Reread), want: runner.Chosen},
	"the table created again, accepted":      {left: createdAgain, change: lostRows(batch.Accept), want: runner.Chosen},
	"another job":                            {left: drained, change: renamed, class: batch.Inconsistent},
	"records gone":                           {left: func(t *testing.T, w *world) { drained(t, w); w.kafka.topicID = "topic-2" }, class: batch.DataLoss},
	"records of the open plan gone":          {left: func(t *testing.T, w *world) { killedAt("create offsets/0")(t, w); w.kafka.start[0] = 3 }, class: batch.DataLoss},
}

func renamed(q *runner.Query) { q.Name = "renamed" }

func anotherMetadata(t *testing.T, w *world) {
	w.drain(t, nil)
	if err := w.store.Put(t.Context(), "metadata", []byte(`{"id":"6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10"}`)); err != nil {
		t.Fatal(err)
	}
}

func chosenAndKilled(t *testing.T, w *world) {
	rolledBack(1)(t, w)
	w.dieChoosing(t, lostRows(batch.Reread))
}

func rolledBackWithoutPlans(t *testing.T, w *world) {
	rolledBack(1)(t, w)
	w.lose(t, "offsets/0", "offsets/1", "offsets/2")
}

// What Inspect says is what Run does, in every row of the crash table, and Inspect writes nothing.
func TestWhatInspectSaysIsWhatRunDoes(t *testing.T) {
	for name, tc := range crashCases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.retain = 100
			if tc.left != nil {
				tc.left(t, w)
			}
			o := w.inspect(t, tc.change)
			if tc.want == "" {
				if batch.ClassOf(o.Refusal) != tc.class || batch.HintOf(o.Refusal) == "" {
					t.Errorf("got %q, %v (hint %q), want a refusal: %v", o.Action, o.Refusal, batch.HintOf(o.Refusal), tc.class)
				}
			} else if o.Action != tc.want || o.Refusal != nil {
				t.Fatalf("got %q, %v, want %q", o.Action, o.Refusal, tc.want)
			}
			w.does(t, o, tc.change)
		})
	}
}

// inspect inspects and fails the test if that writes anything.
func (w *world) inspect(t *testing.T, change func(*runner.Query)) *runner.Outlook {
	t.Helper()
	g := open()
	q, said := w.query(g, none)
	if change != nil {
		change(q)
	}
	before, version := objects(t, w.store), w.lake.version
	o, err := q.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before, objects(t, w.store)) || w.lake.version != version {
		t.Error("it changed checkpoint or table")
	}
	for _, effect := range g.seen {
		if verb, _, _ := strings.Cut(effect, " "); !slices.Contains([]string{"get", "list", "broker:"}, verb) && effect != "catalog: load" {
			t.Errorf("it did %q", effect)
		}
	}
	if len(said.said) > 0 {
		t.Errorf("it said %v", said.said)
	}
	return o
}

func objects(t *testing.T, store objectstore.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	keys, err := store.List(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		data, _, err := store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		all[key] = string(data)
	}
	return all
}

// does runs, and fails the test unless the run does what the outlook says.
func (w *world) does(t *testing.T, o *runner.Outlook, change func(*runner.Query)) {
	t.Helper()
	s, said, err := w.run(change)
	if fmt.Sprint(err) != fmt.Sprint(o.Refusal) || batch.ClassOf(err) != batch.ClassOf(o.Refusal) {
		t.Fatalf("the run ended with %v, inspected was %v", err, o.Refusal)
	}
	if err != nil {
		return
	}
	told := strings.Join(said.said, "\n")
	for action, words := range map[runner.Action]string{runner.Mark: "wrote its marker", runner.Rebuild: "rebuilding", runner.Chosen: "warning: going on after lost rows"} {
		if strings.Contains(told, words) != (o.Action == action) {
			t.Errorf("the run said %q, inspected was %s", told, o.Action)
		}
	}
	first, batches := batch.None, o.Batches
	if o.Next != nil {
		first = o.Next.Batch
		w.hasPlan(t, o.Next)
	}
	if o.Replay != nil {
		first, batches = o.Replay.Batch, batches+1
		w.hasPlan(t, o.Replay)
	}
	if s.FirstBatch != first || s.Batches != batches || (o.Replay != nil) != (o.Action == runner.Replay) {
		t.Errorf("the run made %d batches from %d, inspected were %d from %d", s.Batches, s.FirstBatch, batches, first)
	}
}

// hasPlan fails the test unless the checkpoint has a plan of the same ranges.
func (w *world) hasPlan(t *testing.T, want *batch.Plan) {
	t.Helper()
	got, err := checkpoint.NewLog(w.store).ReadPlan(t.Context(), want.Batch)
	if err != nil || got == nil || !got.Start.Equal(want.Start) || !got.End.Equal(want.End) {
		t.Errorf("the run planned %+v (%v), inspected was %+v", got, err, want)
	}
}

// rivalAtLast has another run drain everything after the table was read and before the entries are.
type rivalAtLast struct {
	runner.Log
	run func()
}

func (l rivalAtLast) Last(ctx context.Context) (*batch.LogState, error) {
	l.run()
	return l.Log.Last(ctx)
}

func TestARunThatGoesOnMeanwhileIsNoDisagreement(t *testing.T) {
	w := newWorld()
	w.retain = 100
	w.drain(t, nil)
	rival := func(q *runner.Query) {
		q.Log = rivalAtLast{q.Log, func() { w.arrive(); w.drain(t, nil) }}
	}
	w.refuses(t, batch.Fenced, rival, "another run is active")
	q, _ := w.query(open(), none)
	rival(q)
	if o, err := q.Inspect(t.Context()); err != nil || batch.ClassOf(o.Refusal) != batch.Fenced {
		t.Errorf("got %+v, %v, want it to say that another run is active", o, err)
	}
}

// A table that is not there yet, or was dropped, is on the way to be made: that is told, not done.
func TestInspectMakesNoTable(t *testing.T) {
	w := newLakeWorld(t)
	inspect := func(change func(*runner.Query)) *runner.Outlook {
		t.Helper()
		q, _ := w.query(&laketest.Script{})
		if change != nil {
			change(q)
		}
		o, err := q.Inspect(t.Context())
		if err != nil || o.Table.Exists {
			t.Fatalf("got %+v, %v, want no table", o, err)
		}
		if exists, err := w.catalog.CheckTableExists(t.Context(), []string{"db", "orders"}); err != nil || exists {
			t.Fatalf("the table is there: %v, %v", exists, err)
		}
		return o
	}
	if o := inspect(nil); o.Action != runner.First || o.Next.Batch != 0 || o.Refusal != nil {
		t.Errorf("got %+v", o)
	}
	w.drain(t, nil)
	if err := w.catalog.DropTable(t.Context(), []string{"db", "orders"}); err != nil {
		t.Fatal(err)
	}
	if o := inspect(nil); batch.ClassOf(o.Refusal) != batch.Inconsistent || !strings.Contains(o.Refusal.Error(), "gone") {
		t.Errorf("got %v", o.Refusal)
	}
	o := inspect(lostRows(batch.Reread))
	if o.Action != runner.Chosen || o.Refusal != nil {
		t.Fatalf("got %q, %v", o.Action, o.Refusal)
	}
	s := w.drain(t, lostRows(batch.Reread))
	if s.FirstBatch != o.Next.Batch || s.Batches != o.Batches {
		t.Errorf("the run made %d batches from %d, inspected were %d from %d", s.Batches, s.FirstBatch, o.Batches, o.Next.Batch)
	}
}
