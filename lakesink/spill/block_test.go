package spill

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// everyKind is a schema with each kind, at the top and inside lists, maps and structs.
func everyKind() columns.Schema {
	var scalars columns.Schema
	for k := columns.Bool; k <= columns.UUID; k++ {
		scalars = append(scalars, columns.Field{Name: k.String(), Type: columns.Type{Kind: k, Width: 5, Precision: 18}, Required: k%2 == 0})
	}
	scalars = append(scalars, columns.Field{Name: "wide", Type: columns.Type{Kind: columns.Decimal, Precision: 38}})
	inner := columns.Type{Kind: columns.Struct, Fields: scalars}
	return append(scalars[:len(scalars):len(scalars)],
		columns.Field{Name: "struct", Type: inner},
		columns.Field{Name: "list", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: inner}}}},
		columns.Field{Name: "map", Type: columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "value", Type: inner}}}})
}

func shown(schema columns.Schema, b *columns.Batch) (rows []string) {
	for i := range b.Rows {
		rows = append(rows, rowtest.ShownRow(schema, b.Columns, i))
	}
	return rows
}

func TestRowsOfEveryKindComeBackFromABlock(t *testing.T) {
	schema := everyKind()
	back := &columns.Batch{Columns: columns.Make(schema)} // its memory serves again
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(50)
		b := rowtest.Build(schema, rowtest.RandomRows(rng, schema, n))
		if n > 0 {
			b.Columns[10] = rowtest.Constant(schema[10].Type, "the same", n)
		}
		block := appendBlock(nil, b)
		if err := readBlock(back, block); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := shown(schema, back), shown(schema, b); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, want)
		}
	}
}

func TestABlockThatWasCutShortIsRefused(t *testing.T) {
	schema := everyKind()
	rng := rand.New(rand.NewPCG(1, 1))
	block := appendBlock(nil, rowtest.Build(schema, rowtest.RandomRows(rng, schema, 20)))
	for n := range block {
		if err := readBlock(&columns.Batch{Columns: columns.Make(schema)}, block[:n]); err == nil {
			t.Fatalf("%d bytes of %d were taken for rows", n, len(block))
		}
	}
	if err := readBlock(&columns.Batch{Columns: columns.Make(schema)}, append(block, 0)); err == nil {
		t.Error("a byte too many was taken")
	}
}
