// Package columns is the vocabulary of rows held by column, in Arrow's memory layout. It needs the standard library
// alone, so that a reader, a decoder, a table writer and an embedded engine can share memory without sharing code.
//
// What a producer hands out stays valid until the producer's next call: copy what must live longer.
package columns

import "fmt"

// Kind says what the values of a column are, and with that how Array holds them.
type Kind uint8

// The kinds. Beside each stands the field of Array that holds the values.
const (
	Bool        Kind = iota + 1 // Data, one bit a value, least significant first
	Int32                       // Int32s
	Int64                       // Int64s
	Float32                     // Float32s
	Float64                     // Float64s
	Decimal                     // Int64s, unscaled, up to 18 digits; above that Data, 16 bytes little-endian two's complement
	Date                        // Int32s, days since 1970-01-01
	Time                        // Int64s, microseconds since midnight
	Timestamp                   // Int64s, microseconds since 1970-01-01T00:00:00 of no zone
	TimestampTZ                 // Int64s, microseconds since 1970-01-01T00:00:00Z
	String                      // Offsets and Data, UTF-8
	Binary                      // Offsets and Data
	Fixed                       // Data, Type.Width bytes a value
	UUID                        // Data, 16 bytes a value
	List                        // Offsets into Children[0]
	Map                         // Offsets into Children[0], a Struct of key and value
	Struct                      // Children, one a field
)

var kindNames = [...]string{
	Bool: "boolean", Int32: "int", Int64: "long", Float32: "float", Float64: "double", Decimal: "decimal",
	Date: "date", Time: "time", Timestamp: "timestamp", TimestampTZ: "timestamptz", String: "string",
	Binary: "binary", Fixed: "fixed", UUID: "uuid", List: "list", Map: "map", Struct: "struct",
}

// String is the name that Iceberg gives the type.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Type is a column's type: a kind with what that kind needs.
type Type struct {
	Kind Kind
	// Precision and Scale are a Decimal's digits, all and behind the point.
	Precision, Scale int
	// Width is a Fixed's number of bytes.
	Width int
	// Fields are a Struct's fields, a Map's key and value, a List's element.
	Fields []Field
}

// Field is a named column of a schema or of a struct.
type Field struct {
	Name string
	Type Type
	// Required fields have no nulls.
	Required bool
	// Doc is what people are told of the column; nothing depends on it.
	Doc string
}

// Schema is the columns of a row in order.
type Schema []Field

// Weight is how many values of eight bytes a null of the type takes room for, at least 1.
func (t *Type) Weight() int {
	const largest = 1 << 30 // so that sums of weights cannot overflow
	switch t.Kind {
	case Struct:
		sum := 0
		for i := range t.Fields {
			sum = min(sum+t.Fields[i].Type.Weight(), largest)
		}
		return max(1, sum)
	case Fixed:
		return max(1, min(t.Width/8, largest))
	case UUID:
		return 2
	case Decimal:
		if t.Precision > WideDecimal {
			return 2
		}
	}
	return 1
}

// MarshalText is String: kinds are words where they are stored.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames) || kindNames[k] == "" {
		return nil, fmt.Errorf("columns: there is no kind %d", uint8(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads what MarshalText writes.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name != "" && name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("columns: there is no kind %q", text)
}
