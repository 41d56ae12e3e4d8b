package verify_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
	_ "modernc.org/sqlite"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

const (
	ordersQuery = "0b7e3d1a-0000-4000-8000-000000000001"
	backfill    = "0b7e3d1a-0000-4000-8000-000000000002"
)

// world is a table with the queries that write to it, their checkpoints and Kafka, all made by hand: nothing of
// sluice's writer takes part.
type world struct {
	t       testing.TB
	catalog catalog.Catalog
	table   *table.Table
	columns verify.Columns
	queries map[string]*query
	kafka   *kafka
}

type query struct {
	name   string
	ledger *batch.Ledger
	log    batch.LogState
}

func newWorld(t testing.TB) *world { return newWorldOf(t, verify.RawColumns, nil) }

func newWorldOf(t testing.TB, columns verify.Columns, properties iceberg.Properties) *world {
	t.Helper()
	w := &world{t: t, catalog: sqliteCatalog(t), columns: columns, queries: map[string]*query{}, kafka: newKafka()}
	w.create(properties)
	return w
}

func sqliteCatalog(t testing.TB) catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+dir+"/catalog.db")
	must(t, err)
	t.Cleanup(func() { db.Close() })
	c, err := sqlcatalog.NewCatalog("test", db, sqlcatalog.SQLite, iceberg.Properties{"warehouse": "file://" + dir + "/warehouse", "init_catalog_tables": "true"})
	must(t, err)
	return c
}

func hadoopCatalog(t testing.TB) catalog.Catalog {
	t.Helper()
	c, err := hadoop.NewCatalog("test", t.TempDir(), nil)
	must(t, err)
	return c
}

func (w *world) create(properties iceberg.Properties) {
	w.t.Helper()
	must(w.t, w.catalog.CreateNamespace(w.t.Context(), table.Identifier{"sales"}, nil))
	w.table = w.typed(table.Identifier{"sales", "orders"}, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64, catalog.WithProperties(properties))
}

// typed creates a table with a partition and an offset column of some types.
func (w *world) typed(name table.Identifier, partition, offset iceberg.Type, options ...catalog.CreateTableOpt) *table.Table {
	w.t.Helper()
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "value", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 2, Name: w.columns.Topic, Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: w.columns.Partition, Type: partition},
		iceberg.NestedField{ID: 4, Name: w.columns.Offset, Type: offset})
	t, err := w.catalog.CreateTable(w.t.Context(), name, schema, options...)
	must(w.t, err)
	return t
}

// row is one record's place.
type row struct {
	topic     string
	partition int32
	offset    int64
}

// rowsOf are the rows of offsets [from, until) of a partition.
func rowsOf(topic string, partition int32, from, until int64) []row {
	var rows []row
	for o := from; o < until; o++ {
		rows = append(rows, row{topic, partition, o})
	}
	return rows
}

func (w *world) reader(rows []row) array.RecordReader {
	w.t.Helper()
	schema, err := table.SchemaToArrowSchema(w.table.Schema(), nil, true, false)
	must(w.t, err)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, r := range rows {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprint(r))
		b.Field(1).(*array.StringBuilder).Append(r.topic)
		appendWhole(b.Field(2), int64(r.partition))
		appendWhole(b.Field(3), r.offset)
	}
	var batches []arrow.RecordBatch
	if len(rows) > 0 {
		batches = append(batches, b.NewRecordBatch())
	}
	reader, err := array.NewRecordReader(schema, batches)
	must(w.t, err)
	return reader
}

func appendWhole(b array.Builder, n int64) {
	switch b := b.(type) {
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	}
}

// change commits a transaction.
func (w *world) change(do func(tx *table.Transaction) error) {
	w.t.Helper()
	tx := w.table.NewTransaction()
	must(w.t, do(tx))
	tbl, err := tx.Commit(w.t.Context())
	if tbl == nil {
		must(w.t, err) // expiry returns a table and the error of deleting files
	}
	w.table = tbl
}

func (w *world) query(id string) *query {
	if w.queries[id] == nil {
		w.queries[id] = &query{name: "orders-" + id[len(id)-1:], log: batch.LogState{Commit: batch.None, Start: offsets.Offsets{}}}
	}
	return w.queries[id]
}

// part is what a batch does with one partition.
type part struct {
	offsets.Range
	// gaps are offsets of which Kafka has nothing, dead those of dead letters.
	gaps, dead []int64
}

func reading(topic string, partition int32, from, until int64) part {
	return part{Range: offsets.Range{TopicPartition: offsets.TopicPartition{Topic: topic, Partition: partition}, From: from, Until: until}}
}

// apply runs a batch of the query as sluice would: plan, rows with ledger and summary in one commit, mark.
func (w *world) apply(id string, parts ...part) {
	w.t.Helper()
	plan := w.plan(id, parts...)
	var rows []row
	result := batch.TaskResult{Version: batch.FormatVersion}
	for _, p := range parts {
		r := batch.PieceResult{Piece: batch.Piece{Topic: p.Topic, Partition: p.Partition, From: p.From, Until: p.Until}, Position: p.Until}
		for o := p.From; o < p.Until; o++ {
			if slices.Contains(p.gaps, o) {
				continue
			}
			w.kafka.add(p.TopicPartition, o)
			if slices.Contains(p.dead, o) {
				r.DeadLetters++
			} else {
				rows = append(rows, row{p.Topic, p.Partition, o})
				r.Rows++
			}
		}
		w.kafka.end(p.TopicPartition, p.Until)
		result.Pieces = append(result.Pieces, r)
	}
	w.commit(id, plan, rows, result)
	w.query(id).log.Commit = plan.Batch
}

// plan writes the next plan of the query: the parts, and every other partition standing still.
func (w *world) plan(id string, parts ...part) *batch.Plan {
	q := w.query(id)
	n := q.log.Commit + 1
	plan := &batch.Plan{Batch: n, Start: offsets.Offsets{}, End: offsets.Offsets{}, TopicIDs: map[string]string{},
		Tables: map[string]string{"main": w.table.Metadata().TableUUID().String()}, Isolation: batch.ReadCommitted,
		Hash: fmt.Sprintf("%s plan %d", q.name, n)}
	if q.ledger != nil {
		maps.Copy(plan.Start, q.ledger.Next())
		maps.Copy(plan.End, plan.Start)
	}
	for _, p := range parts {
		plan.Start[p.TopicPartition], plan.End[p.TopicPartition] = p.From, p.Until
		plan.TopicIDs[p.Topic] = "id of " + p.Topic
		if _, known := q.log.Start[p.TopicPartition]; !known && n == 0 {
			q.log.Start[p.TopicPartition] = p.From
		}
	}
	q.log.Plan = plan
	return plan
}

func (w *world) commit(id string, plan *batch.Plan, rows []row, result batch.TaskResult) {
	w.t.Helper()
	q := w.query(id)
	ledger := batch.Advance(q.ledger, plan, id, q.name, "run", []batch.TaskResult{result})
	w.change(func(tx *table.Transaction) error {
		if err := tx.Append(w.t.Context(), w.reader(rows), summaryOf(id, q.name, plan)); err != nil {
			return err
		}
		staged, err := tx.StagedTable()
		if err != nil {
			return err
		}
		ledger.Snapshot, ledger.Sequence = staged.CurrentSnapshot().SnapshotID, staged.CurrentSnapshot().SequenceNumber
		properties, err := ledger.Properties()
		if err != nil {
			return err
		}
		return tx.SetProperties(properties)
	})
	q.ledger = ledger
}

func summaryOf(id, name string, plan *batch.Plan) iceberg.Properties {
	n := strconv.FormatInt(plan.Batch, 10)
	p := iceberg.Properties{"sluice.query-id": id, "sluice.query-name": name, "sluice.batch-id": n, "sluice.plan": plan.Hash,
		"spark.sql.streaming.queryId": id, "spark.sql.streaming.epochId": n, "sluice.run-id": "run of " + n}
	if plan.Accepted != nil {
		p["sluice.accepted"] = plan.Accepted.String()
	}
	return p
}

// forge changes a query's ledger in the table.
func (w *world) forge(id string, change func(*batch.Ledger)) {
	w.t.Helper()
	l := *w.query(id).ledger
	l.Accounts = maps.Clone(l.Accounts)
	change(&l)
	properties, err := l.Properties()
	must(w.t, err)
	w.setProperties(properties)
}

func (w *world) setProperties(p map[string]string) {
	w.t.Helper()
	w.change(func(tx *table.Transaction) error { return tx.SetProperties(p) })
}

// insert appends rows as somebody else would.
func (w *world) insert(summary iceberg.Properties, rows ...row) {
	w.t.Helper()
	w.change(func(tx *table.Transaction) error { return tx.Append(w.t.Context(), w.reader(rows), summary) })
}

// deleteOffsets deletes rows with offsets in [from, until), as somebody else would.
func (w *world) deleteOffsets(from, until int64) {
	w.t.Helper()
	offset := iceberg.Reference(w.columns.Offset)
	w.change(func(tx *table.Transaction) error {
		return tx.Delete(w.t.Context(), iceberg.NewAnd(iceberg.GreaterThanEqual(offset, from), iceberg.LessThan(offset, until)), nil)
	})
}

// compact rewrites all small files into few.
func (w *world) compact() {
	w.t.Helper()
	plan, err := compaction.Analyze(w.t.Context(), w.table, compaction.Config{TargetFileSizeBytes: 64 << 20, MinFileSizeBytes: 32 << 20,
		MaxFileSizeBytes: 128 << 20, MinInputFiles: 2, DeleteFileThreshold: 1, PackingLookback: compaction.DefaultPackingLookback})
	must(w.t, err)
	var groups []table.CompactionTaskGroup
	for _, g := range plan.Groups {
		groups = append(groups, table.CompactionTaskGroup{PartitionKey: g.PartitionKey, Tasks: g.Tasks, TotalSizeBytes: g.TotalSizeBytes})
	}
	if len(groups) > 0 {
		w.change(func(tx *table.Transaction) error {
			_, err := tx.RewriteDataFiles(w.t.Context(), groups, table.RewriteDataFilesOptions{})
			return err
		})
	}
}

// expire drops all but the newest snapshots, with their files. Snapshots age by the millisecond, so it may take two tries.
func (w *world) expire(keep int) {
	w.t.Helper()
	for len(w.table.Metadata().Snapshots()) > keep {
		w.change(func(tx *table.Transaction) error {
			return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(keep))
		})
	}
}

func (w *world) rollback(snapshot int64) {
	w.t.Helper()
	w.change(func(tx *table.Transaction) error { return tx.RollbackToSnapshot(snapshot) })
}

func (w *world) load(ctx context.Context) (*table.Table, error) {
	return w.catalog.LoadTable(ctx, table.Identifier{"sales", "orders"})
}

// whole are options with the first query's checkpoint and Kafka.
func (w *world) whole() verify.Options {
	o := w.withCheckpoint(ordersQuery)
	o.Source = w.kafka
	return o
}

func (w *world) withCheckpoint(id string) verify.Options {
	return verify.Options{Query: id, Checkpoint: func(context.Context) (*batch.LogState, error) {
		state := w.query(id).log
		return &state, nil
	}}
}

func (w *world) verify(o verify.Options) *verify.Report {
	w.t.Helper()
	report, err := verify.Table(w.t.Context(), w.load, o)
	must(w.t, err)
	balanced(w.t, report)
	return report
}

// paths lists the data files of the current snapshot.
func (w *world) paths() []string {
	w.t.Helper()
	tasks, err := w.table.Scan().PlanFiles(w.t.Context())
	must(w.t, err)
	var paths []string
	for _, task := range tasks {
		paths = append(paths, task.File.FilePath())
	}
	slices.Sort(paths)
	return paths
}

func local(path string) string { return strings.TrimPrefix(path, "file://") }
