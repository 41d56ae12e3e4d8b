package parquetfile

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// encoder appends the present values from to until of a to dst, in PLAIN encoding.
type encoder func(dst []byte, a *columns.Array, from, until int) []byte

// newEncoder chooses how values that the rows hold as from become kind. Booleans are not served here: they are bits.
func newEncoder(from columns.Type, kind format.Type, width int) encoder {
	switch {
	case kind == format.ByteArray:
		return appendByteArrays
	case from.Kind == columns.Decimal:
		return decimalEncoder(from, kind, width)
	case kind == format.FixedLenByteArray:
		return func(dst []byte, a *columns.Array, from, until int) []byte {
			return append(dst, a.Data[from*width:until*width]...)
		}
	case kind == format.Float:
		return appendFloats
	case kind == format.Double && from.Kind == columns.Float32:
		return appendFloatsAsDoubles
	case kind == format.Double:
		return appendDoubles
	case kind == format.Int32:
		return appendInt32s
	case from.Kind == columns.Int32:
		return appendInt32sAsInt64s
	}
	return appendInt64s
}

// appendByteArrays writes each value behind its length. This is the hot loop of the raw schema: values are copied once.
func appendByteArrays(dst []byte, a *columns.Array, from, until int) []byte {
	offsets := a.Offsets[from : until+1]
	at := int(offsets[0])
	dst = slices.Grow(dst, int(offsets[len(offsets)-1])-at+4*(until-from))
	for _, end := range offsets[1:] {
		n := int(end) - at
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
		dst = append(dst, a.Data[at:at+n]...)
		at += n
	}
	return dst
}

func appendInt32s(dst []byte, a *columns.Array, from, until int) []byte {
	dst = slices.Grow(dst, 4*(until-from))
	for _, v := range a.Int32s[from:until] {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return dst
}

func appendInt64s(dst []byte, a *columns.Array, from, until int) []byte {
	dst = slices.Grow(dst, 8*(until-from))
	for _, v := range a.Int64s[from:until] {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func appendInt32sAsInt64s(dst []byte, a *columns.Array, from, until int) []byte {
	dst = slices.Grow(dst, 8*(until-from))
	for _, v := range a.Int32s[from:until] {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func appendFloats(dst []byte, a *columns.Array, from, until int) []byte {
	for _, v := range a.Float32s[from:until] {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func appendFloatsAsDoubles(dst []byte, a *columns.Array, from, until int) []byte {
	for _, v := range a.Float32s[from:until] {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(v)))
	}
	return dst
}

func appendDoubles(dst []byte, a *columns.Array, from, until int) []byte {
	for _, v := range a.Float64s[from:until] {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

func decimalEncoder(from columns.Type, kind format.Type, width int) encoder {
	wide := from.Precision > maxInt64Digits
	return func(dst []byte, a *columns.Array, from, until int) []byte {
		for i := from; i < until; i++ {
			d := decimalAt(a, wide, i)
			switch kind {
			case format.Int32:
				dst = binary.LittleEndian.AppendUint32(dst, uint32(d.lo))
			case format.Int64:
				dst = binary.LittleEndian.AppendUint64(dst, d.lo)
			default:
				dst = d.appendBigEndian(dst, width)
			}
		}
		return dst
	}
}

// booleans is a growing row of booleans, least significant bit first.
type booleans struct {
	data []byte
	n    int
}

func (b *booleans) add(v bool) {
	if b.n&7 == 0 {
		b.data = append(b.data, 0)
	}
	if v {
		b.data[b.n>>3] |= 1 << (b.n & 7)
	}
	b.n++
}
