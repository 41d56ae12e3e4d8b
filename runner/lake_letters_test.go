package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// Jobs with dead letters on a real table.
var (
	letting          = batch.Value{Format: "json", Schema: "p INT, o BIGINT", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "ignore", DeadLetters: "ops.dead"}
	lettingAll       = batch.Value{Format: "json", Schema: "p INT, o BIGINT", OnMalformed: "deadLetter", OnTombstone: "deadLetter", OnUnknownField: "ignore", DeadLetters: "ops.dead"}
	lettingElsewhere = batch.Value{Format: "json", Schema: "p INT, o BIGINT", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "ignore", DeadLetters: "ops.other"}
	lettingMoved     = batch.Value{Format: "json", Schema: "p INT, o BIGINT", OnMalformed: "deadLetter", OnTombstone: "deadLetter", OnUnknownField: "ignore", DeadLetters: "ops.other"}
	lettingOther     = batch.Value{Format: "json", Schema: "o BIGINT", OnMalformed: "deadLetter", OnTombstone: "deadLetter", OnUnknownField: "ignore", DeadLetters: "ops.other"}
)

// The sweep over both tables, while the job's schema and policies are changed between a crash and its replay: verify finds
// every record in one of them, once.
func TestDeadLettersOnIcebergTablesStruckAnywhereAreThereOnce(t *testing.T) {
	for name, jobs := range map[string][2]batch.Value{ // with -full all of them
		"the same job":                      {letting, letting},
		"dead letters become nulls":         {letting, keeping},
		"nulls become dead letters":         {keeping, lettingAll},
		"another schema, policy and table":  {letting, lettingOther},
		"tombstones no longer dead letters": {lettingAll, letting},
	} {
		t.Run(name, func(t *testing.T) {
			if !*full && name != "another schema, policy and table" && name != "nulls become dead letters" {
				t.Skip("with -full only: the fake table has all of them")
			}
			t.Parallel()
			struck := map[string]bool{}
			for i := 0; ; i++ {
				s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
				w := newTypedWorld(t)
				w.mutate = valued(jobs[0])
				met, err := w.fail(context.Background(), s)
				if !met {
					if err != nil {
						t.Error(err)
					}
					break
				}
				struck[s.Effects()[i]] = true
				w.arrive()
				w.mutate = valued(jobs[1])
				if err := w.recovers(context.Background()); err != nil {
					t.Errorf("%q: %v", s.Effects()[i], err)
				}
			}
			if jobs[0].Rejects() && (!struck["commit ops.dead snapshot"] || !struck["create table ops.dead"]) {
				t.Errorf("the table of dead letters was not struck: %v", struck)
			}
		})
	}
}

// The same where the table grows with its records: which of them are malformed may depend on columns that the batch itself
// brings, as with a field that is a number in most records and a text in one.
func TestDeadLettersOfATableThatGrowsStruckAnywhereAreThereOnce(t *testing.T) {
	t.Parallel()
	growingLetters := growing
	growingLetters.OnMalformed, growingLetters.DeadLetters = "deadLetter", "ops.dead"
	struck := map[string]bool{}
	for i := 0; ; i++ {
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		w := newLakeWorld(t)
		w.mutate = valued(growingLetters)
		w.value = func(partition int32, offset int64) []byte {
			switch offset % 4 {
			case 2:
				return []byte("{")
			case 3:
				return fmt.Appendf(nil, `{"p":"%d","x":true}`, partition)
			}
			return drifting(partition, offset)
		}
		met, err := w.fail(context.Background(), s)
		if !met {
			if err != nil {
				t.Error(err)
			}
			break
		}
		struck[s.Effects()[i]] = true
		w.arrive()
		if err := w.recovers(context.Background()); err != nil {
			t.Errorf("%q: %v", s.Effects()[i], err)
		}
	}
	if !struck["commit ops.dead snapshot"] || !struck["commit db.orders schema"] {
		t.Errorf("it was struck at %v", struck)
	}
}

// A run sleeps at each of its writes while two others, with another job, recover what it left and go on.
func TestARunWithDeadLettersOnIcebergTablesThatStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	fenced, slept := 0, map[string]bool{}
	for i := 0; ; i++ {
		w := newTypedWorld(t)
		w.mutate = valued(letting)
		h := haltAt(i)
		sleeper := w.sleeper(h)
		w.mutate = valued(lettingMoved)
		name, outcome, err := w.stall(sleeper, h)
		if err != nil {
			t.Errorf("a run slept %s: %v", name, err)
		}
		if name == "" {
			break
		}
		slept[name] = true
		switch batch.ClassOf(outcome) {
		case batch.Fenced:
			fenced++
		case batch.Failed:
		default:
			t.Errorf("the run that slept %s was told: %v", name, outcome)
		}
	}
	if fenced == 0 || !slept["before commit ops.dead snapshot"] {
		t.Errorf("%d were fenced, of those that slept at %v", fenced, slept)
	}
}

// What a plan's dead letters were found to be is not to be found otherwise by its replay: a record would be in both tables
// or in none.
func TestAReplayWithOtherDeadLettersIsRefused(t *testing.T) {
	w := newTypedWorld(t)
	w.mutate = whole(letting)
	w.dieAfter(t, "commit ops.dead snapshot")
	w.alterSoThatPlansFail(t)
	nulled := batch.Value{Format: "json", Schema: "q INT", OnMalformed: "null", OnTombstone: "keep", OnUnknownField: "ignore"}
	w.refuses(t, batch.Inconsistent, valued(nulled), "ops.dead has 2 dead letters of batch 0", "this run has 0", "change it back", "roll ops.dead back")
	same := nulled
	same.OnMalformed, same.DeadLetters = "deadLetter", "ops.other"
	w.drain(t, valued(same)) // other columns, but the same dead letters: they stay where they are
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
}

// A batch that fails under its plan's settings and then has no dead letters is in their table all the same: whoever
// planned it may only sleep.
func TestAReplayWithoutDeadLettersKeepsASleeperFromAddingAny(t *testing.T) {
	outcome, err := sleepBeforeDeadLetters(t, nil)
	if batch.ClassOf(outcome) != batch.Fenced {
		t.Errorf("the sleeper was told %v, want that another run is active", outcome)
	}
	if err != nil {
		t.Error(err)
	}
}

// sparing is the mutant whose replays leave the table of dead letters alone where they have none.
type sparing struct{ lakeSink }

func (s sparing) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	if c.DeadLetters.Count == 0 {
		return &batch.Applied{Batch: batch.None}, nil
	}
	return s.lakeSink.Commit(ctx, c)
}

func TestAReplayThatLeavesTheTableOfDeadLettersAloneIsNoticed(t *testing.T) {
	_, err := sleepBeforeDeadLetters(t, func(q *runner.Query) {
		open := q.DeadLetters
		q.DeadLetters = func(place batch.LetterPlace) runner.Sink { return sparing{open(place).(lakeSink)} }
	})
	wantNoticed(t, err)
}

// sleepBeforeDeadLetters holds a run before it commits dead letters, while another, which mutant has broken, finishes its
// batch without any. It returns what the sleeper was told and what verify says.
func sleepBeforeDeadLetters(t *testing.T, mutant func(*runner.Query)) (outcome, violation error) {
	t.Helper()
	w := newTypedWorld(t)
	w.mutate = whole(letting)
	h := &halt{name: "before commit ops.dead snapshot", paused: make(chan string, 1), resume: make(chan struct{})}
	sleeper := w.sleeper(h)
	done := make(chan error, 1)
	go func() {
		_, err := sleeper.Run(context.Background())
		done <- err
	}()
	<-h.paused
	w.alterSoThatPlansFail(t)
	nulled := batch.Value{Format: "json", Schema: "q INT", OnMalformed: "null", OnTombstone: "keep", OnUnknownField: "ignore"}
	w.drain(t, func(q *runner.Query) {
		q.Value = nulled
		if mutant != nil {
			mutant(q)
		}
	})
	close(h.resume)
	outcome = <-done
	return outcome, w.judge(t.Context())
}

// alterSoThatPlansFail takes the columns of the plans away.
func (w *lakeWorld) alterSoThatPlansFail(t *testing.T) {
	t.Helper()
	w.change(t, func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, true).DeleteColumn([]string{"p"}).DeleteColumn([]string{"o"}).AddColumn([]string{"q"}, iceberg.PrimitiveTypes.Int32, "", false, nil).Commit()
	})
}

// named is a table of the catalog.
func (w *lakeWorld) named(t *testing.T, name string) *table.Table {
	t.Helper()
	tbl, err := w.catalog.LoadTable(t.Context(), catalog.ToIdentifier(name))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// lettersIn counts the dead letters in a table, 0 if it is not there.
func (w *lakeWorld) lettersIn(t *testing.T, name string) (n int64) {
	t.Helper()
	tbl, err := w.catalog.LoadTable(t.Context(), catalog.ToIdentifier(name))
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n += batch.NumRows()
		batch.Release()
	}
	return n
}

func (w *lakeWorld) produced() (n int64) {
	for _, records := range w.kafka.records {
		n += int64(len(records))
	}
	return n
}

// More malformed records than the job bears end the batch before anything is in either table.
func TestABatchWithTooManyBadRecordsIsInNoTable(t *testing.T) {
	for _, c := range []struct {
		records int64
		ratio   float64
		text    string
	}{{1, 0, "value.maxBadRecords is 1"}, {0, 0.1, "value.maxBadRatio is 0.1"}} {
		w := newTypedWorld(t)
		strict := letting
		strict.MaxBadRecords, strict.MaxBadRatio = c.records, c.ratio
		w.refuses(t, batch.BadRecords, whole(strict), "2 malformed records among 8", c.text, "syntax 2", "t-0 at offset 2: ", "(syntax, at byte 1) near {")
		if w.table(t).CurrentSnapshot() != nil || w.named(t, "ops.dead").CurrentSnapshot() != nil {
			t.Error("a table has a batch")
		}
		raised := strict
		raised.MaxBadRecords, raised.MaxBadRatio = 2, 0.25
		w.drain(t, valued(raised)) // the open batch is finished with what the job bears now
		if err := w.judge(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A table of dead letters that is not where the query left it is for a human, who may go on with another.
func TestATableOfDeadLettersThatIsGoneReplacedOrRolledBackIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, w *lakeWorld) error
		text string
	}{
		"gone": {func(t *testing.T, w *lakeWorld) error {
			return w.catalog.DropTable(t.Context(), catalog.ToIdentifier("ops.dead"))
		}, "is gone"},
		"replaced": {func(t *testing.T, w *lakeWorld) error {
			schema := w.named(t, "ops.dead").Schema()
			err := w.catalog.DropTable(t.Context(), catalog.ToIdentifier("ops.dead"))
			_, createErr := w.catalog.CreateTable(t.Context(), catalog.ToIdentifier("ops.dead"), schema)
			return errors.Join(err, createErr)
		}, "is not the one that this query wrote to"},
		"rolled back": {func(t *testing.T, w *lakeWorld) error {
			tx := w.named(t, "ops.dead").NewTransaction()
			err := tx.RollbackToSnapshot(*w.named(t, "ops.dead").CurrentSnapshot().ParentSnapshotID)
			_, commitErr := tx.Commit(t.Context())
			return errors.Join(err, commitErr)
		}, "was rolled back"},
	} {
		for _, way := range []struct {
			name string
			on   func(*runner.Query)
		}{{"elsewhere", valued(lettingElsewhere)}, {"without them", func(q *runner.Query) { valued(letting)(q); q.AcceptLostLetters = true }}} {
			for _, open := range []string{"", "create data", "commit db.orders snapshot"} {
				t.Run(fmt.Sprintf("%s, on %s, died before %q", name, way.name, open), func(t *testing.T) {
					t.Parallel()
					w := newTypedWorld(t)
					w.mutate = valued(letting)
					for range 2 {
						w.drain(t, nil)
						w.kafka.produce(0, 8)
					}
					before := w.lettersIn(t, "ops.dead") // what an open batch has put there is put somewhere again
					if open != "" {
						w.dieBefore(t, open)
					}
					if err := c.harm(t, w); err != nil {
						t.Fatal(err)
					}
					lost := before - w.lettersIn(t, "ops.dead")
					w.refuses(t, batch.Inconsistent, nil, "ops.dead "+c.text, "deadLetter.table")
					w.mutate = way.on
					if s, _, err := w.run(w.clean(), nil); err != nil || !s.CaughtUp {
						t.Fatalf("got %+v, %v", s, err)
					}
					rows, first, second := w.rows(t), w.lettersIn(t, "ops.dead"), w.lettersIn(t, "ops.other")
					if before == 0 || first+second == 0 || rows+first+second+lost != w.produced() {
						t.Errorf("%d rows, %d and %d dead letters, %d lost; want %d", rows, first, second, lost, w.produced())
					}
				})
			}
		}
	}
}

// A run without dead letters sleeps. Meanwhile the table is altered, so that another run finishes its batch under the job of
// now, with dead letters, and dies before it commits the rows; then the table is altered back. The sleeper's rows would be in
// both tables.
func TestASleeperWithoutDeadLettersDoesNotAddRowsThatAreDeadLetters(t *testing.T) {
	w := newLakeWorld(t)
	w.value = func(partition int32, offset int64) []byte {
		return fmt.Appendf(nil, `{"p":%d,"o":%d}`, partition, offset)
	}
	w.mutate = whole(letting)
	h := &halt{name: "before create data", paused: make(chan string, 1), resume: make(chan struct{})}
	sleeper := w.sleeper(h)
	done := make(chan error, 1)
	go func() {
		_, err := sleeper.Run(context.Background())
		done <- err
	}()
	<-h.paused
	was := w.table(t).Schema().ID
	w.alterSoThatPlansFail(t)
	strict := letting
	strict.Schema = "q INT NOT NULL"
	w.mutate = whole(strict)
	w.dieBefore(t, "commit db.orders snapshot")
	if w.lettersIn(t, "ops.dead") == 0 {
		t.Fatal("the other run had no dead letters")
	}
	if _, _, err := w.catalog.CommitTable(t.Context(), catalog.ToIdentifier("db.orders"), nil, []table.Update{table.NewSetCurrentSchemaUpdate(was)}); err != nil {
		t.Fatal(err)
	}
	close(h.resume)
	if outcome := <-done; batch.ClassOf(outcome) != batch.Fenced {
		t.Errorf("the sleeper was told %v, want that another run is active", outcome)
	}
	if rows := w.rows(t); rows != 0 {
		t.Errorf("%d of %d dead letters are rows besides", rows, w.lettersIn(t, "ops.dead"))
	}
	w.mutate = whole(letting)
	w.refuses(t, batch.Inconsistent, nil, "ops.dead has", "this run has 0", "roll ops.dead back")
}
