package columns

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// randomColumns are n rows of every kind, with nulls.
func randomColumns(schema Schema, rng *rand.Rand, n int) []Array {
	arrays := Make(schema)
	random := appendRandom{rng: rng}
	for range n {
		for i := range schema {
			random.add(&arrays[i], &schema[i])
		}
	}
	return arrays
}

// oneByOne is what AppendRows has to amount to.
func oneByOne(a, src *Array, rows []int32) {
	for _, row := range rows {
		a.AppendRange(src, int(row), int(row)+1)
	}
}

// someRows are numbers below n: stretches of random length from random places.
func someRows(rng *rand.Rand, n int) (rows []int32) {
	for range 12 {
		from := rng.IntN(n)
		for i := from; i < min(n, from+1+rng.IntN(3*longRun)*rng.IntN(2)); i++ {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

func TestRowsFromAnywhereAreAppendedLikeOneAfterTheOther(t *testing.T) {
	schema := everyKind()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		for c, src := range randomColumns(schema, rng, 100) {
			got, want := src.Empty(), src.Empty()
			for range 3 {
				rows := someRows(rng, 100)
				got.AppendRows(&src, rows)
				oneByOne(&want, &src, rows)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: column %s of %d rows differs from %d rows appended in turn", seed, schema[c].Name, got.Len, want.Len)
			}
		}
	}
}

func TestAllRowsInOrderMakeTheSameColumn(t *testing.T) {
	schema := everyKind()
	all := make([]int32, 50)
	for i := range all {
		all[i] = int32(i)
	}
	for c, src := range randomColumns(schema, rand.New(rand.NewPCG(1, 8)), len(all)) {
		got, backward := src.Empty(), src.Empty()
		got.AppendRows(&src, all)
		if !reflect.DeepEqual(got, src) {
			t.Errorf("column %s: got %+v, want %+v", schema[c].Name, got, src)
		}
		slices.Reverse(all)
		backward.AppendRows(&src, all)
		got.Reset()
		got.AppendRows(&backward, all)
		slices.Reverse(all)
		if got.Nulls != src.Nulls || !slices.Equal(got.Data, src.Data) || !slices.Equal(got.Offsets, src.Offsets) || !slices.Equal(got.Validity, src.Validity) {
			t.Errorf("column %s: turned around twice it differs: got %+v, want %+v", schema[c].Name, got, src)
		}
	}
}

func TestARepeatedValueIsAppendedForEveryRow(t *testing.T) {
	schema := everyKind()
	for c, one := range randomColumns(schema, rand.New(rand.NewPCG(2, 8)), 1) {
		repeated := one
		repeated.Len, repeated.Repeat = 5000, true
		if one.Nulls > 0 {
			repeated.Nulls = 5000
		}
		byRows, byRange, want := one.Empty(), one.Empty(), one.Empty()
		rows := make([]int32, 3000)
		for i := range rows {
			rows[i] = int32(i * 7 % 5000)
			oneByOne(&want, &one, []int32{0})
		}
		byRows.AppendRows(&repeated, rows)
		byRange.AppendRange(&repeated, 100, 3100)
		if !reflect.DeepEqual(byRows, want) || !reflect.DeepEqual(byRange, want) {
			t.Errorf("column %s: 3,000 rows of one value are %d and %d rows, want %d of the same", schema[c].Name, byRows.Len, byRange.Len, want.Len)
		}
	}
}

// A column that never got a value has no offsets.
func TestRowsOfAColumnThatNeverGotAValueAreEmpty(t *testing.T) {
	for _, kind := range []Kind{String, List} {
		src, got := Array{Kind: kind, Len: 40, Children: []Array{{Kind: String}}}, Array{Kind: kind, Children: []Array{{Kind: String}}}
		got.AppendRows(&src, []int32{3, 1, 2})
		got.AppendRange(&src, 0, 40)
		if got.Len != 43 || len(got.Offsets) != 44 || got.Offsets[43] != 0 {
			t.Errorf("%s: got %+v", kind, got)
		}
	}
}
