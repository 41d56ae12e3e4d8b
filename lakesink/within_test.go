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
	had, lacking := amid(tableFields(table.Fields()), rows, "")
	want := []columns.Field{typed("a", columns.String), typed("s", columns.Struct, typed("y", columns.String)), listOf("l", number("p")), mapOf("m", number("q")), typed("z", columns.Struct, number("k"))}
	if !reflect.DeepEqual(had, want) {
		t.Errorf("got %+v, want %+v", had, want)
	}
	if want := []string{"b", "s.w", "l.element.r", "m.value.n"}; !slices.Equal(lacking, want) {
		t.Errorf("got %v, want %v", lacking, want)
	}
	if had, lacking = amid(tableFields(table.Fields()), columns.Schema{typed("s", columns.Struct, number("w"))}, ""); len(had) != 0 || !slices.Equal(lacking, []string{"s.w"}) {
		t.Errorf("got %v, %v", had, lacking)
	}
}
