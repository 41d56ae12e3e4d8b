package verify_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/verify"
)

// letter is a dead letter of the topic orders, partition 0.
type letter struct {
	query  string
	batch  int64
	offset int64
}

// deadTable is a table of dead letters made by hand.
type deadTable struct {
	w     *world
	table *table.Table
}

func (w *world) dead(letters ...letter) *deadTable {
	w.t.Helper()
	must(w.t, w.catalog.CreateNamespace(w.t.Context(), table.Identifier{"ops"}, nil))
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "kafka_topic", Type: iceberg.PrimitiveTypes.String}, iceberg.NestedField{ID: 2, Name: "kafka_partition", Type: iceberg.PrimitiveTypes.Int32},
		iceberg.NestedField{ID: 3, Name: "kafka_offset", Type: iceberg.PrimitiveTypes.Int64}, iceberg.NestedField{ID: 4, Name: "batch_id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 5, Name: "query_id", Type: iceberg.PrimitiveTypes.String})
	t, err := w.catalog.CreateTable(w.t.Context(), table.Identifier{"ops", "dead"}, schema)
	must(w.t, err)
	d := &deadTable{w, t}
	d.add(letters...)
	return d
}

func (d *deadTable) add(letters ...letter) {
	d.w.t.Helper()
	schema, err := table.SchemaToArrowSchema(d.table.Schema(), nil, true, false)
	must(d.w.t, err)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, l := range letters {
		b.Field(0).(*array.StringBuilder).Append("orders")
		b.Field(1).(*array.Int32Builder).Append(0)
		b.Field(2).(*array.Int64Builder).Append(l.offset)
		b.Field(3).(*array.Int64Builder).Append(l.batch)
		b.Field(4).(*array.StringBuilder).Append(l.query)
	}
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	must(d.w.t, err)
	d.change(func(tx *table.Transaction) error { return tx.Append(d.w.t.Context(), reader, nil) })
}

func (d *deadTable) change(do func(*table.Transaction) error) {
	d.w.t.Helper()
	tx := d.table.NewTransaction()
	must(d.w.t, do(tx))
	var err error
	d.table, err = tx.Commit(d.w.t.Context())
	must(d.w.t, err)
}

// withLetters are options with everything, the table of dead letters too.
func (w *world) withLetters(uuid string) verify.Options {
	o := w.whole()
	o.Identity = &batch.Identity{Tables: map[string]string{"main": w.table.Metadata().TableUUID().String(), "deadLetters/ops.dead": uuid}}
	o.DeadLetters = map[string]func(context.Context) (*table.Table, error){}
	for _, name := range verify.LetterTables(o.Identity) {
		o.DeadLetters[name] = func(ctx context.Context) (*table.Table, error) {
			return w.catalog.LoadTable(ctx, catalog.ToIdentifier(name))
		}
	}
	return o
}

// newLetterWorld has read offsets 0 to 9, of which 3 and 5 were dead letters.
func newLetterWorld(t *testing.T) *world {
	w := newWorld(t)
	p := reading("orders", 0, 0, 10)
	p.dead = []int64{3, 5}
	w.apply(ordersQuery, p)
	return w
}

func TestRowsAndDeadLettersTogetherAreProved(t *testing.T) {
	w := newLetterWorld(t)
	d := w.dead(letter{ordersQuery, 0, 3}, letter{ordersQuery, 0, 5},
		letter{backfill, 0, 4},     // another query's
		letter{ordersQuery, 1, 12}) // of a batch whose rows are not there yet
	r := w.verify(w.withLetters(d.table.Metadata().TableUUID().String()))
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if len(r.CannotProve) > 0 || r.DeadLetters != 2 || r.DeadLettersFound != 2 || r.Rows != 8 || r.Missing != 0 {
		t.Errorf("got %+v", r)
	}
	if len(r.LetterTables) != 1 || r.LetterTables[0].Name != "ops.dead" || r.LetterTables[0].DeadLetters != 2 || r.LetterTables[0].Snapshot == 0 {
		t.Errorf("got %+v of the table", r.LetterTables)
	}
}

func TestDeadLettersThatAreNotWhatWasCountedAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		letters []letter
		kinds   []verify.Kind
		counts  []int64
	}{
		"one is missing":         {[]letter{{ordersQuery, 0, 3}}, []verify.Kind{verify.DeadLettersMissing, verify.MissingRows}, []int64{1, 0}},
		"none is there":          {nil, []verify.Kind{verify.DeadLettersMissing}, []int64{2}},
		"one is there twice":     {[]letter{{ordersQuery, 0, 3}, {ordersQuery, 0, 3}, {ordersQuery, 0, 5}}, []verify.Kind{verify.DeadLettersTwice, verify.DeadLettersUnexpected}, []int64{1, 1}},
		"one is a row, one lost": {[]letter{{ordersQuery, 0, 3}, {ordersQuery, 0, 4}}, []verify.Kind{verify.RowAndDeadLetter, verify.MissingRows}, []int64{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLetterWorld(t)
			d := w.dead(c.letters...)
			r := w.verify(w.withLetters(d.table.Metadata().TableUUID().String()))
			wantVerdict(t, r, verify.Broken)
			for i, kind := range c.kinds {
				if c.counts[i] == 0 { // a dead letter that is missing is allowed for: it is told once
					continue
				}
				if p := wantProblem(t, r, kind); p.Count != c.counts[i] || p.Query != ordersQuery || p.Evidence == "" || p.Todo == "" {
					t.Errorf("got %+v, want %d", p, c.counts[i])
				}
			}
		})
	}
}

func TestDeadLettersThatSomebodyRemovedAreNotProven(t *testing.T) {
	w := newLetterWorld(t)
	d := w.dead(letter{ordersQuery, 0, 3}, letter{ordersQuery, 0, 5})
	d.change(func(tx *table.Transaction) error {
		return tx.Delete(t.Context(), iceberg.EqualTo(iceberg.Reference("kafka_offset"), int64(3)), nil)
	})
	r := w.verify(w.withLetters(d.table.Metadata().TableUUID().String()))
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	if r.DeadLettersFound != 1 {
		t.Errorf("got %d dead letters, want 1", r.DeadLettersFound)
	}
}

func TestDeadLettersThatWereReplayedAreRowsBesides(t *testing.T) {
	w := newLetterWorld(t)
	d := w.dead(letter{ordersQuery, 0, 3}, letter{ordersQuery, 0, 5})
	w.insert(nil, rowsOf("orders", 0, 3, 4)...)
	options := w.withLetters(d.table.Metadata().TableUUID().String())
	wantProblem(t, w.verify(options), verify.RowAndDeadLetter)
	w.forge(ordersQuery, func(l *batch.Ledger) {
		a := l.Accounts[orders0]
		a.Replayed = 1
		l.Accounts[orders0] = a
	})
	r := w.verify(options)
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if r.Rows != 9 || r.Expected != 9 || r.Replayed != 1 {
		t.Errorf("got %d of %d rows, %d replayed", r.Rows, r.Expected, r.Replayed)
	}
	w.forge(ordersQuery, func(l *batch.Ledger) {
		a := l.Accounts[orders0]
		a.Replayed = 3
		l.Accounts[orders0] = a
	})
	wantProblem(t, w.verify(options), verify.LedgerImpossible)
}

func TestATableOfDeadLettersThatIsGoneOrDamagedIsFound(t *testing.T) {
	w := newLetterWorld(t)
	d := w.dead(letter{ordersQuery, 0, 3}, letter{ordersQuery, 0, 5})
	if p := wantProblem(t, w.verify(w.withLetters("another")), verify.DeadLetterTableGone); !strings.Contains(p.Evidence, "another") {
		t.Errorf("got %+v", p)
	}
	options := w.withLetters(d.table.Metadata().TableUUID().String())
	for task, err := range tasksOf(t, d.table) {
		must(t, err)
		must(t, os.Truncate(strings.TrimPrefix(task, "file://"), 10))
	}
	wantProblem(t, w.verify(options), verify.FileUnreadable)
	must(t, w.catalog.DropTable(t.Context(), table.Identifier{"ops", "dead"}))
	wantProblem(t, w.verify(options), verify.DeadLetterTableGone)
}

// tasksOf are the paths of the table's data files.
func tasksOf(t *testing.T, tbl *table.Table) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		tasks, err := tbl.Scan().PlanFiles(t.Context())
		if err != nil {
			yield("", err)
		}
		for _, task := range tasks {
			if !yield(task.File.FilePath(), nil) {
				return
			}
		}
	}
}
