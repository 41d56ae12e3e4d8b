package thrift

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Kind is what a message is.
type Kind byte

// The kinds of messages.
const (
	Call      Kind = 1
	Reply     Kind = 2
	Exception Kind = 3
)

// Message is one message: a call with its arguments, or the reply with the result: field 0 is what a method returns, the
// others are what it throws. The body of an Exception has a message as field 1 and its type as field 2.
type Message struct {
	Kind   Kind
	Method string
	Seq    int32
	Body   Struct
}

// version begins a message of the strict form, which all servers of the last ten years write.
const version = 0x80010000

// Append is the message in its binary form behind b. A value of a type that Struct does not list is an error of the program.
func (m Message) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, version|uint32(m.Kind))
	b = appendText(b, m.Method)
	b = binary.BigEndian.AppendUint32(b, uint32(m.Seq))
	return appendStruct(b, m.Body)
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// appendStruct writes fields in the order of their numbers, so that a struct has one form.
func appendStruct(b []byte, s Struct) []byte {
	for _, field := range slices.Sorted(maps.Keys(s)) {
		value := s[field]
		if value == nil {
			continue
		}
		b = append(b, byte(typeOf(value)))
		b = binary.BigEndian.AppendUint16(b, uint16(field))
		b = appendValue(b, value)
	}
	return append(b, byte(Stop))
}

func typeOf(value any) Type {
	switch value.(type) {
	case bool:
		return Bool
	case int8:
		return Byte
	case float64:
		return Double
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case string:
		return Text
	case Struct:
		return Record
	case map[string]string, Map:
		return Mapped
	case Set:
		return SetOf
	case List:
		return ListOf
	}
	panic(fmt.Sprintf("thrift: no type for %T", value))
}

func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case int8:
		return append(b, byte(v))
	case float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	case int16:
		return binary.BigEndian.AppendUint16(b, uint16(v))
	case int32:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case int64:
		return binary.BigEndian.AppendUint64(b, uint64(v))
	case string:
		return appendText(b, v)
	case Struct:
		return appendStruct(b, v)
	case map[string]string:
		return appendTexts(b, v)
	case Map:
		return appendMap(b, v)
	case Set:
		return appendList(b, List(v))
	case List:
		return appendList(b, v)
	}
	panic(fmt.Sprintf("thrift: no form for %T", value))
}

func appendTexts(b []byte, texts map[string]string) []byte {
	b = append(b, byte(Text), byte(Text))
	b = binary.BigEndian.AppendUint32(b, uint32(len(texts)))
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		b = appendText(appendText(b, key), texts[key])
	}
	return b
}

func appendMap(b []byte, m Map) []byte {
	b = append(b, byte(m.Key), byte(m.Value))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Pairs)))
	for _, pair := range m.Pairs {
		b = appendValue(appendValue(b, pair[0]), pair[1])
	}
	return b
}

func appendList(b []byte, l List) []byte {
	b = append(b, byte(l.Of))
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.Items)))
	for _, item := range l.Items {
		b = appendValue(b, item)
	}
	return b
}
