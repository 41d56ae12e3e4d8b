package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/progress"
	"sluice/runner"
)

// https://issues.apache.org/jira/browse/SPARK-55058
func TestALostCheckpointIsNeverTakenForANewQuery(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	id := w.queryID(t)
	w.store = objectstore.NewMemory("lost")
	w.refuses(t, batch.Inconsistent, nil, id, "--adopt", "--new-query")
	if keys, err := w.store.List(context.Background(), "", ""); err != nil || len(keys) > 0 {
		t.Errorf("the refused run left %v (%v)", keys, err)
	}
	w.refuses(t, batch.Inconsistent, func(q *runner.Query) { q.Adopt = "no-such-id" }, id)
	w.arrive()
	s := w.drain(t, func(q *runner.Query) { q.Adopt = id })
	if s.Records != 6 || s.FirstBatch != 3 || w.queryID(t) != id {
		t.Errorf("after adopting got %+v", s)
	}
}

// A job that is renamed gets another default checkpoint, an empty one: without a look at the other queries' ledgers it
// would read everything into the same table again, and every row would look right.
func TestARenamedJobDoesNotReadEverythingAgain(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	id := w.queryID(t)
	w.store = objectstore.NewMemory("renamed")
	rename := func(q *runner.Query) { q.Name = "renamed" }
	w.refuses(t, batch.Inconsistent, rename, id, "t-0 up to 8", `{"t":{"0":8,"1":4}}`, "--new-query")
	if keys, err := w.store.List(context.Background(), "", ""); err != nil || len(keys) > 0 {
		t.Errorf("the refused run left %v (%v)", keys, err)
	}
	w.arrive()
	if s, _, err := w.run(func(q *runner.Query) { rename(q); q.Source.(*source).latest = true }); err != nil || s.Records != 0 {
		t.Errorf("from the end it read %d records, %v", s.Records, err)
	}
}

func TestANewQueryIntoAnOldTableReadsEverythingAgainIfAsked(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.store = objectstore.NewMemory("new")
	s, _, err := w.run(func(q *runner.Query) { q.NewQuery = true })
	if err != nil || s.Records != 10 || s.FirstBatch != 0 {
		t.Fatalf("got %+v, %v", s, err)
	}
	rows, err := w.lake.rows()
	if err != nil || rows[row{0, 0}] != 2 {
		t.Errorf("got %v, %v; two queries write each record once each", rows, err)
	}
}

// https://github.com/apache/iceberg/issues/10892
func TestACheckpointBehindTheTableIsRebuiltFromTheLedger(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	for name, lose := range map[string][]string{
		"the newest marker and plan":   {"offsets/2", "commits/2"},
		"all plans":                    {"offsets/2", "offsets/1"},
		"all plans and markers":        {"offsets/2", "offsets/1", "commits/2", "commits/1"},
		"the newest plan alone":        {"offsets/2"},
		"all markers and newest plans": {"offsets/2", "commits/2", "commits/1"},
	} {
		t.Run(name, func(t *testing.T) {
			lost := *w
			lost.store = objectstore.NewMemory("backup")
			keys, err := w.store.List(context.Background(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				data, _, err := w.store.Get(context.Background(), key)
				if err == nil {
					err = lost.store.Put(context.Background(), key, data)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := lost.store.Delete(context.Background(), lose...); err != nil {
				t.Fatal(err)
			}
			s, said, err := lost.run(nil)
			if err != nil || s.Batches != 0 || !s.CaughtUp || lost.judge() != nil {
				t.Fatalf("got %+v, %v, %v", s, err, lost.judge())
			}
			if len(said.said) == 0 || !strings.Contains(said.said[0], "rebuild") {
				t.Errorf("nobody was told: %v", said.said)
			}
			if log := lost.newest(t); log.Plan.Batch != 2 || log.Commit != 2 {
				t.Errorf("got plan %d, marker %d", log.Plan.Batch, log.Commit)
			}
		})
	}
	w.arrive()
	w.drain(t, nil)
}

// rollBack makes the head's n-th ancestor the head again, as any engine may.
func (l *lake) rollBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.head = l.snapshots[l.head].parent
	}
	l.version++
}

func TestRowsTheTableLostAreReadAgainOrAcceptedAsChosen(t *testing.T) {
	for _, tc := range []struct {
		choice batch.Choice
		depth  int
	}{{batch.Reread, 1}, {batch.Reread, 2}, {batch.Reread, 3}, {batch.Accept, 1}, {batch.Accept, 3}} {
		t.Run(fmt.Sprint(tc.choice, tc.depth), func(t *testing.T) {
			w := newWorld()
			w.retain = 100
			w.drain(t, nil)
			w.lake.rollBack(tc.depth)
			w.refuses(t, batch.Inconsistent, nil, "--lost-rows reread", "--lost-rows accept")
			choose := func(q *runner.Query) { q.LostRows = tc.choice }
			w.dieChoosing(t, choose)
			w.kafka.produce(1, 3) // and the replay needs no flag: the plan knows
			s, _, err := w.run(nil)
			if err != nil || !s.CaughtUp || s.FirstBatch != 3 {
				t.Fatalf("got %+v, %v; want to go on as batch 3", s, err)
			}
			if err := w.judge(); tc.choice == batch.Reread && err != nil {
				t.Error(err)
			}
			if tc.choice == batch.Accept && s.Records != 3 {
				t.Errorf("read %d records, want the 3 new ones", s.Records)
			}
			if s := w.drainWithout(t); s.Batches != 0 {
				t.Errorf("the run after it got %+v, want nothing to do", s)
			}
		})
	}
}

// dieChoosing is killed right after the plan that carries a choice out has been written.
func (w *world) dieChoosing(t *testing.T, choose func(*runner.Query)) {
	t.Helper()
	q, _ := w.query(dyingAt("create offsets/3"), none)
	choose(q)
	if _, err := q.Run(context.Background()); !errors.Is(err, errKilled) {
		t.Fatalf("got %v, want to die", err)
	}
}

func (w *world) drainWithout(t *testing.T) *progress.Summary {
	t.Helper()
	s, _, err := w.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// https://github.com/apache/iceberg/issues/14979
func TestATableCreatedAgainIsNotTheSame(t *testing.T) {
	for _, tc := range []struct {
		choice  batch.Choice
		records int64
	}{{batch.Accept, 6}, {batch.Reread, 16}} {
		w := newWorld()
		w.drain(t, nil)
		w.lake = newLake()
		w.lake.uuid = "uuid-2"
		w.arrive()
		w.refuses(t, batch.Inconsistent, nil, "uuid-1", "uuid-2", "--lost-rows")
		if len(w.lake.snapshots) > 0 {
			t.Error("a refused run committed")
		}
		s, _, err := w.run(func(q *runner.Query) { q.LostRows = tc.choice })
		if err != nil || s.Records != tc.records || s.FirstBatch != 3 {
			t.Errorf("%s: got %+v, %v; want %d records", tc.choice, s, err, tc.records)
		}
		if s := w.drainWithout(t); s.Batches != 0 || !s.CaughtUp {
			t.Errorf("%s: the run after it got %+v", tc.choice, s)
		}
	}
}
