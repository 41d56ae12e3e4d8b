package columns

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// everyKind is a schema with each kind, at the top and inside lists, maps and structs.
func everyKind() Schema {
	var scalars Schema
	for k := Bool; k <= UUID; k++ {
		scalars = append(scalars, Field{Name: k.String(), Type: Type{Kind: k, Width: 70, Precision: 18}, Required: k%2 == 0})
	}
	scalars = append(scalars, Field{Name: "wide", Type: Type{Kind: Decimal, Precision: 38}})
	inner := Type{Kind: Struct, Fields: scalars}
	return append(scalars[:len(scalars):len(scalars)],
		Field{Name: "struct", Type: inner},
		Field{Name: "list", Type: Type{Kind: List, Fields: []Field{{Name: "element", Type: inner}}}},
		Field{Name: "map", Type: Type{Kind: Map, Fields: []Field{{Name: "key", Type: Type{Kind: String}, Required: true}, {Name: "value", Type: inner}}}})
}

// appendRandom adds a row; cut stops in the middle of it, after so many values.
type appendRandom struct {
	rng *rand.Rand
	cut int
}

func (r *appendRandom) add(a *Array, f *Field) bool {
	if r.cut--; r.cut == 0 {
		return false
	}
	if !f.Required && r.rng.IntN(3) == 0 {
		a.AppendNothing(&f.Type)
		return true
	}
	v := r.rng.Int64()
	switch f.Type.Kind {
	case Bool:
		a.AppendBool(v%2 == 0)
	case Int32, Date:
		a.AppendInt32(int32(v))
	case Float32:
		a.AppendFloat32(float32(v))
	case Float64:
		a.AppendFloat64(float64(v))
	case String, Binary:
		a.AppendBytes(fmt.Append(nil, v%1000))
	case Fixed, UUID:
		a.AppendFixed(make([]byte, f.Type.width()))
	case Decimal:
		if f.Type.Precision > WideDecimal {
			a.AppendInt128(v, uint64(v))
		} else {
			a.AppendInt64(v)
		}
	case List, Map, Struct:
		return r.addNested(a, f)
	default:
		a.AppendInt64(v)
	}
	return true
}

func (r *appendRandom) addNested(a *Array, f *Field) bool {
	if f.Type.Kind == Struct {
		for i := range f.Type.Fields {
			if !r.add(&a.Children[i], &f.Type.Fields[i]) {
				return false
			}
		}
		a.AppendStruct()
		return true
	}
	for range r.rng.IntN(3) {
		element := f.Type.Fields[0]
		if f.Type.Kind == Map {
			element = Field{Type: Type{Kind: Struct, Fields: f.Type.Fields}, Required: true}
		}
		if !r.add(&a.Children[0], &element) {
			return false
		}
	}
	a.AppendSpan()
	return true
}

func (r *appendRandom) row(arrays []Array, schema Schema) bool {
	for i := range schema {
		if !r.add(&arrays[i], &schema[i]) {
			return false
		}
	}
	return true
}

// normal drops what does not count: capacity, and the difference between no memory and none used.
func normal(arrays []Array) []Array {
	out := make([]Array, len(arrays))
	for i, a := range arrays {
		if len(a.Offsets) == 1 {
			a.Offsets = nil
		}
		out[i] = Array{Kind: a.Kind, Len: a.Len, Nulls: a.Nulls, Validity: append([]byte{}, a.Validity...), Int32s: append([]int32{}, a.Int32s...),
			Int64s: append([]int64{}, a.Int64s...), Float32s: append([]float32{}, a.Float32s...), Float64s: append([]float64{}, a.Float64s...),
			Offsets: append([]int32{}, a.Offsets...), Data: append([]byte{}, a.Data...), Children: normal(a.Children)}
	}
	return out
}

// Whatever was appended of a row, also half an element deep inside, is gone after Truncate, and rows follow as if it had
// never been there.
func TestTruncateTakesARowBack(t *testing.T) {
	schema := everyKind()
	for seed := range uint64(200) {
		whole, cut := Make(schema), Make(schema)
		for row := range 9 {
			seeded := func(cut int) *appendRandom {
				return &appendRandom{rng: rand.New(rand.NewPCG(seed, uint64(row))), cut: cut}
			}
			seeded(0).row(whole, schema)
			broken := &appendRandom{rng: rand.New(rand.NewPCG(seed, 99)), cut: 1 + int(seed)%90}
			broken.row(cut, schema)
			TruncateAll(cut, row)
			seeded(0).row(cut, schema)
		}
		if !reflect.DeepEqual(normal(cut), normal(whole)) {
			t.Fatalf("seed %d: got %+v, want %+v", seed, normal(cut), normal(whole))
		}
	}
}

func TestRequiredFieldsOfANullStructAreNotNull(t *testing.T) {
	schema := everyKind()
	arrays := Make(schema)
	for i := range schema {
		arrays[i].AppendNothing(&schema[i].Type)
		arrays[i].AppendNothing(&schema[i].Type)
	}
	inner := schema[len(schema)-3]
	for i, f := range inner.Type.Fields {
		a := &arrays[len(schema)-3].Children[i]
		if want := map[bool]int{true: 0, false: 2}[f.Required]; a.Nulls != want || a.Len != 2 {
			t.Errorf("%s: got %d nulls of %d, want %d of 2", f.Name, a.Nulls, a.Len, want)
		}
	}
	if fixed := arrays[Fixed-1]; len(fixed.Data) != 140 {
		t.Errorf("two values of 70 bytes take %d", len(fixed.Data))
	}
}
