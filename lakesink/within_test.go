package lakesink

import (
	"reflect"
	"slices"
	"testing"

	"sluice/columns"
)

// typed is a field of a type with these fields inside.
func typed(name string, kind columns.Kind, inside ...columns.Field) columns.Field {
	return columns.Field{Name: name, Type: columns.Type{Kind: kind, Fields: inside}}
}

func TestWithinIsWhatTheTableHas(t *testing.T) {
	number := func(name string) columns.Field { return typed(name, columns.Int32) }
	listOf := func(name string, inside ...columns.Field) columns.Field {
		return typed(name, columns.List, typed("element", columns.Struct, inside...))
	}
	mapOf := func(name string, inside ...columns.Field) columns.Field {
		return typed(name, columns.Map, typed("key", columns.String), typed("value", columns.Struct, inside...))
	}
	table, err := icebergSchema(columns.Schema{number("a"), typed("s", columns.Struct, number("x"), typed("y", columns.String)), listOf("l", number("p")),
		mapOf("m", number("q")), typed("only", columns.String), number("z")})
	if err != nil {
		t.Fatal(err)
	}
	rows := columns.Schema{number("b"), typed("a", columns.String), typed("s", columns.Struct, number("w"), typed("y", columns.String)), listOf("l", number("p"), number("r")),
		mapOf("m", number("n"), number("q")), typed("z", columns.Struct, number("k"))}
	in := func(rows []columns.Field, asTheTable bool) (had []columns.Field, lacking, narrower []string) {
		h := &Held{}
		had = h.amid(tableFields(table.Fields()), rows, "", asTheTable)
		return had, h.Lacking, h.Narrower
	}
	had, lacking, _ := in(rows, true)
	want := []columns.Field{typed("a", columns.String), typed("s", columns.Struct, typed("y", columns.String)), listOf("l", number("p")), mapOf("m", number("q")), typed("z", columns.Struct, number("k"))}
	if !reflect.DeepEqual(had, want) {
		t.Errorf("got %+v, want %+v", had, want)
	}
	if want := []string{"b", "s.w", "l.element.r", "m.value.n"}; !slices.Equal(lacking, want) {
		t.Errorf("got %v, want %v", lacking, want)
	}
	if had, lacking, _ = in(columns.Schema{typed("s", columns.Struct, number("w"))}, true); len(had) != 0 || !slices.Equal(lacking, []string{"s.w"}) {
		t.Errorf("got %v, %v", had, lacking)
	}

	long := columns.Schema{typed("a", columns.Int64), typed("s", columns.Struct, typed("x", columns.Int64))}
	had, _, narrower := in(long, true)
	if want := []columns.Field{number("a"), typed("s", columns.Struct, number("x"))}; !reflect.DeepEqual(had, want) || !slices.Equal(narrower, []string{"a", "s.x"}) {
		t.Errorf("got %+v, %v, want %+v", had, narrower, want)
	}
	if had, _, narrower = in(long, false); !reflect.DeepEqual(had, []columns.Field(long)) || narrower != nil {
		t.Errorf("got %+v, %v, want them as they are", had, narrower)
	}
	for _, c := range []struct {
		table, row columns.Type
		want       bool
	}{
		{columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}, columns.Type{Kind: columns.Decimal, Precision: 10, Scale: 2}, true},
		{columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}, columns.Type{Kind: columns.Decimal, Precision: 10, Scale: 3}, false},
		{columns.Type{Kind: columns.Float32}, columns.Type{Kind: columns.Float64}, false}, // it would round
		{columns.Type{Kind: columns.Int64}, columns.Type{Kind: columns.Int32}, false},
	} {
		if got := lessRoom(c.table, c.row); got != c.want {
			t.Errorf("%v for %v: got %v, want %v", c.table, c.row, got, c.want)
		}
	}
}
