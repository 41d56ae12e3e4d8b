package runner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/layout"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/verify"
)

// sparkRow is a row as Spark's source of Kafka has it, in the form that Spark writes by default.
type sparkRow struct {
	Key           []byte           `parquet:"key,optional"`
	Value         []byte           `parquet:"value,optional"`
	Topic         string           `parquet:"topic,optional"`
	Partition     *int32           `parquet:"partition,optional"`
	Offset        *int64           `parquet:"offset,optional"`
	Timestamp     deprecated.Int96 `parquet:"timestamp"`
	TimestampType *int32           `parquet:"timestampType,optional"`
}

// The steps of a batch of Spark's, for where its process ends.
const (
	afterPlan = iota
	afterFiles
	afterLog
	afterAll
)

// sparksTurn is Spark on the same checkpoint and in the same folder: some batches, of which the last one ends after a step. It goes
// by checkpoint and log as Spark does, and knows nothing of manifests.
func (w *filesWorld) sparksTurn(t *testing.T, batches, end int) {
	t.Helper()
	if _, _, err := w.store.Get(t.Context(), "metadata"); errors.Is(err, objectstore.ErrNotFound) {
		w.put(t, w.store, "metadata", fmt.Sprintf(`{"id":%q}`, uuid.NewString()))
		w.put(t, w.store, "sources/0/0", "\x00v1\n"+spoken(w.starts()))
	}
	for i := range batches {
		last, marked := newestIn(t, w.store, "offsets/"), newestIn(t, w.store, "commits/")
		n := max(last, marked+1)
		from := w.starts()
		if n > 0 {
			from = w.planned(t, n-1)
		}
		until := w.further(from)
		if n > last {
			if maps.Equal(from, until) {
				return
			}
			w.put(t, w.store, fmt.Sprint("offsets/", n), "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1,\"conf\":{}}\n"+spoken(until))
		}
		until = w.planned(t, n)
		stop := afterAll
		if i == batches-1 {
			stop = end
		}
		if w.sparksBatch(t, n, from, until, stop); stop == afterAll {
			w.put(t, w.store, fmt.Sprint("commits/", n), "v1\n{\"nextBatchWatermarkMs\":0}")
		}
	}
}

// sparksBatch is the sink's part: a file, and the log of the batch, unless there is one.
func (w *filesWorld) sparksBatch(t *testing.T, n int64, from, until offsets.Offsets, stop int) {
	t.Helper()
	if stop == afterPlan || newestIn(t, w.books, "_spark_metadata/") >= n {
		return
	}
	log := "v1"
	if n%10 == 9 {
		for before := max(0, n-10); before < n; before++ {
			name := fmt.Sprint("_spark_metadata/", before)
			if before%10 == 9 {
				name += ".compact"
			}
			text, _, err := w.books.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			log += strings.TrimPrefix(string(text), "v1")
		}
	}
	var rows []sparkRow
	for _, tp := range until.Partitions() {
		for _, offset := range w.kafka.records[tp.Partition] {
			if from[tp] <= offset && offset < until[tp] {
				rows = append(rows, sparkRow{Topic: "t", Partition: &tp.Partition, Offset: &offset, Timestamp: deprecated.Int96{0, 0, 2_460_000}, TimestampType: new(int32)})
			}
		}
	}
	if len(rows) > 0 {
		log += w.sparksFile(t, rows)
	}
	if stop == afterFiles {
		return
	}
	name := fmt.Sprint("_spark_metadata/", n)
	if n%10 == 9 {
		name += ".compact"
	}
	w.put(t, w.books, name, log)
}

// sparksFile writes a file and returns its line in the log.
func (w *filesWorld) sparksFile(t *testing.T, rows []sparkRow) string {
	t.Helper()
	var text bytes.Buffer
	out := parquet.NewGenericWriter[sparkRow](&text, parquet.Compression(&parquet.Snappy))
	if _, err := out.Write(rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "part-00000-"+uuid.NewString()+"-c000.snappy.parquet")
	if err := errors.Join(out.Close(), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("\n"+`{"path":"file://%s","size":%d,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}`, path, text.Len())
}

func (w *filesWorld) put(t *testing.T, store objectstore.Store, key, text string) {
	t.Helper()
	if _, err := store.PutIfAbsent(t.Context(), key, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// newestIn is the largest number among the names in a folder, -1 for none.
func newestIn(t *testing.T, store objectstore.Store, folder string) int64 {
	t.Helper()
	keys, err := store.List(t.Context(), folder, "")
	if err != nil {
		t.Fatal(err)
	}
	newest := int64(-1)
	for _, key := range keys {
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(key, folder), ".compact"), 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

func (w *filesWorld) starts() offsets.Offsets {
	starts := offsets.Offsets{}
	for p := range w.kafka.end {
		starts[offsets.TopicPartition{Topic: "t", Partition: p}] = 0
	}
	return starts
}

// planned is where the plan of a batch ends, with partitions that came later.
func (w *filesWorld) planned(t *testing.T, n int64) offsets.Offsets {
	t.Helper()
	text, _, err := w.store.Get(t.Context(), fmt.Sprint("offsets/", n))
	if err != nil {
		t.Fatal(err)
	}
	var ends map[string]map[string]int64
	if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &ends); err != nil {
		t.Fatal(err)
	}
	at := w.starts()
	for p, end := range ends["t"] {
		number, _ := strconv.Atoi(p)
		at[offsets.TopicPartition{Topic: "t", Partition: int32(number)}] = end
	}
	return at
}

// further is two offsets more of each partition, as far as there are some.
func (w *filesWorld) further(from offsets.Offsets) offsets.Offsets {
	until := offsets.Offsets{}
	for tp, at := range from {
		until[tp] = min(at+2, w.kafka.end[tp.Partition])
	}
	return until
}

func spoken(at offsets.Offsets) string {
	ends := map[string]int64{}
	for tp, offset := range at {
		ends[fmt.Sprint(tp.Partition)] = offset
	}
	text, _ := json.Marshal(map[string]any{"t": ends})
	return string(text)
}

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
