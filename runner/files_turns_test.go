package runner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/layout"
	"sluice/verify"
)

// judgeTurns asks verify, which proves nothing of Spark's rows but that none of them is there twice; and counts what Spark's readers
// see.
func (w *filesWorld) judgeTurns(t *testing.T) error {
	t.Helper()
	log := checkpoint.NewLog(w.store)
	id, err := log.Query(t.Context())
	if err != nil {
		return err
	}
	folder, err := deadFolder{w.dir, w.books, nil}.judged(t.Context())
	if err != nil {
		return err
	}
	report, err := folder.Of(t.Context(), verify.Options{Query: id, Checkpoint: log.Last, Source: witness{w.kafka}})
	if err != nil {
		return err
	}
	produced := int64(0)
	for _, records := range w.kafka.records {
		produced += int64(len(records))
	}
	if !report.OK || report.Rows != produced || report.Duplicates+report.Missing+report.Unexpected != 0 {
		return fmt.Errorf("verify: %d rows of %d, %s: %v; %v", report.Rows, produced, report.Verdict, report.Problems, report.CannotProve)
	}
	if n := w.sparkCounts(t); n != produced {
		return fmt.Errorf("Spark's readers see %d rows of %d", n, produced)
	}
	return nil
}

// sparkCounts is how many rows are in the files that Spark's log lists.
func (w *filesWorld) sparkCounts(t *testing.T) (rows int64) {
	t.Helper()
	names := map[int64]string{}
	begin := int64(0)
	for _, name := range w.sparkLists(t) {
		n, err := strconv.ParseInt(strings.TrimSuffix(name, ".compact"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if names[n] = name; strings.HasSuffix(name, ".compact") {
			begin = max(begin, n)
		}
	}
	for n := begin; n <= slices.Max(append(slices.Collect(maps.Keys(names)), -1)); n++ {
		text, _, err := w.books.Get(t.Context(), "_spark_metadata/"+names[n])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n")[1:] {
			var entry struct{ Path string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			content, err := os.ReadFile(strings.TrimPrefix(entry.Path, "file://"))
			if err != nil {
				t.Fatal(err)
			}
			file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(err)
			}
			rows += file.NumRows()
		}
	}
	return rows
}

func newTurnsWorld(t *testing.T) *filesWorld {
	w := newFilesWorld(t)
	w.spark = true
	return w
}

// goesOn runs cleanly until caught up.
func (w *filesWorld) goesOn(t *testing.T) error {
	summary, err := w.query(t, &laketest.Script{}).Run(t.Context())
	if err == nil && !summary.CaughtUp {
		err = errors.New("it did not catch up")
	}
	return err
}

// turnOf is a world in which Spark has just had its turn, of two batches, the second ended after a step.
func turnOf(t *testing.T, begins string, end int) *filesWorld {
	t.Helper()
	w := newTurnsWorld(t)
	if begins == "sluice" {
		if err := w.goesOn(t); err != nil {
			t.Fatal(err)
		}
		w.arrive()
	}
	w.sparksTurn(t, 2, end)
	w.arrive()
	return w
}

// Spark begins or sluice does, Spark is killed after each of its steps, and the run that goes on is struck at every effect on the
// folder (with -full: at every effect, in every way). Then Spark takes over, or sluice does. In the end every record is there once,
// for verify and for whoever goes by Spark's log.
func TestATurnAfterSparkStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	struck := map[string]bool{}
	for _, begins := range []string{"Spark", "sluice"} {
		for end := afterPlan; end <= afterAll; end++ {
			w, whole := turnOf(t, begins, end), &laketest.Script{}
			_, err := w.query(t, whole).Run(t.Context())
			if err == nil {
				err = w.judgeTurns(t)
			}
			if err != nil {
				t.Errorf("%s begins, Spark ends after step %d: %v", begins, end, err)
			}
			turn := end
			for i, effect := range whole.Effects() {
				if on := strings.HasPrefix(effect, "book spark _s") && !strings.Contains(effect, "probe"); !*full && !on {
					continue
				}
				for k, how := range laketest.Modes() {
					if turn++; !*full && (k != turn%len(laketest.Modes()) || i%3 != turn%3) {
						continue
					}
					struck[numberless.ReplaceAllString(effect, "/N")] = true
					if err := strikeTurn(t, turnOf(t, begins, end), laketest.BreakAt(i, how), turn%2 == 0); err != nil {
						t.Errorf("%s begins, Spark ends after step %d, %q %s: %v", begins, end, effect, how, err)
					}
				}
			}
		}
	}
	for _, effect := range []string{"book spark _sluice/folder.json", "book spark _sluice/spark.json", "book spark _sluice/<id>/N.json", "book spark _spark_metadata/N"} {
		if !struck[effect] {
			t.Errorf("no run was struck at %s: %v", effect, struck)
		}
	}
}

// A batch that is there and of which Spark is not told yet, since the run was killed: the next one is killed at any moment of making up
// for that, and then it is Spark's turn.
func TestARunThatIsKilledTwiceLeavesNoGapInSparksLog(t *testing.T) {
	t.Parallel()
	killed := func() *filesWorld {
		w := turnOf(t, "Spark", afterAll)
		s := laketest.BreakWhen(func(name string) bool { return strings.HasPrefix(name, "book spark _spark_metadata/2") }, laketest.Killed)
		if met, err := w.fail(t, s); err != nil || !met {
			t.Fatal(met, err)
		}
		return w
	}
	whole := &laketest.Script{}
	if _, err := killed().query(t, whole).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, effect := range whole.Effects() {
		if !*full && !strings.Contains(effect, "commits/") && !strings.Contains(effect, "_spark_metadata/") {
			continue
		}
		w := killed()
		if met, err := w.fail(t, laketest.BreakAt(i, laketest.KilledAfter)); err != nil || !met {
			t.Fatal(effect, met, err)
		}
		w.arrive()
		w.sparksTurn(t, 2, afterAll)
		if err := errors.Join(w.goesOn(t), w.judgeTurns(t)); err != nil {
			t.Errorf("%q: %v", effect, err)
		}
	}
}

var numberless = regexp.MustCompile(`/\d+`)

// strikeTurn strikes a run, lets Spark take over or not, and then sluice.
func strikeTurn(t *testing.T, w *filesWorld, s *laketest.Script, sparkFirst bool) error {
	t.Helper()
	if _, err := w.fail(t, s); err != nil {
		return err
	}
	w.arrive()
	if sparkFirst {
		w.sparksTurn(t, 2, afterAll)
	}
	return errors.Join(w.goesOn(t), w.judgeTurns(t))
}

// The two take turns until Spark's log has been compacted by both, and (with -full) manifests have become ranges. The log is moved away then, and
// is written anew with the files of both.
func TestManyTurnsWithSparkAreExact(t *testing.T) {
	t.Parallel()
	w := newTurnsWorld(t)
	w.mutate = oneByOne
	for turn := range 6 {
		w.kafka.produce(0, 9)
		w.sparksTurn(t, 3+turn, turn%4)
		w.kafka.produce(0, 1)
		if err := w.goesOn(t); err != nil {
			t.Fatal(err)
		}
	}
	if *full {
		w.longRun(t, 200)
		if _, ranges := w.listed(t); ranges == 0 {
			t.Error("no range was made")
		}
	}
	if err := w.judgeTurns(t); err != nil {
		t.Error(err)
	}
	keys, err := w.books.List(t.Context(), "_spark_metadata/", "")
	if err == nil {
		err = w.books.Delete(t.Context(), keys...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.kafka.produce(0, 3)
	if err := errors.Join(w.goesOn(t), w.judgeTurns(t)); err != nil {
		t.Errorf("after the log was moved away: %v", err)
	}
	w.kafka.produce(0, 30)
	w.sparksTurn(t, 12, afterLog)
	if err := errors.Join(w.goesOn(t), w.judgeTurns(t)); err != nil {
		t.Error(err)
	}
}

// A turn of Spark's is gone on with by the query whose checkpoint it is, and by no other.
func TestATurnOfSparksIsNobodyElses(t *testing.T) {
	t.Parallel()
	w := newTurnsWorld(t)
	w.sparksTurn(t, 2, afterAll)
	other := newTurnsWorld(t)
	other.dir, other.books = w.dir, w.books
	if err := other.goesOn(t); err == nil || !strings.Contains(err.Error(), "is the output of a Spark query") {
		t.Errorf("a new query: got %v", err)
	}
	other.sparksTurn(t, 1, afterAll) // a checkpoint that is behind the log
	if err := other.goesOn(t); err == nil || !strings.Contains(err.Error(), "applied by Spark") {
		t.Errorf("another checkpoint: got %v", err)
	}
	if err := errors.Join(w.goesOn(t), w.judgeTurns(t)); err != nil {
		t.Error(err)
	}
	other.by = []layout.Term{{Transform: layout.Identity, Column: "partition"}}
	if err := other.goesOn(t); err == nil {
		t.Error("another checkpoint goes on in a folder that has a query")
	}
}
