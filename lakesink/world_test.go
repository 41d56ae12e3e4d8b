package lakesink

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
	"sluice/lakesink/laketest"
	"sluice/lakesink/rowtest"
	"sluice/offsets"
)

const (
	tableName = "db.orders"
	queryID   = "3f6c0a52-0000-4000-8000-000000000001"
	topic     = "orders"
)

// rawSchema is the columns of a raw Kafka table.
func rawSchema() columns.Schema {
	return columns.Schema{
		{Name: "key", Type: columns.Type{Kind: columns.Binary}}, {Name: "value", Type: columns.Type{Kind: columns.Binary}},
		{Name: "topic", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "partition", Type: columns.Type{Kind: columns.Int32}, Required: true},
		{Name: "offset", Type: columns.Type{Kind: columns.Int64}, Required: true}, {Name: "timestamp", Type: columns.Type{Kind: columns.TimestampTZ}, Required: true},
		{Name: "timestampType", Type: columns.Type{Kind: columns.Int32}, Required: true},
	}
}

// rawRows are the records [from, until) of a partition.
func rawRows(partition int32, from, until int64) *columns.Batch {
	n := int(until - from)
	var keys, values, offs, times []any
	for o := from; o < until; o++ {
		keys, values = append(keys, fmt.Appendf(nil, "key-%d", o%7)), append(values, fmt.Appendf(nil, `{"order_id":%d,"partition":%d}`, o, partition))
		offs, times = append(offs, o), append(times, 1772600000000000+o*1000)
	}
	s := rawSchema()
	return &columns.Batch{Rows: n, Columns: []columns.Array{rowtest.Array(s[0].Type, keys), rowtest.Array(s[1].Type, values), rowtest.Constant(s[2].Type, topic, n),
		rowtest.Constant(s[3].Type, partition, n), rowtest.Array(s[4].Type, offs), rowtest.Array(s[5].Type, times), rowtest.Constant(s[6].Type, int32(0), n)}}
}

// openSQLite opens the SQL catalog of a folder; every call is another process's connection.
func openSQLite(t testing.TB, dir string) catalog.Catalog {
	t.Helper()
	c, err := OpenCatalog(context.Background(), CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")})
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

// testOptions wait for nothing.
func testOptions() Options {
	return Options{Table: tableName, Catalog: "sql /catalog.db", Backoff: func(int) time.Duration { return 0 }, Sleep: func(context.Context, time.Duration) error { return nil }}
}

func newSink(c catalog.Catalog) *Iceberg { return New(c, testOptions()) }

// newTable makes a sink with its table in a new folder.
func newTable(t testing.TB, change ...func(*Options)) (*Iceberg, catalog.Catalog) {
	t.Helper()
	c := openSQLite(t, t.TempDir())
	o := testOptions()
	for _, f := range change {
		f(&o)
	}
	s := New(c, o)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// planOf is a plan for partition 0 and 1 of the topic, each from and to the same offsets.
func planOf(n, from, until int64) *batch.Plan {
	a, b := offsets.TopicPartition{Topic: topic}, offsets.TopicPartition{Topic: topic, Partition: 1}
	return &batch.Plan{Batch: n, Start: offsets.Offsets{a: from, b: from}, End: offsets.Offsets{a: until, b: until}, Hash: fmt.Sprintf("%064x", 1000*n+until), TopicIDs: map[string]string{topic: "id"}}
}

// planN is batch n of a query that reads ten offsets of each partition at a time.
func planN(n int64) *batch.Plan { return planOf(n, 10*n, 10*n+10) }

// execute writes the data files of a plan: one task a partition.
func execute(ctx context.Context, s *Iceberg, query string, plan *batch.Plan) ([]batch.TaskResult, error) {
	t, err := s.Table(ctx, query)
	if err != nil {
		return nil, err
	}
	var results []batch.TaskResult
	for index, r := range plan.Ranges() {
		task := &batch.Task{Version: batch.FormatVersion, Query: query, Batch: plan.Batch, Plan: plan.Hash, Index: index, SchemaID: t.SchemaID, SpecID: t.SpecID,
			Pieces: []batch.Piece{{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}}}
		result, err := executeTask(ctx, s, task, r)
		if err != nil {
			return nil, err
		}
		results = append(results, *result)
	}
	return results, nil
}

func executeTask(ctx context.Context, s *Iceberg, task *batch.Task, r offsets.Range) (*batch.TaskResult, error) {
	attempt := uuid.NewString()
	w, err := s.Write(ctx, task, attempt, rawSchema())
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := w.Write(ctx, rawRows(r.Partition, r.From, r.Until)); err != nil {
		return nil, err
	}
	files, err := w.Close(ctx)
	if err != nil {
		return nil, err
	}
	return &batch.TaskResult{Version: batch.FormatVersion, Query: task.Query, Batch: task.Batch, Plan: task.Plan, Index: task.Index, Attempt: attempt,
		SchemaID: task.SchemaID, SpecID: task.SpecID, Files: files,
		Pieces: []batch.PieceResult{{Piece: task.Pieces[0], Position: r.Until, Delivered: r.Len(), Rows: r.Len()}}}, nil
}

// commitOf asks for a plan's commit.
func commitOf(s *Iceberg, query string, plan *batch.Plan, results []batch.TaskResult) *batch.Commit {
	c := &batch.Commit{Query: query, Name: "orders", Run: "run", Plan: plan, Results: results}
	if t, err := s.Table(context.Background(), query); err == nil {
		c.TableUUID = t.UUID
	}
	return c
}

// apply executes and commits.
func apply(s *Iceberg, query string, plan *batch.Plan) (*batch.Applied, error) {
	ctx := context.Background()
	results, err := execute(ctx, s, query, plan)
	if err != nil {
		return nil, err
	}
	return s.Commit(ctx, commitOf(s, query, plan, results))
}

func mustApply(t testing.TB, s *Iceberg, query string, plan *batch.Plan) *batch.Applied {
	t.Helper()
	a, err := apply(s, query, plan)
	if err != nil {
		t.Fatalf("batch %d: %v", plan.Batch, err)
	}
	return a
}

func load(t testing.TB, c catalog.Catalog) *table.Table {
	t.Helper()
	tbl, err := c.LoadTable(context.Background(), catalog.ToIdentifier(tableName))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// scan reads the table with iceberg-go's own reader.
func scan(t testing.TB, tbl *table.Table, options ...table.ScanOption) [][]any {
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
	return rows
}

// wantOffsets checks that the table holds exactly the offsets [0, until) of partition 0 and 1, once, and so many rows
// of others (partition 100).
func wantOffsets(t testing.TB, c catalog.Catalog, until int64, foreign int) {
	t.Helper()
	seen := map[string]int{}
	others := 0
	for _, row := range scan(t, load(t, c), table.WithSelectedFields("partition", "offset")) {
		if row[0] == int32(100) {
			others++
			continue
		}
		seen[fmt.Sprintf("%v/%v", row[0], row[1])]++
	}
	var wrong []string
	for p := range 2 {
		for o := range until {
			key := fmt.Sprintf("%d/%d", p, o)
			if seen[key] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s is there %d times", key, seen[key]))
			}
			delete(seen, key)
		}
	}
	for key := range seen {
		wrong = append(wrong, key+" is not expected")
	}
	if len(wrong) > 0 || others != foreign {
		slices.Sort(wrong)
		t.Fatalf("%d faults in the table, %d foreign rows, want %d: %s", len(wrong), others, foreign, strings.Join(wrong[:min(5, len(wrong))], "; "))
	}
}

// rival appends rows of partition 100 through another connection, as some other engine would.
func rival(t testing.TB, c catalog.Catalog, n int64) {
	t.Helper()
	ctx := context.Background()
	tbl := load(t, c)
	s := newSink(c)
	task := &batch.Task{Query: "rival", SchemaID: tbl.Schema().ID, SpecID: tbl.Metadata().DefaultPartitionSpec()}
	w, err := s.Write(ctx, task, uuid.NewString(), rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, rawRows(100, 0, n)); err != nil {
		t.Fatal(err)
	}
	files, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	added, err := icebergFiles(tbl, []batch.TaskResult{{Files: files}})
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	if err := tx.AddDataFiles(ctx, added, nil, table.WithoutAutoNameMapping()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// change commits a transaction of somebody else.
func change(t testing.TB, c catalog.Catalog, f func(*table.Transaction) error) {
	t.Helper()
	tx := load(t, c).NewTransaction()
	if err := f(tx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func expireAllButHead(tx *table.Transaction) error {
	return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1))
}

// breakCommit makes the first append through a catalog go wrong.
func breakCommit(c catalog.Catalog, mode laketest.Mode) *laketest.Catalog {
	return laketest.Wrap(c, laketest.BreakWhen(func(name string) bool { return strings.HasSuffix(name, " snapshot") }, mode))
}

// dataFiles lists the data files in the folder of the table.
func dataFiles(t testing.TB, tbl *table.Table) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(localPath(tbl.Location()), "data", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// setProperties writes table properties as somebody else.
func setProperties(p map[string]string) func(*table.Transaction) error {
	return func(tx *table.Transaction) error { return tx.SetProperties(iceberg.Properties(maps.Clone(p))) }
}

func wantClass(t testing.TB, err error, class batch.Class, words ...string) {
	t.Helper()
	if err == nil || batch.ClassOf(err) != class {
		t.Fatalf("got %v (%v), want class %v", err, batch.ClassOf(err), class)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if class != batch.Failed && batch.HintOf(err) == "" {
		t.Errorf("no hint what to do: %v", err)
	}
}
