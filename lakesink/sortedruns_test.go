package lakesink

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/spill"
)

// sortedTask is a task that writes sorted rows, or ones of many partitions; its temporary files are counted, and may have little room.
type sortedTask struct {
	*Writer
	sink       *Iceberg
	made, open int
	room       int64 // of a file, 0 for all
	refused    int
}

// countedFile is a temporary file.
type countedFile struct {
	spill.File
	task *sortedTask
	size int64
}

func (c *countedFile) Write(b []byte) (int, error) {
	if c.task.room > 0 && c.size+int64(len(b)) > c.task.room {
		c.task.refused++
		return 0, &os.PathError{Op: "write", Path: "/tmp", Err: syscall.ENOSPC}
	}
	c.size += int64(len(b))
	return c.File.Write(b)
}

func (c *countedFile) Close() error { c.task.open--; return c.File.Close() }

// beginSorted starts a task of a table that is sorted by p, descending, and by n.
func beginSorted(t *testing.T, memory int64, change ...func(*Options)) *sortedTask {
	t.Helper()
	s, _ := spreadTable(t, memory, append([]func(*Options){func(o *Options) {
		o.PartitionBy, o.SortBy, o.CreatedBy = nil, sortBy(t, "p DESC", "n"), "sluice 1.0.0"
	}}, change...)...)
	w, err := s.Write(t.Context(), taskFor(load(t, s.catalog)), "a", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	task := &sortedTask{Writer: w, sink: s}
	w.sorted.disk.Create = task.create
	return task
}

func (task *sortedTask) create() (spill.File, error) {
	f, err := spill.Temporary()
	if err != nil {
		return nil, err
	}
	task.made++
	task.open++
	return &countedFile{f, task, 0}, nil
}

// unsortedRows are n rows of some 230 bytes, p of which is in no order, in batches of so many.
func unsortedRows(n, each int) (batches []*columns.Batch) {
	all := spreadRows(0, n, func(i int) string { return fmt.Sprint("p", i*7919%100) }, always(200))
	for from := 0; from < n; from += each {
		b := &columns.Batch{Rows: min(each, n-from), Columns: columns.Make(spreadSchema)}
		for i := range b.Columns {
			b.Columns[i].AppendRange(&all.Columns[i], from, from+b.Rows)
		}
		batches = append(batches, b)
	}
	return batches
}

// finished writes all and closes the task, which must have let go of all temporary files then.
func (s *sortedTask) finished(t *testing.T, batches []*columns.Batch) []batch.DataFile {
	t.Helper()
	for _, b := range batches {
		if err := s.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := s.bounded(b); err != nil {
			t.Fatal(err)
		}
	}
	files, err := s.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.open != 0 {
		t.Errorf("%d temporary files of %d are open", s.open, s.made)
	}
	return files
}

// bounded checks what rows hold that wait, and files that are open, after a batch.
func (s *sortedTask) bounded(b *columns.Batch) error {
	sorted, spread := s.sorted, s.spread
	if spread != nil {
		sorted = spread.overflow
	}
	switch {
	case sorted != nil && sorted.bytes > sorted.room+2*batchBytes(b):
		return fmt.Errorf("rows that wait hold %d bytes, of %d", sorted.bytes, sorted.room)
	case spread != nil && (spread.held > spread.most || spread.bytes > spread.room+batchBytes(b)):
		return fmt.Errorf("open files hold %d bytes of %d, rows that wait %d of %d", spread.held, spread.most, spread.bytes, spread.room)
	}
	return nil
}

// wantSorted checks that each file is sorted and that all have n rows, each once.
func wantSorted(t *testing.T, files []batch.DataFile, n int) {
	t.Helper()
	seen := map[int64]bool{}
	for _, f := range files {
		p, numbers := fileRows(t, f)
		for i, number := range numbers {
			if seen[number] {
				t.Fatalf("row %d is there twice", number)
			}
			seen[number] = true
			if i > 0 && cmp.Or(cmp.Compare(p[i], p[i-1]), cmp.Compare(numbers[i-1], number)) >= 0 {
				t.Fatalf("row %d (%s, %d) does not follow (%s, %d)", i, p[i], number, p[i-1], numbers[i-1])
			}
		}
	}
	if len(seen) != n {
		t.Errorf("got %d rows, want %d", len(seen), n)
	}
}

func sizesOf(files []batch.DataFile) (sum int64) {
	for _, f := range files {
		sum += f.Bytes
	}
	return sum
}

func TestATaskLargerThanMemoryMakesSortedFilesOfTheTargetSize(t *testing.T) {
	const n, target = 24_000, 1 << 20
	task := beginSorted(t, 2<<20, func(o *Options) { o.TargetFileBytes = target })
	files := task.finished(t, unsortedRows(n, 700))
	if want := int((sizesOf(files) + target - 1) / target); len(files) != want || want < 2 || task.made < 5 {
		t.Errorf("got %d files of %d bytes in %d runs, want %d files", len(files), sizesOf(files), task.made, want)
	}
	wantSorted(t, files, n)
	for k := 1; k < len(files); k++ { // one goes on where the other ended
		_, before := fileRows(t, files[k-1])
		p, after := fileRows(t, files[k])
		last, _ := fileRows(t, files[k-1])
		if cmp.Or(cmp.Compare(p[0], last[len(last)-1]), cmp.Compare(before[len(before)-1], after[0])) >= 0 {
			t.Errorf("file %d does not go on where file %d ended", k, k-1)
		}
	}
	if got := task.Spilled(); got.Bytes == 0 || got.Failure != "" {
		t.Errorf("got %+v", got)
	}
}

func TestATaskThatFitsIntoMemoryNeedsNoDisk(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	task := beginSorted(t, 64<<20)
	files := task.finished(t, unsortedRows(20_000, 1000))
	wantSorted(t, files, 20_000)
	if task.made != 0 || len(files) != 1 || task.Spilled() != (batch.Spilled{}) {
		t.Errorf("got %d temporary files, %d files, %+v", task.made, len(files), task.Spilled())
	}
}

// A replay may have more or less memory, as long as pages and row groups are no smaller for it, get its rows in other portions, and
// merge in other steps: the files are the same.
func TestSortedFilesAreTheSameWhateverMemoryAndHoweverRowsCame(t *testing.T) {
	const n = 6000
	var want []byte
	for _, c := range []struct{ memory, each, merging int64 }{{64 << 20, 1000, 8 << 20}, {64 << 20, 6000, 8 << 20}, {12 << 20, 170, 1 << 20}, {10 << 20, 999, 1}, {10 << 20, 999, 300 << 10}} {
		for _, partitions := range [][]string{nil, {"bucket(3, n)"}} {
			task := beginSorted(t, c.memory, func(o *Options) { o.PartitionBy = partitionBy(t, partitions...) })
			task.sorted.room, task.sorted.merging = c.memory/64, c.merging
			sum := sha256.New()
			files := task.finished(t, unsortedRows(n, int(c.each)))
			for _, f := range files {
				text, err := os.ReadFile(localPath(f.Path))
				if err != nil {
					t.Fatal(err)
				}
				sum.Write(text)
			}
			if len(partitions) == 0 {
				if got := sum.Sum(nil); want == nil {
					want = got
				} else if !bytes.Equal(got, want) {
					t.Errorf("%d bytes of memory, %d rows at a time, %d runs: other files", c.memory, c.each, task.made)
				}
			} else if len(files) != 3 {
				t.Errorf("%d bytes of memory: got %d files of 3 partitions", c.memory, len(files))
			}
			wantSorted(t, files, n)
		}
	}
}

// However small the part of the memory for merging is: then runs are merged in several steps.
func TestManyRunsAreMergedInSteps(t *testing.T) {
	for _, merging := range []int64{1, 200 << 10} {
		task := beginSorted(t, 3<<20)
		task.sorted.room, task.sorted.merging = 100<<10, merging
		batches := unsortedRows(12_000, 300)
		open := 0
		for _, b := range batches {
			if err := task.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			open = max(open, task.open)
			if len(task.sorted.together(task.sorted.runs)) != len(task.sorted.runs) {
				t.Fatalf("%d runs are more than can be merged at once", len(task.sorted.runs))
			}
		}
		files := task.finished(t, nil)
		if wantSorted(t, files, 12_000); len(files) != 1 || open > 6 || task.made < 30 {
			t.Errorf("got %d files, %d of %d temporary files open at once", len(files), open, task.made)
		}
	}
}

func TestADiskWithoutRoomMakesMoreSortedFilesAndIsSaidSo(t *testing.T) {
	const n = 12_000
	for name, room := range map[string]int64{"none": 1, "less than a run": 200 << 10, "runs, but none merged": 400 << 10} {
		task := beginSorted(t, 3<<20)
		task.room, task.sorted.merging = room, 200<<10
		task.sorted.room = 500 << 10
		files := task.finished(t, unsortedRows(n, 500))
		wantSorted(t, files, n)
		if got := task.Spilled(); len(files) < 3 || task.refused != 1 || !strings.Contains(got.Failure, "no space left on device") || !strings.Contains(got.Failure, os.TempDir()) {
			t.Errorf("%s: got %d files, %d refusals, %+v", name, len(files), task.refused, got)
		}
	}
}

func TestAFolderForTemporaryFilesThatIsMissingMakesMoreSortedFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", dir)
	task := beginSorted(t, 3<<20, func(o *Options) { o.PartitionBy = partitionBy(t, "bucket(2, n)") })
	files := task.finished(t, unsortedRows(20_000, 500))
	wantSorted(t, files, 20_000)
	if got := task.Spilled(); len(files) < 4 || len(files)%2 != 0 || !strings.Contains(got.Failure, dir) || got.Bytes != 0 {
		t.Errorf("got %d files, %+v", len(files), got)
	}
}

// Rows that do not come back are a failure that leads to another attempt, never fewer rows.
func TestATemporaryFileThatCannotBeReadFailsTheTask(t *testing.T) {
	task := beginSorted(t, 3<<20)
	for _, b := range unsortedRows(12_000, 500) {
		if err := task.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range task.sorted.runs {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := task.Close(t.Context())
	wantClass(t, err, batch.Failed, "read sorted rows back from a temporary file")
	if len(files) > 0 {
		t.Errorf("got %d files", len(files))
	}
}

func TestASortedTaskThatIsStoppedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	task := beginSorted(t, 3<<20)
	batches := unsortedRows(9000, 500)
	for _, b := range batches {
		if err := task.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || task.open == 0 {
		t.Errorf("%d runs, and the folder has %v, %v", task.open, left, err)
	}
	cancel(stop)
	if err := task.sorted.flush(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	if err := task.sorted.spill(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	task.Abort()
	task.Abort()
	if left := dataFiles(t, load(t, task.sink.catalog)); len(left) != 0 || task.open != 0 {
		t.Errorf("left %v, and %d temporary files", left, task.open)
	}
}

// Huge records make huge blocks, of which few are in memory at once.
func TestHugeRecordsAreSorted(t *testing.T) {
	const n = 30
	task := beginSorted(t, 3<<20)
	rng := rand.New(rand.NewPCG(1, 4))
	for i := range n {
		b := spreadRows(i, 1, func(int) string { return fmt.Sprint("p", rng.IntN(5)) }, func(i int) int { return []int{10, 100 << 10, 700 << 10}[i%3] })
		if err := task.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	files := task.finished(t, nil)
	if wantSorted(t, files, n); task.made < 5 {
		t.Errorf("got %d runs", task.made)
	}
}

func TestHundredsOfSortedPartitionsMakeAFileEachInLittleMemory(t *testing.T) {
	const n = 6000
	task := beginSorted(t, 3<<20, func(o *Options) { o.PartitionBy = partitionBy(t, "truncate(20, n)") })
	files := task.finished(t, unsortedRows(n, 500))
	wantSorted(t, files, n)
	seen := map[string]bool{}
	for _, f := range files {
		for _, value := range f.Partition {
			seen[string(value)] = true
		}
	}
	if len(files) != n/20 || len(seen) != len(files) || task.made < 2 {
		t.Errorf("got %d files of %d partitions, %d runs", len(files), len(seen), task.made)
	}
}
