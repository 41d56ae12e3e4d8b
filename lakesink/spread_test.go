package lakesink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// spreadSchema has a partition and enough beside it to fill memory.
var spreadSchema = columns.Schema{{Name: "n", Type: columns.Type{Kind: columns.Int64}}, {Name: "p", Type: columns.Type{Kind: columns.String}}, {Name: "text", Type: columns.Type{Kind: columns.String}}}

// spreadTable is a table that is partitioned by p, of a writer with so much memory.
func spreadTable(t testing.TB, memory int64, change ...func(*Options)) (*Iceberg, func() map[int64]string) {
	t.Helper()
	c := openSQLite(t, t.TempDir())
	o := testOptions()
	o.PartitionBy, o.MemoryBytes = partitionBy(t, "p"), memory
	for _, f := range change {
		f(&o)
	}
	s := New(c, o)
	if err := s.Create(t.Context(), spreadSchema); err != nil {
		t.Fatal(err)
	}
	return s, func() map[int64]string {
		found := map[int64]string{}
		for _, row := range scan(t, load(t, c), table.WithSelectedFields("n", "p", "text")) {
			n := row[0].(int64)
			if _, twice := found[n]; twice {
				t.Errorf("row %d is there twice", n)
			}
			found[n] = fmt.Sprint(row[1], " ", len(row[2].(string)))
		}
		return found
	}
}

// spreadRows are n rows from the given one on; partition says whose each is, and size how long its text is.
func spreadRows(from, n int, partition func(i int) string, size func(i int) int) *columns.Batch {
	rng := rand.New(rand.NewPCG(uint64(from), 3))
	rows := make([][]any, n)
	for i := range rows {
		text := make([]byte, size(from+i))
		for k := range text {
			text[k] = "abcdefgh"[rng.IntN(8)]
		}
		rows[i] = []any{int64(from + i), partition(from + i), string(text)}
	}
	return rowtest.Build(spreadSchema, rows)
}

// spreadAll writes batches of rows, holding the writer to its bound after each, and returns how many files there are of each
// partition.
func spreadAll(t *testing.T, s *Iceberg, memory int64, batches ...*columns.Batch) map[string]int {
	t.Helper()
	ctx := t.Context()
	reading, err := s.Table(ctx, queryID)
	if err != nil {
		t.Fatal(err)
	}
	task := taskFor(load(t, s.catalog))
	task.SchemaID, task.SpecID = reading.SchemaID, reading.SpecID
	w, err := s.Write(ctx, task, "a", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, b := range batches {
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		if spread := w.spread; spread.held > memory*3/8 || spread.bytes > memory/gatheredShare+batchBytes(b) {
			t.Errorf("open files hold %d bytes and rows that wait %d, of %d", spread.held, spread.bytes, memory)
		}
	}
	files, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addFiles(t, s.catalog, files)
	count := map[string]int{}
	for _, f := range files {
		count[string(f.Partition[1000])]++
	}
	return count
}

func batchBytes(b *columns.Batch) (n int64) {
	for i := range b.Columns {
		n += b.Columns[i].Size()
	}
	return n
}

func wantRows(t *testing.T, found map[int64]string, n int, partition func(i int) string, size func(i int) int) {
	t.Helper()
	if len(found) != n {
		t.Errorf("the table has %d rows, want %d", len(found), n)
	}
	for i := range n {
		if want := fmt.Sprint(partition(i), " ", size(i)); found[int64(i)] != want {
			t.Fatalf("row %d is %q, want %q", i, found[int64(i)], want)
		}
	}
}

func always[T any](v T) func(int) T { return func(int) T { return v } }

func TestAThousandPartitionsMakeAFileEachWhereMemoryAllows(t *testing.T) {
	const memory, n = 48 << 20, 60_000
	s, rows := spreadTable(t, memory)
	partition := func(i int) string { return fmt.Sprint("p", i*7%1000) }
	var batches []*columns.Batch
	for from := 0; from < n; from += 4000 {
		batches = append(batches, spreadRows(from, 4000, partition, always(300)))
	}
	count := spreadAll(t, s, memory, batches...)
	if len(count) != 1000 {
		t.Errorf("got files of %d partitions", len(count))
	}
	for p, files := range count {
		if files != 1 {
			t.Fatalf("partition %s has %d files", p, files)
		}
	}
	wantRows(t, rows(), n, partition, always(300))
}

// https://github.com/databricks/iceberg-kafka-connect/issues/227
func TestMorePartitionsThanMemoryHoldsAreWrittenAllTheSame(t *testing.T) {
	const memory, n = 4 << 20, 3000
	s, rows := spreadTable(t, memory)
	partition := func(i int) string { return fmt.Sprint("p", i*7%400) }
	var batches []*columns.Batch
	for from := 0; from < n; from += 500 {
		batches = append(batches, spreadRows(from, 500, partition, always(200)))
	}
	count := spreadAll(t, s, memory, batches...)
	if len(count) != 400 {
		t.Errorf("got files of %d partitions", len(count))
	}
	wantRows(t, rows(), n, partition, always(200))
}

// Few rows do not make many small pages and files beside a partition that has nearly all.
func TestPartitionsOfFewRowsWaitForMore(t *testing.T) {
	const memory, n = 12 << 20, 40_000
	s, rows := spreadTable(t, memory)
	partition := func(i int) string {
		if i%400 == 0 {
			return fmt.Sprint("rare", i/400%20)
		}
		return "usual"
	}
	var batches []*columns.Batch
	for from := 0; from < n; from += 2000 {
		batches = append(batches, spreadRows(from, 2000, partition, always(500)))
	}
	count := spreadAll(t, s, memory, batches...)
	for p, files := range count {
		if files > 1 && p != `"usual"` || len(count) != 21 {
			t.Errorf("%d files of %s among %d partitions", files, p, len(count))
		}
	}
	wantRows(t, rows(), n, partition, always(500))
}

// What is of one partition goes straight into its file, and into the same file when a second one appears, unless it has
// gone to the store in part.
func TestRowsOfOnePartitionAreNotGathered(t *testing.T) {
	const memory = 32 << 20
	s, rows := spreadTable(t, memory)
	partition := func(i int) string {
		if i < 9000 {
			return "a"
		}
		return "b"
	}
	w, err := s.Write(t.Context(), taskFor(load(t, s.catalog)), "x", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), spreadRows(0, 3000, partition, always(10))); err != nil {
		t.Fatal(err)
	}
	if w.spread.gathered.Rows != 0 || len(w.spread.open) != 1 {
		t.Errorf("%d rows of one partition wait", w.spread.gathered.Rows)
	}
	w.Abort()
	count := spreadAll(t, s, memory, spreadRows(0, 4000, partition, always(10)), spreadRows(4000, 4000, partition, always(10)), spreadRows(8000, 4000, partition, always(10)))
	if count[`"a"`] != 1 || count[`"b"`] != 1 || len(count) != 2 {
		t.Errorf("got files %v", count)
	}
	wantRows(t, rows(), 12000, partition, always(10))
}

// https://github.com/apache/parquet-java/issues/2697
func TestHugeRecordsAmongPartitions(t *testing.T) {
	const memory = 4 << 20
	s, rows := spreadTable(t, memory)
	partition := func(i int) string { return fmt.Sprint("p", i%5) }
	size := func(i int) int {
		if i >= 3000 {
			return 3 << 19
		}
		return 10
	}
	batches := []*columns.Batch{spreadRows(0, 3000, partition, size)}
	for i := range 7 {
		batches = append(batches, spreadRows(3000+i, 1, partition, size))
	}
	batches = append(batches, spreadRows(3007, 4, partition, size))
	spreadAll(t, s, memory, batches...)
	wantRows(t, rows(), 3011, partition, size)
}

// https://github.com/apache/iceberg-go/issues/759
func TestFilesOfPartitionsEndAtTheTargetSize(t *testing.T) {
	const memory, target = 32 << 20, 256 << 10
	s, rows := spreadTable(t, memory, func(o *Options) { o.TargetFileBytes = target })
	partition := func(i int) string { return fmt.Sprint("p", i%3) }
	var batches []*columns.Batch
	for from := 0; from < 30_000; from += 2000 {
		batches = append(batches, spreadRows(from, 2000, partition, always(200)))
	}
	count := spreadAll(t, s, memory, batches...)
	for _, row := range []string{`"p0"`, `"p1"`, `"p2"`} {
		if n := count[row]; n < 3 || n > 6 {
			t.Errorf("partition %s has %d files", row, n)
		}
	}
	wantRows(t, rows(), 30_000, partition, always(200))
}

func TestAnAbortedPartitionedTaskLeavesNothingOpen(t *testing.T) {
	s, _ := spreadTable(t, 32<<20)
	tbl := load(t, s.catalog)
	w, err := s.Write(t.Context(), taskFor(tbl), "x", spreadSchema)
	if err != nil {
		t.Fatal(err)
	}
	partition := func(i int) string { return fmt.Sprint("p", i%3) }
	if err := w.Write(t.Context(), spreadRows(0, 3000, partition, always(300))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("told to stop"))
	if err := w.Write(ctx, spreadRows(3000, 9000, partition, always(300))); err == nil || !strings.Contains(err.Error(), "told to stop") {
		t.Errorf("got %v, want the reason why the run was stopped", err)
	}
	w.Abort()
	w.Abort()
	if left := dataFiles(t, tbl); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
