package decode

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
)

// AddColumn is the word of value.onUnknownField with which tables are altered.
const AddColumn = "addColumn"

// MostColumns is how many columns, those inside of others counted, a schema may come to have through unknown fields.
const MostColumns = 1000

// Widen adds columns to the schema of value, at its end or at the end of the struct that they are in: those of by that it
// lacks. What it has stays as it is, of whatever type by has it. None is required; names that differ by case only from
// one that is there, those of the columns about the record, and types that the format cannot read are left out.
//
// by are a table's columns, or what batch.Fields makes of unknown fields. The same arguments give the same schema.
func Widen(value batch.Value, by []columns.Field) (batch.Value, error) {
	schema, err := ddl.Parse(value.Schema)
	if err != nil {
		return value, fmt.Errorf("the schema of the plan: %w", err)
	}
	by = slices.DeleteFunc(slices.Clone(by), func(f columns.Field) bool { return strings.HasPrefix(strings.ToLower(f.Name), "kafka_") })
	wider, added := union(schema, by, value.Format)
	if added == 0 {
		return value, nil
	}
	value.Schema = ddl.Format(wider)
	return value, nil
}

// Bounded is a BadRecords fault if value has more columns than unknown fields may bring it to, or two columns of one path.
func Bounded(value batch.Value) error {
	schema, err := ddl.Parse(value.Schema)
	if err != nil {
		return err
	}
	if n := count(schema); n > MostColumns {
		return &batch.Fault{Class: batch.BadRecords,
			Message: fmt.Sprintf("with the unknown fields of this batch the rows would have %d columns, those inside of others counted, and unknown fields may bring them to %d", n, MostColumns),
			Hint:    "declare objects whose names are no columns as MAP in value.schema, or set value.onUnknownField to ignore or deadLetter; nothing of the batch is in the table, and the next run finishes it"}
	}
	if path := met(schema, "", map[string]bool{}); path != "" {
		return &batch.Fault{Class: batch.BadRecords,
			Message: fmt.Sprintf("with the unknown fields of this batch two columns would have the path %s: names with dots meet those of columns inside of others, and no table can tell the two", path),
			Hint:    "set value.onUnknownField to ignore or deadLetter; nothing of the batch is in the table, and the next run finishes it"}
	}
	return nil
}

// met is the first path that two of the fields have, those inside of others among them; empty if there is none.
func met(fields []columns.Field, prefix string, seen map[string]bool) string {
	for i := range fields {
		path := prefix + fields[i].Name
		if seen[path] {
			return path
		}
		seen[path] = true
		if below := met(fields[i].Type.Fields, path+".", seen); below != "" {
			return below
		}
	}
	return ""
}

func count(fields []columns.Field) int {
	n := len(fields)
	for i := range fields {
		n += count(fields[i].Type.Fields)
	}
	return n
}

// union is fields and those of by that they lack, and how many those are.
func union(fields, by []columns.Field, format string) (all []columns.Field, added int) {
	all = slices.Clone(fields)
	for _, f := range by {
		at := slices.IndexFunc(all, func(g columns.Field) bool {
			return batch.SameButCase(g.Name, f.Name)
		})
		switch {
		case at < 0 && !f.Required && readable(f, format):
			f.Doc = ""
			all = append(all, f)
			added++
		case at >= 0 && all[at].Name == f.Name && all[at].Type.Kind == f.Type.Kind && len(f.Type.Fields) > 0:
			t, n := within(all[at].Type, f.Type, format)
			all[at].Type = t
			added += n
		}
	}
	return all, added
}

// within is a struct, list or map with what by has inside and it lacks.
func within(t, by columns.Type, format string) (columns.Type, int) {
	if t.Kind == columns.Struct {
		fields, added := union(t.Fields, by.Fields, format)
		t.Fields = fields
		return t, added
	}
	added := 0
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		part, n := slices.IndexFunc(by.Fields, func(f columns.Field) bool { return f.Name == t.Fields[i].Name }), 0
		if part < 0 || t.Fields[i].Type.Kind != by.Fields[part].Type.Kind || len(by.Fields[part].Type.Fields) == 0 {
			continue
		}
		t.Fields[i].Type, n = within(t.Fields[i].Type, by.Fields[part].Type, format)
		added += n
	}
	return t, added
}

// readable says whether the format can read the column, and a plan carry it.
func readable(f columns.Field, format string) bool {
	schema := columns.Schema{f}
	if _, err := json.Compile(schema, json.Options{}); err != nil && format == FormatJSON {
		return false
	}
	again, err := ddl.Parse(ddl.Format(schema))
	return err == nil && len(again) == 1 && again[0].Name == f.Name
}
