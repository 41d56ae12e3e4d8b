package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// less orders values of a type as table formats do; NaN must not come here.
func less(t columns.Type, a, b any) bool {
	switch a := a.(type) {
	case bool:
		return !a && b.(bool)
	case int32:
		return a < b.(int32)
	case int64:
		return a < b.(int64)
	case float32:
		return a < b.(float32)
	case float64:
		return a < b.(float64)
	case string:
		return a < b.(string)
	case []byte:
		return bytes.Compare(a, b.([]byte)) < 0
	case *big.Int:
		return a.Cmp(b.(*big.Int)) < 0
	}
	panic(fmt.Sprintf("no order of %T", a))
}

// decode reads a bound in PLAIN form.
func decode(t columns.Type, b []byte) any {
	kind, _ := physical(t)
	switch {
	case t.Kind == columns.Bool:
		return b[0] == 1
	case t.Kind == columns.Decimal && kind != 7: // an integer
		return big.NewInt(integer(b))
	case t.Kind == columns.Decimal:
		d := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			d.Sub(d, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return d
	case t.Kind == columns.Int32, t.Kind == columns.Date:
		return int32(integer(b))
	case t.Kind == columns.Float32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case t.Kind == columns.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case t.Kind == columns.String:
		return string(b)
	case t.Kind == columns.Binary, t.Kind == columns.Fixed, t.Kind == columns.UUID:
		return b
	}
	return integer(b)
}

func integer(b []byte) int64 {
	if len(b) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func isNaN(v any) bool {
	switch v := v.(type) {
	case float32:
		return v != v
	case float64:
		return v != v
	}
	return false
}

// extremes recomputes the bounds of column c from the values.
func extremes(t columns.Type, rows [][]any, c int) (lo, hi any, nulls, nans int64) {
	for _, row := range rows {
		switch v := row[c]; {
		case v == nil:
			nulls++
		case isNaN(v):
			nans++
		default:
			if lo == nil || less(t, v, lo) {
				lo = v
			}
			if hi == nil || less(t, hi, v) {
				hi = v
			}
		}
	}
	return lo, hi, nulls, nans
}

func TestBoundsAndCountsAreThoseOfTheValues(t *testing.T) {
	schema := everyKind()[:34] // the kinds without children
	next := 0
	fields := fieldsOf(schema, &next)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		rows := rowtest.RandomRows(rng, schema, 1+rng.IntN(60))
		_, summary := write(t, fields, Options{PageBytes: 256, RowGroupBytes: 4 << 10, MemoryBytes: 1 << 20}, rowtest.Build(schema, rows))
		for c, f := range schema {
			lo, hi, nulls, nans := extremes(f.Type, rows, c)
			got := summary.Columns[c]
			if got.Nulls != nulls || got.NaNs != nans || got.Values != int64(len(rows)) {
				t.Errorf("seed %d %s: %d nulls, %d NaNs, %d values; want %d, %d, %d", seed, f.Type.Kind, got.Nulls, got.NaNs, got.Values, nulls, nans, len(rows))
			}
			checkBound(t, f, "lower", got.Lower, got.LowerCut, lo)
			checkBound(t, f, "upper", got.Upper, got.UpperCut, hi)
		}
	}
}

func checkBound(t *testing.T, f columns.Field, side string, got []byte, cut bool, want any) {
	t.Helper()
	if want == nil || got == nil {
		if (want == nil) != (got == nil) {
			t.Errorf("%s bound of a %s: got %x, want %v", side, f.Type.Kind, got, want)
		}
		return
	}
	var whole []byte
	switch w := want.(type) {
	case string:
		whole = []byte(w)
	case []byte:
		whole = w
	}
	if len(whole) > prefixBytes && !bytes.Equal(whole[:prefixBytes], got) || (len(whole) > prefixBytes) != cut && whole != nil {
		t.Errorf("%s bound: got %x cut %v, want %x", side, got, cut, whole)
	}
	if cut {
		return
	}
	if g := decode(f.Type, got); less(f.Type, g, want) || less(f.Type, want, g) {
		t.Errorf("%s bound of a %s: got %v, want %v", side, f.Type.Kind, g, want)
	}
}

func TestZeroAndNaNInBounds(t *testing.T) {
	double := columns.Type{Kind: columns.Float64}
	column := func(values ...any) ColumnSummary {
		var rows [][]any
		for _, v := range values {
			rows = append(rows, []any{v})
		}
		_, s := write(t, []Field{{Name: "x", ID: 1, Type: double, Source: 0}}, Options{}, rowtest.Build(columns.Schema{{Type: double}}, rows))
		return s.Columns[0]
	}
	nan := math.NaN()
	if c := column(nan, 1.0, 2.0); decode(double, c.Lower) != 1.0 || decode(double, c.Upper) != 2.0 || c.NaNs != 1 {
		t.Errorf("NaN beside numbers: got %+v", c)
	}
	if c := column(nan, nan); c.Lower != nil || c.Upper != nil || c.NaNs != 2 {
		t.Errorf("nothing but NaN: got %+v", c)
	}
	if c := column(0.0); !math.Signbit(decode(double, c.Lower).(float64)) || math.Signbit(decode(double, c.Upper).(float64)) {
		t.Errorf("bounds of 0: got %x to %x, want -0 to +0", c.Lower, c.Upper)
	}
	if c := column(math.Inf(-1), 0.0, math.Inf(1)); decode(double, c.Lower) != math.Inf(-1) || decode(double, c.Upper) != math.Inf(1) {
		t.Errorf("infinities: got %+v", c)
	}
}

// A reader for which NaN is above every number looks for it only where the footer does not say that all is smaller.
func TestNaNLeavesNoStatisticsInTheFooter(t *testing.T) {
	for kind, column := range map[columns.Kind][]any{
		columns.Float64: {math.NaN(), 1.0, 2.0},
		columns.Float32: {float32(1), float32(math.NaN()), float32(2)},
	} {
		schema := columns.Schema{{Name: "x", Type: columns.Type{Kind: kind}}}
		var numbers, all [][]any
		for _, v := range column {
			all = append(all, []any{v})
			if !isNaN(v) {
				numbers = append(numbers, []any{v})
			}
		}
		if hasStatistics(t, schema, all) {
			t.Errorf("%v of %s have statistics", column, kind)
		}
		if !hasStatistics(t, schema, numbers) {
			t.Errorf("%v of %s have no statistics", numbers, kind)
		}
	}
}

func hasStatistics(t *testing.T, schema columns.Schema, rows [][]any) bool {
	t.Helper()
	data, _ := write(t, []Field{{Name: "x", ID: 1, Type: schema[0].Type, Source: 0}}, Options{}, rowtest.Build(schema, rows))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	chunk := f.Metadata().RowGroups[0].Columns[0]
	s := chunk.MetaData.Statistics
	if has := s.MinValue != nil; has != (s.MaxValue != nil) || has != (chunk.ColumnIndexOffset > 0) {
		t.Errorf("%v: min %x, max %x, page index at %d: want all or none", rows, s.MinValue, s.MaxValue, chunk.ColumnIndexOffset)
	}
	return s.MinValue != nil
}

func TestFloorAndCeiling(t *testing.T) {
	// https://github.com/duckdb/duckdb-iceberg/issues/1136 and https://github.com/segmentio/parquet-go/issues/495
	long := "abcdefghijklmno"
	for _, c := range []struct{ value, floor, ceiling string }{
		{long + "€z", long + "€", long + "₭"},
		{long + "\u007f", long + "\u007f", long + "\u0080"},
		{long + "\u07ff", long + "\u07ff", long + "\u0800"},
		{long + "\ud7ff", long + "\ud7ff", long + "\ue000"},
		{long + "\uffff", long + "\uffff", long + "\U00010000"},
		{long + "\U0010ffffx", long + "\U0010ffff", long[:14] + "p"},
		{"", "", ""},
	} {
		if got := Floor([]byte(c.value), true, 16); string(got) != c.floor {
			t.Errorf("Floor(%q): got %q, want %q", c.value, got, c.floor)
		}
		if got := Ceiling([]byte(c.value), true, 16); string(got) != c.ceiling {
			t.Errorf("Ceiling(%q): got %q, want %q", c.value, got, c.ceiling)
		}
	}
	if got := Ceiling([]byte(strings.Repeat("\U0010ffff", 20)), true, 16); got != nil {
		t.Errorf("nothing is above the last code points: got %q", got)
	}
	if got := Ceiling(bytes.Repeat([]byte{0xff}, 20), false, 16); got != nil {
		t.Errorf("nothing is above all ones: got %x", got)
	}
	var counting []byte
	for i := range byte(0x18) {
		counting = append(counting, i)
	}
	if got := fmt.Sprintf("%x", Ceiling(counting, false, 16)); got != "000102030405060708090a0b0c0d0e10" {
		t.Errorf("got %s", got)
	}
	if Floor([]byte("ab\xff\xfe"), true, 16) != nil || Ceiling([]byte("ab\xff\xfe"), true, 16) != nil {
		t.Error("text that is not UTF-8 has no bound that a reader could decode")
	}
}

func FuzzFloorAndCeilingEncloseTheValue(f *testing.F) {
	f.Add([]byte("abcdefghijklmno€z"), true, 16)
	f.Add([]byte{0xff, 0xff, 0}, false, 2)
	f.Fuzz(func(t *testing.T, v []byte, text bool, n int) {
		if n < 1 || n > 64 {
			return
		}
		if lo := Floor(v, text, n); lo != nil && bytes.Compare(lo, v) > 0 {
			t.Errorf("Floor(%x) = %x is above it", v, lo)
		}
		if hi := Ceiling(v, text, n); len(hi) > 0 && bytes.Compare(hi, v) <= 0 {
			t.Errorf("Ceiling(%x) = %x is not above it", v, hi)
		}
	})
}

func TestFooterBoundsOfLongValuesAreLeftOutNotCut(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	data, _ := write(t, []Field{{Name: "s", ID: 1, Type: text, Source: 0}}, Options{}, rowtest.Build(columns.Schema{{Type: text}},
		[][]any{{"a"}, {strings.Repeat("z", 1<<20)}}))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Metadata().RowGroups[0].Columns[0].MetaData.Statistics; s.MaxValue != nil || s.MinValue != nil {
		t.Errorf("got %d and %d bytes", len(s.MinValue), len(s.MaxValue))
	}
	index, err := f.RowGroups()[0].ColumnChunks()[0].ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	if hi := index.MaxValue(0).ByteArray(); string(hi) != strings.Repeat("z", 15)+"{" {
		t.Errorf("page index: got %q", hi)
	}
	if len(data) > 4096 {
		t.Errorf("a megabyte of one letter takes %d bytes", len(data))
	}
}
