package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// alteration is what somebody does to a table between the reading that a batch was made for and its commit, the nth time.
type alteration func(n int, tx *table.Transaction) error

func addColumn(n int, tx *table.Transaction) error {
	return tx.UpdateSchema(true, false).AddColumn([]string{fmt.Sprintf("rivals_%d", n)}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
}

func addPartition(n int, tx *table.Transaction) error {
	return tx.UpdateSpec(true).AddField("partition", iceberg.BucketTransform{NumBuckets: n + 2}, fmt.Sprintf("half_%d", n)).Commit()
}

// advances also sums up what a progress bar is told.
type advances struct {
	*notices
	records atomic.Int64
}

func (a *advances) Advanced(n int64) { a.records.Add(n) }

// alter commits a transaction of somebody else. Unlike change it may be used while a run waits for it.
func (w *lakeWorld) alter(id table.Identifier, do func(*table.Transaction) error) error {
	tbl, err := w.catalog.LoadTable(context.Background(), id)
	if err != nil {
		return err
	}
	tx := tbl.NewTransaction()
	if err := do(tx); err != nil {
		return err
	}
	_, err = tx.Commit(context.Background())
	return err
}

// altered runs once while somebody alters a table before each of the first commits to it, the given number of times.
func (w *lakeWorld) altered(t *testing.T, name string, times int, alter alteration, change func(*runner.Query)) (told *advances, err error) {
	t.Helper()
	c := w.clean()
	done := 0
	c.BeforeCommit = func(id table.Identifier) {
		if strings.Join(id, ".") != name || done == times {
			return
		}
		done++
		if err := w.alter(id, func(tx *table.Transaction) error { return alter(done, tx) }); err != nil {
			t.Error(err)
		}
	}
	_, _, err = w.run(c, func(q *runner.Query) {
		if change != nil {
			change(q)
		}
		told = &advances{notices: q.Reporter.(*notices)}
		q.Reporter = told
	})
	if done != times {
		t.Fatalf("the table was altered %d times, not %d", done, times)
	}
	return told, err
}

// https://github.com/apache/beam/issues/32862: what was written for one shape of a table cannot be committed to another. The
// run that finds out makes the batch again.
func TestABatchIsMadeAgainForATableThatWasAlteredMeanwhile(t *testing.T) {
	for name, alter := range map[string]alteration{"a column": addColumn, "a partition": addPartition,
		"both": func(n int, tx *table.Transaction) error { return errors.Join(addColumn(n, tx), addPartition(n, tx)) },
		"a wider column, then an optional one": func(n int, tx *table.Transaction) error {
			if n == 1 {
				return tx.UpdateSchema(true, false).UpdateColumn([]string{"partition"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}}).Commit()
			}
			return tx.UpdateSchema(true, false).UpdateColumn([]string{"topic"}, table.ColumnUpdate{Required: iceberg.Optional[bool]{Val: false, Valid: true}}).Commit()
		},
		"no partition any more": func(n int, tx *table.Transaction) error {
			if n == 1 {
				return tx.UpdateSpec(true).RemoveField("topic").Commit()
			}
			return tx.UpdateSpec(true).RemoveField("offset_bucket").Commit()
		},
	} {
		for times := 1; times <= 2; times++ {
			t.Run(fmt.Sprintf("%s, %d times", name, times), func(t *testing.T) {
				t.Parallel()
				w := newPartitionedWorld(t)
				w.drain(t, nil)
				w.partitionBy = nil // the job leaves partitions to the table
				w.arrive()
				before, arrived := w.partitions(t), int64(3)
				told, err := w.altered(t, "db.orders", times, alter, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.judge(t.Context()); err != nil {
					t.Error(err)
				}
				if got := told.records.Load(); got != arrived {
					t.Errorf("the progress came to %d records, want %d", got, arrived)
				}
				again := slices.DeleteFunc(told.said, func(s string) bool { return !strings.Contains(s, "made again for the table as it is") })
				if len(again) != times {
					t.Errorf("got %q, want %d notices", told.said, times)
				}
				tbl := w.table(t)
				if head := tbl.CurrentSnapshot(); head.SchemaID == nil || *head.SchemaID != tbl.Schema().ID {
					t.Errorf("the head has schema %v, the table %d", head.SchemaID, tbl.Schema().ID)
				}
				for name, files := range w.partitions(t) {
					if before[name] != files && !strings.HasPrefix(name, fmt.Sprint(tbl.Metadata().DefaultPartitionSpec(), " ")) {
						t.Errorf("a new file is of partition %s, the table has spec %d", name, tbl.Metadata().DefaultPartitionSpec())
					}
				}
				w.arrive()
				w.drain(t, nil)
			})
		}
	}
}

func TestATableThatIsAlteredEachTimeEndsTheRunAndTheNextOneGoesOn(t *testing.T) {
	w := newLakeWorld(t)
	_, err := w.altered(t, "db.orders", 3, addColumn, nil)
	if batch.ClassOf(err) != batch.Failed || !strings.Contains(err.Error(), "was altered meanwhile") || batch.HintOf(err) == "" {
		t.Fatalf("got %v", err)
	}
	if s := w.table(t).CurrentSnapshot(); s != nil {
		t.Errorf("snapshot %d was committed", s.SnapshotID)
	}
	w.drain(t, nil)
}

// Dead letters are in their table before the rows are in theirs: making the rows again leaves them alone, and the other way
// round.
func TestABatchWithDeadLettersIsMadeAgainForEitherTable(t *testing.T) {
	addLetterPartition := func(n int, tx *table.Transaction) error {
		return tx.UpdateSpec(true).AddField("kafka_offset", iceberg.BucketTransform{NumBuckets: n + 1}, fmt.Sprintf("half_%d", n)).Commit()
	}
	for name, alter := range map[string]alteration{"db.orders": addColumn, "ops.dead": addLetterPartition} {
		w := newTypedWorld(t)
		w.mutate = whole(letting)
		told, err := w.altered(t, name, 2, alter, whole(letting))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := w.judge(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := w.lettersIn(t, "ops.dead"); got != 2 || len(w.named(t, "ops.dead").Metadata().Snapshots()) != 1 {
			t.Errorf("%s: %d dead letters in %d snapshots", name, got, len(w.named(t, "ops.dead").Metadata().Snapshots()))
		}
		if told.records.Load() != w.produced() {
			t.Errorf("%s: the progress came to %d records", name, told.records.Load())
		}
	}
}

// Where records alter the table too, both alterations are there, and the report has ours.
func TestATableThatRecordsAndSomebodyElseAlter(t *testing.T) {
	w := newGrowingWorld(t)
	var seen reports
	done := false
	c := w.clean() // what records alter goes another way
	c.BeforeCommit = func(id table.Identifier) {
		if !done {
			done = true
			if err := w.alter(id, func(tx *table.Transaction) error { return addColumn(1, tx) }); err != nil {
				t.Error(err)
			}
		}
	}
	_, _, err := w.run(c, func(q *runner.Query) {
		q.MaxOffsetsPerTrigger = 0
		seen.Reporter = q.Reporter
		q.Reporter = &seen
	})
	if err == nil {
		err = w.judge(t.Context())
	}
	if err == nil {
		err = w.judgeContent()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.columnNames(t), "rivals_1 string") || len(seen.batches) != 1 || len(seen.batches[0].Altered) == 0 {
		t.Errorf("got columns %v, reports %+v", w.columnNames(t), seen.batches)
	}
	if got := w.table(t).CurrentSnapshot().Summary.Properties["sluice.altered"]; got != strings.Join(seen.batches[0].Altered, "; ") {
		t.Errorf("the snapshot says %q", got)
	}
}

// What is no alteration, or not only one, is not taken for it: nothing is made again.
func TestWhatElseBecameOfAnAlteredTableIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		how  laketest.Mode
		then func(w *lakeWorld) error
		want batch.Class
		says string
		rows int64
	}{
		"the batch was committed, its answer lost": {laketest.AnswerLost, func(*lakeWorld) error { return nil }, -1, "", 8},
		"the batch was not committed":              {laketest.NotApplied, func(*lakeWorld) error { return nil }, -1, "", 8},
		"another run finished it":                  {laketest.NotApplied, func(w *lakeWorld) error { return w.recovers(context.Background()) }, batch.Fenced, "batch", 8},
		"it is another table":                      {laketest.NotApplied, func(w *lakeWorld) error { return w.swap() }, batch.Inconsistent, "dropped and created again", 0},
		"it is gone": {laketest.NotApplied, func(w *lakeWorld) error {
			return w.catalog.DropTable(context.Background(), orders)
		}, batch.Inconsistent, "was dropped while batch 0", -1},
		"it does not take the rows any more": {laketest.NotApplied, func(w *lakeWorld) error {
			return w.alter(orders, func(tx *table.Transaction) error {
				return tx.UpdateSchema(true, true).DeleteColumn([]string{"value"}).Commit()
			})
		}, batch.Inconsistent, "no column value", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLakeWorld(t)
			script := laketest.BreakWhen(func(effect string) bool { return effect == "commit db.orders snapshot" }, c.how)
			rivals := laketest.Wrap(w.catalog, script)
			did := false
			rivals.FailLoad = func() error {
				if script.Broke() && !did {
					did = true
					added := w.alter(orders, func(tx *table.Transaction) error { return addColumn(1, tx) })
					if err := errors.Join(added, c.then(w)); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			_, _, err := w.run(rivals, func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
			switch {
			case c.want < 0 && err != nil, c.want >= 0 && (batch.ClassOf(err) != c.want || !strings.Contains(err.Error(), c.says)):
				t.Fatalf("got %v (%v)", err, batch.ClassOf(err))
			case c.want < 0:
				err = w.judge(context.Background())
			default:
				err = nil
			}
			if err != nil {
				t.Error(err)
			}
			if c.rows >= 0 && w.rows(t) != c.rows {
				t.Errorf("the table has %d rows, want %d", w.rows(t), c.rows)
			}
		})
	}
}

var orders = catalog.ToIdentifier("db.orders")

// swap drops the table and creates it again.
func (w *lakeWorld) swap() error {
	was, err := w.catalog.LoadTable(context.Background(), orders)
	if err == nil {
		err = w.catalog.DropTable(context.Background(), orders)
	}
	if err == nil {
		_, err = w.catalog.CreateTable(context.Background(), orders, was.Schema())
	}
	return err
}
