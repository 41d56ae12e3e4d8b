package runner_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/objectstore"
	"sluice/runner"
)

// With a typo in the table's name, or a disk that is not mounted, a run that should have gone on is a first run, loads
// everything into a new table and ends well: only what it says gives it away.
func TestAFirstRunSaysWhereItBeginsAndWhatItMade(t *testing.T) {
	w := newLakeWorld(t)
	began := func(said *notices) (all []string) {
		for _, s := range said.said {
			if strings.Contains(s, "begins") || strings.Contains(s, "was made") {
				all = append(all, s)
			}
		}
		return all
	}
	q, said := w.query(&laketest.Script{})
	s, err := q.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(began(said), "\n")
	for _, part := range []string{"a new query begins", "orders", s.QueryID, "t-0 from 0; t-1 from 0", "the table was not there and was made", "db.orders", s.TableLocation} {
		if !strings.Contains(got, part) {
			t.Errorf("got %q, want it to say %q", got, part)
		}
	}
	if !s.TableMade || s.Began.String() != `{"t":{"0":0,"1":0}}` {
		t.Errorf("got %+v", s)
	}
	q, said = w.query(&laketest.Script{})
	if s, err = q.Run(t.Context()); err != nil || len(began(said)) > 0 || s.TableMade || s.Began != nil {
		t.Errorf("the second run: got %+v, %v, said %q", s, err, said.said)
	}
	w.store = objectstore.NewMemory("another")
	q, said = w.query(&laketest.Script{})
	q.Name, q.NewQuery = "another", true
	if s, err = q.Run(t.Context()); err != nil || len(began(said)) != 1 || s.TableMade || s.Began == nil {
		t.Errorf("a new query into a table that is there: got %+v, %v, said %q", s, err, said.said)
	}
}

// A copied folder is not a copied table: where the catalog of before is still there, both would change the same files.
func TestATableThatIsInAnotherCatalogNowIsJudged(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.arrive()
	var asked []string
	moved := func(remark string, err error) func(*runner.Query) {
		return func(q *runner.Query) {
			q.SinkName = "the copy"
			q.CheckSink = func(uuid, was, is string) (string, error) {
				asked = append(asked, strings.Join([]string{uuid, was, is}, " "))
				return remark, err
			}
		}
	}
	copied := moved("", &batch.Fault{Class: batch.Inconsistent, Message: "two catalogs", Hint: "remove one"})
	if o := w.inspect(t, copied); batch.ClassOf(o.Refusal) != batch.Inconsistent || !strings.Contains(o.Refusal.Error(), "two catalogs") {
		t.Errorf("inspected: %v", o.Refusal)
	}
	w.unchanged(t, func() { w.refuses(t, batch.Inconsistent, copied, "two catalogs", "remove one") })
	if !slices.Contains(asked, "uuid-1 lake the copy") {
		t.Errorf("asked about %q", asked)
	}
	gone := moved("it was moved", nil)
	if o := w.inspect(t, gone); o.Refusal != nil || !slices.Equal(o.Remarks, []string{"it was moved"}) {
		t.Errorf("inspected: %v, remarks %q", o.Refusal, o.Remarks)
	}
	for i, want := range []int{1, 0} { // told once: then the checkpoint knows
		if _, said, err := w.run(gone); err != nil || strings.Count(strings.Join(said.said, "\n"), "warning: it was moved") != want {
			t.Errorf("run %d: %v, said %q, want it %d times", i, err, said.said, want)
		}
	}
}

// A checkpoint that was not copied with the folder knows nothing of another catalog: where the table is tells.
func TestAQueryThatBeginsInAnOddPlaceSaysSo(t *testing.T) {
	w := newLakeWorld(t)
	odd := func(q *runner.Query) {
		q.OddLocation = func(location string) string { return "odd: " + location }
	}
	run := func(change func(*runner.Query)) (n int) {
		t.Helper()
		q, _ := w.query(&laketest.Script{})
		odd(q)
		change(q)
		o, err := q.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, said := w.query(&laketest.Script{})
		odd(again)
		change(again)
		if _, err := again.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n = strings.Count(strings.Join(said.said, "\n"), "warning: odd: "); n != len(o.Remarks) {
			t.Errorf("said %q, inspected were %q", said.said, o.Remarks)
		}
		return n
	}
	if n := run(func(*runner.Query) {}); n != 0 {
		t.Errorf("a table of its own making is odd %d times", n)
	}
	id, err := checkpoint.NewLog(w.store).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*runner.Query){
		"a new query": func(q *runner.Query) { q.NewQuery = true },
		"adopted":     func(q *runner.Query) { q.Adopt = id },
	} {
		w.store = objectstore.NewMemory(name)
		if n := run(change); n != 1 {
			t.Errorf("%s: said %d times, want once", name, n)
		}
		if n := run(func(*runner.Query) {}); n != 0 {
			t.Errorf("%s: said %d times once it has begun", name, n)
		}
	}
}
