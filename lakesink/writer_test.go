package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/laketest"
	"sluice/lakesink/rowtest"
)

// taskFor is a task for the table as it is.
func taskFor(tbl *table.Table) *batch.Task {
	return &batch.Task{Query: queryID, Batch: 7, Index: 3, SchemaID: tbl.Schema().ID, SpecID: tbl.Metadata().DefaultPartitionSpec()}
}

// writeFiles writes batches of rows as one task.
func writeFiles(t testing.TB, s *Iceberg, c catalog.Catalog, schema columns.Schema, batches ...*columns.Batch) []batch.DataFile {
	t.Helper()
	w, err := s.Write(context.Background(), taskFor(load(t, c)), uuid.NewString(), schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// addFiles makes files part of the table without any books.
func addFiles(t testing.TB, c catalog.Catalog, files []batch.DataFile) {
	t.Helper()
	tbl := load(t, c)
	added, err := icebergFiles(tbl, []batch.TaskResult{{Files: files}})
	if err != nil {
		t.Fatal(err)
	}
	change(t, c, func(tx *table.Transaction) error {
		return tx.AddDataFiles(context.Background(), added, nil, table.WithoutAutoNameMapping())
	})
}

func TestFilesAreRolledByWhatTheyTakeInTheStore(t *testing.T) {
	// https://github.com/apache/iceberg-go/issues/759: rolled by size in memory, files stayed far below the target.
	const target = 1 << 20
	s, c := newTable(t, func(o *Options) { o.TargetFileBytes, o.MemoryBytes = target, 24<<20 })
	rng := rand.New(rand.NewPCG(5, 5))
	var batches []*columns.Batch
	for k := range int64(40) {
		b := rawRows(0, k*500, k*500+500)
		var values []any
		for range 500 { // of 1 KiB, that compresses to about a quarter
			noise := make([]byte, 128)
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			values = append(values, []byte(strings.Repeat("the same again; ", 48)+fmt.Sprintf("%x", noise)))
		}
		b.Columns[1] = rowtest.Array(rawSchema()[1].Type, values)
		batches = append(batches, b)
	}
	files := writeFiles(t, s, c, rawSchema(), batches...)
	name := regexp.MustCompile(`/data/` + queryID + `-7-3-[0-9a-f-]{36}-(\d+)\.parquet$`)
	var rows int64
	for i, f := range files {
		rows += f.Records
		if i < len(files)-1 && (f.Bytes < target/2 || f.Bytes > target*3/2) {
			t.Errorf("file %d has %d bytes, want 50 to 150%% of %d", i, f.Bytes, target)
		}
		if m := name.FindStringSubmatch(f.Path); m == nil || m[1] != fmt.Sprint(i) {
			t.Errorf("file %d is named %s", i, f.Path)
		}
		if info, err := os.Stat(localPath(f.Path)); err != nil || info.Size() != f.Bytes {
			t.Errorf("%s: %v, want %d bytes", f.Path, err, f.Bytes)
		}
	}
	if rows != 20_000 || len(files) < 2 {
		t.Errorf("%d rows in %d files", rows, len(files))
	}
}

func TestAbortLeavesNothingOfTheOpenFile(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.RowGroupBytes = 1 << 10 })
	tbl := load(t, c)
	w, err := s.Write(context.Background(), taskFor(tbl), "a", rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(context.Background(), rawRows(0, 0, 100)); err != nil {
		t.Fatal(err)
	}
	if len(dataFiles(t, tbl)) != 1 {
		t.Fatal("no file was begun")
	}
	w.Abort()
	w.Abort()
	if left := dataFiles(t, tbl); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	w, err = s.Write(context.Background(), taskFor(tbl), "b", rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	if files, err := w.Close(context.Background()); err != nil || len(files) != 0 {
		t.Errorf("a task without rows: %v, %v", files, err)
	}
	w.Abort()
}

func TestAWriterThatFailsLeaksNothing(t *testing.T) {
	// https://github.com/apache/iceberg-go/issues/1825
	_, c := newTable(t)
	failed := laketest.Wrap(c, laketest.BreakWhen(func(name string) bool { return name == "create data" }, laketest.NotApplied))
	s := newSink(failed)
	tbl := load(t, c)
	before := runtime.NumGoroutine()
	for i := range 50 {
		failed.Script = laketest.BreakWhen(func(name string) bool { return name == "create data" }, laketest.NotApplied)
		w, err := s.Write(context.Background(), taskFor(tbl), fmt.Sprint(i), rawSchema())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(context.Background(), rawRows(0, 0, 100)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(context.Background()); !errors.Is(err, laketest.ErrInjected) {
			t.Fatalf("got %v", err)
		}
		w.Abort()
	}
	if n := runtime.NumGoroutine(); n > before+5 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if left := dataFiles(t, tbl); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// shortFS loses the last bytes of every data file and says nothing.
type shortFS struct{ durableFS }

func (s shortFS) Create(name string) (iceio.FileWriter, error) {
	w, err := s.durableFS.Create(name)
	if err != nil || !strings.HasSuffix(name, ".parquet") {
		return w, err
	}
	return &shortFile{FileWriter: w, path: localPath(name)}, nil
}

type shortFile struct {
	iceio.FileWriter
	path string
}

func (f *shortFile) Close() error {
	if err := f.FileWriter.Close(); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	return os.Truncate(f.path, info.Size()-3)
}

// storeCatalog hands out tables whose files are elsewhere.
type storeCatalog struct {
	catalog.Catalog
	store iceio.IO
}

func (s *storeCatalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := s.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return table.New(id, t.Metadata(), t.MetadataLocation(), func(context.Context) (iceio.IO, error) { return s.store, nil }, s), nil
}

// https://github.com/trinodb/trino/issues/6369: sizes in the metadata that are not those of the files.
func TestAFileThatTheStoreCutIsRefused(t *testing.T) {
	_, c := newTable(t)
	_, err := apply(newSink(&storeCatalog{c, shortFS{}}), queryID, planN(0))
	wantClass(t, err, batch.Failed, "bytes in the store")
	if load(t, c).CurrentSnapshot() != nil {
		t.Error("it was committed")
	}
}

// fullFS has no room for data files.
type fullFS struct{ durableFS }

func (f fullFS) Create(name string) (iceio.FileWriter, error) {
	w, err := f.durableFS.Create(name)
	if err != nil || !strings.HasSuffix(name, ".parquet") {
		return w, err
	}
	return &fullFile{w.(*durableFile)}, nil
}

type fullFile struct{ *durableFile }

func (f *fullFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}

func TestAFullDiskIsSaidSoAndLeavesNothing(t *testing.T) {
	_, c := newTable(t)
	_, err := apply(newSink(&storeCatalog{c, fullFS{}}), queryID, planN(0))
	wantClass(t, err, batch.Failed, "no space left")
	if !strings.Contains(batch.HintOf(err), "disk is full") {
		t.Errorf("hint %q", batch.HintOf(err))
	}
	if left := dataFiles(t, load(t, c)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestACancelledTaskStops(t *testing.T) {
	s, c := newTable(t)
	cause := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	w, err := s.Write(ctx, taskFor(load(t, c)), "a", rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	cancel(cause)
	if err := w.Write(ctx, rawRows(0, 0, 10)); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if _, err := w.Close(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestFilesAreForTheSchemaOfTheTask(t *testing.T) {
	s, c := newTable(t)
	task := taskFor(load(t, c))
	change(t, c, func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"tenant"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
	})
	_, err := newSink(c).Write(context.Background(), task, "a", rawSchema())
	wantClass(t, err, batch.Failed, "was altered")
	if _, err := s.Write(context.Background(), &batch.Task{Query: "../../x", SchemaID: task.SchemaID}, "a", rawSchema()); err == nil {
		t.Error("a query id that leads out of the folder was taken")
	}
}

func TestNamesOfColumnsThatWereRenamedDoNotMatterToReaders(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	change(t, c, func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).RenameColumn([]string{"offset"}, "position").Commit()
	})
	got := scan(t, load(t, c), table.WithSelectedFields("position"), table.WithRowFilter(iceberg.EqualTo(iceberg.Reference("position"), int64(4))))
	if len(got) != 2 || got[0][0] != int64(4) {
		t.Errorf("got %v", got)
	}
}

func TestLocalFilesHaveTheirFoldersMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b %2F c")
	w, err := durableFS{}.Create((&fileURL{dir}).String() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := (durableFS{}).Create(filepath.Join(dir, "x", "y")); err == nil {
		t.Error("a folder was made where a file is")
	}
}

type fileURL struct{ path string }

func (f *fileURL) String() string {
	address, err := localAddress(f.path)
	if err != nil {
		panic(err)
	}
	return address
}
