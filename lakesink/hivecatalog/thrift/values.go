// Package thrift writes and reads messages of Apache Thrift's binary protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md) as trees of values, without the
// declarations that code is generated from: a struct is a map of its fields by their numbers. What a peer has more than is
// known here survives being read and written back, which it does not in generated code: a table of a newer Hive metastore
// must not lose fields by being altered.
package thrift

// Struct is a struct, or the arguments or the result of a call: its fields by number. Values are bool, int8, int16, int32
// (enumerations too), int64, float64, string (also for binary), Struct, List, Set, map[string]string and Map.
type Struct map[int16]any

// List is a list. Its items are of one type; an empty one is of the type that it says.
type List struct {
	Of    Type
	Items []any
}

// Set is a set, in the order of the wire.
type Set List

// Map is a map with other keys or values than strings, in the order of the wire.
type Map struct {
	Key, Value Type
	Pairs      [][2]any
}

// Type is a type on the wire.
type Type byte

// The types of the protocol.
const (
	Stop   Type = 0
	Bool   Type = 2
	Byte   Type = 3
	Double Type = 4
	I16    Type = 6
	I32    Type = 8
	I64    Type = 10
	Text   Type = 11
	Record Type = 12
	Mapped Type = 13
	SetOf  Type = 14
	ListOf Type = 15
)

// Strings is a list of strings.
func Strings(all ...string) List {
	items := make([]any, len(all))
	for i, s := range all {
		items[i] = s
	}
	return List{Of: Text, Items: items}
}

// Structs is a list of structs.
func Structs(all ...Struct) List {
	items := make([]any, len(all))
	for i, s := range all {
		items[i] = s
	}
	return List{Of: Record, Items: items}
}

// Text is a field that is a string, empty if it is not there.
func (s Struct) Text(field int16) string {
	text, _ := s[field].(string)
	return text
}

// Long is a field that is a number, 0 if it is not there.
func (s Struct) Long(field int16) int64 {
	switch n := s[field].(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	}
	return 0
}

// Struct is a field that is a struct, nil if it is not there.
func (s Struct) Struct(field int16) Struct {
	inner, _ := s[field].(Struct)
	return inner
}

// Texts is a field that is a map of strings, nil if it is not there.
func (s Struct) Texts(field int16) map[string]string {
	texts, _ := s[field].(map[string]string)
	return texts
}

// List is a field that is a list, empty if it is not there.
func (s Struct) List(field int16) []any {
	list, _ := s[field].(List)
	return list.Items
}
