package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/columns"
)

// Schema is a schema that was read, with those that it refers to.
type Schema struct {
	library *library
	root    *node
}

// Parse reads the text of a schema. references are the texts of others that it refers to, by the names that its $refs have
// for them: a name in full, or one that is relative to the schema's $id. A text that has an $id is found under that as well.
// Nothing is fetched. A reference that leads nowhere is an error once the columns are asked for.
func Parse(text string, references map[string]string) (*Schema, error) {
	l := &library{resources: map[string]*node{}, anchors: map[string]*node{}}
	doc, err := l.add("", "", text)
	if err != nil {
		return nil, fmt.Errorf("read the JSON Schema: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(references)) {
		uri, _, err := resolve(doc.root.base, name)
		if err == nil {
			_, err = l.add(name, uri, references[name])
		}
		if err != nil {
			return nil, fmt.Errorf("read the JSON Schema %s: %w", name, err)
		}
		if l.resources[name] == nil {
			l.resources[name] = l.resources[uri]
		}
	}
	return &Schema{library: l, root: doc.root}, nil
}

// Columns are those of a record of the schema, as decode/json reads them; the package comment has the rules. Every place
// that is no column is in the error, which is an *Error.
func (s *Schema) Columns() (columns.Schema, error) {
	schema, _, err := s.columns(false)
	return schema, err
}

// Lenient is Columns, but what has no type of its own, or several, becomes a STRING that needs the format json, so that it
// keeps the text of the value. formats are those, by path, as json.Options.Formats takes them.
func (s *Schema) Lenient() (schema columns.Schema, formats map[string]string, err error) {
	return s.columns(true)
}

func (s *Schema) columns(lenient bool) (columns.Schema, map[string]string, error) {
	m := newMapper(s.library, lenient)
	r := m.place([]*node{s.root}, "")
	if len(m.problems) == 0 && (r.unknown != "" || r.nothing || r.t.Kind != columns.Struct) {
		m.fail(s.root, "", "a record is an object with properties, which become columns%s", because(r))
	}
	if len(m.problems) > 0 {
		return nil, nil, &Error{m.problems}
	}
	formats := map[string]string{}
	m.keep(formats, r.t.Fields, "")
	return r.t.Fields, formats, nil
}

// keep copies the formats of columns that are in the schema: a place may have been given up after its parts were made.
func (m *mapper) keep(formats map[string]string, fields []columns.Field, parent string) {
	for _, f := range fields {
		path := strings.TrimPrefix(parent+"."+f.Name, ".")
		if format := m.formats[path]; format != "" && f.Type.Kind == columns.String {
			formats[path] = format
		}
		m.keep(formats, f.Type.Fields, path)
	}
}

func because(r result) string {
	switch {
	case r.unknown != "":
		return ": this " + r.unknown
	case r.nothing:
		return ", and this has none"
	}
	return fmt.Sprintf(", and this is a %s", r.t.Kind)
}

// Type is the type of one column for values of the schema, whatever they are, and whether they are never null.
func (s *Schema) Type() (t columns.Type, required bool, err error) {
	m := newMapper(s.library, false)
	r := m.place([]*node{s.root}, "")
	switch {
	case len(m.problems) > 0:
	case r.unknown != "":
		m.fail(s.root, "", "%s", r.unknown)
	case r.nothing:
		m.fail(s.root, "", "there is never a value")
	default:
		return r.t, !r.nullable, nil
	}
	return t, false, &Error{m.problems}
}
