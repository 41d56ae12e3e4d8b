package protobuf

import (
	"math"
	"math/bits"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
)

// wire is how a value stands in a record.
type wire uint8

// The wire types of the encoding.
const (
	wireVarint   wire = 0
	wireFixed64  wire = 1
	wireBytes    wire = 2
	wireGroup    wire = 3
	wireEndGroup wire = 4
	wireFixed32  wire = 5
)

var wireNames = [8]string{"a varint", "a fixed64", "a value with a length", "a group", "the end of a group", "a fixed32", "", ""}

// reads says what the bits of a value mean.
type reads uint8

const (
	readsInt32 reads = iota
	readsInt64
	readsUint32
	readsUint64
	readsSint32
	readsSint64
	readsSfixed32
	readsBool
	readsFloat
	readsDouble
	readsEnum
	readsText
	readsBytes
	// readsExact is bytes of one length, for Fixed and UUID.
	readsExact
	readsMessage
)

// holds says which values of columns.Array a number goes to.
type holds uint8

const (
	holdsInt32 holds = iota
	holdsInt64
	holdsDecimal
	holdsWide
	holdsFloat64
)

// quick is a way to read a value that most columns are of.
type quick uint8

const (
	quickNot quick = iota
	quickText
	quickInt32
	quickInt64
)

// quickOf is for a field whose reads and holds are settled.
func (f *field) quickOf() quick {
	switch {
	case f.reads == readsText:
		return quickText
	case f.reads == readsInt32 && f.holds == holdsInt32:
		return quickInt32
	case f.reads == readsInt64 && f.holds == holdsInt64 && f.wire == wireVarint:
		return quickInt64
	}
	return quickNot
}

var kindReads = map[protoreflect.Kind]struct {
	reads reads
	wire  wire
}{
	protoreflect.BoolKind: {readsBool, wireVarint}, protoreflect.EnumKind: {readsEnum, wireVarint},
	protoreflect.Int32Kind: {readsInt32, wireVarint}, protoreflect.Sint32Kind: {readsSint32, wireVarint}, protoreflect.Uint32Kind: {readsUint32, wireVarint},
	protoreflect.Int64Kind: {readsInt64, wireVarint}, protoreflect.Sint64Kind: {readsSint64, wireVarint}, protoreflect.Uint64Kind: {readsUint64, wireVarint},
	protoreflect.Sfixed32Kind: {readsSfixed32, wireFixed32}, protoreflect.Fixed32Kind: {readsUint32, wireFixed32}, protoreflect.FloatKind: {readsFloat, wireFixed32},
	protoreflect.Sfixed64Kind: {readsInt64, wireFixed64}, protoreflect.Fixed64Kind: {readsUint64, wireFixed64}, protoreflect.DoubleKind: {readsDouble, wireFixed64},
	protoreflect.StringKind: {readsText, wireBytes}, protoreflect.BytesKind: {readsBytes, wireBytes},
	protoreflect.MessageKind: {readsMessage, wireBytes}, protoreflect.GroupKind: {readsMessage, wireGroup},
}

// compileValue settles how one value of a field is read into f.value.
func compileValue(f *field, fd protoreflect.FieldDescriptor, path string) error {
	k := kindReads[fd.Kind()]
	f.reads, f.wire = k.reads, k.wire
	ok := false
	switch f.reads {
	case readsMessage:
		return compileEmbedded(f, fd, path)
	case readsBool:
		ok = f.value.Kind == columns.Bool
	case readsFloat, readsDouble:
		ok = f.value.Kind == columns.Float64 || f.value.Kind == columns.Float32 && f.reads == readsFloat
		if f.value.Kind == columns.Float64 {
			f.holds = holdsFloat64
		}
	case readsText, readsBytes:
		ok = compileText(f)
	case readsEnum:
		if ok = f.value.Kind == columns.String; ok {
			f.names = namesOf(fd.Enum())
			break
		}
		f.reads = readsInt32
		fallthrough
	default:
		ok = compileInteger(f)
	}
	if !ok {
		return mismatch(fd, f.value, path)
	}
	f.quick = f.quickOf()
	return nil
}

// compileText lets the column say what the bytes have to be.
func compileText(f *field) bool {
	switch f.value.Kind {
	case columns.String:
		f.reads = readsText
	case columns.Binary:
		// what is declared as text was text for its writer, and is looked at in a column of text alone
		f.reads = readsBytes
	case columns.UUID, columns.Fixed:
		f.reads = readsExact
		f.bound = 16
		if f.value.Kind == columns.Fixed {
			f.bound = int64(f.value.Width)
		}
		return f.bound > 0
	default:
		return false
	}
	return true
}

func compileInteger(f *field) bool {
	switch t := f.value; t.Kind {
	case columns.Int32:
		f.holds = holdsInt32
	case columns.Int64:
		f.holds = holdsInt64
	case columns.Decimal:
		return t.Scale == 0 && compileDecimal(f)
	default:
		return false
	}
	return true
}

func compileDecimal(f *field) bool {
	const maxDigits = 38
	p := f.value.Precision
	f.holds = holdsWide
	if p <= columns.WideDecimal {
		f.holds, f.bound = holdsDecimal, 1
		for range p {
			f.bound *= 10
		}
	}
	f.beyond[0], f.beyond[1] = powerOfTen(p)
	return p >= 1 && p <= maxDigits
}

// powerOfTen is 10^n in 128 bits, of n up to 38.
func powerOfTen(n int) (high, low uint64) {
	low = 1
	for range n {
		carry, next := bits.Mul64(low, 10)
		high, low = high*10+carry, next
	}
	return high, low
}

// encodedDefault is the default of a field as it would stand in a record.
func encodedDefault(fd protoreflect.FieldDescriptor) (uint64, []byte) {
	v := fd.Default()
	switch fd.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			return 1, nil
		}
		return 0, nil
	case protoreflect.EnumKind:
		return uint64(v.Enum()), nil
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return uint64(v.Int()), nil
	case protoreflect.Sfixed32Kind:
		return uint64(uint32(v.Int())), nil
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return uint64(v.Int()<<1) ^ uint64(v.Int()>>63), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return v.Uint(), nil
	case protoreflect.FloatKind:
		return uint64(math.Float32bits(float32(v.Float()))), nil
	case protoreflect.DoubleKind:
		return math.Float64bits(v.Float()), nil
	case protoreflect.StringKind:
		return 0, []byte(v.String())
	case protoreflect.BytesKind:
		return 0, v.Bytes()
	}
	return 0, nil
}

// names are an enum's names by number, the first where a number has several.
type names struct {
	low  [][]byte
	high map[int32][]byte
}

func namesOf(e protoreflect.EnumDescriptor) *names {
	n := &names{high: map[int32][]byte{}}
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		number := int32(v.Number())
		if n.of(number) != nil {
			continue
		}
		if number < 0 || number >= lowNumbers {
			n.high[number] = []byte(v.Name())
			continue
		}
		for len(n.low) <= int(number) {
			n.low = append(n.low, nil)
		}
		n.low[number] = []byte(v.Name())
	}
	return n
}

// of is the name of a number, nil if it has none.
func (n *names) of(number int32) []byte {
	if number >= 0 && int(number) < len(n.low) {
		return n.low[number]
	}
	return n.high[number]
}
