package avro

import (
	"errors"
	"fmt"

	"sluice/columns"
)

// Columns is the table's columns for a schema that is a record. Fields that say nothing, such as one of type null, have
// no column. A union of a record and null has the record's columns, and a union of several records has a column for
// each: member0, member1, …
func (s *Schema) Columns() (columns.Schema, error) {
	if n := s.root; n.kind != kindRecord && (n.kind != kindUnion || len(n.values()) == 0 || n.values()[0].kind != kindRecord) {
		return nil, fmt.Errorf("avro: the schema is %s, and only a record has columns", n)
	}
	m := mapper{left: mostColumns}
	t, _, err := m.typeOf(s.root, "")
	if err != nil {
		return nil, err
	}
	if t.Kind != columns.Struct {
		return nil, fmt.Errorf("avro: %s has no field that a table could have", s.root)
	}
	return t.Fields, nil
}

// Type is the type of a single column for any schema, and whether it is never null.
func (s *Schema) Type() (columns.Type, bool, error) {
	m := mapper{left: mostColumns}
	return m.typeOf(s.root, "")
}

// mostColumns bounds how many columns a schema gives: types that are referred to often multiply.
const mostColumns = 10_000

var errVoid = errors.New("its values say nothing, and a table has no column for that")

// mapper turns types into those of columns.
type mapper struct {
	// inside are the records that the type in hand is in.
	inside []*node
	left   int
}

func (m *mapper) typeOf(n *node, path string) (columns.Type, bool, error) {
	if m.left--; m.left < 0 {
		return columns.Type{}, false, fmt.Errorf("avro: the schema has more than %d columns", mostColumns)
	}
	if n.weigh().void {
		return columns.Type{}, false, fmt.Errorf("avro: %s is %s: %w", orRoot(path), n, errVoid)
	}
	switch n.kind {
	case kindRecord:
		t, err := m.record(n, path)
		return t, true, err
	case kindUnion:
		return m.union(n, path)
	case kindArray:
		element, err := m.field("element", n.item(), path)
		return columns.Type{Kind: columns.List, Fields: []columns.Field{element}}, true, err
	case kindMap:
		value, err := m.field("value", n.item(), path)
		key := columns.Field{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}
		return columns.Type{Kind: columns.Map, Fields: []columns.Field{key, value}}, true, err
	}
	t, err := n.scalar()
	if err != nil {
		return t, true, fmt.Errorf("avro: %s: %w", orRoot(path), err)
	}
	return t, true, nil
}

func orRoot(path string) string {
	if path == "" {
		return "the schema"
	}
	return "column " + path
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func (m *mapper) field(name string, n *node, path string) (columns.Field, error) {
	t, required, err := m.typeOf(n, join(path, name))
	return columns.Field{Name: name, Type: t, Required: required}, err
}

func (m *mapper) record(n *node, path string) (columns.Type, error) {
	for _, outer := range m.inside {
		if outer == n {
			return columns.Type{}, fmt.Errorf("avro: %s is %s, which contains itself: a table has no column of endless depth", orRoot(path), n)
		}
	}
	m.inside = append(m.inside, n)
	defer func() { m.inside = m.inside[:len(m.inside)-1] }()
	t := columns.Type{Kind: columns.Struct}
	for _, f := range n.fields {
		if f.node.weigh().void {
			continue
		}
		column, err := m.field(f.name, f.node, path)
		if err != nil {
			return t, err
		}
		column.Doc = f.doc
		t.Fields = append(t.Fields, column)
	}
	return t, nil
}

// union maps as Spark does: null makes what is left optional; int and long together are long, float and double are
// double; anything else is a struct with a member for each type that is not null, of which one is set.
func (m *mapper) union(n *node, path string) (columns.Type, bool, error) {
	values := n.values()
	required := len(values) == len(n.branches)
	if one := single(values); one != nil {
		t, inner, err := m.typeOf(one, path)
		return t, required && inner, err
	}
	t := columns.Type{Kind: columns.Struct}
	for i, v := range values {
		if v.weigh().void {
			continue
		}
		member, err := m.field(memberName(i), v, path)
		if err != nil {
			return t, required, err
		}
		member.Required = false
		t.Fields = append(t.Fields, member)
	}
	return t, required, nil
}

func memberName(i int) string { return fmt.Sprintf("member%d", i) }

// single is the type that stands for all values of a union, nil if there is none.
func single(values []*node) *node {
	if len(values) == 1 {
		return values[0]
	}
	if len(values) != 2 || values[0].logical != "" || values[1].logical != "" {
		return nil
	}
	narrow, wide := values[0], values[1]
	if narrow.kind > wide.kind {
		narrow, wide = wide, narrow
	}
	if narrow.kind == kindInt && wide.kind == kindLong || narrow.kind == kindFloat && wide.kind == kindDouble {
		return wide
	}
	return nil
}

// scalars are the types without a choice.
var scalars = map[kind]columns.Kind{
	kindBoolean: columns.Bool, kindInt: columns.Int32, kindLong: columns.Int64, kindFloat: columns.Float32, kindDouble: columns.Float64,
	kindBytes: columns.Binary, kindString: columns.String, kindEnum: columns.String, kindFixed: columns.Fixed,
}

// logicals are the columns of logical types.
var logicals = map[string]columns.Kind{
	date: columns.Date, timeMillis: columns.Time, timeMicros: columns.Time, uuid: columns.UUID,
	timestampMillis: columns.TimestampTZ, timestampMicros: columns.TimestampTZ, timestampNanos: columns.TimestampTZ,
	localTimestampMillis: columns.Timestamp, localTimestampMicros: columns.Timestamp, localTimestampNanos: columns.Timestamp,
}

// mostDigits is how many digits a table's decimal may have. Kafka Connect says 64 of every decimal whose digits it does not
// know, so that more is no reason to refuse a schema: a value that has more is malformed.
const mostDigits = 38

func (n *node) scalar() (columns.Type, error) {
	if n.logical == decimal {
		if n.scale > mostDigits {
			return columns.Type{}, fmt.Errorf("%s has more digits than the %d that a table's decimal may have", n, mostDigits)
		}
		return columns.Type{Kind: columns.Decimal, Precision: min(n.precision, mostDigits), Scale: n.scale}, nil
	}
	if k, ok := logicals[n.logical]; ok {
		return columns.Type{Kind: k}, nil
	}
	t := columns.Type{Kind: scalars[n.kind]}
	if n.kind == kindFixed {
		t.Width = n.width
	}
	return t, nil
}
