package lakesink

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
)

var full = flag.Bool("full", false, "draw more layouts of rows, and make more commits")

// beginSpread starts a task of a table that is partitioned by p.
func beginSpread(t *testing.T, memory int64, change ...func(*Options)) *sortedTask {
	t.Helper()
	s, _ := spreadTable(t, memory, change...)
	w, err := s.Write(t.Context(), taskFor(load(t, s.catalog)), "a", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	task := &sortedTask{Writer: w, sink: s}
	w.spread.create = task.create
	return task
}

// spreadBatches are n rows with texts of 200 bytes, in batches of so many.
func spreadBatches(n, each int, partition func(i int) string) (batches []*columns.Batch) {
	for from := 0; from < n; from += each {
		batches = append(batches, spreadRows(from, min(each, n-from), partition, always(200)))
	}
	return batches
}

// wantArrival checks that files have rows 0 to n once each, those of a partition in the order in which they came, from file to file
// too, and returns how many files each partition has.
func wantArrival(t *testing.T, files []batch.DataFile, n int, partition func(i int) string) map[string]int {
	t.Helper()
	last, count, rows := map[string]int64{}, map[string]int{}, 0
	for _, f := range files { // as they were finished
		of, numbers := fileRows(t, f)
		count[of[0]]++
		for k, number := range numbers {
			before, any := last[of[0]]
			if any && number <= before || of[k] != partition(int(number)) || of[k] != of[0] {
				t.Fatalf("%s: row %d of %s comes after row %d of %s", f.Path, number, of[k], before, of[0])
			}
			last[of[0]] = number
		}
		rows += len(numbers)
	}
	if rows != n {
		t.Errorf("got %d rows, want %d", rows, n)
	}
	return count
}

func most(count map[string]int) (n int) {
	for _, files := range count {
		n = max(n, files)
	}
	return n
}

// https://github.com/databricks/iceberg-kafka-connect/issues/227
func TestMorePartitionsThanMemoryHoldsMakeAFileEach(t *testing.T) {
	const n = 6000
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	task := beginSpread(t, 2<<20)
	partition := func(i int) string { return fmt.Sprint("p", i*7919%300) }
	files := task.finished(t, spreadBatches(n, 500, partition))
	if count := wantArrival(t, files, n, partition); len(count) != 300 || most(count) != 1 {
		t.Errorf("got %d files of %d partitions", len(files), len(count))
	}
	if got := task.Spilled(); got.Bytes == 0 || got.Failure != "" || task.open != 0 {
		t.Errorf("got %+v, %d temporary files are open", got, task.open)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Files of few partitions that memory cannot hold any longer take no more rows until all have come.
func TestPartitionsThatOutgrowMemoryMakeAFileEach(t *testing.T) {
	const n = 20_000
	task := beginSpread(t, 2<<20)
	partition := func(i int) string { return fmt.Sprint("p", i*7919%12) }
	files := task.finished(t, spreadBatches(n, 500, partition))
	if count := wantArrival(t, files, n, partition); len(count) != 12 || most(count) != 1 || task.Spilled().Bytes == 0 {
		t.Errorf("got %d files, %v, %+v", len(files), count, task.Spilled())
	}
}

// Rows in the order of what they are partitioned by, as of a backlog of many days, need no temporary file: of partitions that are
// over the files are finished.
func TestPartitionsOneAfterTheOtherGoStraightIntoTheirFiles(t *testing.T) {
	const n = 16_000
	task := beginSpread(t, 2<<20)
	partition := func(i int) string { return fmt.Sprint("p", i/200) }
	files := task.finished(t, spreadBatches(n, 500, partition))
	if count := wantArrival(t, files, n, partition); len(files) != 80 || len(count) != 80 || task.made != 0 {
		t.Errorf("got %d files of %d partitions, %d temporary files", len(files), len(count), task.made)
	}
}

func TestPartitionsThatComeAgainAfterTheyWereOverMakeTwoFilesEachAtMost(t *testing.T) {
	const n = 32_000
	task := beginSpread(t, 2<<20)
	partition := func(i int) string { return fmt.Sprint("p", i/200%80) }
	files := task.finished(t, spreadBatches(n, 500, partition))
	if count := wantArrival(t, files, n, partition); len(count) != 80 || most(count) != 2 || task.made == 0 {
		t.Errorf("got %d files of %d partitions, %d of one, %d temporary files", len(files), len(count), most(count), task.made)
	}
}

// Files that are large as they are may be finished for want of memory as often as that comes.
func TestLargeFilesOfFewPartitionsNeedNoTemporaryFile(t *testing.T) {
	const n, target = 30_000, 256 << 10
	task := beginSpread(t, 3<<20, func(o *Options) { o.TargetFileBytes = target })
	partition := func(i int) string { return fmt.Sprint("p", i%3) }
	files := task.finished(t, spreadBatches(n, 500, partition))
	if count := wantArrival(t, files, n, partition); len(count) != 3 || len(files) > 3+int(sizesOf(files)/(target/2)) || task.made != 0 {
		t.Errorf("got %d files of %d bytes, %d temporary files", len(files), sizesOf(files), task.made)
	}
}

func TestADiskWithoutRoomMakesMoreFilesOfPartitionsAndIsSaidSo(t *testing.T) {
	const n = 12_000
	partition := func(i int) string { return fmt.Sprint("p", i*7919%40) }
	for name, room := range map[string]int64{"none": 1, "less than a run": 200 << 10} {
		task := beginSpread(t, 2<<20)
		task.room = room
		files := task.finished(t, spreadBatches(n, 500, partition))
		count := wantArrival(t, files, n, partition)
		if got := task.Spilled(); len(count) != 40 || most(count) < 3 || task.refused != 1 || task.open != 0 || !strings.Contains(got.Failure, "no space left on device") {
			t.Errorf("%s: got %d files, %d refusals, %d open, %+v", name, len(files), task.refused, task.open, got)
		}
	}
}

func TestAFolderForTemporaryFilesThatIsMissingMakesMoreFilesOfPartitions(t *testing.T) {
	const n = 12_000
	dir := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", dir)
	task := beginSpread(t, 2<<20)
	partition := func(i int) string { return fmt.Sprint("p", i*7919%40) }
	count := wantArrival(t, task.finished(t, spreadBatches(n, 500, partition)), n, partition)
	if got := task.Spilled(); len(count) != 40 || most(count) < 3 || !strings.Contains(got.Failure, dir) || got.Bytes != 0 {
		t.Errorf("got %d files of a partition, %+v", most(count), got)
	}
}

func TestATaskOfManyPartitionsThatIsStoppedLeavesNothing(t *testing.T) {
	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	task := beginSpread(t, 2<<20)
	batches := spreadBatches(9000, 500, func(i int) string { return fmt.Sprint("p", i*7919%500) })
	for _, b := range batches {
		if err := task.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if task.open == 0 {
		t.Error("there are no temporary files")
	}
	cancel(stop)
	if err := task.Write(ctx, batches[0]); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	if _, err := task.Close(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	task.Abort()
	task.Abort()
	if left := dataFiles(t, load(t, task.sink.catalog)); len(left) != 0 || task.open != 0 {
		t.Errorf("left %v, and %d temporary files", left, task.open)
	}
}

// A file that cannot be finished as rows begin to overflow is a failure of the task, and nothing stays open.
func TestAFileThatCannotBeFinishedEndsATaskOfManyPartitions(t *testing.T) {
	task := beginSpread(t, 2<<20)
	var err error
	for k := 0; k < 80 && err == nil; k++ {
		if err = task.Write(t.Context(), spreadRows(500*k, 500, func(i int) string { return fmt.Sprint("p", i*7919%12) }, always(200))); k == 4 {
			if err := os.RemoveAll(localPath(load(t, task.sink.catalog).Location()) + "/data"); err != nil {
				t.Fatal(err)
			}
			blockFolder(t, task.sink)
		}
	}
	if err == nil {
		_, err = task.Close(t.Context())
	}
	if err == nil {
		t.Error("files were written into a folder that cannot be")
	}
	task.Abort()
	if task.open != 0 {
		t.Errorf("%d temporary files are open", task.open)
	}
}

// blockFolder puts a file where the folder of data files would be.
func blockFolder(t *testing.T, s *Iceberg) {
	t.Helper()
	if err := os.WriteFile(localPath(load(t, s.catalog).Location())+"/data", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// However many partitions there are, however rows come and whatever room there is, each row is there once, after those of its
// partition that came before it.
func TestRowsOfPartitionsAreExactWhereverTheyGo(t *testing.T) {
	seeds := uint64(4)
	if *full {
		seeds = 100
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 7))
		n, values, stretch := 500+rng.IntN(4000), 1+rng.IntN(120), 1+rng.IntN(40)
		skewed := rng.IntN(2) == 0
		partition := func(i int) string {
			of := rand.New(rand.NewPCG(seed, uint64(i/stretch)))
			if skewed && of.IntN(3) > 0 {
				return "usual"
			}
			return fmt.Sprint("p", of.IntN(values))
		}
		task := beginSpread(t, int64(2+rng.IntN(2))<<20)
		task.room = []int64{0, 0, int64(rng.IntN(1 << 20))}[rng.IntN(3)]
		var batches []*columns.Batch
		for from := 0; from < n; {
			b := spreadRows(from, min(1+rng.IntN(900), n-from), partition, func(i int) int { return i * 31 % 900 })
			batches, from = append(batches, b), from+b.Rows
		}
		count := wantArrival(t, task.finished(t, batches), n, partition)
		if failed := task.Spilled().Failure != ""; most(count) > 2 && !failed || task.open != 0 {
			t.Errorf("seed %d: %d files of a partition, %d temporary files are open", seed, most(count), task.open)
		}
	}
}
