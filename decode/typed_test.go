package decode_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/malformed"
	"sluice/runner"
)

var _ runner.Decoder = (*decode.Typed)(nil)

func jsonParser(tb testing.TB, text string) decode.Parser {
	tb.Helper()
	schema, err := ddl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := json.Compile(schema, json.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func newTyped(tb testing.TB, text string, o decode.TypedOptions) *decode.Typed {
	tb.Helper()
	t, err := decode.NewTyped(jsonParser(tb, text), o)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// none is a record without value.
const none = "\x00none"

// topic makes records of orders-3 at offsets 10, 12, 14, …, with the headers (n, row) and (n, null).
// The first has no time, which Kafka writes as -1: https://github.com/confluentinc/kafka-connect-storage-cloud/issues/109
func topic(values ...string) *columns.Records {
	r := &columns.Records{
		Topic: "orders", Partition: 3, Rows: len(values), Key: columns.Array{Kind: columns.Binary}, Value: columns.Array{Kind: columns.Binary},
		Headers: columns.Array{Kind: columns.List, Children: []columns.Array{
			{Kind: columns.Struct, Children: []columns.Array{{Kind: columns.String}, {Kind: columns.Binary}}},
		}},
	}
	pair := &r.Headers.Children[0]
	for i, v := range values {
		r.Offsets, r.Timestamps = append(r.Offsets, int64(10+2*i)), append(r.Timestamps, int64(i-1))
		switch i % 3 { // absent, empty and other keys: https://github.com/confluentinc/kafka-connect-storage-cloud/issues/602
		case 0:
			r.Key.AppendNullBytes()
		default:
			r.Key.AppendBytes([]byte(strings.Repeat("k", i%3-1)))
		}
		if v == none {
			r.Value.AppendNullBytes()
		} else {
			r.Value.AppendBytes([]byte(v))
		}
		for k, name := range []string{"n", "n"} {
			pair.Children[0].AppendBytes([]byte(name))
			if k == 0 {
				pair.Children[1].AppendBytes(fmt.Append(nil, i))
			} else {
				pair.Children[1].AppendNullBytes()
			}
			pair.AppendStruct()
		}
		r.Headers.AppendSpan()
	}
	return r
}

// show renders rows as text, one line each.
func show(schema columns.Schema, rows *columns.Batch) []string {
	lines := make([]string, rows.Rows)
	for i := range lines {
		var cells []string
		for k, f := range schema {
			cells = append(cells, f.Name+"="+cell(f.Type.Kind, &rows.Columns[k], i))
		}
		lines[i] = strings.Join(cells, " ")
	}
	return lines
}

func cell(kind columns.Kind, a *columns.Array, i int) string {
	if !a.Valid(i) {
		return "null"
	}
	if a.Repeat {
		i = 0
	}
	switch kind {
	case columns.Int32:
		return fmt.Sprint(a.Int32s[i])
	case columns.Int64, columns.TimestampTZ:
		return fmt.Sprint(a.Int64s[i])
	case columns.Float64:
		return fmt.Sprint(a.Float64s[i])
	case columns.Struct:
		return "{}"
	case columns.List:
		if inner := &a.Children[0]; len(inner.Children) != 2 {
			from, until := a.Span(i)
			return fmt.Sprint("list of ", until-from)
		}
		var pairs []string
		for k, until := a.Span(i); k < until; k++ {
			pairs = append(pairs, cell(columns.String, &a.Children[0].Children[0], k)+":"+cell(columns.Binary, &a.Children[0].Children[1], k))
		}
		return "[" + strings.Join(pairs, ",") + "]"
	}
	return fmt.Sprintf("%q", a.Bytes(i))
}

func mustRows(t *testing.T, d *decode.Typed, records *columns.Records) []string {
	t.Helper()
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	for k := range rows.Columns {
		if rows.Columns[k].Len != rows.Rows {
			t.Fatalf("column %s has %d rows of %d", d.Schema()[k].Name, rows.Columns[k].Len, rows.Rows)
		}
	}
	return show(d.Schema(), rows)
}

func wantRows(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTypedRowsCarryTheirOrigin(t *testing.T) {
	d := newTyped(t, "id BIGINT NOT NULL, s STRING", decode.TypedOptions{Headers: true, RawValue: true})
	wantRows(t, mustRows(t, d, topic(`{"id":9007199254740993,"s":""}`, `{"id":1}`, `{"s":"x","id":2}`)),
		`id=9007199254740993 s="" kafka_key=null kafka_value="{\"id\":9007199254740993,\"s\":\"\"}" kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null kafka_headers=["n":"0","n":null]`,
		`id=1 s=null kafka_key="" kafka_value="{\"id\":1}" kafka_topic="orders" kafka_partition=3 kafka_offset=12 kafka_timestamp=0 kafka_headers=["n":"1","n":null]`,
		`id=2 s="x" kafka_key="k" kafka_value="{\"s\":\"x\",\"id\":2}" kafka_topic="orders" kafka_partition=3 kafka_offset=14 kafka_timestamp=1000 kafka_headers=["n":"2","n":null]`)
	var required []string
	for _, f := range d.Schema() {
		if f.Required {
			required = append(required, f.Name)
		}
	}
	if want := []string{"id", "kafka_topic", "kafka_partition", "kafka_offset"}; !slices.Equal(required, want) {
		t.Errorf("got required %q, want %q", required, want)
	}
}

func TestMetadataCanBeSwitchedOff(t *testing.T) {
	d := newTyped(t, "id BIGINT", decode.TypedOptions{NoMetadata: true})
	wantRows(t, mustRows(t, d, topic(`{"id":1}`)), "id=1")
	d = newTyped(t, "id BIGINT", decode.TypedOptions{NoMetadata: true, RawValue: true})
	wantRows(t, mustRows(t, d, topic(`{"id":1}`)), `id=1 kafka_value="{\"id\":1}"`)
}

// https://github.com/databricks/iceberg-kafka-connect/issues/141: a value of the wrong type must not end the task unless
// that is the policy, and then it says which record.
func TestTheFirstMalformedRecordEndsTheBatchByDefault(t *testing.T) {
	d := newTyped(t, "n BIGINT, o STRUCT<a: INT NOT NULL>", decode.TypedOptions{})
	_, err := d.Decode(topic(`{"n":1}`, `{"n":2,"o":{"a":"`+"\x7f"+`x"}}`, `{"n":"y"}`))
	var why *malformed.Error
	if batch.ClassOf(err) != batch.BadRecords || batch.HintOf(err) == "" || !errors.As(err, &why) || why.Reason != malformed.WrongType {
		t.Fatalf("got %v", err)
	}
	want := `record orders-3 at offset 12 is malformed: o.a: a string where int should be (type, at byte 16) near {"n":2,"o":{"a":"\x7fx"}}`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	wantRows(t, mustRows(t, d, topic(`{"n":7}`)), `n=7 o=null kafka_key=null kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null`)
}

func TestMalformedRecordsBecomeNulls(t *testing.T) {
	d := newTyped(t, "n BIGINT, s STRING", decode.TypedOptions{OnMalformed: decode.AsNull, RawValue: true})
	wantRows(t, mustRows(t, d, topic(`{"s":"a","n":"x"}`, `{"n":1}`, ``)),
		`n=null s=null kafka_key=null kafka_value="{\"s\":\"a\",\"n\":\"x\"}" kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null`,
		`n=1 s=null kafka_key="" kafka_value="{\"n\":1}" kafka_topic="orders" kafka_partition=3 kafka_offset=12 kafka_timestamp=0`,
		`n=null s=null kafka_key="k" kafka_value="" kafka_topic="orders" kafka_partition=3 kafka_offset=14 kafka_timestamp=1000`)
}

func TestRejectedRecordsAreHandedOnWithTheirReason(t *testing.T) {
	var rejected []string
	o := decode.TypedOptions{OnMalformed: decode.Reject, OnTombstone: decode.Reject, Headers: true, RawValue: true,
		Rejected: func(records *columns.Records, row int, why *malformed.Error) error {
			rejected = append(rejected, fmt.Sprintf("%d %q %s %s", records.Offsets[row], records.Value.Bytes(row), why.Reason, why.Path))
			return nil
		}}
	d := newTyped(t, "id BIGINT NOT NULL", o)
	records := topic(`{"id":1}`, none, `{}`, `{"id":4}`, `{"id":null}`, `{"id":6}`)
	records.Timestamps[2] = math.MaxInt64 // is nobody's business once the record is put aside
	for range 2 {                         // the second time in memory that has held rows
		rejected = nil
		wantRows(t, mustRows(t, d, records),
			`id=1 kafka_key=null kafka_value="{\"id\":1}" kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null kafka_headers=["n":"0","n":null]`,
			`id=4 kafka_key=null kafka_value="{\"id\":4}" kafka_topic="orders" kafka_partition=3 kafka_offset=16 kafka_timestamp=2000 kafka_headers=["n":"3","n":null]`,
			`id=6 kafka_key="k" kafka_value="{\"id\":6}" kafka_topic="orders" kafka_partition=3 kafka_offset=20 kafka_timestamp=4000 kafka_headers=["n":"5","n":null]`)
		wantRows(t, rejected, `12 "" tombstone `, `14 "{}" missing id`, `18 "{\"id\":null}" null id`)
	}
	wantRows(t, mustRows(t, d, topic(`{}`)))
	wantRows(t, mustRows(t, d, topic(`{"id":1}`)),
		`id=1 kafka_key=null kafka_value="{\"id\":1}" kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null kafka_headers=["n":"0","n":null]`)
}

func TestAStoreThatTakesNoRejectsEndsTheBatch(t *testing.T) {
	full := errors.New("store is full")
	d := newTyped(t, "id BIGINT", decode.TypedOptions{OnMalformed: decode.Reject, Rejected: func(*columns.Records, int, *malformed.Error) error { return full }})
	if _, err := d.Decode(topic(`{"id":1}`, `5`)); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/42
func TestTombstonesFollowTheirPolicy(t *testing.T) {
	records := func() *columns.Records { return topic(`{"id":1}`, none, `{"id":3}`) }
	const first = `id=1 kafka_key=null kafka_topic="orders" kafka_partition=3 kafka_offset=10 kafka_timestamp=null`
	const last = `id=3 kafka_key="k" kafka_topic="orders" kafka_partition=3 kafka_offset=14 kafka_timestamp=1000`
	wantRows(t, mustRows(t, newTyped(t, "id BIGINT", decode.TypedOptions{OnTombstone: decode.AsNull}), records()),
		first, `id=null kafka_key="" kafka_topic="orders" kafka_partition=3 kafka_offset=12 kafka_timestamp=0`, last)
	wantRows(t, mustRows(t, newTyped(t, "id BIGINT NOT NULL", decode.TypedOptions{OnTombstone: decode.Drop}), records()), first, last)
	for text, policy := range map[string]decode.Policy{"id BIGINT NOT NULL": decode.AsNull, "id BIGINT": decode.Fail} {
		_, err := newTyped(t, text, decode.TypedOptions{OnTombstone: policy}).Decode(records())
		if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(fmt.Sprint(err), "orders-3 at offset 12") || !strings.Contains(batch.HintOf(err), "onTombstone") {
			t.Errorf("%s: got %v, hint %q", text, err, batch.HintOf(err))
		}
	}
}

func TestChoicesThatCannotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		schema  string
		options decode.TypedOptions
		want    string
	}{
		"nulls in a required column": {"a INT, id BIGINT NOT NULL", decode.TypedOptions{OnMalformed: decode.AsNull}, "column id is NOT NULL"},
		"silent drops":               {"a INT", decode.TypedOptions{OnMalformed: decode.Drop}, "silently"},
		"a name that is taken":       {"Kafka_Offset BIGINT", decode.TypedOptions{}, "a column Kafka_Offset"},
		"headers of nothing":         {"a INT", decode.TypedOptions{Headers: true, NoMetadata: true}, "headers"},
		"nobody takes rejects":       {"a INT", decode.TypedOptions{OnMalformed: decode.Reject}, "nothing takes them"},
		"nobody takes tombstones":    {"a INT", decode.TypedOptions{OnTombstone: decode.Reject}, "nothing takes them"},
	} {
		if _, err := decode.NewTyped(jsonParser(t, c.schema), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want one that says %q", name, err, c.want)
		}
	}
	if _, err := decode.NewTyped(jsonParser(t, "kafka_offset BIGINT"), decode.TypedOptions{NoMetadata: true}); err != nil {
		t.Error(err)
	}
	records := topic(`{}`)
	records.Headers.Reset()
	if _, err := newTyped(t, "a INT", decode.TypedOptions{Headers: true}).Decode(records); err == nil {
		t.Error("records without the headers that are expected were decoded")
	}
}

func TestTimestampsBeyondMicrosecondsAreFaults(t *testing.T) {
	records := topic(`{}`)
	records.Timestamps[0] = math.MaxInt64
	if _, err := newTyped(t, "a INT", decode.TypedOptions{}).Decode(records); batch.ClassOf(err) != batch.BadRecords {
		t.Errorf("got %v", err)
	}
}

func TestTypedDecodingAllocatesNothingOnceItRuns(t *testing.T) {
	d := newTyped(t, "id BIGINT, s STRING, r ARRAY<INT>", decode.TypedOptions{Headers: true, RawValue: true, OnTombstone: decode.Drop})
	records := topic(`{"id":1,"s":"a\u0041","r":[1,2]}`, none, `{"id":1}`)
	once := func() {
		if _, err := d.Decode(records); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if got := testing.AllocsPerRun(100, once); got != 0 {
		t.Errorf("got %v allocations", got)
	}
}

func BenchmarkTyped(b *testing.B) {
	d := newTyped(b, "id BIGINT NOT NULL, name STRING, at TIMESTAMP", decode.TypedOptions{OnTombstone: decode.Drop})
	var values []string
	for i := range 4096 {
		values = append(values, fmt.Sprintf(`{"id":%d,"name":"customer %d","at":"2026-01-02T03:04:05.%06dZ"}`, i, i, i))
	}
	records := topic(values...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/row")
}
