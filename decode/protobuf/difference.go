package protobuf

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
)

// difference is what Parser.Unknown lists.
func difference(m protoreflect.MessageDescriptor, to []columns.Field) []columns.Field {
	have := map[string]*columns.Field{}
	for i := range to {
		have[to[i].Name] = &to[i]
	}
	var new []columns.Field
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		column := have[string(fd.Name())]
		if column == nil {
			if t, err := typeOf(m, fd); err == nil {
				new = append(new, columns.Field{Name: string(fd.Name()), Type: t, Doc: comment(fd)})
			}
			continue
		}
		if t, ok := differenceInside(fd, &column.Type); ok {
			new = append(new, columns.Field{Name: column.Name, Type: t, Required: column.Required})
		}
	}
	return new
}

// typeOf is the type of a column for a field of m.
func typeOf(m protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) (columns.Type, error) {
	s := shaping{inside: []protoreflect.FullName{m.FullName()}}
	return s.field(fd, string(fd.Name()))
}

// unfit says whether no column can take a field of m.
func unfit(m protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) bool {
	_, err := typeOf(m, fd)
	return err != nil
}

// Absent are the paths of the columns that the message has no field for, so that they are null in every row.
func (p *Parser) Absent() []string { return p.root.absent() }

func (n *node) absent() (paths []string) {
	for i := range n.fields[:n.width] {
		switch f := &n.fields[i]; {
		case f.lacking:
			paths = append(paths, join(n.path, f.name))
		case f.node != nil && f.node.known == knownNot:
			paths = append(paths, f.node.absent()...)
		}
	}
	return paths
}

// differenceInside is a type that holds what is new inside of a column.
func differenceInside(fd protoreflect.FieldDescriptor, t *columns.Type) (columns.Type, bool) {
	switch {
	case fd.IsMap():
		value, ok := differenceInside(fd.MapValue(), &t.Fields[1].Type)
		return columns.Type{Kind: columns.Map, Fields: []columns.Field{t.Fields[0], {Name: t.Fields[1].Name, Type: value, Required: t.Fields[1].Required}}}, ok
	case t.Kind == columns.List:
		element := t.Fields[0]
		inner, ok := differenceOf(fd, &element.Type)
		return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: element.Name, Type: inner, Required: element.Required}}}, ok
	}
	return differenceOf(fd, t)
}

func differenceOf(fd protoreflect.FieldDescriptor, t *columns.Type) (columns.Type, bool) {
	if t.Kind != columns.Struct || fd.Message() == nil {
		return columns.Type{}, false
	}
	new := difference(fd.Message(), t.Fields)
	return columns.Type{Kind: columns.Struct, Fields: new}, len(new) > 0
}
