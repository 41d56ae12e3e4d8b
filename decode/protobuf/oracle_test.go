package protobuf_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"sluice/lakesink/rowtest"
)

// The oracle reads records with google.golang.org/protobuf: the library's dynamic message becomes the values that the
// columns should have. What sluice refuses and the library does not is looked for before, in the bytes.

var errMalformed = errors.New("malformed")

// oracle reads a record of a message into the columns that Message.Columns gives.
func oracle(m protoreflect.MessageDescriptor, value []byte) ([]any, error) {
	// The library panics at a map's key of another wire type: the strict look comes first.
	if err := strict(m, value); err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(m)
	if err := (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(value, message); err != nil {
		return nil, err
	}
	return oracleFields(message)
}

func oracleFields(m protoreflect.Message) ([]any, error) {
	var row []any
	for _, fd := range inOrder(m.Descriptor()) {
		v, err := oracleField(m, fd)
		if err != nil {
			return nil, err
		}
		row = append(row, v)
	}
	return row, nil
}

func inOrder(m protoreflect.MessageDescriptor) (fields []protoreflect.FieldDescriptor) {
	for i := range m.Fields().Len() {
		fields = append(fields, m.Fields().Get(i))
	}
	return fields
}

func oracleField(m protoreflect.Message, fd protoreflect.FieldDescriptor) (any, error) {
	switch {
	case fd.IsMap():
		return oracleMap(m, fd)
	case fd.IsList():
		list, elements := m.Get(fd).List(), []any{}
		for i := range list.Len() {
			v, err := oracleValue(fd, list.Get(i))
			if err != nil {
				return nil, err
			}
			elements = append(elements, v)
		}
		return elements, nil
	case m.Has(fd) || !fd.HasPresence():
		return oracleValue(fd, m.Get(fd))
	case fd.HasDefault() && (fd.ContainingOneof() == nil || fd.ContainingOneof().IsSynthetic()):
		return oracleValue(fd, fd.Default())
	}
	return nil, nil
}

// oracleMap has the entries by key: the library does not keep their order.
func oracleMap(m protoreflect.Message, fd protoreflect.FieldDescriptor) (any, error) {
	entries, failed := []rowtest.Entry{}, error(nil)
	m.Get(fd).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		key, err := oracleValue(fd.MapKey(), k.Value())
		value, err2 := oracleValue(fd.MapValue(), v)
		failed = cmp.Or(failed, err, err2)
		entries = append(entries, rowtest.Entry{Key: key, Value: value})
		return true
	})
	return sorted(entries), failed
}

// sorted puts the entries of every map in a value into the order of their keys.
func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = sorted(v[i])
		}
	case []rowtest.Entry:
		for i := range v {
			v[i].Value = sorted(v[i].Value)
		}
		slices.SortFunc(v, func(a, b rowtest.Entry) int { return cmp.Compare(rowtest.Text(a.Key), rowtest.Text(b.Key)) })
	}
	return v
}

func oracleValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return v.Bool(), nil
	case protoreflect.EnumKind:
		if name := fd.Enum().Values().ByNumber(v.Enum()); name != nil {
			return string(name.Name()), nil
		}
		return strconv.Itoa(int(v.Enum())), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return int32(v.Int()), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return v.Int(), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return int64(v.Uint()), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return new(big.Int).SetUint64(v.Uint()), nil
	case protoreflect.FloatKind:
		return float32(v.Float()), nil
	case protoreflect.DoubleKind:
		return v.Float(), nil
	case protoreflect.StringKind:
		if !utf8.ValidString(v.String()) {
			return nil, errMalformed
		}
		return v.String(), nil
	case protoreflect.BytesKind:
		return append([]byte{}, v.Bytes()...), nil
	}
	return oracleMessage(v.Message())
}

func oracleMessage(m protoreflect.Message) (any, error) {
	number := func(n protoreflect.FieldNumber) int64 { return m.Get(m.Descriptor().Fields().ByNumber(n)).Int() }
	switch name := m.Descriptor().FullName(); name {
	case "google.protobuf.Timestamp":
		seconds, nanos := number(1), number(2)
		if seconds < -62135596800 || seconds > 253402300799 || nanos < 0 || nanos > 999999999 || nanos%1000 != 0 {
			return nil, errMalformed
		}
		return seconds*1e6 + nanos/1000, nil
	case "google.protobuf.Duration":
		seconds, nanos := number(1), number(2)
		if max(seconds, -seconds) > 315576000000 || seconds == math.MinInt64 || max(nanos, -nanos) > 999999999 || seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
			return nil, errMalformed
		}
		total := big.NewInt(seconds)
		return total.Mul(total, big.NewInt(1e9)).Add(total, big.NewInt(nanos)), nil
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return oracleDocument(m)
	}
	if m.Descriptor().Fields().Len() == 0 {
		return true, nil
	}
	if name := m.Descriptor().FullName(); name.Parent() == "google.protobuf" && m.Descriptor().Fields().Len() == 1 && name.Name() != "FieldMask" {
		return oracleField(m, m.Descriptor().Fields().Get(0)) // wrappers
	}
	row, err := oracleFields(m)
	return row, err
}

// oracleDocument is the JSON of a document. The library has none for a Value that is not set, anywhere inside.
func oracleDocument(m protoreflect.Message) (any, error) {
	wire, err := proto.Marshal(m.Interface())
	if err != nil {
		return nil, err
	}
	var known proto.Message
	switch m.Descriptor().Name() {
	case "Struct":
		s := &structpb.Struct{}
		known, err = s, proto.Unmarshal(wire, s)
		fill(structpb.NewStructValue(s))
	case "ListValue":
		l := &structpb.ListValue{}
		known, err = l, proto.Unmarshal(wire, l)
		fill(structpb.NewListValue(l))
	default:
		v := &structpb.Value{}
		known, err = v, proto.Unmarshal(wire, v)
		fill(v)
	}
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(known)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = stdjson.Compact(&out, text)
	return out.String(), err
}

// fill makes nulls of values that are not set.
func fill(v *structpb.Value) {
	switch k := v.Kind.(type) {
	case nil:
		v.Kind = &structpb.Value_NullValue{}
	case *structpb.Value_StructValue:
		for _, inner := range k.StructValue.GetFields() {
			fill(inner)
		}
	case *structpb.Value_ListValue:
		for _, inner := range k.ListValue.GetValues() {
			fill(inner)
		}
	}
}

// strict looks through a record for what the library overlooks: a known number with another wire type, and numbers that its
// type does not have.
func strict(m protoreflect.MessageDescriptor, value []byte) error {
	for len(value) > 0 {
		number, wire, n := protowire.ConsumeTag(value)
		if n < 0 {
			return errMalformed
		}
		size := protowire.ConsumeFieldValue(number, wire, value[n:])
		if size < 0 {
			return errMalformed
		}
		body := value[n : n+size]
		value = value[n+size:]
		if fd := m.Fields().ByNumber(number); fd != nil {
			if err := strictField(fd, wire, body); err != nil {
				return fmt.Errorf("%s: %w", fd.FullName(), err)
			}
		}
	}
	return nil
}

func wireOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

func strictField(fd protoreflect.FieldDescriptor, wire protowire.Type, body []byte) error {
	want := wireOf(fd.Kind())
	if wire == protowire.BytesType && fd.IsList() && want != protowire.BytesType && want != protowire.StartGroupType {
		packed, _ := protowire.ConsumeBytes(body)
		for len(packed) > 0 {
			n := protowire.ConsumeFieldValue(1, want, packed)
			if n < 0 {
				return errMalformed
			}
			if err := strictNumber(fd, packed[:n]); err != nil {
				return err
			}
			packed = packed[n:]
		}
		return nil
	}
	switch {
	case wire != want:
		return errMalformed
	case wire == protowire.VarintType:
		return strictNumber(fd, body)
	case fd.Kind() == protoreflect.StringKind:
		if text, _ := protowire.ConsumeBytes(body); !utf8.Valid(text) {
			return errMalformed
		}
		return nil
	case fd.FullName() == "google.protobuf.Value.number_value":
		if v := math.Float64frombits(binary.LittleEndian.Uint64(body)); math.IsNaN(v) || math.IsInf(v, 0) {
			return errMalformed
		}
		return nil
	case fd.Message() == nil:
		return nil
	}
	inner, _ := protowire.ConsumeBytes(body)
	if wire == protowire.StartGroupType {
		inner, _ = protowire.ConsumeGroup(fd.Number(), body)
	}
	if err := strict(fd.Message(), inner); err != nil || !fd.IsMap() && !fd.IsList() {
		return err
	}
	// Every element and every entry is looked at, also an entry that another of the same key replaces, and those of a message
	// that another member of a oneof clears.
	whole := dynamicpb.NewMessage(fd.Message())
	if err := proto.Unmarshal(inner, whole); err != nil {
		return err
	}
	var err error
	if fd.IsMap() {
		_, err = oracleValue(fd.MapValue(), whole.Get(fd.MapValue()))
	} else {
		_, err = oracleMessage(whole)
	}
	return err
}

func strictNumber(fd protoreflect.FieldDescriptor, body []byte) error {
	if wireOf(fd.Kind()) != protowire.VarintType {
		return nil
	}
	v, _ := binary.Uvarint(body)
	ok := true
	switch fd.Kind() {
	case protoreflect.BoolKind:
		ok = v <= 1
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		ok = int64(v) == int64(int32(v))
	case protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		ok = v <= math.MaxUint32
	}
	if !ok {
		return errMalformed
	}
	return nil
}
