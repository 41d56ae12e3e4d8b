package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go"

	"sluice/columns"
)

// icebergSchema is the table schema for rows of the given schema. Field ids are 1, 2, 3, … level by level; the catalog
// may give others, so they are read back from the table before anything is written.
func icebergSchema(schema columns.Schema) (*iceberg.Schema, error) {
	next := 0
	fields, err := icebergFields(schema, &next)
	if err != nil {
		return nil, err
	}
	return iceberg.NewSchema(0, fields...), nil
}

func icebergFields(schema []columns.Field, next *int) ([]iceberg.NestedField, error) {
	fields := make([]iceberg.NestedField, len(schema))
	for i, f := range schema {
		*next++
		fields[i] = iceberg.NestedField{ID: *next, Name: f.Name, Required: f.Required, Doc: f.Doc}
	}
	for i, f := range schema {
		t, err := icebergType(f.Type, next)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		fields[i].Type = t
	}
	return fields, nil
}

var primitives = map[columns.Kind]iceberg.Type{
	columns.Bool: iceberg.PrimitiveTypes.Bool, columns.Int32: iceberg.PrimitiveTypes.Int32, columns.Int64: iceberg.PrimitiveTypes.Int64,
	columns.Float32: iceberg.PrimitiveTypes.Float32, columns.Float64: iceberg.PrimitiveTypes.Float64, columns.Date: iceberg.PrimitiveTypes.Date,
	columns.Time: iceberg.PrimitiveTypes.Time, columns.Timestamp: iceberg.PrimitiveTypes.Timestamp, columns.TimestampTZ: iceberg.PrimitiveTypes.TimestampTz,
	columns.String: iceberg.PrimitiveTypes.String, columns.Binary: iceberg.PrimitiveTypes.Binary, columns.UUID: iceberg.PrimitiveTypes.UUID,
}

func icebergType(t columns.Type, next *int) (iceberg.Type, error) {
	if p, ok := primitives[t.Kind]; ok {
		return p, nil
	}
	switch t.Kind {
	case columns.Decimal:
		return iceberg.DecimalTypeOf(t.Precision, t.Scale), nil
	case columns.Fixed:
		return iceberg.FixedTypeOf(t.Width), nil
	case columns.List, columns.Map, columns.Struct:
		inner, err := icebergFields(t.Fields, next)
		if err != nil {
			return nil, err
		}
		return nestedType(t.Kind, inner)
	}
	return nil, fmt.Errorf("no table type for %s", t.Kind)
}

func nestedType(kind columns.Kind, inner []iceberg.NestedField) (iceberg.Type, error) {
	switch {
	case kind == columns.Struct:
		return &iceberg.StructType{FieldList: inner}, nil
	case kind == columns.List && len(inner) == 1:
		return &iceberg.ListType{ElementID: inner[0].ID, Element: inner[0].Type, ElementRequired: inner[0].Required}, nil
	case kind == columns.Map && len(inner) == 2:
		return &iceberg.MapType{KeyID: inner[0].ID, KeyType: inner[0].Type, ValueID: inner[1].ID, ValueType: inner[1].Type, ValueRequired: inner[1].Required}, nil
	}
	return nil, fmt.Errorf("a %s of %d fields", kind, len(inner))
}

// tableField is a column of a table, or a part of one, in our own words.
type tableField struct {
	name     string
	id       int
	required bool
	kind     columns.Type // without Fields
	children []tableField
	// foreign is the table's word for a type that we have none for.
	foreign string
}

func tableFields(fields []iceberg.NestedField) []tableField {
	out := make([]tableField, len(fields))
	for i, f := range fields {
		out[i] = newTableField(f.Name, f.ID, f.Required, f.Type)
	}
	return out
}

func newTableField(name string, id int, required bool, t iceberg.Type) tableField {
	f := tableField{name: name, id: id, required: required}
	switch t := t.(type) {
	case iceberg.DecimalType:
		f.kind = columns.Type{Kind: columns.Decimal, Precision: t.Precision(), Scale: t.Scale()}
	case iceberg.FixedType:
		f.kind = columns.Type{Kind: columns.Fixed, Width: t.Len()}
	case *iceberg.StructType:
		f.kind.Kind = columns.Struct
		f.children = tableFields(t.FieldList)
	case *iceberg.ListType:
		f.kind.Kind = columns.List
		f.children = []tableField{newTableField("element", t.ElementID, t.ElementRequired, t.Element)}
	case *iceberg.MapType:
		f.kind.Kind = columns.Map
		f.children = []tableField{newTableField("key", t.KeyID, true, t.KeyType), newTableField("value", t.ValueID, t.ValueRequired, t.ValueType)}
	default:
		for kind, p := range primitives {
			if p.Equals(t) {
				f.kind.Kind = kind
				return f
			}
		}
		f.foreign = t.String()
	}
	return f
}

// typeName is the table format's word for a type.
func typeName(t columns.Type) string {
	switch t.Kind {
	case columns.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case columns.Fixed:
		return fmt.Sprintf("fixed[%d]", t.Width)
	}
	return t.Kind.String()
}

func (f *tableField) typeName() string {
	if f.foreign != "" {
		return f.foreign
	}
	return typeName(f.kind)
}

// columnsOf is fields in the words of rows, without those that we have no word for.
func columnsOf(fields []tableField) []columns.Field {
	var out []columns.Field
	for i := range fields {
		f := &fields[i]
		if !f.writable() {
			continue
		}
		c := columns.Field{Name: f.name, Type: f.kind, Required: f.required}
		c.Type.Fields = columnsOf(f.children)
		out = append(out, c)
	}
	return out
}
