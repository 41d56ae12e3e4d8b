//go:build integration

package lakesink

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/rig"
)

// partitionedBy are the partition specs of tables that foreign readers are shown.
var partitionedBy = []string{"bool; i", "l; day; u", "time; ts", "tz; f", "s", "bin; d9", "d38; `place.the city`",
	"bucket(5, i); bucket(5, s); bucket(2, d9)", "bucket(5, l); bucket(5, bin); bucket(3, d38)", "bucket(5, day); bucket(5, ts); bucket(3, u)",
	"truncate(10, i); truncate(2, s)", "truncate(1000, l); truncate(3, bin); truncate(100, d9)", "truncate(1000000, d38); years(day)",
	"months(ts); void(i)", "days(tz); s", "hours(tz)"}

func partitionedSchema() columns.Schema {
	kind := func(name string, k columns.Kind) columns.Field {
		return columns.Field{Name: name, Type: columns.Type{Kind: k}}
	}
	decimal := func(name string, precision, scale int) columns.Field {
		return columns.Field{Name: name, Type: columns.Type{Kind: columns.Decimal, Precision: precision, Scale: scale}}
	}
	return columns.Schema{
		{Name: "topic", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "partition", Type: columns.Type{Kind: columns.Int32}, Required: true},
		{Name: "offset", Type: columns.Type{Kind: columns.Int64}, Required: true},
		kind("bool", columns.Bool), kind("i", columns.Int32), kind("l", columns.Int64), kind("day", columns.Date), kind("time", columns.Time), kind("ts", columns.Timestamp),
		kind("tz", columns.TimestampTZ), kind("s", columns.String), kind("bin", columns.Binary), kind("u", columns.UUID), {Name: "f", Type: columns.Type{Kind: columns.Fixed, Width: 3}},
		decimal("d9", 9, 2), decimal("d38", 38, 4),
		{Name: "place", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{kind("the city", columns.String)}}},
	}
}

// partitionedRow has few values of each kind, odd ones among them, and nulls.
func partitionedRow(rng *rand.Rand, offset int64) []any {
	pick := func(values ...any) any { return values[rng.IntN(len(values))] }
	ts := func() any {
		return pick(int64(0), int64(-1), int64(1772600000000000), int64(1772700000000000), int64(-2208988800000001), nil)
	}
	return []any{topic, int32(0), offset, pick(true, false, nil), pick(int32(-7), int32(0), int32(34), int32(2147483647), nil), pick(int64(-1), int64(9007199254740993), int64(999), nil),
		pick(int32(-1), int32(0), int32(20516), nil), pick(int64(0), int64(81068000000), int64(86399999999), nil), ts(), ts(),
		pick("a#b", "a?b=c&d", "11/12/13", "a b", "100%", "..", "日本", "", "caf\u00e9", "cafe\u0301", "a\x00b", "null", nil), pick([]byte{}, []byte{0}, []byte{0xff, 1, 2, 3}, nil),
		pick(make([]byte, 16), []byte("0123456789abcdef"), nil), pick([]byte("abc"), []byte{0, 0xff, 1}, nil),
		pick(rowtest.Unscaled("-5"), rowtest.Unscaled("1065"), rowtest.Unscaled("99999999999"[:9]), nil), pick(rowtest.Unscaled("-99999999999999999999999999999999999999"), rowtest.Unscaled("12345678901234567890"), nil),
		pick([]any{"Köln/Süd"}, []any{"x"}, []any{nil}, nil)}
}

var partitionedFilters = []string{"i = 34", "i < 0", "i >= 0", "i is null", "l = -1", "l > 1000", "s = 'a#b'", "s = '11/12/13'", "s = ''", "s = 'a b'", "s > 'b'", "s is null", "s = 'null'", "s = '..'",
	"s = '日本'", "s = 'café'", "day = '1969-12-31'", "day > '2026-01-01'", "ts < '1970-01-01T00:00:00'", "ts >= '2026-03-04T00:00:00' and ts < '2026-03-05T00:00:00'",
	"tz < '1970-01-01T00:00:00+00:00'", "tz >= '2026-03-04T05:00:00+00:00'", "tz is null", "d9 < 0", "d9 = 10.65", "d38 < 0", "offset >= 100 and offset < 120"}

// Whatever a table is partitioned by, both readers find the same rows with a filter as without.
func TestForeignReadersPruneThePartitionsThatTheyShould(t *testing.T) {
	t.Parallel()
	read := rig.Python(t)
	schema := partitionedSchema()
	for n, terms := range partitionedBy {
		t.Run(terms, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(n), 8))
			dir := t.TempDir()
			c := openSQLite(t, dir)
			o := testOptions()
			o.PartitionBy = partitionBy(t, strings.Split(terms, "; ")...)
			s := New(c, o)
			if err := s.Create(context.Background(), schema); err != nil {
				t.Fatal(err)
			}
			var want []rig.Row
			for batch := range int64(2) {
				var rows [][]any
				for k := range int64(150) {
					row := partitionedRow(rng, 150*batch+k)
					rows = append(rows, row)
					var bin []byte
					if v, ok := row[11].([]byte); ok {
						bin = v
					}
					want = append(want, rig.Row{Topic: topic, Offset: 150*batch + k, Values: [][]byte{bin}})
				}
				writeRows(t, s, schema, batch, rowtest.Build(schema, rows))
			}
			args := []string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName, "--columns", "bin"}
			for _, f := range partitionedFilters {
				args = append(args, "--filter", f)
			}
			wantReading(t, read(args...), want)
		})
	}
}
