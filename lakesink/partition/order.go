package partition

import (
	"encoding/binary"
	"math"

	"sluice/columns"
)

// OrderField is a term that rows are sorted by.
type OrderField struct {
	Field
	Descending, NullsLast bool
}

// Order compares rows by a table's sort order (Iceberg specification, Sorting): NaN is above every number, -0.0 below 0.0, text
// is in the order of its code points, and binary, fixed and UUIDs in that of their bytes.
type Order struct {
	fields []OrderField
	spec   *Spec
	value  []byte
}

// NewOrder makes an Order. Every field's transform must take its source.
func NewOrder(fields []OrderField) (*Order, error) {
	plain := make([]Field, len(fields))
	for i := range fields {
		plain[i] = fields[i].Field
	}
	spec, err := NewSpec(plain)
	return &Order{fields: fields, spec: spec}, err
}

// AppendKey adds to dst what a row is sorted by: keys are in the order of their bytes as rows are in theirs.
func (o *Order) AppendKey(dst []byte, rows *columns.Batch, row int) []byte {
	for i := range o.fields {
		f := &o.fields[i]
		a, at := find(rows.Columns, f.Path, row)
		if a == nil || o.spec.append[i] == nil {
			dst = append(dst, map[bool]byte{true: 2}[f.NullsLast])
			continue
		}
		o.value = o.spec.append[i](o.value[:0], a, at)
		begin := len(dst) + 1
		dst = appendOrdered(append(dst, 1), f.Result(), o.value)
		if f.Descending {
			for k := begin; k < len(dst); k++ {
				dst[k] = ^dst[k]
			}
		}
	}
	return dst
}

// appendOrdered adds a value, as an appender has written it, in a form that is in the order of its bytes.
func appendOrdered(dst []byte, t columns.Type, value []byte) []byte {
	switch t.Kind {
	case columns.Bool:
		return append(dst, value[0])
	case columns.Int32, columns.Date:
		return binary.BigEndian.AppendUint32(dst, binary.LittleEndian.Uint32(value)^1<<31)
	case columns.Float32:
		return appendOrderedFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(value))))
	case columns.Float64:
		return appendOrderedFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(value)))
	case columns.Decimal:
		dst = binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(value[8:])^1<<63)
		return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(value))
	case columns.Fixed, columns.UUID:
		_, n := binary.Uvarint(value)
		return append(dst, value[n:]...)
	case columns.String, columns.Binary:
		_, n := binary.Uvarint(value)
		return appendOrderedText(dst, value[n:])
	}
	return binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(value)^1<<63)
}

// appendOrderedFloat turns the bits of negative numbers around. There is one NaN, with the greatest bits.
func appendOrderedFloat(dst []byte, v float64) []byte {
	b := math.Float64bits(v)
	switch {
	case v != v:
		b = math.MaxUint64
	case b>>63 == 1:
		b = ^b
	default:
		b ^= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// appendOrderedText ends a text so that it comes before all that it begins: zeros in it are followed by 255, the end is two
// zeros.
func appendOrderedText(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, c)
		if c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}
