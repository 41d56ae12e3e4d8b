package parquetfile

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// column writes values as one column, each batch in a row group of its own, and opens the file with parquet-go.
func column(t *testing.T, kind columns.Type, o Options, groups ...[]any) (*parquet.File, *Summary) {
	t.Helper()
	schema := columns.Schema{{Name: "v", Type: kind}}
	var batches []*columns.Batch
	var rows [][]any
	for _, values := range groups {
		var group [][]any
		for _, v := range values {
			group = append(group, []any{v})
		}
		rows = append(rows, group...)
		batches = append(batches, rowtest.Build(schema, group))
	}
	data, s := write(t, []Field{{Name: "v", ID: 1, Type: kind}}, o, batches...)
	checkPages(t, data)
	compareRows(t, readArrow(t, data), rows)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

func chunkOf(f *parquet.File, group int) *format.ColumnChunk {
	return &f.Metadata().RowGroups[group].Columns[0]
}

// stored are the values of the first row group as they are in the file.
func stored(t *testing.T, f *parquet.File) []parquet.Value {
	t.Helper()
	rows := f.RowGroups()[0].Rows()
	defer rows.Close()
	read := make([]parquet.Row, f.RowGroups()[0].NumRows())
	n, _ := rows.ReadRows(read)
	var values []parquet.Value
	for _, row := range read[:n] {
		values = append(values, row[0].Clone())
	}
	if n != len(read) {
		t.Fatalf("got %d rows, want %d", n, len(read))
	}
	return values
}

// https://github.com/apache/iceberg/issues/13679: the file's unit is microseconds as the table's is, with or without a zone.
func TestTimesAreMicrosecondsInTheFooterToo(t *testing.T) {
	for kind, utc := range map[columns.Kind]bool{columns.Timestamp: false, columns.TimestampTZ: true} {
		f, _ := column(t, columns.Type{Kind: kind}, Options{}, []any{int64(1767323045678901)})
		e := f.Metadata().Schema[1]
		if want := fmt.Sprintf("TIMESTAMP(isAdjustedToUTC=%t,unit=MICROS)", utc); e.Type.V != format.Int64 || e.LogicalType.String() != want {
			t.Errorf("%s: got %v as %s, want %s", kind, e.Type.V, e.LogicalType.String(), want)
		}
		if got := stored(t, f)[0].Int64(); got != 1767323045678901 {
			t.Errorf("%s: got %d", kind, got)
		}
		s := chunkOf(f, 0).MetaData.Statistics
		if want := "354f57f65e470600"; fmt.Sprintf("%x %x", s.MinValue, s.MaxValue) != want+" "+want {
			t.Errorf("%s: got statistics %x to %x", kind, s.MinValue, s.MaxValue)
		}
	}
}

// https://github.com/parquet-go/parquet-go/issues/508: decimals are big-endian two's complement of the width of their precision, or
// integers; the sign is carried to the left.
func TestDecimalsAreWrittenInTheWidthOfTheirPrecision(t *testing.T) {
	most, _ := new(big.Int).SetString("99999999999999999999999999999999999999", 10)
	for _, c := range []struct {
		precision int
		physical  format.Type
		width     int32
		unscaled  *big.Int
		want      string
	}{
		{20, format.FixedLenByteArray, 9, big.NewInt(-100), "ffffffffffffffff9c"},
		{20, format.FixedLenByteArray, 9, big.NewInt(100), "000000000000000064"},
		{9, format.Int32, 0, big.NewInt(-100), "-100"},
		{9, format.Int32, 0, big.NewInt(999999999), "999999999"},
		{18, format.Int64, 0, big.NewInt(-999999999999999999), "-999999999999999999"},
		{38, format.FixedLenByteArray, 16, most, "4b3b4ca85a86c47a098a223fffffffff"},
		{38, format.FixedLenByteArray, 16, new(big.Int).Neg(most), "b4c4b357a5793b85f675ddc000000001"},
	} {
		scale := 2
		if c.precision == 38 {
			scale = 0
		}
		f, _ := column(t, columns.Type{Kind: columns.Decimal, Precision: c.precision, Scale: scale}, Options{}, []any{c.unscaled})
		e := f.Metadata().Schema[1]
		if want := fmt.Sprintf("DECIMAL(%d,%d)", c.precision, scale); e.Type.V != c.physical || e.TypeLength.V != c.width || e.LogicalType.String() != want {
			t.Errorf("got %v of %d bytes as %s, want %v of %d as %s", e.Type.V, e.TypeLength.V, e.LogicalType.String(), c.physical, c.width, want)
		}
		got := stored(t, f)[0]
		text := fmt.Sprint(got)
		if c.width > 0 {
			text = fmt.Sprintf("%x", got.ByteArray())
		}
		if text != c.want {
			t.Errorf("decimal(%d,%d) of %s: got %s, want %s", c.precision, scale, c.unscaled, text, c.want)
		}
	}
}

// https://github.com/parquet-go/parquet-go/issues/592 and /595: the statistics of decimals are in the order of numbers, in the footer
// and in the page index.
func TestStatisticsOfDecimalsAreSigned(t *testing.T) {
	f, s := column(t, columns.Type{Kind: columns.Decimal, Precision: 20, Scale: 2}, Options{}, []any{big.NewInt(-100), big.NewInt(100)})
	const low, high = "ffffffffffffffff9c", "000000000000000064"
	footer := chunkOf(f, 0).MetaData.Statistics
	index, err := f.RowGroups()[0].ColumnChunks()[0].ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	for from, got := range map[string][2][]byte{"footer": {footer.MinValue, footer.MaxValue}, "page index": {index.MinValue(0).ByteArray(), index.MaxValue(0).ByteArray()},
		"summary": {s.Columns[0].Lower, s.Columns[0].Upper}} {
		if fmt.Sprintf("%x", got[0]) != low || fmt.Sprintf("%x", got[1]) != high {
			t.Errorf("%s: got %x to %x, want %s to %s", from, got[0], got[1], low, high)
		}
	}
}

// https://github.com/parquet-go/parquet-go/issues/54, /53 and https://github.com/apache/arrow-go/issues/917: bounds are copies, not parts
// of memory that holds the next page.
func TestBoundsOutliveThePagesTheyCameFrom(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]any, 10000)
	for i := range random {
		letters := make([]byte, 1+rng.IntN(prefixBytes))
		for k := range letters {
			letters[k] = 'a' + byte(rng.IntN(26))
		}
		random[i] = string(letters)
	}
	for _, values := range [][]any{{"pear", "fig", "kiwi", "apple"}, random} {
		f, s := column(t, text, Options{PageBytes: 1}, values)
		low, high := slices.MinFunc(values, compareTexts).(string), slices.MaxFunc(values, compareTexts).(string)
		if got := s.Columns[0]; string(got.Lower) != low || string(got.Upper) != high {
			t.Errorf("got %s to %s, want %s to %s", got.Lower, got.Upper, low, high)
		}
		if got := chunkOf(f, 0).MetaData.Statistics; string(got.MinValue) != low || string(got.MaxValue) != high {
			t.Errorf("footer: got %s to %s, want %s to %s", got.MinValue, got.MaxValue, low, high)
		}
		chunk := f.RowGroups()[0].ColumnChunks()[0]
		index, err := chunk.ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		offsets, err := chunk.OffsetIndex()
		if err != nil {
			t.Fatal(err)
		}
		pages := index.NumPages()
		if len(values) == 4 && pages != 4 || pages < 2 {
			t.Fatalf("got %d pages of %d values", pages, len(values))
		}
		for p := range pages {
			until := int64(len(values))
			if p+1 < pages {
				until = offsets.FirstRowIndex(p + 1)
			}
			of := values[offsets.FirstRowIndex(p):until]
			if got, want := index.MinValue(p).String()+" "+index.MaxValue(p).String(), slices.MinFunc(of, compareTexts).(string)+" "+slices.MaxFunc(of, compareTexts).(string); got != want {
				t.Errorf("page %d: got %s, want %s", p, got, want)
			}
		}
	}
}

func compareTexts(a, b any) int { return bytes.Compare([]byte(a.(string)), []byte(b.(string))) }

// https://github.com/trinodb/trino/issues/19052: a row group without statistics does not narrow the bounds of the file to those of the
// others. Ours are computed from the values, whatever the footer has.
func TestAGroupWithoutStatisticsCountsInTheBoundsOfTheFile(t *testing.T) {
	double := columns.Type{Kind: columns.Float64}
	f, s := column(t, double, Options{RowGroupBytes: 1}, []any{1.0, 2.0, 3.0, 4.0, 5.0}, []any{math.NaN(), 100.0})
	if n := len(f.Metadata().RowGroups); n < 2 {
		t.Fatalf("got %d row groups", n)
	}
	if last := chunkOf(f, len(f.Metadata().RowGroups)-1).MetaData.Statistics; last.MaxValue != nil {
		t.Fatalf("the group with NaN has the statistics %x to %x", last.MinValue, last.MaxValue)
	}
	if got := s.Columns[0]; decode(double, got.Lower) != 1.0 || decode(double, got.Upper) != 100.0 || got.NaNs != 1 {
		t.Errorf("got %v to %v, %d NaN", decode(double, got.Lower), decode(double, got.Upper), got.NaNs)
	}
}

// https://github.com/apache/parquet-java/issues/3457: a page of nothing but NaN is no page of nulls. Its column has no index at all;
// a page of nulls is one, and no other.
func TestAPageOfNaNIsNoPageOfNulls(t *testing.T) {
	double := columns.Type{Kind: columns.Float64}
	for _, values := range [][]any{{math.NaN(), math.NaN()}, {1.0, math.NaN()}} {
		f, s := column(t, double, Options{PageBytes: 1}, values)
		if c := chunkOf(f, 0); c.ColumnIndexOffset != 0 || c.MetaData.Statistics.NullCount != 0 || s.Columns[0].Nulls != 0 {
			t.Errorf("%v: got an index at %d, %d nulls", values, c.ColumnIndexOffset, c.MetaData.Statistics.NullCount)
		}
	}
	f, _ := column(t, double, Options{PageBytes: 1}, []any{nil, 1.0, nil, nil})
	chunk := f.RowGroups()[0].ColumnChunks()[0]
	index, err := chunk.ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	offsets, err := chunk.OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	for p := range index.NumPages() {
		until := int64(4)
		if p+1 < index.NumPages() {
			until = offsets.FirstRowIndex(p + 1)
		}
		rows := until - offsets.FirstRowIndex(p)
		if index.NullPage(p) != (index.NullCount(p) == rows) {
			t.Errorf("page %d of %d rows has %d nulls, and is one of nulls: %v", p, rows, index.NullCount(p), index.NullPage(p))
		}
	}
}

// https://github.com/parquet-go/parquet-go/issues/459, https://github.com/apache/iceberg/issues/6516,
// https://github.com/apache/arrow/issues/50182 and https://github.com/duckdb/duckdb/issues/20014: NaN is counted and in no bound, and the
// infinities are bounds like any other.
func TestNaNAndInfinitiesInSummaryAndFooter(t *testing.T) {
	double, nan := columns.Type{Kind: columns.Float64}, math.NaN()
	for _, c := range []struct {
		values    []any
		low, high any
		nans      int64
		footer    string
	}{
		{[]any{nan, 1.0, 2.0}, 1.0, 2.0, 1, ""},
		{[]any{nan, nan}, nil, nil, 2, ""},
		{[]any{math.Inf(-1), 0.0, math.Inf(1)}, math.Inf(-1), math.Inf(1), 0, "000000000000f0ff 000000000000f07f"},
		{[]any{math.Copysign(0, -1), 0.0}, math.Copysign(0, -1), 0.0, 0, "0000000000000080 0000000000000000"},
	} {
		f, s := column(t, double, Options{}, c.values)
		got := s.Columns[0]
		if got.NaNs != c.nans || (got.Lower == nil) != (c.low == nil) || (got.Upper == nil) != (c.high == nil) {
			t.Errorf("%v: got %+v", c.values, got)
		} else if c.low != nil && (decode(double, got.Lower) != c.low || decode(double, got.Upper) != c.high) {
			t.Errorf("%v: got %x to %x", c.values, got.Lower, got.Upper)
		}
		footer := chunkOf(f, 0).MetaData.Statistics
		if text := fmt.Sprintf("%x %x", footer.MinValue, footer.MaxValue); text != c.footer && (c.footer != "" || footer.MinValue != nil || footer.MaxValue != nil) {
			t.Errorf("%v: got statistics %s, want %s", c.values, text, c.footer)
		}
	}
}
