package avro

import (
	"errors"
	"fmt"
	"slices"

	"sluice/columns"
	"sluice/decode/mapkeys"
)

// Options change how values are read. The zero value is the rules of the package comment.
type Options struct {
	// CutFractions drops what is finer than a microsecond, towards the past, where it would be malformed.
	CutFractions bool
}

// Compile makes a parser of records that were written with a schema, which fills columns by name. The error names the
// column that the schema cannot fill: one of another type, or a required one that the writer does not have.
func Compile(writer *Schema, to columns.Schema, o Options) (*Parser, error) {
	if len(to) == 0 {
		return nil, errors.New("avro: there are no columns to read into")
	}
	p, extra, err := compile(writer, columns.Field{Type: columns.Type{Kind: columns.Struct, Fields: to}, Required: true}, o)
	if err != nil {
		return nil, err
	}
	p.schema, p.spread = to, true
	if extra != nil {
		p.unknown = extra.Fields
	}
	return p, nil
}

// CompileValue makes a parser of values that were written with any schema, which fills a single column.
func CompileValue(writer *Schema, to columns.Field, o Options) (*Parser, error) {
	p, extra, err := compile(writer, to, o)
	if err != nil {
		return nil, err
	}
	p.schema = columns.Schema{to}
	if extra != nil {
		p.unknown = []columns.Field{{Name: to.Name, Type: *extra}}
	}
	return p, nil
}

func compile(writer *Schema, to columns.Field, o Options) (*Parser, *columns.Type, error) {
	r := resolver{cut: o.CutFractions, fitting: map[pair]bool{}}
	root, extra, err := r.value(writer.root, &to, to.Name)
	if err != nil {
		return nil, nil, err
	}
	root.name = to.Name
	return &Parser{root: []step{root}, least: writer.root.weigh().least, weight: to.Type.Weight()}, extra, nil
}

// resolver holds a writer's types against columns.
type resolver struct {
	cut bool
	// fitting are the answers of fits.
	fitting map[pair]bool
}

// value compiles how a value of n becomes one of column f. extra is what the writer has and the column lacks: a struct,
// list or map that holds only that, or nil.
func (r *resolver) value(n *node, f *columns.Field, path string) (s step, extra *columns.Type, err error) {
	if err := check(f, path); err != nil {
		return s, nil, err
	}
	switch {
	case n.kind == kindUnion:
		s, extra, err = r.union(n, f, path)
	case n.kind == kindNull && f.Required:
		return s, nil, fmt.Errorf("avro: %s is required, and the writer has only null", orRoot(path))
	case n.kind == kindNull:
		s.op = opNull
	case isMembers(f) && !(n.kind == kindRecord && sharesName(n, f)):
		s, extra, err = r.members([]*node{n}, f, path)
		s.bare = true
	case n.kind == kindRecord && f.Type.Kind == columns.Struct:
		s, extra, err = r.record(n, f, path)
	case n.kind == kindArray && f.Type.Kind == columns.List:
		s, extra, err = r.list(n, f, path)
	case n.kind == kindMap && f.Type.Kind == columns.Map:
		s, extra, err = r.mapping(n, f, path)
	default:
		s, err = r.scalar(n, f, path)
	}
	s.typ, s.required, s.weight = &f.Type, f.Required, f.Type.Weight()
	return s, extra, err
}

// check refuses columns that cannot be filled by anything.
func check(f *columns.Field, path string) error {
	t := &f.Type
	parts := map[columns.Kind]int{columns.List: 1, columns.Map: 2}[t.Kind]
	switch {
	case parts > 0 && len(t.Fields) != parts:
		return fmt.Errorf("avro: %s is a %s of %d types, not %d", orRoot(path), t.Kind, len(t.Fields), parts)
	case t.Kind == columns.Map && (t.Fields[0].Type.Kind != columns.String || !t.Fields[0].Required):
		return fmt.Errorf("avro: the key of %s must be a required string: Avro has no other", orRoot(path))
	case t.Kind == columns.Struct && len(t.Fields) == 0:
		return fmt.Errorf("avro: %s has no fields", orRoot(path))
	case t.Kind == columns.Decimal && (t.Precision < 1 || t.Precision > mostDigits || t.Scale < 0 || t.Scale > t.Precision):
		return fmt.Errorf("avro: %s cannot be decimal(%d,%d)", orRoot(path), t.Precision, t.Scale)
	case t.Kind < columns.Bool || t.Kind > columns.Struct:
		return fmt.Errorf("avro: %s: there are no values of %s", orRoot(path), t.Kind)
	}
	if t.Kind != columns.Struct {
		return nil
	}
	seen := map[string]bool{}
	for i := range t.Fields {
		if seen[t.Fields[i].Name] {
			return fmt.Errorf("avro: %s has two fields %s", orRoot(path), t.Fields[i].Name)
		}
		seen[t.Fields[i].Name] = true
	}
	return nil
}

// unfit is the error for a type that does not become the column's.
func unfit(n *node, f *columns.Field, path, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("avro: %s is %s, and the writer has %s%s", orRoot(path), typeName(&f.Type), n, why)
}

// typeName is how an error shows a type.
func typeName(t *columns.Type) string {
	switch t.Kind {
	case columns.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case columns.Fixed:
		return fmt.Sprintf("fixed(%d)", t.Width)
	}
	return t.Kind.String()
}

func (r *resolver) list(n *node, f *columns.Field, path string) (step, *columns.Type, error) {
	element, inner, err := r.value(n.item(), &f.Type.Fields[0], join(path, f.Type.Fields[0].Name))
	s := step{op: opList, steps: []step{element}, least: n.item().weigh().least}
	return s, within(f, 0, inner), err
}

func (r *resolver) mapping(n *node, f *columns.Field, path string) (step, *columns.Type, error) {
	value, inner, err := r.value(n.item(), &f.Type.Fields[1], join(path, f.Type.Fields[1].Name))
	value.column = 1
	s := step{op: opMap, steps: []step{value}, least: 1 + n.item().weigh().least, keys: mapkeys.New()}
	return s, within(f, 1, inner), err
}

// within is the type that holds only what is new in a list's element or a map's value, nil if nothing is.
func within(f *columns.Field, part int, inner *columns.Type) *columns.Type {
	if inner == nil {
		return nil
	}
	parts := slices.Clone(f.Type.Fields)
	parts[part].Type = *inner
	return &columns.Type{Kind: f.Type.Kind, Fields: parts}
}

// record compiles the fields of a record in the writer's order.
func (r *resolver) record(n *node, f *columns.Field, path string) (step, *columns.Type, error) {
	s := step{op: opRecord}
	found, err := matchFields(n, f, path)
	if err == nil && !n.weigh().void && slices.Max(found) < 0 {
		err = fmt.Errorf("avro: %s has no column for any field of %s: names count with their case", orRoot(path), n)
	}
	if err != nil {
		return s, nil, err
	}
	var extra []columns.Field
	filled := make([]bool, len(f.Type.Fields))
	for i, column := range found {
		w := &n.fields[i]
		if column < 0 {
			s.steps = append(s.steps, step{op: opSkip, skips: w.node, name: w.name})
			extra = append(extra, newField(w)...)
			continue
		}
		to := &f.Type.Fields[column]
		field, inner, err := r.value(w.node, to, join(path, to.Name))
		if err != nil {
			return s, nil, err
		}
		field.name, field.column = to.Name, int32(column)
		s.steps = append(s.steps, field)
		filled[column] = true
		if inner != nil {
			extra = append(extra, columns.Field{Name: to.Name, Type: *inner})
		}
	}
	if s.missing, err = missing(f, filled, path); err != nil {
		return s, nil, err
	}
	for _, m := range s.missing {
		s.missingWeight = min(s.missingWeight+f.Type.Fields[m].Type.Weight(), largest)
	}
	return s, structOf(extra), nil
}

func structOf(fields []columns.Field) *columns.Type {
	if len(fields) == 0 {
		return nil
	}
	return &columns.Type{Kind: columns.Struct, Fields: fields}
}

// missing lists the columns that the writer does not have.
func missing(f *columns.Field, filled []bool, path string) ([]int32, error) {
	var absent []int32
	for i := range f.Type.Fields {
		if filled[i] {
			continue
		}
		if column := &f.Type.Fields[i]; column.Required {
			return nil, fmt.Errorf("avro: %s is required, and the writer does not have it", orRoot(join(path, column.Name)))
		}
		absent = append(absent, int32(i))
	}
	return absent, nil
}

// newField is the column for a field that the table lacks, none if the field says nothing. What no column can hold has
// the zero Type.
func newField(w *field) []columns.Field {
	if w.node.weigh().void {
		return nil
	}
	m := mapper{left: mostColumns}
	t, required, err := m.typeOf(w.node, w.name)
	if err != nil {
		t = columns.Type{}
	}
	return []columns.Field{{Name: w.name, Type: t, Required: required, Doc: w.doc}}
}

// matchFields finds the column of each field, -1 for none: by name, else by an alias, a name that the field once had.
func matchFields(n *node, f *columns.Field, path string) ([]int, error) {
	index := map[string]int{}
	for i := range f.Type.Fields {
		index[f.Type.Fields[i].Name] = i
	}
	found, taken := make([]int, len(n.fields)), map[int]string{}
	for i := range n.fields {
		found[i] = -1
		if column, ok := index[n.fields[i].name]; ok {
			found[i], taken[column] = column, n.fields[i].name
		}
	}
	for i := range n.fields {
		w := &n.fields[i]
		for _, alias := range w.aliases {
			column, ok := index[alias]
			if found[i] >= 0 || !ok {
				continue
			}
			other, both := taken[column]
			if both && other == alias {
				continue
			}
			if both {
				return nil, fmt.Errorf("avro: %s is an old name of two fields, %s and %s", orRoot(join(path, alias)), other, w.name)
			}
			found[i], taken[column] = column, w.name
		}
	}
	return found, nil
}
