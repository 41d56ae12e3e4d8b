package cmd_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kgo"
)

// legacy is a query of Spark's that reads the topic "orders": the checkpoint that it left, a broker with the records that
// it has read and planned, and the table that it wrote.
type legacy struct {
	*pipeline
	t testing.TB
	// golden is the checkpoint as Spark left it.
	golden string
	// open is the newest plan, which has no marker; ends is where each batch ended, by partition; start where batch 0 began.
	open  int
	start map[int32]int64
	ends  []map[int32]int64
	// records is what the log holds, by offset, aborted what of it is of aborted transactions. A marker is in neither.
	records map[spot]*kgo.Record
	aborted map[*kgo.Record]bool
}

type spot struct {
	partition int32
	offset    int64
}

// takeOver sets the scene for the checkpoint in a folder of testdata.
func takeOver(t testing.TB, folder string) *legacy {
	t.Helper()
	l := &legacy{t: t, golden: filepath.Join("..", "testdata", "checkpoint", "spark", folder), records: map[spot]*kgo.Record{}, aborted: map[*kgo.Record]bool{}}
	l.start = l.offsets("sources/0/0")
	for n := range filesIn(t, filepath.Join(l.golden, "offsets"), "[0-9]*") {
		l.ends = append(l.ends, l.offsets(fmt.Sprint("offsets/", n)))
	}
	l.open = len(l.ends) - 1
	k := embedded(t)
	if err := k.cluster.CreateTopic("orders", int32(len(l.ends[l.open])), nil); err != nil {
		t.Fatal(err)
	}
	l.pipeline = newPipeline(t, k)
	if err := os.CopyFS(l.checkpoint(), os.DirFS(l.golden)); err != nil {
		t.Fatal(err)
	}
	l.produce()
	return l
}

// offsets reads the last line of a file of Spark's, as JSON, with or without the name of a source before it.
func (l *legacy) offsets(name string) map[int32]int64 {
	l.t.Helper()
	lines := strings.Split(l.read(l.golden, name), "\n")
	line := lines[len(lines)-1]
	var all map[string]map[int32]int64
	if err := json.Unmarshal([]byte(line[strings.Index(line, "{"):]), &all); err != nil || len(all) != 1 {
		l.t.Fatalf("%s: %v of %s", name, err, line)
	}
	return all["orders"]
}

func (l *legacy) read(dir, name string) string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// cut is the partition in whose share of the open plan an aborted transaction lies.
const cut = 1

// produce fills the log to where the open plan ends. An aborted transaction lies inside the plan, and another one
// behind its end, with records that were committed around it.
func (l *legacy) produce() {
	l.t.Helper()
	before, end := l.ends[l.open-1], l.ends[l.open]
	for _, p := range slices.Sorted(maps.Keys(end)) {
		if p == cut {
			l.fill(p, before[p]+4)
			l.abort(p, 20)
		}
		l.fill(p, end[p])
	}
	l.fill(cut, end[cut]+3)
	l.abort(cut, 5)
	l.fill(cut, end[cut]+15)
}

// fill appends records to a partition up to an offset.
func (l *legacy) fill(partition int32, until int64) {
	l.t.Helper()
	var more []*kgo.Record
	for o := l.next(partition); o < until; o++ {
		more = append(more, &kgo.Record{Topic: "orders", Partition: partition, Key: fmt.Append(nil, o), Value: fmt.Appendf(nil, "%d/%d", partition, o)})
	}
	l.kafka.produce(l.t, more...)
	l.remember(more, false)
}

// next is the first offset that the test has not filled. A marker takes one without a record.
func (l *legacy) next(partition int32) int64 {
	l.t.Helper()
	ends, err := l.kafka.admin.ListEndOffsets(l.t.Context(), "orders")
	if err != nil {
		l.t.Fatal(err)
	}
	end, _ := ends.Lookup("orders", partition)
	return end.Offset
}

// abort appends records of a transaction that is aborted, and with that its marker.
func (l *legacy) abort(partition int32, n int) {
	l.t.Helper()
	tx := l.kafka.begin(l.t, "orders", fmt.Sprint("aborted at ", l.next(partition)))
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: "orders", Partition: partition, Value: fmt.Appendf(nil, "aborted %d", i)})
	}
	if err := tx.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		l.t.Fatal(err)
	}
	tx.end(false)
	l.remember(records, true)
}

func (l *legacy) remember(records []*kgo.Record, aborted bool) {
	for _, r := range records {
		l.records[spot{r.Partition, r.Offset}] = r
		l.aborted[r] = aborted
	}
}

// between lists the records from one set of offsets up to another, in order. Where a partition has no beginning it is 0.
func (l *legacy) between(from, until map[int32]int64) (found []*kgo.Record) {
	for _, p := range slices.Sorted(maps.Keys(until)) {
		for o := from[p]; o < until[p]; o++ {
			if r := l.records[spot{p, o}]; r != nil {
				found = append(found, r)
			}
		}
	}
	return found
}

// of lists the records of a batch of Spark's, which reads also what was aborted.
func (l *legacy) of(n int) []*kgo.Record {
	if n == 0 {
		return l.between(l.start, l.ends[0])
	}
	return l.between(l.ends[n-1], l.ends[n])
}

// behind lists the committed records from the end of the open plan on.
func (l *legacy) behind() []*kgo.Record {
	end := maps.Clone(l.ends[l.open])
	end[cut] = l.next(cut)
	return slices.DeleteFunc(l.between(l.ends[l.open], end), func(r *kgo.Record) bool { return l.aborted[r] })
}

// upTo lists the records of all batches of Spark's up to one.
func (l *legacy) upTo(n int) (all []*kgo.Record) {
	for i := range n + 1 {
		all = append(all, l.of(i)...)
	}
	return all
}

// id is the query's.
func (l *legacy) id() string {
	l.t.Helper()
	var metadata struct{ ID string }
	if err := json.Unmarshal([]byte(l.read(l.golden, "metadata")), &metadata); err != nil {
		l.t.Fatal(err)
	}
	return metadata.ID
}

// wrote makes the table as Spark's writer for Iceberg does, with a snapshot for each batch up to one: all columns may be
// empty, and the summary names query and batch (SparkWrite and SparkStreamingWrite of Apache Iceberg).
func (l *legacy) wrote(upTo int) {
	l.t.Helper()
	c := newCatalog(l.t, l.dir)
	id := catalog.ToIdentifier(tableOfTests)
	if err := c.CreateNamespace(context.Background(), id[:1], nil); err != nil {
		l.t.Fatal(err)
	}
	if _, err := c.CreateTable(context.Background(), id, sparkSchema()); err != nil {
		l.t.Fatal(err)
	}
	for n := range upTo + 1 {
		l.change(l.t, func(tx *table.Transaction) error {
			summary := iceberg.Properties{"spark.sql.streaming.queryId": l.id(), "spark.sql.streaming.epochId": fmt.Sprint(n), "engine-name": "spark"}
			return tx.Append(context.Background(), arrowRows(l.t, l.table(l.t).Schema(), l.of(n)), summary)
		})
	}
}

// newCatalog is a SQL catalog as another program makes it.
func newCatalog(t testing.TB, dir string) catalog.Catalog {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := sqlcatalog.NewCatalog("default", db, sqlcatalog.SQLite, iceberg.Properties{"warehouse": "file://" + dir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sparkSchema() *iceberg.Schema {
	var fields []iceberg.NestedField
	for i, column := range []struct {
		name string
		is   iceberg.Type
	}{{"key", iceberg.PrimitiveTypes.Binary}, {"value", iceberg.PrimitiveTypes.Binary}, {"topic", iceberg.PrimitiveTypes.String}, {"partition", iceberg.PrimitiveTypes.Int32},
		{"offset", iceberg.PrimitiveTypes.Int64}, {"timestamp", iceberg.PrimitiveTypes.TimestampTz}, {"timestampType", iceberg.PrimitiveTypes.Int32}} {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: column.name, Type: column.is})
	}
	return iceberg.NewSchema(0, fields...)
}

// arrowRows are records as rows of sparkSchema.
func arrowRows(t testing.TB, schema *iceberg.Schema, records []*kgo.Record) array.RecordReader {
	t.Helper()
	as, err := table.SchemaToArrowSchema(schema, nil, true, false)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, as)
	for _, r := range records {
		for i, bytes := range [][]byte{r.Key, r.Value} {
			if bytes == nil {
				b.Field(i).AppendNull()
			} else {
				b.Field(i).(*array.BinaryBuilder).Append(bytes)
			}
		}
		b.Field(2).(*array.StringBuilder).Append(r.Topic)
		b.Field(3).(*array.Int32Builder).Append(r.Partition)
		b.Field(4).(*array.Int64Builder).Append(r.Offset)
		b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(r.Timestamp.UnixMilli() * 1000))
		b.Field(6).(*array.Int32Builder).Append(int32(r.Attrs.TimestampType()))
	}
	reader, err := array.NewRecordReader(as, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// wantSparks fails the test unless every file that Spark left is as it was.
func (l *legacy) wantSparks() {
	l.t.Helper()
	for _, path := range files(l.t, l.golden, "*") {
		name := strings.TrimPrefix(path, l.golden+"/")
		if got, want := l.read(l.checkpoint(), name), l.read(l.golden, name); got != want {
			l.t.Errorf("%s: got %q, want it as Spark left it: %q", name, got, want)
		}
	}
}

// wantContinued fails the test unless a plan of ours stands in Spark's format: its version, its settings, and the
// watermark that Spark would have begun the batch with.
func (l *legacy) wantContinued(n int) {
	l.t.Helper()
	spark, ours := l.entry(l.golden, l.open), l.entry(l.checkpoint(), n)
	if ours.version != spark.version || len(ours.lines) != 3 || ours.prefix != spark.prefix {
		l.t.Errorf("offsets/%d: got %q of %d lines with %q before the offsets, want %q of 3 with %q", n, ours.version, len(ours.lines), ours.prefix, spark.version, spark.prefix)
	}
	for key, want := range spark.metadata.Conf {
		if got := ours.metadata.Conf[key]; got != want {
			l.t.Errorf("offsets/%d: %s: got %q, want %q", n, key, got, want)
		}
	}
	if got := ours.metadata.Conf["sluice.isolation"]; got != "read_committed" {
		l.t.Errorf("offsets/%d: got isolation %q, want read_committed", n, got)
	}
	if got, want := ours.metadata.BatchWatermarkMs, l.watermark(); got != want {
		l.t.Errorf("offsets/%d: got the watermark %d, want %d", n, got, want)
	}
	if got, want := string(ours.metadata.SourceMetadataInfo), string(spark.metadata.SourceMetadataInfo); got != want {
		l.t.Errorf("offsets/%d: got sources %s, want %s", n, got, want)
	}
}

// watermark is the larger one of the open plan and of the newest marker.
func (l *legacy) watermark() int64 {
	l.t.Helper()
	var marker struct{ NextBatchWatermarkMs int64 }
	_, text, _ := strings.Cut(l.read(l.golden, fmt.Sprint("commits/", l.open-1)), "\n")
	if err := json.Unmarshal([]byte(text), &marker); err != nil {
		l.t.Fatal(err)
	}
	return max(marker.NextBatchWatermarkMs, l.entry(l.golden, l.open).metadata.BatchWatermarkMs)
}

// entry is a file offsets/<N>, taken apart.
type entry struct {
	lines           []string
	version, prefix string
	metadata        struct {
		BatchWatermarkMs   int64
		Conf               map[string]string
		SourceMetadataInfo json.RawMessage
	}
}

func (l *legacy) entry(dir string, n int) *entry {
	l.t.Helper()
	e := &entry{lines: strings.Split(l.read(dir, fmt.Sprint("offsets/", n)), "\n")}
	e.version, e.prefix = e.lines[0], e.lines[len(e.lines)-1][:strings.Index(e.lines[len(e.lines)-1], "{")]
	if err := json.Unmarshal([]byte(e.lines[1]), &e.metadata); err != nil {
		l.t.Fatal(err)
	}
	return e
}

// wantBatch fails the test unless a batch read exactly from one set of offsets to another, and that many records.
func (l *legacy) wantBatch(b map[string]any, number int, from, until map[int32]int64, records int) {
	l.t.Helper()
	if b["batchId"] != float64(number) || b["numInputRows"] != float64(records) {
		l.t.Errorf("got batch %v of %v records, want batch %d of %d", b["batchId"], b["numInputRows"], number, records)
	}
	source := b["sources"].([]any)[0]
	for p := range until {
		place := fmt.Sprint("orders.", p)
		if got, want := fmt.Sprint(at(source, "startOffset."+place), at(source, "endOffset."+place)), fmt.Sprint(float64(from[p]), float64(until[p])); got != want {
			l.t.Errorf("batch %d, partition %d: got offsets %s, want %s", number, p, got, want)
		}
	}
}
