package runner_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
)

// What others do to a table, and what can be seen of it.

// change commits a transaction of somebody else.
func (w *lakeWorld) change(t *testing.T, do func(*table.Transaction) error) {
	t.Helper()
	tx := w.table(t).NewTransaction()
	if err := do(tx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// append adds rows of another topic, as some other program would.
func (w *lakeWorld) append(t *testing.T, n int64) {
	t.Helper()
	w.appendWith(t, n, nil)
}

// appendSpark adds rows as Spark does in a batch of a streaming query.
func (w *lakeWorld) appendSpark(t *testing.T, id string, epoch int) {
	t.Helper()
	w.appendWith(t, 2, iceberg.Properties{"spark.sql.streaming.queryId": id, "spark.sql.streaming.epochId": fmt.Sprint(epoch)})
}

func (w *lakeWorld) appendWith(t *testing.T, n int64, summary iceberg.Properties) {
	t.Helper()
	records := &columns.Records{Topic: "elsewhere", Rows: int(n)}
	records.Key.Kind, records.Value.Kind = columns.Binary, columns.Binary
	for o := range n {
		records.Offsets, records.Timestamps = append(records.Offsets, o), append(records.Timestamps, 0)
		records.Key.AppendNullBytes()
		records.Value.AppendNullBytes()
	}
	decoder := decode.NewRaw(false)
	rows, err := decoder.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	tbl := w.table(t)
	task := &batch.Task{Query: "rival", SchemaID: tbl.Schema().ID, SpecID: tbl.Metadata().DefaultPartitionSpec()}
	writer, err := lakesink.New(w.catalog, lakesink.Options{Table: "db.orders"}).Write(t.Context(), task, uuid.NewString(), decoder.Schema())
	if err == nil {
		err = writer.Write(t.Context(), rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := writer.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.change(t, func(tx *table.Transaction) error {
		return tx.AddFiles(t.Context(), []string{files[0].Path}, summary, false)
	})
}

// compact rewrites all small files into one.
func (w *lakeWorld) compact(t *testing.T) {
	t.Helper()
	plan, err := compaction.Analyze(t.Context(), w.table(t), compaction.Config{TargetFileSizeBytes: 64 << 20, MinFileSizeBytes: 32 << 20,
		MaxFileSizeBytes: 128 << 20, MinInputFiles: 2, DeleteFileThreshold: 1, PackingLookback: compaction.DefaultPackingLookback})
	if err != nil {
		t.Fatal(err)
	}
	var groups []table.CompactionTaskGroup
	for _, g := range plan.Groups {
		groups = append(groups, table.CompactionTaskGroup{PartitionKey: g.PartitionKey, Tasks: g.Tasks, TotalSizeBytes: g.TotalSizeBytes})
	}
	w.change(t, func(tx *table.Transaction) error {
		_, err := tx.RewriteDataFiles(t.Context(), groups, table.RewriteDataFilesOptions{})
		return err
	})
}

// expire drops all snapshots but the head. They age by the millisecond, so it may take two tries.
func (w *lakeWorld) expire(t *testing.T) {
	t.Helper()
	for len(w.table(t).Metadata().Snapshots()) > 1 {
		w.change(t, func(tx *table.Transaction) error {
			return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1))
		})
	}
}

// maintain is what people schedule: other appends, a compaction, and an expiry that leaves nothing of ours but rows.
func (w *lakeWorld) maintain(t *testing.T) {
	t.Helper()
	w.append(t, 2)
	w.append(t, 3)
	w.compact(t)
	w.expire(t)
	if files := w.files(t); files != 1 {
		t.Fatalf("the compaction left %d files", files)
	}
}

// files counts the live data files.
func (w *lakeWorld) files(t *testing.T) int {
	t.Helper()
	tasks, err := w.table(t).Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

// written counts the data files in the table's folder, live or not.
func (w *lakeWorld) written(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(strings.TrimPrefix(w.table(t).Location(), "file://"), "data", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func (w *lakeWorld) lose(t *testing.T, prefixes ...string) {
	t.Helper()
	for _, prefix := range prefixes {
		keys, err := w.store.List(t.Context(), prefix, "")
		if err == nil {
			err = w.store.Delete(t.Context(), keys...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rows counts the rows that a reader of the table sees.
func (w *lakeWorld) rows(t *testing.T) (n int64) {
	t.Helper()
	tasks, err := w.table(t).Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		n += task.File.Count()
	}
	return n
}
