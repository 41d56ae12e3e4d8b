package decode_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/runner"
)

var _ runner.Decoder = (*decode.Raw)(nil)

// records makes two records of orders-3, the second without key and timestamp.
func records(headers bool) *columns.Records {
	r := &columns.Records{
		Topic: "orders", Partition: 3, TimestampType: 1, Rows: 2,
		Offsets: []int64{7, 9}, Timestamps: []int64{1_700_000_000_123, -1},
		Key: columns.Array{Kind: columns.Binary}, Value: columns.Array{Kind: columns.Binary},
	}
	r.Key.AppendBytes([]byte("k"))
	r.Key.AppendNullBytes()
	r.Value.AppendBytes([]byte{})
	r.Value.AppendBytes([]byte("v"))
	if headers {
		r.Headers = columns.Array{Kind: columns.List, Children: []columns.Array{
			{Kind: columns.Struct, Children: []columns.Array{{Kind: columns.String}, {Kind: columns.Binary}}},
		}}
		pair := &r.Headers.Children[0]
		for range 2 { // the same key twice
			pair.Children[0].AppendBytes([]byte("trace"))
			pair.Children[1].AppendNullBytes()
			pair.AppendStruct()
		}
		r.Headers.AppendSpan()
		r.Headers.AppendNullSpan()
	}
	return r
}

func mustDecode(tb testing.TB, raw *decode.Raw, r *columns.Records) *columns.Batch {
	tb.Helper()
	rows, err := raw.Decode(r)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func TestTheSchemaIsSparks(t *testing.T) {
	var got []string
	for _, f := range decode.NewRaw(true).Schema() {
		line := f.Name + " " + f.Type.Kind.String()
		if f.Required {
			line += " required"
		}
		got = append(got, line)
	}
	want := []string{
		"key binary", "value binary", "topic string required", "partition int required", "offset long required", "timestamp timestamptz",
		"timestampType int required", "headers list",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := decode.NewRaw(false).Schema(); len(got) != 7 {
		t.Errorf("without headers there are %d columns, want 7", len(got))
	}
	pair := decode.NewRaw(true).Schema()[7].Type.Fields[0].Type
	if pair.Kind != columns.Struct || pair.Fields[0].Name != "key" || pair.Fields[0].Type.Kind != columns.String ||
		pair.Fields[1].Name != "value" || pair.Fields[1].Type.Kind != columns.Binary || pair.Fields[1].Required {
		t.Errorf("an element of headers is %+v", pair)
	}
}

func TestEveryRowHasItsValues(t *testing.T) {
	rows := mustDecode(t, decode.NewRaw(false), records(false))
	c := rows.Columns
	if rows.Rows != 2 || len(c) != 7 {
		t.Fatalf("got %d rows of %d columns", rows.Rows, len(c))
	}
	if string(c[0].Bytes(0)) != "k" || c[0].Valid(1) || !c[1].Valid(0) || len(c[1].Bytes(0)) != 0 || string(c[1].Bytes(1)) != "v" {
		t.Errorf("got keys and values %+v, %+v", c[0], c[1])
	}
	for i, want := range []int64{7, 9} {
		if got := c[4].Int64s[i]; got != want || string(c[2].Bytes(i)) != "orders" {
			t.Errorf("row %d is at %d of %q", i, got, c[2].Bytes(i))
		}
	}
	if !c[3].Repeat || c[3].Int32s[0] != 3 || c[3].Len != 2 || !c[6].Repeat || c[6].Int32s[0] != 1 || c[6].Len != 2 || !c[2].Repeat {
		t.Errorf("got partition %+v, timestamp type %+v", c[3], c[6])
	}
	if !c[5].Valid(0) || c[5].Int64s[0] != 1_700_000_000_123_000 || c[5].Valid(1) || c[5].Nulls != 1 || c[5].Len != 2 {
		t.Errorf("got timestamps %+v", c[5])
	}
}

func TestHeadersPassAsTheyAre(t *testing.T) {
	h := mustDecode(t, decode.NewRaw(true), records(true)).Columns[7]
	from, until := h.Span(0)
	if from != 0 || until != 2 || h.Valid(1) || string(h.Children[0].Children[0].Bytes(1)) != "trace" || h.Children[0].Children[1].Valid(1) {
		t.Errorf("got headers %+v", h)
	}
	if _, err := decode.NewRaw(true).Decode(records(false)); err == nil {
		t.Error("records without the headers that are expected were decoded")
	}
}

func TestTheNextBlockLeavesNothingOfTheOneBefore(t *testing.T) {
	raw := decode.NewRaw(false)
	mustDecode(t, raw, records(false))
	next := records(false)
	next.Topic, next.Partition, next.Timestamps = "longer-name", 12, []int64{5, 6}
	c := mustDecode(t, raw, next).Columns
	if string(c[2].Bytes(1)) != "longer-name" || c[3].Int32s[0] != 12 || c[5].Nulls != 0 || !c[5].Valid(1) || c[5].Int64s[1] != 6000 {
		t.Errorf("got %+v", c)
	}
}

func TestTimestampsStayExactOrAreRefused(t *testing.T) { // https://github.com/twmb/franz-go/pull/1470
	for ms, want := range map[int64]int64{
		13_574_563_200_000: 13_574_563_200_000_000, // 2400-02-29, which nanoseconds cannot hold
		0:                  0, -2: -2000, math.MaxInt64 / 1000: math.MaxInt64 / 1000 * 1000, math.MinInt64 / 1000: math.MinInt64 / 1000 * 1000,
	} {
		r := records(false)
		r.Timestamps[0] = ms
		if got := mustDecode(t, decode.NewRaw(false), r).Columns[5].Int64s[0]; got != want {
			t.Errorf("%d ms: got %d, want %d", ms, got, want)
		}
	}
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64/1000 + 1, math.MinInt64, math.MinInt64/1000 - 1} {
		r := records(false)
		r.Timestamps[1] = ms
		_, err := decode.NewRaw(false).Decode(r)
		if err == nil || batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "orders-3 at offset 9") || batch.HintOf(err) == "" {
			t.Errorf("%d ms: got %v", ms, err)
		}
	}
}

func TestDecodingAllocatesNothingOnceItRuns(t *testing.T) {
	raw, r := decode.NewRaw(true), records(true)
	mustDecode(t, raw, r)
	if got := testing.AllocsPerRun(100, func() { mustDecode(t, raw, r) }); got != 0 {
		t.Errorf("got %v allocations", got)
	}
}

func BenchmarkRaw(b *testing.B) {
	raw, r := decode.NewRaw(false), records(false)
	r.Rows, r.Offsets, r.Timestamps = 4096, make([]int64, 4096), make([]int64, 4096)
	b.ReportAllocs()
	for b.Loop() {
		mustDecode(b, raw, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/row")
}
