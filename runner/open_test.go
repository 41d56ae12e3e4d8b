package runner_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/objectstore/storetest"
	"sluice/runner"
)

// An option that decides something, where there is nothing to decide, is told to whoever gave it, once.
func TestAnOptionThatChangesNothingIsTold(t *testing.T) {
	adopt := func(q *runner.Query) { q.Adopt = "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10" }
	for name, tc := range map[string]struct {
		left   func(*testing.T, *world)
		change func(*runner.Query)
		want   []string // none: it has its effect
	}{
		"a new query in a checkpoint that is not empty": {drained, newQuery, []string{"--new-query", "empty checkpoint"}},
		"a new query where nothing was":                 {nil, newQuery, []string{"--new-query", "the table holds nothing"}},
		"a new query that is one":                       {checkpointLost, newQuery, nil},
		"a new query after a rename":                    {checkpointLost, func(q *runner.Query) { renamed(q); newQuery(q) }, nil},
		"to adopt in a checkpoint that is not empty":    {drained, adopt, []string{"--adopt"}},
		"to adopt what was lost":                        {checkpointLost, adoptAny, nil},
		"lost rows where none are":                      {drained, lostRows(batch.Reread), []string{"--lost-rows", "has lost no rows"}},
		"lost rows that were chosen about already":      {chosenAndKilled, lostRows(batch.Accept), []string{"--lost-rows", "reread"}},
		"lost rows where another question is":           {anotherMetadata, lostRows(batch.Accept), []string{"--lost-rows", "no question of lost rows"}},
		"lost rows that are":                            {rolledBack(1), lostRows(batch.Accept), nil},
		"lost rows of a table created again":            {createdAgain, lostRows(batch.Accept), nil},
		"a start where nothing was":                     {nil, startGiven, nil},
		"a start that was pinned already":               {killedAt("create sources/0/0"), startGiven, []string{"--starting-offsets", "orders has begun"}},
		"a start of a query that has begun":             {drained, startGiven, []string{"--starting-offsets", "orders has begun"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.retain = 100
			if tc.left != nil {
				tc.left(t, w)
			}
			told := w.inspect(t, tc.change).Unused
			_, said, _ := w.run(tc.change)
			heard := slices.DeleteFunc(said.said, func(s string) bool { return !strings.Contains(s, "no effect") })
			for i, found := range [][]string{told, heard} {
				if len(found) != min(1, len(tc.want)) {
					t.Fatalf("%d: got %q, want one of %q", i, found, tc.want)
				}
				for _, part := range tc.want {
					if !strings.Contains(found[0], part) {
						t.Errorf("%d: got %q, want it to say %q", i, found[0], part)
					}
				}
			}
		})
	}
}

func startGiven(q *runner.Query) { q.StartGiven = "--starting-offsets" }

// noPermission is a sink that may not make a table.
type noPermission struct{ runner.Sink }

var errPermission = &batch.Fault{Class: batch.NotSetUp, Message: "make table: permission denied", Hint: "grant it"}

func (noPermission) Create(context.Context, columns.Schema) error { return errPermission }

// A first run that may not make the table leaves a checkpoint that is still empty, but for the lease it gave back: once
// that is cured, also by another job, it is a first run like any other.
func TestAFirstRunThatMayNotMakeTheTableLeavesNothingHalfDone(t *testing.T) {
	w := newWorld()
	leased := func(q *runner.Query) { q.Lease = checkpoint.NewLease(w.store, q.RunID) }
	for range 2 {
		_, said, err := w.run(func(q *runner.Query) { leased(q); q.Sink = noPermission{q.Sink} })
		if !errors.Is(err, errPermission) || len(said.said) > 0 {
			t.Fatalf("got %v, said %v", err, said.said)
		}
	}
	left := slices.Sorted(maps.Keys(objects(t, w.store)))
	if holder, err := checkpoint.ReadHolder(t.Context(), w.store); !slices.Equal(left, []string{"lock/lease.json"}) || err != nil || !holder.Released {
		t.Errorf("left %v, the lease is %v (%v)", left, holder, err)
	}
	s, said, err := w.run(func(q *runner.Query) { leased(q); q.Name = "renamed meanwhile" })
	if err == nil {
		err = w.judge()
	}
	if err != nil || s.FirstBatch != 0 || !s.CaughtUp || len(said.said) != 1 || !strings.HasPrefix(said.said[0], "a new query begins") {
		t.Errorf("got %+v, %v, said %v", s, err, said.said)
	}
}

// No table is made for a checkpoint that cannot be relied on.
func TestAFirstRunOnAnUnsafeStoreMakesNoTable(t *testing.T) {
	w := newLakeWorld(t)
	w.store = storetest.IgnoresConditions{Store: w.store}
	_, _, err := w.run(w.clean(), nil)
	if batch.ClassOf(err) != batch.NotSetUp {
		t.Errorf("got %v, want it to refuse the store", err)
	}
	if exists, err := w.catalog.CheckTableExists(t.Context(), []string{"db", "orders"}); err != nil || exists {
		t.Errorf("the table is there: %v, %v", exists, err)
	}
}

// A first run where the table is there and does not take the rows: whoever then drops it, or names another one, is not
// asked what became of the old one.
func TestAFirstRunIntoATableThatDoesNotFitLeavesNothingHalfDone(t *testing.T) {
	w := newLakeWorld(t)
	_, said, err := w.run(w.clean(), func(q *runner.Query) {
		if err := q.Sink.Create(t.Context(), columns.Schema{{Name: "offset", Type: columns.Type{Kind: columns.String}}}); err != nil {
			t.Fatal(err)
		}
	})
	if batch.ClassOf(err) != batch.Inconsistent || len(said.said) > 0 {
		t.Fatalf("got %v, said %v, want it to refuse the table", err, said.said)
	}
	if left := objects(t, w.store); len(left) > 0 {
		t.Errorf("left %v", slices.Sorted(maps.Keys(left)))
	}
	if err := w.catalog.DropTable(t.Context(), []string{"db", "orders"}); err != nil {
		t.Fatal(err)
	}
	w.drain(t, nil)
}

// A cluster that does not tell its id is not taken for another one.
func TestAClusterWithoutAnIDIsNoOtherCluster(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.cluster = ""
	w.drain(t, nil)
	w.kafka.cluster = "cluster-2"
	w.refuses(t, batch.Inconsistent, nil, "cluster-1", "cluster-2")
}
