package columns

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestRowsOfSeveralColumnsAreAppendedLikeOneAfterTheOther(t *testing.T) {
	schema := everyKind()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var sources [][]Array
		for k := range 1 + rng.IntN(5) {
			arrays := randomColumns(schema, rng, 1+rng.IntN(60))
			if k == 1 { // every value the first one
				for i := range arrays {
					one := arrays[i].Empty()
					one.AppendRange(&arrays[i], 0, 1)
					one.Repeat, one.Len = true, 40
					arrays[i] = one
				}
			}
			sources = append(sources, arrays)
		}
		for c := range schema {
			var from []*Array
			for k := range sources {
				from = append(from, &sources[k][c])
			}
			got, want := from[0].Empty(), from[0].Empty()
			for range 3 {
				var picks []Pick
				for range rng.IntN(100) {
					k := rng.IntN(len(from))
					picks = append(picks, Pick{int32(k), int32(rng.IntN(from[k].Len))})
				}
				got.AppendPicks(from, picks)
				for _, p := range picks {
					want.AppendRange(from[p.From], int(p.Row), int(p.Row)+1)
				}
			}
			if !reflect.DeepEqual(normal([]Array{got}), normal([]Array{want})) || got.Len != want.Len {
				t.Fatalf("seed %d: column %s of %d rows differs from %d rows appended in turn", seed, schema[c].Name, got.Len, want.Len)
			}
		}
	}
}

// A column that never got a value has no offsets.
func TestPicksOfColumnsThatNeverGotAValueAreEmpty(t *testing.T) {
	for _, kind := range []Kind{String, List} {
		src, got := Array{Kind: kind, Len: 40, Children: []Array{{Kind: String}}}, Array{Kind: kind, Children: []Array{{Kind: String}}}
		got.AppendPicks([]*Array{&src, &src}, []Pick{{0, 3}, {1, 1}, {0, 2}})
		if got.Len != 3 || len(got.Offsets) != 4 || got.Offsets[3] != 0 {
			t.Errorf("%s: got %+v", kind, got)
		}
	}
}

// What a row is said to take must not depend on where it is: files would.
func TestTheSizeOfARowIsThatOfItsValues(t *testing.T) {
	schema := everyKind()
	rng := rand.New(rand.NewPCG(3, 9))
	for c, src := range randomColumns(schema, rng, 80) {
		all := make([]int64, src.Len)
		src.AddSizes(all)
		for row, size := range all {
			alone := src.Empty()
			alone.AppendRange(&src, row, row+1)
			one, repeated := []int64{0}, []int64{0, 0, 0}
			alone.AddSizes(one)
			if alone.Repeat, alone.Len = true, 3; one[0] != size || size < 1 {
				t.Fatalf("column %s: row %d takes %d bytes among others, %d alone", schema[c].Name, row, size, one[0])
			}
			if alone.AddSizes(repeated); repeated[2] != size {
				t.Fatalf("column %s: row %d takes %d bytes, %d where it stands for all", schema[c].Name, row, size, repeated[2])
			}
		}
	}
	text := Array{Kind: String}
	text.AppendBytes([]byte("four"))
	text.AppendNullBytes()
	sizes := []int64{0, 0}
	if text.AddSizes(sizes); sizes[0] != 8 || sizes[1] != 4 {
		t.Errorf("a text of four bytes and none take %v", sizes)
	}
}
