package columns

import (
	"testing"
)

func TestSizeIsThatOfTheValuesAndHeldThatOfTheRoom(t *testing.T) {
	fields := []Field{
		{Type: Type{Kind: Bool}}, {Type: Type{Kind: Int32}}, {Type: Type{Kind: Float64}},
		{Type: Type{Kind: Decimal, Precision: 38}}, {Type: Type{Kind: Decimal, Precision: 18}},
		{Type: Type{Kind: UUID}}, {Type: Type{Kind: Fixed, Width: 5}}, {Type: Type{Kind: String}},
	}
	list := Field{Type: Type{Kind: List, Fields: []Field{{Type: Type{Kind: Int64}}}}}
	all := append(fields, Field{Type: Type{Kind: Struct, Fields: append(fields, list)}})
	arrays := Make(all)
	const rows = 800
	for range rows {
		for i := range arrays {
			arrays[i].AppendNothing(&all[i].Type)
		}
	}
	// A row is a bit and not a byte for a boolean, and each column has a bit to say that it is null and, with offsets, one more
	// of these than values.
	nothing := rows / 8 * (2*len(fields) + 2)
	want := rows*Width(all) - 2*(rows-rows/8) + nothing + 3*4
	if got := Size(arrays); got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
	held := Held(arrays)
	if held < want {
		t.Errorf("got room for %d bytes, and there are %d", held, want)
	}
	for i := range arrays {
		arrays[i].Reset()
	}
	if got := Size(arrays); got != 0 || Held(arrays) != held {
		t.Errorf("after a reset: got %d bytes and room for %d, want none and room for %d", got, Held(arrays), held)
	}
}

func TestTheWeightOfANullIsThatOfItsValues(t *testing.T) {
	wide := Type{Kind: Decimal, Precision: 38}
	for want, kind := range map[int]Type{
		1: {Kind: Decimal, Precision: 18}, 2: wide, 500: {Kind: Fixed, Width: 4000},
		5: {Kind: Struct, Fields: []Field{{Type: wide}, {Type: Type{Kind: UUID}}, {Type: Type{Kind: Bool}}}},
	} {
		if got := kind.Weight(); got != want {
			t.Errorf("%v: got %d, want %d", kind.Kind, got, want)
		}
	}
	list := Type{Kind: List, Fields: []Field{{Type: wide}}}
	if empty := (&Type{Kind: Struct}); list.Weight() != 1 || empty.Weight() != 1 {
		t.Errorf("got %d and %d, want 1", list.Weight(), empty.Weight())
	}
}
