package lakesink

import (
	"reflect"
	"slices"
	"testing"

	"sluice/columns"
	"sluice/decode/ddl"
)

func TestWithinIsWhatTheTableHas(t *testing.T) {
	parse := func(text string) columns.Schema {
		schema, err := ddl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	table, err := icebergSchema(parse("a INT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: INT>>, only STRING, z INT"))
	if err != nil {
		t.Fatal(err)
	}
	rows := parse("b INT, a STRING, s STRUCT<w: INT, y: STRING>, l ARRAY<STRUCT<p: INT, r: INT>>, m MAP<STRING, STRUCT<n: INT, q: INT>>, z STRUCT<k: INT>")
	had, lacking := amid(tableFields(table.Fields()), rows, "")
	if want := parse("a STRING, s STRUCT<y: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: INT>>, z STRUCT<k: INT>"); !reflect.DeepEqual(columns.Schema(had), want) {
		t.Errorf("got %v, want %v", ddl.Format(had), ddl.Format(want))
	}
	if want := []string{"b", "s.w", "l.element.r", "m.value.n"}; !slices.Equal(lacking, want) {
		t.Errorf("got %v, want %v", lacking, want)
	}
	if had, lacking = amid(tableFields(table.Fields()), parse("s STRUCT<w: INT>"), ""); len(had) != 0 || !slices.Equal(lacking, []string{"s.w"}) {
		t.Errorf("got %v, %v", had, lacking)
	}
}
