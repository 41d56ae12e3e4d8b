package cmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// peek looks with the flags alone and returns the rows.
func peek(t *testing.T, flags ...string) []any {
	t.Helper()
	return rowsOf(call(t, nil, slices.Concat([]string{"sluice", "peek", "--output", "json"}, flags)...).wants(0))
}

func rowsOf(o *outcome) []any {
	o.t.Helper()
	rows, ok := o.last("peek")["rows"].([]any)
	if !ok {
		o.t.Fatalf("%s\nrows are no list: %s", o.line, o.stdout)
	}
	return rows
}

// A record that is malformed is told with its place and shown as nulls, also where the records have room in several batches
// only.
func TestPeekingAtRowsOfManyColumnsTellsWhichAreMalformed(t *testing.T) {
	k := embedded(t, "orders")
	var values []string
	for i := range 300 {
		values = append(values, "{}")
		if i == 250 {
			values[i] = `{"c1":"x"}`
		}
	}
	for _, v := range values {
		k.produced = append(k.produced, &kgo.Record{Topic: "orders", Value: []byte(v)})
	}
	k.produce(t, k.produced...)
	var ddl []string
	for i := range 1000 {
		ddl = append(ddl, fmt.Sprintf("c%d BIGINT", i))
	}
	o := call(t, nil, append([]string{"sluice", "peek", "--output", "json"}, append(k.flags(), "--limit", "300", "--columns", "kafka_offset", "--value-format", "json", "--value-schema", strings.Join(ddl, ", "))...)...).wants(0)
	found, _ := o.last("peek")["malformed"].([]any)
	if len(rowsOf(o)) != 300 || len(found) != 1 || at(found[0], "offset") != 250.0 {
		t.Errorf("got %d rows, malformed %v", len(rowsOf(o)), found)
	}
}

// places are partition/offset of rows in their order.
func places(rows []any) string {
	var all []string
	for _, row := range rows {
		all = append(all, fmt.Sprintf("%v/%v", at(row, "partition"), at(row, "offset")))
	}
	return strings.Join(all, " ")
}

func (k *kafka) flags() []string {
	return []string{"--bootstrap-servers", k.addr, "--subscribe", "orders"}
}

func TestPeekShowsTheLastRecordsOfEachPartitionOfATopic(t *testing.T) {
	k := embedded(t, "orders")
	if rows := peek(t, k.flags()...); len(rows) != 0 {
		t.Errorf("got %v of an empty topic, want no rows", rows)
	}
	k.fill(t, "orders", 30, 0)
	k.fill(t, "orders", 2, 1)
	for limit, want := range map[string]string{"1": "0/29", "2": "0/29 1/1", "5": "0/27 0/28 0/29 1/0 1/1"} {
		if got := places(peek(t, append(k.flags(), "--limit", limit)...)); got != want {
			t.Errorf("--limit %s: got %s, want %s", limit, got, want)
		}
	}
	rows := peek(t, k.flags()...)
	if got, want := places(rows), "0/22 0/23 0/24 0/25 0/26 0/27 0/28 0/29 1/0 1/1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if row := rows[9].(map[string]any); row["key"] != "k1" || row["value"] != "orders/1/1" || row["topic"] != "orders" || row["timestampType"] != 0.0 {
		t.Errorf("got %v", row)
	}
}

func TestPeekShowsRecordsAsTheyAre(t *testing.T) {
	k := embedded(t, "orders")
	k.produce(t, &kgo.Record{Topic: "orders", Value: []byte{0xff, 0x00}, Timestamp: time.UnixMilli(1_700_000_000_123),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("a1")}, {Key: "trace", Value: nil}}})
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{}, Value: []byte("\x1b[31mred\nline")})
	o := call(t, nil, append([]string{"sluice", "peek", "--output", "json", "--include-headers"}, k.flags()...)...).wants(0)
	rows := rowsOf(o)
	first, second := rows[0].(map[string]any), rows[1].(map[string]any)
	if first["key"] != nil || at(first, "value.base64") != "/wA=" || first["timestamp"] != "2023-11-14T22:13:20.123000Z" ||
		fmt.Sprint(first["headers"]) != "[map[key:trace value:a1] map[key:trace value:<nil>]]" {
		t.Errorf("got %v", first)
	}
	if second["key"] != "" || second["value"] != "\x1b[31mred\nline" || second["headers"] != nil {
		t.Errorf("got %v", second)
	}
	text := call(t, nil, append([]string{"sluice", "peek"}, k.flags()...)...).wants(0).stdout
	if strings.Contains(text, "\x1b") || !strings.Contains(text, `red\nline`) || !strings.Contains(text, "NULL") || !strings.Contains(text, "topic orders: 2 rows") {
		t.Errorf("got %q", text)
	}
}

// Markers, and records of aborted transactions, take offsets that have no row.
func TestPeekGoesBackOverOffsetsWithoutRecords(t *testing.T) {
	k := embedded(t, "orders")
	k.fill(t, "orders", 4, 0)
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.TransactionalID("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 20 {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(context.Background(), i == 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := places(peek(t, append(k.flags(), "--limit", "3")...)), "0/2 0/3 0/6"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	uncommitted := append(k.flags(), "--limit", "2", "--set", "source.kafka.isolation.level=read_uncommitted")
	if got, want := places(peek(t, uncommitted...)), "0/40 0/42"; got != want {
		t.Errorf("read_uncommitted: got %s, want %s", got, want)
	}
}

func TestPeekShowsTheNewestRowsOfATable(t *testing.T) {
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	for range 3 {
		k.fill(t, "orders", 5, 0, 1)
		p.run(t)
	}
	table := []string{"--warehouse", p.dir, "--table", tableOfTests}
	rows := peek(t, append(table, "--limit", "4")...)
	for _, row := range rows {
		if offset := at(row, "offset").(float64); offset < 10 {
			t.Errorf("got offset %v, want rows of the newest batch, at 10 and after", offset)
		}
	}
	if len(rows) != 4 {
		t.Errorf("got %d rows, want 4", len(rows))
	}
	if rows := peek(t, append(table, "--limit", "100")...); len(rows) != 30 {
		t.Errorf("got %d rows, want all 30", len(rows))
	}
	if rows := peek(t, table...); len(rows) != 10 {
		t.Errorf("got %d rows, want 10 by default", len(rows))
	}
	o := p.do(t, "peek", "--columns", "value,offset", "--limit", "1").wants(0).has("peek", "from", "table", "name", tableOfTests)
	if got, want := fmt.Sprint(o.last("peek")["columns"]), "[map[name:value type:binary] map[name:offset type:long]]"; got != want {
		t.Errorf("got columns %s, want %s", got, want)
	}
	if row := rowsOf(o)[0].(map[string]any); len(row) != 2 || !strings.HasPrefix(fmt.Sprint(row["value"]), "orders/") {
		t.Errorf("got %v", row)
	}
}

// A table and its topic show a record in the same way.
func TestPeekShowsTopicAndTableAlike(t *testing.T) {
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--set", "source.includeHeaders=true")
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte{0xfe}, Timestamp: time.UnixMilli(1_700_000_000_123),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("a1")}, {Key: "none", Value: nil}}})
	k.produce(t, &kgo.Record{Topic: "orders", Value: []byte{}, Timestamp: time.UnixMilli(0)})
	p.run(t)
	table, topic := p.do(t, "peek").wants(0).last("peek"), p.do(t, "peek", "--topic").wants(0).last("peek")
	if table["from"] != "table" || topic["from"] != "topic" {
		t.Errorf("got %v and %v, want table and topic", table["from"], topic["from"])
	}
	if got, want := fmt.Sprint(table["rows"]), fmt.Sprint(topic["rows"]); got != want {
		t.Errorf("the table shows\n%s\nthe topic\n%s", got, want)
	}
}

func TestPeekSaysWhatItCannotShow(t *testing.T) {
	k := embedded(t, "orders")
	k.fill(t, "orders", 3, 0)
	p := newPipeline(t, k)
	p.do(t, "peek").fails(10, "no table "+tableOfTests, "--topic")
	p.do(t, "peek", "--topic", "--columns", "amount").fails(64, "no column", "amount", "timestampType")
	p.do(t, "peek", "--limit", "0").fails(64, "--limit", "1 to")
	p.do(t, "peek", "--columns", " ,").fails(64, "names no column")
	p.without("--warehouse").do(t, "peek").fails(64, "sink.iceberg.catalog.warehouse")
	call(t, nil, "sluice", "peek", "--subscribe", "orders", "--output", "json").fails(64, "bootstrap.servers")
	call(t, nil, "sluice", "peek", "--bootstrap-servers", k.addr, "--subscribe", "nothing-there", "--output", "json").fails(10, "nothing-there")
	if o := call(t, nil, "sluice", "peek").wants(64); !strings.Contains(o.stderr, "what to look at") {
		t.Errorf("got %q", o.stderr)
	}
}

func TestPeekOfATableSaysThatADataFileIsGone(t *testing.T) {
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0)
	p.run(t)
	files, err := filepath.Glob(filepath.Join(p.dir, "sales.db", "orders", "data", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no data files below %s: %v", p.dir, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	p.do(t, "peek").fails(1, filepath.Base(files[0]))
}
