package spill

import (
	"encoding/binary"
	"math"

	"sluice/columns"
)

// What of a column is there; the rest is empty.
const (
	repeats = 1 << iota
	hasValidity
	hasInt32s
	hasInt64s
	hasFloat32s
	hasFloat64s
	hasOffsets
	hasData
)

// appendBlock adds rows to dst. Numbers are little-endian, offsets are stored as the lengths between them.
func appendBlock(dst []byte, rows *columns.Batch) []byte {
	dst = binary.AppendUvarint(dst, uint64(rows.Rows))
	for i := range rows.Columns {
		dst = appendColumn(dst, &rows.Columns[i])
	}
	return dst
}

func appendColumn(dst []byte, a *columns.Array) []byte {
	has := parts(a)
	dst = binary.AppendUvarint(append(dst, has), uint64(a.Len))
	if has&hasValidity != 0 {
		dst = appendBytes(binary.AppendUvarint(dst, uint64(a.Nulls)), a.Validity)
	}
	if has&hasInt32s != 0 {
		dst = appendInt32s(dst, a.Int32s)
	}
	if has&hasInt64s != 0 {
		dst = appendInt64s(dst, a.Int64s)
	}
	if has&hasFloat32s != 0 {
		dst = appendFloat32s(dst, a.Float32s)
	}
	if has&hasFloat64s != 0 {
		dst = appendFloat64s(dst, a.Float64s)
	}
	if has&hasOffsets != 0 {
		dst = appendLengths(dst, a.Offsets)
	}
	if has&hasData != 0 {
		dst = appendBytes(dst, a.Data)
	}
	for i := range a.Children {
		dst = appendColumn(dst, &a.Children[i])
	}
	return dst
}

// parts says what of a column there is.
func parts(a *columns.Array) (has byte) {
	for bit, there := range [...]bool{a.Repeat, len(a.Validity) > 0, len(a.Int32s) > 0, len(a.Int64s) > 0, len(a.Float32s) > 0, len(a.Float64s) > 0,
		len(a.Offsets) > 0, len(a.Data) > 0} { // in the order of the bits
		if there {
			has |= 1 << bit
		}
	}
	return has
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendInt32s(dst []byte, values []int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return dst
}

func appendInt64s(dst []byte, values []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func appendFloat32s(dst []byte, values []float32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func appendFloat64s(dst []byte, values []float64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// appendLengths adds offsets, of which the first is 0.
func appendLengths(dst []byte, offsets []int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(offsets)-1))
	for k, end := range offsets[1:] {
		dst = binary.AppendUvarint(dst, uint64(end-offsets[k]))
	}
	return dst
}
