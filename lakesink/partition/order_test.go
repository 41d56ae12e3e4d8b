package partition

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

// ascending are values of each kind in the order that the specification gives them.
var ascending = []struct {
	kind   columns.Type
	values []any
}{
	{boolType, []any{false, true}},
	{intType, []any{int32(math.MinInt32), int32(-1), int32(0), int32(1), int32(math.MaxInt32)}},
	{longType, []any{int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(math.MaxInt64)}},
	{doubleType, []any{math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, math.SmallestNonzeroFloat64, 2.0, math.Inf(1), math.NaN()}},
	{floatType, []any{float32(math.Inf(-1)), float32(-1.5), float32(0), float32(0.1), float32(math.NaN())}},
	{dateType, []any{int32(-1), int32(0), int32(20516)}},
	{zonedTime, []any{int64(-1), int64(0), int64(1)}},
	{decimalOf(9, 2), []any{big.NewInt(-1000), big.NewInt(-1), big.NewInt(0), big.NewInt(5)}},
	{decimalOf(38, 2), []any{rowtest.Unscaled("-99999999999999999999"), big.NewInt(-1), big.NewInt(0), rowtest.Unscaled("99999999999999999999")}},
	{textType, []any{"", "\x00", "\x00a", "\x01", "a", "a\x00", "ab", "b", "é", "\uffff", "\U0001F600"}},
	{binaryType, []any{[]byte{}, []byte{0}, []byte{0, 0}, []byte{0, 1}, []byte{1}, []byte{0xff}, []byte{0xff, 0}}},
	{fixedOf(2), []any{[]byte{0, 1}, []byte{1, 0}, []byte{0xff, 0}}},
}

func TestRowsAreOrderedAsTheSpecificationSays(t *testing.T) {
	for _, c := range ascending {
		for _, descending := range []bool{false, true} {
			for _, nullsLast := range []bool{false, true} {
				values := slices.Clone(c.values)
				if descending {
					slices.Reverse(values)
				}
				if nullsLast {
					values = append(values, nil)
				} else {
					values = append([]any{nil}, values...)
				}
				o, err := NewOrder([]OrderField{{Field{Transform: layout.Identity, Source: c.kind, From: c.kind, Path: []int{0}}, descending, nullsLast}})
				if err != nil {
					t.Fatal(err)
				}
				rows := &columns.Batch{Rows: len(values), Columns: []columns.Array{rowtest.Array(c.kind, values)}}
				for i := 1; i < len(values); i++ {
					if a, b := o.AppendKey(nil, rows, i-1), o.AppendKey(nil, rows, i); bytes.Compare(a, b) >= 0 {
						t.Errorf("%s, descending %v, nulls last %v: %v is not before %v", c.kind.Kind, descending, nullsLast, values[i-1], values[i])
					}
				}
			}
		}
	}
}

// The second column decides among rows that are equal in the first, whatever lies in the first.
func TestColumnsDecideInTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	schema := columns.Schema{{Name: "a", Type: textType}, {Name: "b", Type: longType}}
	values := make([][]any, 400)
	for i := range values {
		values[i] = []any{[]string{"", "\x00", "a", "a\x00", "ab"}[rng.IntN(5)], int64(rng.IntN(9) - 4)}
	}
	o, err := NewOrder([]OrderField{{Field: Field{Transform: layout.Identity, Source: textType, From: textType, Path: []int{0}}, Descending: true},
		{Field: Field{Transform: layout.Identity, Source: longType, From: longType, Path: []int{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowtest.Build(schema, values)
	for range 5000 {
		i, j := rng.IntN(len(values)), rng.IntN(len(values))
		want := cmp.Or(cmp.Compare(values[j][0].(string), values[i][0].(string)), cmp.Compare(values[i][1].(int64), values[j][1].(int64)))
		if got := bytes.Compare(o.AppendKey(nil, rows, i), o.AppendKey(nil, rows, j)); got != want {
			t.Fatalf("%q and %q: got %d, want %d", values[i], values[j], got, want)
		}
	}
}
