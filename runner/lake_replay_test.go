package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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
)

// lenient is the schema with which what was malformed before is a row.
var lenient = batch.Value{Format: "string", OnMalformed: "deadLetter", OnTombstone: "keep", DeadLetters: "ops.dead"}

// newReplayWorld is a text topic of which some records are no UTF-8 until they are mended, and its first run.
func newReplayWorld(t *testing.T) *lakeWorld {
	t.Helper()
	w := newLakeWorld(t)
	w.value = func(partition int32, offset int64) []byte {
		if offset%4 == 2 {
			return []byte{0xff, byte(offset)}
		}
		return fmt.Appendf(nil, "%d/%d", partition, offset)
	}
	w.mutate = valued(lenient)
	w.drain(t, nil)
	return w
}

// replay decodes dead letters again, on a catalog with a script. mended says which are rows now.
func (w *lakeWorld) replay(c catalog.Catalog, mended func(offset int64) bool) (*lakesink.Replayed, error) {
	log := checkpoint.NewLog(w.store)
	id, err := log.Query(context.Background())
	if err != nil {
		return nil, err
	}
	decoder, err := decode.New(lenient, false)
	if err != nil {
		return nil, err
	}
	open := func(name string) *lakesink.Iceberg {
		return lakesink.New(c, lakesink.Options{Table: name, Catalog: "test", Sleep: func(context.Context, time.Duration) error { return nil }})
	}
	return open("db.orders").Replay(context.Background(), []*lakesink.Iceberg{open("ops.dead")}, lakesink.ReplayOptions{Query: id, Name: "orders", Run: "replay", Schema: decoder.Schema(),
		Decode: func(r *columns.Records) (*columns.Batch, error) { return sliced(mend(r, mended), decoder.Decode) }})
}

// mend stands for a decoder of today that reads more than the one of before.
func mend(r *columns.Records, mended func(offset int64) bool) *columns.Records {
	fixed := *r
	fixed.Value = columns.Array{Kind: columns.Binary}
	for i, o := range r.Offsets {
		if mended(o) {
			fixed.Value.AppendBytes(fmt.Appendf(nil, "mended %d", o))
		} else {
			fixed.Value.AppendBytes(r.Value.Bytes(i))
		}
	}
	return &fixed
}

func all(int64) bool { return true }

func TestDeadLettersThatAreRowsNowAreReplayedOnce(t *testing.T) {
	w := newReplayWorld(t)
	w.kafka.produce(0, 8)
	w.drain(t, nil)
	letters := w.lettersIn(t, "ops.dead")
	rows := w.rows(t)
	some := func(o int64) bool { return o < 4 }
	got, err := w.replay(w.catalog, some)
	if err != nil || got.Letters != letters || got.Rows != 2 || got.Before != 0 || got.Still != letters-2 || got.Misfits.Reasons["encoding"] != letters-2 || got.Snapshot == 0 {
		t.Fatalf("got %+v, %v, want 2 of %d to be rows", got, err, letters)
	}
	if w.rows(t) != rows+2 || w.lettersIn(t, "ops.dead") != letters {
		t.Errorf("%d rows and %d dead letters, want %d and %d", w.rows(t), w.lettersIn(t, "ops.dead"), rows+2, letters)
	}
	if p := w.table(t).CurrentSnapshot().Summary.Properties; p["sluice.replay.records"] != "2" || p["sluice.batch-id"] != "" {
		t.Errorf("the summary is %v", p)
	}
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
	head := w.table(t).CurrentSnapshot().SnapshotID
	if got, err := w.replay(w.catalog, some); err != nil || got.Rows != 0 || got.Before != 2 || w.table(t).CurrentSnapshot().SnapshotID != head {
		t.Errorf("again: got %+v, %v, want nothing to be added", got, err)
	}
	if got, err := w.replay(w.catalog, all); err != nil || got.Rows != letters-2 || got.Still != 0 {
		t.Errorf("got %+v, %v, want the rest", got, err)
	}
	w.kafka.produce(0, 8) // and the query goes on
	w.drain(t, nil)
}

// A replay that is struck anywhere is finished by the next, and no record is there twice.
func TestAReplayOfDeadLettersStruckAnywhereDoublesNothing(t *testing.T) {
	for _, how := range laketest.Modes() {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			struck := map[string]bool{}
			for i := 0; ; i++ {
				w := newReplayWorld(t)
				s := laketest.BreakAt(i, how)
				_, err := w.replay(laketest.Wrap(w.catalog, s), all)
				if !s.Broke() {
					if err != nil {
						t.Error(err)
					}
					break
				}
				struck[s.Effects()[i]] = true
				if class := batch.ClassOf(err); err != nil && class != batch.Failed && class != batch.UnknownOutcome {
					t.Errorf("%q: got %v", s.Broken(), err)
				}
				w.kafka.produce(0, 4)
				if err := w.recovers(context.Background()); err != nil {
					t.Errorf("%q: %v", s.Broken(), err)
				}
				got, err := w.replay(w.catalog, all)
				if err != nil || got.Before+got.Rows != got.Letters {
					t.Errorf("%q: then got %+v, %v", s.Broken(), got, err)
				}
				if err := w.judge(context.Background()); err != nil {
					t.Errorf("%q: %v", s.Broken(), err)
				}
			}
			if !struck["commit db.orders snapshot"] || !struck["create data"] {
				t.Errorf("it was struck at %v", struck)
			}
		})
	}
}

// Two replays at once, and a run that goes on while one sleeps: each of its writes is tried.
func TestReplaysAndRunsAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	slept := map[string]bool{}
	for i := 0; ; i++ {
		w := newReplayWorld(t)
		at, name := 0, ""
		var meanwhile error
		s := &laketest.Script{Step: func(effect string, after bool) {
			if at++; at != i+1 {
				return
			}
			name = when(effect, after)
			got, err := w.replay(w.catalog, all)
			if err == nil && got.Before+got.Rows != got.Letters {
				err = fmt.Errorf("the other replay got %+v", got)
			}
			w.kafka.produce(0, 4)
			meanwhile = errors.Join(err, w.recovers(context.Background()))
		}}
		_, err := w.replay(laketest.Wrap(w.catalog, s), all)
		if name == "" {
			break
		}
		slept[name] = true
		if err := errors.Join(err, meanwhile, w.judge(context.Background())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slept["before commit db.orders snapshot"] || !slept["after commit db.orders snapshot"] {
		t.Errorf("it slept at %v", slept)
	}
}

// A replay opens no file whose statistics say that it has none of the dead letters: with years of rows it takes as long as
// with a day of them.
func TestAReplayOpensOnlyFilesThatMayHaveADeadLetter(t *testing.T) {
	w := newReplayWorld(t)
	w.kafka.produce(1, 1) // at offset 4, where no dead letter is
	w.drain(t, nil)
	newest, path := int64(0), ""
	tasks, err := w.table(t).Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if *task.DataSequenceNumber > newest {
			newest, path = *task.DataSequenceNumber, task.File.FilePath()
		}
	}
	if err := os.Remove(strings.TrimPrefix(path, "file://")); err != nil {
		t.Fatal(err)
	}
	if got, err := w.replay(w.catalog, all); err != nil || got.Rows != got.Letters || got.Rows == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The dead letters of a batch whose rows are not in their table yet are a run's business.
func TestAReplayLeavesAnOpenBatchAlone(t *testing.T) {
	w := newReplayWorld(t)
	before := w.lettersIn(t, "ops.dead")
	w.kafka.produce(0, 8)
	w.dieAfter(t, "commit ops.dead snapshot")
	if w.lettersIn(t, "ops.dead") == before {
		t.Fatal("the open batch has no dead letters")
	}
	if got, err := w.replay(w.catalog, all); err != nil || got.Letters != before || got.Rows != before {
		t.Errorf("got %+v, %v, want the %d dead letters of before", got, err, before)
	}
	w.drain(t, nil)
	if got, err := w.replay(w.catalog, all); err != nil || got.Rows == 0 || got.Before != before {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
}

// Where dead letters are rows that nobody replayed, something is wrong, and a replay does not hide it.
func TestAReplayThatFindsRowsNobodyReplayedIsRefused(t *testing.T) {
	w := newReplayWorld(t)
	if _, err := w.replay(w.catalog, all); err != nil {
		t.Fatal(err)
	}
	id, err := checkpoint.NewLog(w.store).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := batch.ParseLedger(w.table(t).Properties(), id)
	if err != nil {
		t.Fatal(err)
	}
	for tp, a := range ledger.Accounts {
		a.Replayed = 0
		ledger.Accounts[tp] = a
	}
	properties, err := ledger.Properties()
	if err != nil {
		t.Fatal(err)
	}
	w.change(t, func(tx *table.Transaction) error { return tx.SetProperties(properties) })
	if err := w.judge(t.Context()); err == nil || !strings.Contains(err.Error(), "are rows and dead letters") {
		t.Errorf("verify says %v", err)
	}
	if _, err := w.replay(w.catalog, all); batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), "only 0 were replayed") {
		t.Errorf("got %v, want a refusal", err)
	}
}
