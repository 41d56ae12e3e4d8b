package partition

import (
	"encoding/hex"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

var (
	intType    = columns.Type{Kind: columns.Int32}
	longType   = columns.Type{Kind: columns.Int64}
	textType   = columns.Type{Kind: columns.String}
	binaryType = columns.Type{Kind: columns.Binary}
	dateType   = columns.Type{Kind: columns.Date}
	timeType   = columns.Type{Kind: columns.Time}
	plainTime  = columns.Type{Kind: columns.Timestamp}
	zonedTime  = columns.Type{Kind: columns.TimestampTZ}
	floatType  = columns.Type{Kind: columns.Float32}
	doubleType = columns.Type{Kind: columns.Float64}
	uuidType   = columns.Type{Kind: columns.UUID}
	boolType   = columns.Type{Kind: columns.Bool}
)

func decimalOf(precision, scale int) columns.Type {
	return columns.Type{Kind: columns.Decimal, Precision: precision, Scale: scale}
}

func fixedOf(n int) columns.Type { return columns.Type{Kind: columns.Fixed, Width: n} }

// apply is the value of one transform of one value.
func apply(t *testing.T, f Field, value any) Value {
	t.Helper()
	if f.From.Kind == 0 {
		f.From = f.Source
	}
	f.Path = []int{0}
	s, err := NewSpec([]Field{f})
	if err != nil {
		t.Fatal(err)
	}
	rows := &columns.Batch{Rows: 1, Columns: []columns.Array{rowtest.Array(f.From, []any{value})}}
	return s.Values(s.AppendKey(nil, rows, 0))[0]
}

func day(t *testing.T, text string) int32 {
	t.Helper()
	at, err := time.Parse("2006-01-02", text)
	if err != nil {
		t.Fatal(err)
	}
	return int32(at.Unix() / 86400)
}

func micro(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The hashes are those of the Iceberg specification, Appendix B, and of its reference implementation's TestBucketing.
func TestBucketsHashAsTheSpecificationSays(t *testing.T) {
	id := uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7")
	for name, c := range map[string]struct {
		kind  columns.Type
		value any
		hash  int32
	}{
		"int":               {intType, int32(34), 2017239379},
		"long":              {longType, int64(34), 2017239379},
		"minus one":         {intType, int32(-1), 1651860712}, // https://github.com/ClickHouse/ClickHouse/issues/119576
		"decimal":           {decimalOf(9, 2), big.NewInt(1420), -500754589},
		"wide decimal":      {decimalOf(38, 2), big.NewInt(1420), -500754589},
		"date":              {dateType, day(t, "2017-11-16"), -653330422},
		"time":              {timeType, int64(81068000000), -662762989},
		"timestamp":         {plainTime, micro(t, "2017-11-16T22:31:08Z"), -2047944441},
		"later timestamp":   {plainTime, micro(t, "2017-11-16T22:31:08.000001Z"), -1207196810},
		"timestamp, zoned":  {zonedTime, micro(t, "2017-11-16T14:31:08-08:00"), -2047944441},
		"text":              {textType, "iceberg", 1210000089},
		"uuid":              {uuidType, id[:], 1488055340},
		"fixed":             {fixedOf(4), unhex(t, "00010203"), -188683207},
		"binary":            {binaryType, unhex(t, "00010203"), -188683207},
		"text of no letter": {textType, "", 0},
	} {
		if got := apply(t, Field{Transform: layout.Bucket, Width: math.MaxInt32, Source: c.kind}, c.value); got.Null || got.Int != int64(c.hash&math.MaxInt32)%math.MaxInt32 {
			t.Errorf("%s: got %v, want %d", name, got, c.hash&math.MaxInt32)
		}
		if got := apply(t, Field{Transform: layout.Bucket, Width: 16, Source: c.kind}, c.value); got.Int != int64(c.hash&math.MaxInt32)%16 {
			t.Errorf("%s: got bucket %v of 16, want %d", name, got, c.hash&math.MaxInt32%16)
		}
	}
	if got := apply(t, Field{Transform: layout.Bucket, Width: 16, Source: longType, From: intType}, int32(-1)); got.Int != 8 {
		t.Errorf("a column that was widened: got %v, want 8", got)
	}
}

// https://github.com/ClickHouse/ClickHouse/issues/119576, https://github.com/apache/iceberg/pull/9767
func TestTruncateFloors(t *testing.T) {
	for _, c := range []struct {
		kind  columns.Type
		width int
		value any
		want  Value
	}{
		{intType, 10, int32(1), Value{Int: 0}},
		{intType, 10, int32(-1), Value{Int: -10}},
		{intType, 10, int32(-7), Value{Int: -10}},
		{intType, 4, int32(-5), Value{Int: -8}},
		{intType, 10, int32(-20), Value{Int: -20}},
		{intType, 1000, int32(math.MinInt32), Value{Int: int64(math.MaxInt32) + 1 - 352}}, // the reference implementation wraps too
		{longType, 10, int64(-1), Value{Int: -10}},
		{longType, 10, int64(math.MaxInt64), Value{Int: math.MaxInt64 - 7}},
		{decimalOf(9, 2), 50, big.NewInt(1065), Value{Low: 1050}},
		{decimalOf(9, 2), 10, big.NewInt(-5), Value{High: -1, Low: math.MaxUint64 - 9}},
		{decimalOf(38, 0), 10, big.NewInt(-5), Value{High: -1, Low: math.MaxUint64 - 9}},
		{textType, 3, "iceberg", Value{Bytes: []byte("ice")}},
		{textType, 7, "iceberg", Value{Bytes: []byte("iceberg")}},
		{textType, 10, "iceberg", Value{Bytes: []byte("iceberg")}},
		{textType, 2, "日本語", Value{Bytes: []byte("日本")}},
		{textType, 1, "\U0001F600x", Value{Bytes: []byte("\U0001F600")}},
		{textType, 4, "cafe\u0301s", Value{Bytes: []byte("cafe")}},
		{textType, 2, "", Value{Bytes: []byte{}}},
		{binaryType, 1, unhex(t, "e697a5"), Value{Bytes: unhex(t, "e6")}},
	} {
		got := apply(t, Field{Transform: layout.Truncate, Width: c.width, Source: c.kind}, c.value)
		if got.Null || got.Int != c.want.Int || got.High != c.want.High || got.Low != c.want.Low || string(got.Bytes) != string(c.want.Bytes) {
			t.Errorf("truncate(%d) of the %s %v: got %+v, want %+v", c.width, c.kind.Kind, c.value, got, c.want)
		}
	}
	lowest := new(big.Int).Neg(new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil), big.NewInt(1)))
	got := apply(t, Field{Transform: layout.Truncate, Width: 1000, Source: decimalOf(38, 0)}, lowest)
	if want := new(big.Int).Neg(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)); bigDecimal(got.High, got.Low).Cmp(want) != 0 {
		t.Errorf("got %v, want %v", bigDecimal(got.High, got.Low), want)
	}
}

// https://github.com/ClickHouse/ClickHouse/issues/118583, https://github.com/ClickHouse/ClickHouse/issues/119579
func TestTheCalendarFloorsBeforeTheEpoch(t *testing.T) {
	for _, c := range []struct {
		at                     string
		year, month, day, hour int64
	}{
		{"1970-01-01T00:00:00Z", 0, 0, 0, 0},
		{"1969-12-31T23:59:59.999999Z", -1, -1, -1, -1},
		{"1969-01-01T00:00:00Z", -1, -12, -365, -8760},
		{"1968-12-31T23:00:00Z", -2, -13, -366, -8761},
		{"2017-12-01T10:12:55.038194Z", 47, 575, 17501, 420034},
		{"0001-01-01T00:00:00Z", -1969, -23628, -719162, -17259888},
		{"2026-05-01T08:30:00+09:00", 56, 675, 20573, 493775}, // https://github.com/apache/iceberg/issues/13876
	} {
		for transform, want := range map[layout.Transform]int64{layout.Year: c.year, layout.Month: c.month, layout.Day: c.day, layout.Hour: c.hour} {
			for _, kind := range []columns.Type{plainTime, zonedTime} {
				if got := apply(t, Field{Transform: transform, Source: kind}, micro(t, c.at)); got.Null || got.Int != want {
					t.Errorf("%s of %s: got %v, want %d", transform, c.at, got, want)
				}
			}
			if transform == layout.Hour {
				continue
			}
			if got := apply(t, Field{Transform: transform, Source: dateType}, int32(c.day)); got.Int != want {
				t.Errorf("%s of the date of %s: got %v, want %d", transform, c.at, got, want)
			}
		}
	}
}

func TestNullsStayNullAndVoidIsAlwaysNull(t *testing.T) {
	for _, transform := range []layout.Transform{layout.Identity, layout.Void, layout.Bucket, layout.Truncate, layout.Year, layout.Month, layout.Day, layout.Hour} {
		source := zonedTime
		if transform == layout.Truncate {
			source = textType
		}
		if got := apply(t, Field{Transform: transform, Width: 4, Source: source}, nil); !got.Null {
			t.Errorf("%s of null: got %+v", transform, got)
		}
	}
	if got := apply(t, Field{Transform: layout.Void, Source: intType}, int32(1)); !got.Null {
		t.Errorf("void of 1: got %+v", got)
	}
}

func TestEveryNaNIsOnePartitionAndBothZerosAreTwo(t *testing.T) {
	s, err := NewSpec([]Field{{Transform: layout.Identity, Source: doubleType, From: doubleType, Path: []int{0}}})
	if err != nil {
		t.Fatal(err)
	}
	rows := &columns.Batch{Rows: 4, Columns: []columns.Array{rowtest.Array(doubleType,
		[]any{math.NaN(), math.Float64frombits(0xfff8000000000007), 0.0, math.Copysign(0, -1)})}}
	key := func(i int) string { return string(s.AppendKey(nil, rows, i)) }
	if key(0) != key(1) {
		t.Error("two kinds of NaN are two partitions")
	}
	if key(2) == key(3) {
		t.Error("0.0 and -0.0 are one partition")
	}
}

func TestPartitionsAreFoundInsideOfStructs(t *testing.T) {
	city := columns.Field{Name: "city", Type: textType}
	address := columns.Field{Name: "address", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "zip", Type: textType}, city}}}
	rows := rowtest.Build(columns.Schema{address}, [][]any{{[]any{"1", "Köln"}}, {nil}, {[]any{"2", nil}}})
	s, err := NewSpec([]Field{{ID: 1000, Name: "address.city", Transform: layout.Identity, Source: textType, From: textType, Path: []int{0, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"address.city=K%C3%B6ln", "address.city=null", "address.city=null"} {
		if got := s.Path(s.AppendKey(nil, rows, i)); got != want {
			t.Errorf("row %d: got %s, want %s", i, got, want)
		}
	}
}

func TestATransformThatATypeDoesNotTakeIsRefused(t *testing.T) {
	for _, f := range []Field{{Transform: layout.Day, Source: textType}, {Transform: layout.Hour, Source: dateType}, {Transform: layout.Bucket, Source: doubleType},
		{Transform: layout.Truncate, Source: uuidType}, {Transform: layout.Identity, Source: columns.Type{Kind: columns.List}}, {Transform: "zorder", Source: intType}} {
		if _, err := NewSpec([]Field{f}); err == nil {
			t.Errorf("%s of %s is not refused", f.Transform, f.Source.Kind)
		}
	}
}
