package jsonschema

import (
	"fmt"
	"slices"
	"strings"

	"sluice/columns"
)

// unite is what holds values of either result. What no column holds is a problem of the schema at.
func (m *mapper) unite(at *node, a, b result, path string) result {
	before := m.uniting
	defer func() { m.uniting = before }()
	m.uniting = at
	switch {
	case a.unknown != "":
		return a
	case b.unknown != "":
		return b
	case a.nothing && b.nothing:
		return result{nothing: true, nullable: a.nullable || b.nullable}
	case a.nothing:
		b.nullable = b.nullable || a.nullable
		return b
	case b.nothing:
		a.nullable = a.nullable || b.nullable
		return a
	}
	t, ok := m.uniteTypes(a.t, b.t, path)
	if !ok {
		return result{unknown: fmt.Sprintf("has values of several types: %s and %s", a.t.Kind, b.t.Kind)}
	}
	return result{t: t, nullable: a.nullable || b.nullable}
}

// uniteTypes is a type that holds the values of both, read from JSON: numbers of more digits, STRING for all that is written
// as text, a struct of the fields of both.
func (m *mapper) uniteTypes(a, b columns.Type, path string) (columns.Type, bool) {
	switch {
	case isText(a.Kind) && isText(b.Kind):
		if a.Kind == b.Kind {
			return a, true
		}
		return columns.Type{Kind: columns.String}, true
	case a.Kind == columns.Decimal || b.Kind == columns.Decimal:
		return uniteDecimals(a, b)
	case numberRank(a.Kind) > 0 && numberRank(b.Kind) > 0:
		if numberRank(a.Kind) < numberRank(b.Kind) {
			a, b = b, a
		}
		if a.Kind == columns.Float32 && b.Kind != columns.Float32 { // an integer may have more digits
			a.Kind = columns.Float64
		}
		return a, true
	case a.Kind != b.Kind:
		return a, false
	case a.Kind == columns.Struct:
		return columns.Type{Kind: columns.Struct, Fields: m.uniteFields(a.Fields, b.Fields, path)}, true
	case a.Kind == columns.List || a.Kind == columns.Map:
		return columns.Type{Kind: a.Kind, Fields: m.uniteFields(a.Fields, b.Fields, path)}, true
	}
	return a, true
}

func isText(kind columns.Kind) bool {
	switch kind {
	case columns.String, columns.TimestampTZ, columns.Date, columns.UUID, columns.Binary:
		return true
	}
	return false
}

func numberRank(kind columns.Kind) int {
	return 1 + slices.Index([]columns.Kind{columns.Int32, columns.Int64, columns.Float32, columns.Float64}, kind)
}

// uniteDecimals holds both sides of the point; integers have 10 or 19 digits. There is none for more than 38 digits, nor for
// floating point.
func uniteDecimals(a, b columns.Type) (columns.Type, bool) {
	wholeA, scaleA, okA := digits(a)
	wholeB, scaleB, okB := digits(b)
	t := columns.Type{Kind: columns.Decimal, Scale: max(scaleA, scaleB)}
	t.Precision = max(wholeA, wholeB) + t.Scale
	return t, okA && okB && t.Precision <= maxDigits
}

func digits(t columns.Type) (whole, scale int, ok bool) {
	switch t.Kind {
	case columns.Decimal:
		return t.Precision - t.Scale, t.Scale, true
	case columns.Int32:
		return 10, 0, true
	case columns.Int64:
		return 19, 0, true
	}
	return 0, 0, false
}

// uniteFields has the fields of both; one that only one has, or that only one requires, is optional.
func (m *mapper) uniteFields(a, b []columns.Field, path string) []columns.Field {
	if m.compared += len(a)*len(b) + len(a); m.compared > mostCompared {
		m.work = mostWork + 1 // which is told where the level ends
		return a
	}
	fields := slices.Clone(a)
	for i := range fields {
		f := &fields[i]
		at := slices.IndexFunc(b, func(g columns.Field) bool { return g.Name == f.Name })
		if at < 0 {
			f.Required = false
			continue
		}
		f.Required = f.Required && b[at].Required
		inner := strings.TrimPrefix(path+"."+f.Name, ".")
		t, ok := m.uniteTypes(f.Type, b[at].Type, inner)
		if !ok {
			t = m.clash(f.Type, b[at].Type, inner)
		}
		f.Type = t
	}
	for _, f := range b {
		switch at := slices.IndexFunc(fields, func(g columns.Field) bool { return strings.EqualFold(g.Name, f.Name) }); {
		case at < 0:
			f.Required = false
			fields = append(fields, f)
		case fields[at].Name != f.Name:
			m.fail(m.uniting, strings.TrimPrefix(path+"."+f.Name, "."), "%s", byCase(fields[at].Name, f.Name))
		}
	}
	return fields
}

// clash is a field that alternatives have with types that no column holds.
func (m *mapper) clash(a, b columns.Type, path string) columns.Type {
	if m.lenient {
		m.formats[path] = "json"
	} else {
		m.fail(m.uniting, path, "has values of several types, %s and %s%s", a.Kind, b.Kind, asText(path))
	}
	return columns.Type{Kind: columns.String}
}

// asText is what to do about a place that is no column.
func asText(path string) string {
	return fmt.Sprintf("; in value.schema make it a STRING, and value.json.columnFormats.%s=json keeps the text of its values", safe(path))
}
