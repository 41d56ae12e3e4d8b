package protobuf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
)

// known says which of Google's messages that mean one value a message is.
type known uint8

const (
	knownNot known = iota
	knownTimestamp
	knownDuration
	knownWrapper
	knownJSON
	// knownEmpty is any message without fields.
	knownEmpty
	// The others are messages of their own fields unless the column is of the value's type.
	knownDate
	knownTimeOfDay
	knownDecimal
)

func knownOf(m protoreflect.MessageDescriptor) known {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return knownTimestamp
	case "google.protobuf.Duration":
		return knownDuration
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return knownJSON
	case "google.protobuf.BoolValue", "google.protobuf.Int32Value", "google.protobuf.Int64Value", "google.protobuf.UInt32Value", "google.protobuf.UInt64Value",
		"google.protobuf.FloatValue", "google.protobuf.DoubleValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		if m.Fields().ByNumber(1) != nil {
			return knownWrapper
		}
	}
	if m.Fields().Len() == 0 {
		return knownEmpty
	}
	return knownNot
}

// The decimals: every uint64, and every Duration in seconds.
const (
	unsignedDigits = 20
	durationDigits = 21
	durationScale  = 9
)

// maxColumns bounds the columns of a message, those inside of others counted: messages that hold each other twice and
// more, level after level, need few lines for very many.
const maxColumns = 10000

// Columns are the columns that a table for the message has. All are optional, so that a field can be taken from the
// message later; elements of lists and values of maps, which Protobuf knows no nulls for, are required. A message that
// holds itself has no columns and is an error, unless without has the path of the field that closes the circle, such as
// node.children; these fields are left out.
func (m *Message) Columns(without ...string) (columns.Schema, error) {
	s := shaping{without: without}
	fields, err := s.fields(m.descriptor, "")
	if err != nil {
		return nil, err
	}
	for _, path := range without {
		if !slices.Contains(s.left, path) {
			return nil, fmt.Errorf("protobuf: %s has no field %s to leave out", m.Name(), path)
		}
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("protobuf: %s has no fields, which makes no columns", m.Name())
	}
	return fields, nil
}

// shaping finds the columns of a message.
type shaping struct {
	without []string
	// left are the paths of without that were met.
	left []string
	// inside are the messages around the one at hand.
	inside []protoreflect.FullName
	count  int
}

// errRecursive is the cause where a message holds itself.
var errRecursive = errors.New("a message that holds itself has no columns")

func (s *shaping) fields(m protoreflect.MessageDescriptor, path string) (columns.Schema, error) {
	s.inside = append(s.inside, m.FullName())
	defer func() { s.inside = s.inside[:len(s.inside)-1] }()
	var schema columns.Schema
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		inner := join(path, string(fd.Name()))
		if slices.Contains(s.without, inner) {
			s.left = append(s.left, inner)
			continue
		}
		t, err := s.field(fd, inner)
		if err != nil {
			return nil, err
		}
		schema = append(schema, columns.Field{Name: string(fd.Name()), Type: t, Doc: comment(fd)})
	}
	return schema, nil
}

// comment is what stands above a field in its file, in one line.
func comment(fd protoreflect.FieldDescriptor) string {
	return strings.Join(strings.Fields(fd.ParentFile().SourceLocations().ByDescriptor(fd).LeadingComments), " ")
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func (s *shaping) field(fd protoreflect.FieldDescriptor, path string) (columns.Type, error) {
	part := func(name string, fd protoreflect.FieldDescriptor) (columns.Field, error) {
		t, err := s.value(fd, path+"."+name)
		return columns.Field{Name: name, Type: t, Required: true}, err
	}
	switch {
	case fd.IsMap():
		key, err := part("key", fd.MapKey())
		if err != nil {
			return columns.Type{}, err
		}
		value, err := part("value", fd.MapValue())
		return columns.Type{Kind: columns.Map, Fields: []columns.Field{key, value}}, err
	case fd.IsList():
		element, err := part("element", fd)
		return columns.Type{Kind: columns.List, Fields: []columns.Field{element}}, err
	}
	return s.value(fd, path)
}

// value is the type of a field without regard to its being repeated.
func (s *shaping) value(fd protoreflect.FieldDescriptor, path string) (columns.Type, error) {
	if s.count++; s.count > maxColumns {
		return columns.Type{}, fmt.Errorf("protobuf: the message has more than %d columns, those inside of others counted", maxColumns)
	}
	m := fd.Message()
	if m == nil {
		return scalarType(fd.Kind()), nil
	}
	switch knownOf(m) {
	case knownTimestamp:
		return columns.Type{Kind: columns.TimestampTZ}, nil
	case knownDuration:
		return columns.Type{Kind: columns.Decimal, Precision: durationDigits, Scale: durationScale}, nil
	case knownWrapper:
		return scalarType(m.Fields().ByNumber(1).Kind()), nil
	case knownJSON:
		return columns.Type{Kind: columns.String}, nil
	case knownEmpty:
		return columns.Type{Kind: columns.Bool}, nil
	}
	if slices.Contains(s.inside, m.FullName()) {
		return columns.Type{}, fmt.Errorf("protobuf: %s holds a %s inside of itself, at %s: %w", m.FullName(), m.Name(), path, errRecursive)
	}
	fields, err := s.fields(m, path)
	if err == nil && len(fields) == 0 {
		err = fmt.Errorf("protobuf: of %s all fields are left out: leave out %s instead", path, path)
	}
	return columns.Type{Kind: columns.Struct, Fields: fields}, err
}

func scalarType(k protoreflect.Kind) columns.Type {
	switch k {
	case protoreflect.BoolKind:
		return columns.Type{Kind: columns.Bool}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return columns.Type{Kind: columns.Int32}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return columns.Type{Kind: columns.Int64}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return columns.Type{Kind: columns.Decimal, Precision: unsignedDigits}
	case protoreflect.FloatKind:
		return columns.Type{Kind: columns.Float32}
	case protoreflect.DoubleKind:
		return columns.Type{Kind: columns.Float64}
	case protoreflect.BytesKind:
		return columns.Type{Kind: columns.Binary}
	}
	return columns.Type{Kind: columns.String}
}
