package maintain

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/rowtest"
	"sluice/offsets"
)

const (
	smallTable = "db.small"
	smallQuery = "3f6c0a52-0000-4000-8000-00000000000c"
)

// small is a table to which a query commits small batches.
type small struct {
	t      testing.TB
	c      catalog.Catalog
	sink   *lakesink.Iceberg
	schema columns.Schema
	// rows are all that were committed.
	rows [][]any
	next int64
}

func openCatalog(t testing.TB, dir string) catalog.Catalog {
	t.Helper()
	c, err := lakesink.OpenCatalog(context.Background(), lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.(catalog.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// hasty waits for nothing.
func hasty(o *lakesink.Options) {
	o.Table = smallTable
	o.Backoff = func(int) time.Duration { return 0 }
	o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

// newSmall makes a table.
func newSmall(t testing.TB, schema columns.Schema, change ...func(*lakesink.Options)) *small {
	t.Helper()
	s := &small{t: t, c: openCatalog(t, t.TempDir()), schema: schema}
	s.sink = sinkOf(s.c, change...)
	if err := s.sink.Create(context.Background(), schema); err != nil {
		t.Fatal(err)
	}
	return s
}

func sinkOf(c catalog.Catalog, change ...func(*lakesink.Options)) *lakesink.Iceberg {
	o := lakesink.Options{}
	hasty(&o)
	for _, f := range change {
		f(&o)
	}
	return lakesink.New(c, o)
}

// planN is batch n of a query that reads ten offsets at a time.
func planN(n int64) *batch.Plan {
	tp := offsets.TopicPartition{Topic: "small"}
	return &batch.Plan{Batch: n, Start: offsets.Offsets{tp: 10 * n}, End: offsets.Offsets{tp: 10*n + 10}, Hash: fmt.Sprintf("%064x", n+1), TopicIDs: map[string]string{"small": "id"}}
}

// staged is a batch whose files are written.
type stagedBatch struct {
	commit *batch.Commit
	rows   [][]any
}

// stage writes the files of the next batch, without committing it.
func (s *small) stage(rows [][]any) *stagedBatch {
	s.t.Helper()
	ctx := context.Background()
	at, err := s.sink.Table(ctx, smallQuery)
	if err != nil {
		s.t.Fatal(err)
	}
	plan := planN(s.next)
	task := &batch.Task{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash, SchemaID: at.SchemaID, SpecID: at.SpecID}
	attempt := uuid.NewString()
	w, err := s.sink.Write(ctx, task, attempt, s.schema)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := w.Write(ctx, rowtest.Build(s.schema, rows)); err != nil {
		s.t.Fatal(err)
	}
	files, err := w.Close(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	r := batch.TaskResult{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash, Attempt: attempt, SchemaID: at.SchemaID, SpecID: at.SpecID, Files: files}
	return &stagedBatch{&batch.Commit{Query: smallQuery, Name: "small", Run: "run", Plan: plan, Results: []batch.TaskResult{r}, TableUUID: at.UUID}, rows}
}

func (s *small) commit(b *stagedBatch) {
	s.t.Helper()
	if _, err := s.sink.Commit(context.Background(), b.commit); err != nil {
		s.t.Fatalf("batch %d: %v", b.commit.Plan.Batch, err)
	}
	s.next++
	s.rows = append(s.rows, b.rows...)
}

// add commits a batch of rows.
func (s *small) add(rows [][]any) { s.t.Helper(); s.commit(s.stage(rows)) }

func (s *small) load() *table.Table {
	s.t.Helper()
	tbl, err := s.c.LoadTable(context.Background(), catalog.ToIdentifier(smallTable))
	if err != nil {
		s.t.Fatal(err)
	}
	return tbl
}

// change commits a transaction of somebody else.
func (s *small) change(f func(*table.Transaction) error) {
	s.t.Helper()
	tx := s.load().NewTransaction()
	if err := f(tx); err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Commit(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// scanned are the table's rows as iceberg-go reads them, each as text, sorted.
func scanned(t testing.TB, tbl *table.Table, options ...table.ScanOption) []string {
	t.Helper()
	_, records, err := tbl.Scan(options...).ToArrowRecords(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	for r, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowtest.FromArrow(r)...)
		r.Release()
	}
	return textsOf(rows)
}

func textsOf(rows [][]any) []string {
	var out []string
	for _, r := range rows {
		out = append(out, rowtest.Text(r))
	}
	slices.Sort(out)
	return out
}

// wantSame checks that the table has the rows that were committed.
func (s *small) wantSame() {
	s.t.Helper()
	wantTexts(s.t, scanned(s.t, s.load()), textsOf(s.rows))
}

func wantTexts(t testing.TB, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Fatalf("got %d rows, want %d; the first that differ: got %s, want %s", len(got), len(want), strings.Join(got[at:min(at+1, len(got))], ""), strings.Join(want[at:min(at+1, len(want))], ""))
}

// liveFiles are the data files of the table's head.
func liveFiles(t testing.TB, tbl *table.Table) []iceberg.DataFile {
	t.Helper()
	tasks, err := tbl.Scan().PlanFiles(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var files []iceberg.DataFile
	for _, task := range tasks {
		files = append(files, task.File)
	}
	return files
}

// onDisk are the data files in the folder of a table.
func onDisk(t testing.TB, tbl *table.Table) []string {
	t.Helper()
	var found []string
	root := strings.TrimPrefix(tbl.Location(), "file://")
	for depth := range 4 {
		paths, err := filepath.Glob(filepath.Join(root, "data", strings.Repeat("*/", depth)+"*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}

// compact compacts and checks what holds of every compaction.
func (s *small) compact(o CompactOptions) *Compaction {
	s.t.Helper()
	before := s.load()
	c, err := Open(s.sink, Options{}).Compact(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantSame()
	after := s.load()
	if !maps.Equal(before.Properties(), after.Properties()) {
		s.t.Errorf("properties were %v and are %v", before.Properties(), after.Properties())
	}
	for head := after.CurrentSnapshot(); head.SnapshotID != before.CurrentSnapshot().SnapshotID; head = after.SnapshotByID(*head.ParentSnapshotID) {
		if head.Summary.Operation != table.OpReplace {
			s.t.Errorf("snapshot %d is a %s, want replace", head.SnapshotID, head.Summary.Operation)
		}
		if got, want := head.Summary.Properties["total-records"], before.CurrentSnapshot().Summary.Properties["total-records"]; got != want {
			s.t.Errorf("the summary counts %s rows, want %s", got, want)
		}
	}
	return c
}

// states counts groups by what became of them.
func states(c *Compaction) map[CompactState]int {
	n := map[CompactState]int{}
	for _, g := range c.Groups {
		n[g.State]++
	}
	return n
}
