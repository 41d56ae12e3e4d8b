package partition

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

// What the reference implementation's tests of toHumanString and partitionToPath expect.
func TestFoldersAreNamedAsTheReferenceImplementationNamesThem(t *testing.T) {
	id := uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7")
	for _, c := range []struct {
		field Field
		value any
		want  string
	}{
		{Field{Transform: layout.Identity, Source: textType}, "a#b", "a%23b"}, // https://github.com/apache/iceberg/issues/10279
		{Field{Transform: layout.Identity, Source: textType}, "a?b=c&d", "a%3Fb%3Dc%26d"},
		{Field{Transform: layout.Identity, Source: textType}, "11/12/13", "11%2F12%2F13"},
		{Field{Transform: layout.Identity, Source: textType}, "a b", "a+b"},
		{Field{Transform: layout.Identity, Source: textType}, "100%", "100%25"},
		{Field{Transform: layout.Identity, Source: textType}, "..", ".."},
		{Field{Transform: layout.Identity, Source: textType}, "日本", "%E6%97%A5%E6%9C%AC"},
		{Field{Transform: layout.Identity, Source: textType}, "a*b~c", "a*b%7Ec"},
		{Field{Transform: layout.Identity, Source: textType}, "", ""},
		{Field{Transform: layout.Identity, Source: textType}, nil, "null"},
		{Field{Transform: layout.Identity, Source: boolType}, true, "true"},
		{Field{Transform: layout.Identity, Source: intType}, int32(-7), "-7"},
		{Field{Transform: layout.Identity, Source: dateType}, int32(17501), "2017-12-01"},
		{Field{Transform: layout.Identity, Source: timeType}, int64(36775038194), "10%3A12%3A55.038194"},
		{Field{Transform: layout.Identity, Source: plainTime}, micro(t, "2017-12-01T10:12:55.038194Z"), "2017-12-01T10%3A12%3A55.038194"},
		{Field{Transform: layout.Identity, Source: zonedTime}, micro(t, "2017-12-01T10:12:55.038Z"), "2017-12-01T10%3A12%3A55.038Z"},
		{Field{Transform: layout.Identity, Source: zonedTime}, micro(t, "2017-12-01T10:12:00Z"), "2017-12-01T10%3A12Z"},
		{Field{Transform: layout.Identity, Source: decimalOf(9, 2)}, big.NewInt(-5), "-0.05"},
		{Field{Transform: layout.Identity, Source: uuidType}, id[:], id.String()},
		{Field{Transform: layout.Identity, Source: binaryType}, []byte{1, 2, 3}, "AQID"},
		{Field{Transform: layout.Identity, Source: doubleType}, 1.0, "1.0"},
		{Field{Transform: layout.Identity, Source: doubleType}, 1e10, "1.0E10"},
		{Field{Transform: layout.Identity, Source: doubleType}, 1.25e-4, "1.25E-4"},
		{Field{Transform: layout.Identity, Source: floatType}, float32(0.1), "0.1"},
		{Field{Transform: layout.Year, Source: plainTime}, micro(t, "2017-12-01T10:12:55Z"), "2017"},
		{Field{Transform: layout.Month, Source: plainTime}, micro(t, "2017-12-01T10:12:55Z"), "2017-12"},
		{Field{Transform: layout.Month, Source: plainTime}, micro(t, "1969-11-30T10:12:55Z"), "1969-11"},
		{Field{Transform: layout.Day, Source: plainTime}, micro(t, "1969-12-31T10:12:55Z"), "1969-12-31"},
		{Field{Transform: layout.Hour, Source: plainTime}, micro(t, "1969-12-31T23:12:55Z"), "1969-12-31-23"},
		{Field{Transform: layout.Bucket, Width: 16, Source: intType}, int32(-1), "8"},
		{Field{Transform: layout.Truncate, Width: 2, Source: textType}, "a/b", "a%2F"},
		{Field{Transform: layout.Void, Source: textType}, "a", "null"},
	} {
		f := c.field
		f.Name, f.From, f.Path = "p", f.Source, []int{0}
		s, err := NewSpec([]Field{f})
		if err != nil {
			t.Fatal(err)
		}
		rows := &columns.Batch{Rows: 1, Columns: []columns.Array{rowtest.Array(f.Source, []any{c.value})}}
		if got := s.Path(s.AppendKey(nil, rows, 0)); got != "p="+c.want {
			t.Errorf("%s of %v: got %s, want p=%s", f.Transform, c.value, got, c.want)
		}
	}
}

func TestALongValueMakesAShortFolder(t *testing.T) {
	s, err := NewSpec([]Field{{Name: "p", Transform: layout.Identity, Source: textType, From: textType, Path: []int{0}}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 5000)
	rows := &columns.Batch{Rows: 2, Columns: []columns.Array{rowtest.Array(textType, []any{long, long + "x"})}}
	one, two := s.Path(s.AppendKey(nil, rows, 0)), s.Path(s.AppendKey(nil, rows, 1))
	if len(one) > maxName || one == two || !strings.HasPrefix(one, "p=%C3%A9") {
		t.Errorf("got %s and %s", one, two)
	}
}

// A value is the same after it has been a key, and after it has been JSON.
func TestValuesSurviveKeysAndJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, kind := range []columns.Type{boolType, intType, longType, floatType, doubleType, dateType, timeType, plainTime, zonedTime, textType, binaryType, uuidType,
		fixedOf(5), decimalOf(9, 2), decimalOf(18, 0), decimalOf(38, 10)} {
		f := Field{ID: 1000, Name: "p", Transform: layout.Identity, Source: kind, From: kind, Path: []int{0}}
		s, err := NewSpec([]Field{f})
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			rows := rowtest.Build(columns.Schema{{Name: "c", Type: kind}}, rowtest.RandomRows(rng, columns.Schema{{Name: "c", Type: kind}}, 1))
			key := s.AppendKey(nil, rows, 0)
			want := s.Values(key)[0]
			text := s.JSON(key)[1000]
			got, err := f.Read(text)
			if err != nil {
				t.Fatalf("%s: %v", kind.Kind, err)
			}
			if math.Float64bits(got.Float) != math.Float64bits(want.Float) {
				t.Errorf("%s: got %v from %s, want %v", kind.Kind, got.Float, text, want.Float)
			}
			got.Float, want.Float = 0, 0
			if got.Null != want.Null || got.Int != want.Int || got.High != want.High || got.Low != want.Low || string(got.Bytes) != string(want.Bytes) {
				t.Errorf("%s: got %+v from %s, want %+v", kind.Kind, got, text, want)
			}
		}
	}
}

func TestKeysAreEqualForEqualPartitionsAlone(t *testing.T) {
	fields := []Field{{ID: 1, Transform: layout.Identity, Source: textType, From: textType, Path: []int{0}}, {ID: 2, Transform: layout.Identity, Source: textType, From: textType, Path: []int{1}}}
	s, err := NewSpec(fields)
	if err != nil {
		t.Fatal(err)
	}
	values := [][]any{{"a", "b"}, {"ab", ""}, {"", "ab"}, {nil, "ab"}, {"ab", nil}, {nil, nil}, {"", ""}, {"a\x00", "b"}, {"caf\u00e9", ""}, {"cafe\u0301", ""}}
	rows := rowtest.Build(columns.Schema{{Name: "a", Type: textType}, {Name: "b", Type: textType}}, values)
	seen := map[string]int{}
	for i := range values {
		key := string(s.AppendKey(nil, rows, i))
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q are one partition", values[i], values[other])
		}
		seen[key] = i
	}
}

// What ObjectStoreLocationProvider of PyIceberg 0.12 says of these names.
func TestEntropyIsThatOfTheReferenceImplementation(t *testing.T) {
	for name, want := range map[string]string{"a": "0101/0110/1001/10110010", "b": "1110/0111/1110/00000011", "c": "0010/1101/0110/01011111", "d": "1001/0001/0100/01110011"} {
		if got := Entropy(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
