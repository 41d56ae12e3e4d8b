package columns

import "encoding/binary"

// WideDecimal is how many digits a Decimal may have before its values take 16 bytes.
const WideDecimal = 18

// Make makes empty columns for a schema.
func Make(schema []Field) []Array {
	arrays := make([]Array, len(schema))
	for i := range schema {
		arrays[i] = schema[i].Type.Array()
	}
	return arrays
}

// Array makes an empty column of the type, with the columns inside it.
func (t *Type) Array() Array {
	a := Array{Kind: t.Kind}
	switch t.Kind {
	case List, Struct:
		a.Children = Make(t.Fields)
	case Map:
		a.Children = []Array{{Kind: Struct, Children: Make(t.Fields)}}
	}
	return a
}

// AppendBool adds a present value to a Bool column.
func (a *Array) AppendBool(value bool) {
	a.growBits()
	if value {
		a.Data[a.Len>>3] |= 1 << (a.Len & 7)
	}
	a.appendValid()
}

func (a *Array) growBits() {
	if len(a.Data) <= a.Len>>3 {
		a.Data = append(a.Data, 0)
	}
}

// AppendInt32 adds a present value to an Int32 or Date column.
func (a *Array) AppendInt32(value int32) {
	a.Int32s = append(a.Int32s, value)
	a.appendValid()
}

// AppendInt64 adds a present value to an Int64, Time, Timestamp or TimestampTZ column, or to a Decimal column of up to
// WideDecimal digits.
func (a *Array) AppendInt64(value int64) {
	a.Int64s = append(a.Int64s, value)
	a.appendValid()
}

// AppendFloat32 adds a present value to a Float32 column.
func (a *Array) AppendFloat32(value float32) {
	a.Float32s = append(a.Float32s, value)
	a.appendValid()
}

// AppendFloat64 adds a present value to a Float64 column.
func (a *Array) AppendFloat64(value float64) {
	a.Float64s = append(a.Float64s, value)
	a.appendValid()
}

// AppendInt128 adds a present value to a Decimal column of more than WideDecimal digits: two's complement in two halves.
func (a *Array) AppendInt128(high int64, low uint64) {
	a.Data = binary.LittleEndian.AppendUint64(a.Data, low)
	a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(high))
	a.appendValid()
}

// AppendFixed adds a present value, as wide as the type says, to a Fixed or UUID column.
func (a *Array) AppendFixed(value []byte) {
	a.Data = append(a.Data, value...)
	a.appendValid()
}

// AppendNothing adds a null to a column of type t, whichever it is. Below a null Struct the optional fields are null and
// the required ones, which have no nulls, hold a zero.
func (a *Array) AppendNothing(t *Type) {
	a.appendZero(t, false)
	a.appendNull()
}

// appendEmpty adds a present zero: what a required field below a null struct holds.
func (a *Array) appendEmpty(t *Type) {
	a.appendZero(t, true)
	a.appendValid()
}

var zeros [64]byte

// appendZero adds the value of a row that has none, without closing the row.
func (a *Array) appendZero(t *Type, required bool) {
	switch t.Kind {
	case Bool:
		a.growBits()
	case Int32, Date:
		a.Int32s = append(a.Int32s, 0)
	case Int64, Time, Timestamp, TimestampTZ:
		a.Int64s = append(a.Int64s, 0)
	case Float32:
		a.Float32s = append(a.Float32s, 0)
	case Float64:
		a.Float64s = append(a.Float64s, 0)
	case String, Binary:
		a.startOffsets()
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	case List, Map:
		a.startOffsets()
		a.Offsets = append(a.Offsets, a.Offsets[len(a.Offsets)-1])
	case Decimal:
		if t.Precision <= WideDecimal {
			a.Int64s = append(a.Int64s, 0)
			return
		}
		a.Data = append(a.Data, zeros[:16]...)
	case Fixed, UUID:
		for left := t.width(); left > 0; left -= len(zeros) {
			a.Data = append(a.Data, zeros[:min(left, len(zeros))]...)
		}
	case Struct:
		a.appendZeroFields(t.Fields)
	}
}

func (a *Array) appendZeroFields(fields []Field) {
	for i := range fields {
		if fields[i].Required {
			a.Children[i].appendEmpty(&fields[i].Type)
		} else {
			a.Children[i].AppendNothing(&fields[i].Type)
		}
	}
}

func (t *Type) width() int {
	if t.Kind == UUID {
		return 16
	}
	return t.Width
}

func (a *Array) startOffsets() {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
}
