package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/lakesink/laketest"
	"sluice/progress"
	"sluice/runner"
)

// What went wrong for others, in public, between a checkpoint and a real table. The checkpoint keeps everything here and
// the table is not maintained, so that what the tests do to them is all that happens.

func (w *lakeWorld) table(t *testing.T) *table.Table {
	t.Helper()
	tbl, err := w.catalog.LoadTable(t.Context(), catalog.ToIdentifier("db.orders"))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// run runs once on a catalog, after change has had its say.
func (w *lakeWorld) run(c *laketest.Catalog, change func(*runner.Query)) (*progress.Summary, *notices, error) {
	q, said := w.query(c.Script)
	q.Log.(*checkpoint.Log).Retain = 100
	q.Sink = lakeSink{lakesink.New(c, lakesink.Options{Table: "db.orders", Catalog: "test", Now: w.clock, PartitionBy: w.partitionBy, TableProperties: w.properties(), Branch: w.branch})}
	q.DeadLetters = func(place batch.LetterPlace) runner.Sink {
		return lakeSink{lakesink.New(c, lakesink.Options{Table: place.Name, Catalog: "test", Now: w.clock})}
	}
	if change != nil {
		change(q)
	}
	s, err := q.Run(context.Background())
	return s, said, err
}

// clean is the catalog without faults.
func (w *lakeWorld) clean() *laketest.Catalog { return laketest.Wrap(w.catalog, &laketest.Script{}) }

// drain runs without faults and fails the test unless every record is in the table once and verify agrees.
func (w *lakeWorld) drain(t *testing.T, change func(*runner.Query)) *progress.Summary {
	t.Helper()
	s, _, err := w.run(w.clean(), change)
	if err == nil {
		err = w.judge(t.Context())
	}
	if err != nil || !s.CaughtUp {
		t.Fatalf("got %+v, %v", s, err)
	}
	return s
}

// dieBefore runs until right before the effect, dieAfter until right after it; nothing of the run happens from there on.
func (w *lakeWorld) dieBefore(t *testing.T, effect string) {
	t.Helper()
	w.die(t, effect, laketest.Killed)
}

func (w *lakeWorld) dieAfter(t *testing.T, effect string) {
	t.Helper()
	w.die(t, effect, laketest.KilledAfter)
}

func (w *lakeWorld) die(t *testing.T, effect string, how laketest.Mode) {
	t.Helper()
	c := laketest.Wrap(w.catalog, laketest.BreakWhen(func(name string) bool { return name == effect }, how))
	if _, _, err := w.run(c, nil); !c.Script.Dead() {
		t.Fatalf("the run was to die at %q and ended with %v; it had %v", effect, err, c.Script.Effects())
	}
}

func (w *lakeWorld) refuses(t *testing.T, class batch.Class, change func(*runner.Query), parts ...string) {
	t.Helper()
	_, _, err := w.run(w.clean(), change)
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" {
		t.Fatalf("got %v (hint %q), want %v with a hint", err, batch.HintOf(err), class)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error()+"\n"+batch.HintOf(err), part) {
			t.Errorf("got %q (%q), want it to name %q", err, batch.HintOf(err), part)
		}
	}
}

// https://github.com/apache/iceberg/issues/5846, https://github.com/apache/amoro/issues/930: the snapshot with the
// committed offsets was expired, and everything was read again. Here the table remembers without it, also where the
// checkpoint was lost too.
func TestRoutineMaintenanceLosesNoProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		lost  []string
		adopt bool
	}{
		"the checkpoint is whole":           {},
		"its newest entries are lost":       {lost: []string{"offsets/1", "commits/1"}},
		"its plans and markers are lost":    {lost: []string{"offsets/", "commits/", "sources/"}},
		"it is lost, and the id is adopted": {lost: []string{""}, adopt: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLakeWorld(t)
			w.drain(t, nil)
			id, err := checkpoint.NewLog(w.store).Query(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.maintain(t)
			w.lose(t, tc.lost...)
			if tc.adopt {
				w.refuses(t, batch.Inconsistent, nil, id, "--adopt")
			}
			adopt := func(q *runner.Query) {
				if tc.adopt {
					q.Adopt = id
				}
			}
			if s := w.drain(t, adopt); s.Batches != 0 || s.Records != 0 {
				t.Errorf("got %+v, want nothing to do", s)
			}
			w.kafka.produce(0, 3)
			if s := w.drain(t, nil); s.Records != 3 {
				t.Errorf("got %+v, want the 3 new records", s)
			}
		})
	}
}

// The same, where a run was killed between its commit and its marker.
func TestMaintenanceAfterACrashLosesNoProgress(t *testing.T) {
	w := newLakeWorld(t)
	w.drain(t, nil)
	w.kafka.produce(0, 3)
	w.dieBefore(t, "create commits/3")
	w.maintain(t)
	s, said, err := w.run(w.clean(), nil)
	if err != nil || s.Records != 0 || w.judge(t.Context()) != nil {
		t.Errorf("got %+v, %v, %v, want nothing to do", s, err, w.judge(t.Context()))
	}
	if len(said.said) == 0 || !strings.Contains(said.said[0], "wrote its marker") {
		t.Errorf("got notices %v", said.said)
	}
}

// A rollback is not an expiry: rows are gone, and somebody has to say what that means.
func TestARollbackOfARealTableIsAskedAbout(t *testing.T) {
	for _, choice := range []batch.Choice{batch.Reread, batch.Accept} {
		w := newLakeWorld(t)
		w.drain(t, nil)
		rows := w.rows(t)
		w.change(t, func(tx *table.Transaction) error {
			return tx.RollbackToSnapshot(*w.table(t).CurrentSnapshot().ParentSnapshotID)
		})
		if w.rows(t) == rows {
			t.Fatal("nothing was rolled back")
		}
		w.refuses(t, batch.Inconsistent, nil, "rolled back", "--lost-rows reread", "--lost-rows accept")
		w.kafka.produce(1, 2)
		s, _, err := w.run(w.clean(), func(q *runner.Query) { q.LostRows = choice })
		if err != nil || !s.CaughtUp {
			t.Fatalf("%s: got %+v, %v", choice, s, err)
		}
		w.tellsOf(t, s.FirstBatch, choice)
		if choice == batch.Reread {
			w.drain(t, nil) // and judge
		} else if s.Records != 2 {
			t.Errorf("accepted: got %d records, want the 2 new ones", s.Records)
		}
		if s, _, err := w.run(w.clean(), nil); err != nil || s.Batches != 0 {
			t.Errorf("%s: the run after it got %+v, %v", choice, s, err)
		}
	}
}

// tellsOf fails the test unless the snapshot and the report of a batch, and of no other, tell what was decided.
func (w *lakeWorld) tellsOf(t *testing.T, n int64, choice batch.Choice) {
	t.Helper()
	told := map[string]string{}
	for _, s := range w.table(t).Metadata().Snapshots() {
		if text, ok := s.Summary.Properties["sluice.accepted"]; ok {
			told[s.Summary.Properties["sluice.batch-id"]] = text
		}
	}
	accepted := w.plan(t, n).Accepted
	want, err := json.Marshal(accepted)
	if err != nil || accepted == nil || accepted.Choice != choice || !maps.Equal(told, map[string]string{fmt.Sprint(n): string(want)}) {
		t.Errorf("%s: the snapshots say %v, want %s of batch %d (%v)", choice, told, want, n, err)
	}
	for i := range n + 1 {
		text, err := checkpoint.NewLog(w.store).Progress(t.Context(), i)
		if err != nil || strings.Contains(string(text), `"accepted":`+string(want)) != (i == n) {
			t.Errorf("%s: the report of batch %d is %s, %v", choice, i, text, err)
		}
	}
}

// plan reads a plan as it is stored.
func (w *lakeWorld) plan(t *testing.T, n int64) *batch.Plan {
	t.Helper()
	plan, err := checkpoint.NewLog(w.store).ReadPlan(t.Context(), n)
	if err != nil || plan == nil {
		t.Fatalf("plan %d: got %v, %v", n, plan, err)
	}
	return plan
}

// https://github.com/apache/iceberg/issues/14979: a table that was dropped and created again got files of the old one, and
// the offsets from before kept it from being filled. It takes a decision, and then both ways are right.
func TestARealTableCreatedAgainIsAskedAbout(t *testing.T) {
	again := func(t *testing.T, w *lakeWorld, schema columns.Schema) (was string) {
		was = w.table(t).Metadata().TableUUID().String()
		if err := w.catalog.DropTable(t.Context(), catalog.ToIdentifier("db.orders")); err != nil {
			t.Fatal(err)
		}
		if err := lakesink.New(w.catalog, lakesink.Options{Table: "db.orders"}).Create(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		return was
	}
	for choice, want := range map[batch.Choice]int64{batch.Accept: 3, batch.Reread: 11} {
		w := newLakeWorld(t)
		w.drain(t, nil)
		was := again(t, w, decode.NewRaw(false).Schema())
		w.kafka.produce(0, 3)
		w.refuses(t, batch.Inconsistent, nil, was, w.table(t).Metadata().TableUUID().String(), "--lost-rows reread", "--lost-rows accept")
		if w.table(t).CurrentSnapshot() != nil {
			t.Fatal("a refused run committed")
		}
		s, _, err := w.run(w.clean(), func(q *runner.Query) { q.LostRows = choice })
		if err != nil || s.Records != want || w.rows(t) != want {
			t.Errorf("%s: got %+v, %v and %d rows, want %d", choice, s, err, w.rows(t), want)
		}
		if s, _, err := w.run(w.clean(), nil); err != nil || s.Batches != 0 {
			t.Errorf("%s: the run after it got %+v, %v", choice, s, err)
		}
	}
	w := newLakeWorld(t)
	w.drain(t, nil)
	again(t, w, columns.Schema{{Name: "offset", Type: columns.Type{Kind: columns.String}}})
	w.kafka.produce(0, 3)
	for _, choice := range []batch.Choice{"", batch.Accept, batch.Reread} {
		_, _, err := w.run(w.clean(), func(q *runner.Query) { q.LostRows = choice })
		if batch.ClassOf(err) != batch.Inconsistent || choice != "" && !strings.Contains(err.Error(), "offset") || w.table(t).CurrentSnapshot() != nil {
			t.Errorf("another schema, choice %q: got %v", choice, err)
		}
	}
}

// https://github.com/datazip-inc/olake/issues/349: a chunk that was committed piece by piece and then tried again was
// there in part twice. Here nothing counts before all of it does.
func TestAFailureBetweenFilesCommitsNone(t *testing.T) {
	w := newLakeWorld(t)
	w.kafka.put(0, 92)
	whole := func(q *runner.Query) { q.MaxOffsetsPerTrigger, q.MinPartitions, q.Workers = 0, 10, 1 }
	created := 0
	c := laketest.Wrap(w.catalog, laketest.BreakWhen(func(name string) bool {
		if name == "create data" {
			created++
		}
		return created == 6
	}, laketest.NotApplied))
	if _, _, err := w.run(c, whole); !errors.Is(err, laketest.ErrInjected) {
		t.Fatalf("got %v", err)
	}
	if w.table(t).CurrentSnapshot() != nil || w.written(t) != 5 {
		t.Errorf("a snapshot was made, or %d files were written, want 5", w.written(t))
	}
	if s := w.drain(t, whole); s.Batches != 1 || s.Records != 100 || w.files(t) != 10 || w.written(t) != 15 {
		t.Errorf("got %+v with %d live files of %d", s, w.files(t), w.written(t))
	}
}

// https://github.com/redpanda-data/connect/issues/4591, https://github.com/apache/iceberg/issues/3717: the commit's answer is
// lost and nobody can be asked. The run says so and deletes nothing; the next one finds out.
func TestAnUnknownOutcomeIsSettledByTheNextRun(t *testing.T) {
	for _, how := range []laketest.Mode{laketest.AnswerLost, laketest.NotApplied} {
		w := newLakeWorld(t)
		c := laketest.Wrap(w.catalog, laketest.BreakWhen(func(name string) bool { return name == "commit db.orders snapshot" }, how))
		c.FailLoad = func() error {
			if c.Script.Broke() {
				return errors.New("gateway timeout")
			}
			return nil
		}
		one := func(q *runner.Query) {
			q.MaxOffsetsPerTrigger = 0
			q.Sink = lakeSink{lakesink.New(c, lakesink.Options{Table: "db.orders", Catalog: "test", Sleep: func(context.Context, time.Duration) error { return nil }})}
		}
		if _, _, err := w.run(c, one); batch.ClassOf(err) != batch.UnknownOutcome || batch.HintOf(err) == "" {
			t.Fatalf("%v: got %v", how, err)
		}
		written := w.written(t)
		s := w.drain(t, func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
		if applied := how == laketest.AnswerLost; applied != (s.Records == 0) || applied && w.written(t) != written || len(w.table(t).Metadata().Snapshots()) != 1 {
			t.Errorf("%v: got %+v with %d files written, %d before", how, s, w.written(t), written)
		}
	}
}
