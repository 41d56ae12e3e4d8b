package runner_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/offsets"
	"sluice/runner"
)

// A job may be changed while a plan is open: what was planned is finished as it was planned, and the change begins with
// the batch after it.

// levels notes the isolation levels that a source is asked at, in order and without repetitions.
type levels struct {
	runner.Source
	mu         sync.Mutex
	view, read []batch.Isolation
}

func (s *levels) View(ctx context.Context, isolation batch.Isolation, known offsets.Offsets) (*offsets.View, error) {
	s.mu.Lock()
	s.view = slices.Compact(append(s.view, isolation))
	s.mu.Unlock()
	return s.Source.View(ctx, isolation, known)
}

func (s *levels) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	s.mu.Lock()
	s.read = slices.Compact(append(s.read, task.Isolation))
	s.mu.Unlock()
	return s.Source.Read(ctx, task)
}

func TestAReplayKeepsItsIsolationLevel(t *testing.T) {
	for _, change := range [][]batch.Isolation{{batch.ReadUncommitted, batch.ReadCommitted}, {batch.ReadCommitted, batch.ReadUncommitted}} {
		was, is := change[0], change[1]
		w := newWorld()
		g := dyingAt("create offsets/0")
		q, _ := w.query(g, none)
		q.Isolation = was
		if _, err := q.Run(t.Context()); g.struck == "" {
			t.Fatal(err)
		}
		w.arrive()
		asked := &levels{}
		w.drain(t, func(q *runner.Query) {
			asked.Source = q.Source
			q.Source, q.Isolation = asked, is
		})
		if want := []batch.Isolation{was, is}; !slices.Equal(asked.view, want) || !slices.Equal(asked.read, want) {
			t.Errorf("looked at the ends at %v and read at %v, want %v each", asked.view, asked.read, want)
		}
		for n, want := range []batch.Isolation{was, is} {
			if plan := w.plan(t, int64(n)); plan != nil && plan.Isolation != want {
				t.Errorf("plan %d is %s, want %s", n, plan.Isolation, want)
			}
		}
	}
}

func (w *world) plan(t *testing.T, n int64) *batch.Plan {
	t.Helper()
	plan, err := checkpoint.NewLog(w.store).ReadPlan(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// asking notes, in order and without repetitions, with and without headers what was decoded.
func asking(seen *[]bool) func(*runner.Query) {
	var mu sync.Mutex
	return func(q *runner.Query) {
		makes := q.NewDecoder
		q.NewDecoder = func(value batch.Value, headers bool) (runner.Decoder, error) {
			d, err := makes(value, headers)
			return decoding{d, func() {
				mu.Lock()
				defer mu.Unlock()
				*seen = slices.Compact(append(*seen, headers))
			}}, err
		}
	}
}

type decoding struct {
	runner.Decoder
	decodes func()
}

func (d decoding) Decode(records *columns.Records) (*columns.Batch, error) {
	d.decodes()
	return d.Decoder.Decode(records)
}

// On a table that has no column for them, a job that now asks for headers could otherwise never finish the open plan.
func TestAReplayKeepsItsHeaders(t *testing.T) {
	for _, was := range []bool{false, true} {
		w := newWorld()
		w.retain = 100
		g := dyingAt("create offsets/0")
		q, _ := w.query(g, none)
		q.IncludeHeaders = was
		if _, err := q.Run(t.Context()); g.struck == "" {
			t.Fatal(err)
		}
		var seen []bool
		w.drain(t, func(q *runner.Query) {
			q.IncludeHeaders = !was
			asking(&seen)(q)
		})
		if want := []bool{was, !was}; !slices.Equal(seen, want) {
			t.Errorf("decoded with headers %v, want %v", seen, want)
		}
		for n, want := range []bool{was, !was} {
			if got := w.plan(t, int64(n)).IncludeHeaders; got == nil || *got != want {
				t.Errorf("plan %d: got %v, want %v", n, got, want)
			}
		}
	}
	w := newLakeWorld(t)
	w.dieBefore(t, "create data")
	headers := func(q *runner.Query) { q.IncludeHeaders = true }
	w.refuses(t, batch.Inconsistent, headers, "headers")
	if s := w.table(t).CurrentSnapshot(); s == nil || w.rows(t) != 4 {
		t.Fatalf("got snapshot %v, want the open plan to be in the table", s)
	}
	w.drain(t, nil)
}

// silentLog is a log of before: its plans do not say whether their rows have headers.
type silentLog struct{ runner.Log }

func (l silentLog) WritePlan(ctx context.Context, plan *batch.Plan) error {
	plan.IncludeHeaders, plan.Value = nil, nil
	return l.Log.WritePlan(ctx, plan)
}

func TestAPlanThatDoesNotTellIsReplayedAsTheJobSays(t *testing.T) {
	for _, headers := range []bool{false, true} {
		w := newWorld()
		g := dyingAt("create offsets/0")
		q, _ := w.query(g, none)
		q.Log = silentLog{q.Log}
		if _, err := q.Run(t.Context()); g.struck == "" {
			t.Fatal(err)
		}
		var seen []bool
		w.drain(t, func(q *runner.Query) {
			q.IncludeHeaders = headers
			asking(&seen)(q)
		})
		if !slices.Equal(seen, []bool{headers}) {
			t.Errorf("decoded with headers %v, want %v", seen, headers)
		}
	}
}
