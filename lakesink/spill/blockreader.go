package spill

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"sluice/columns"
)

var errBlock = errors.New("a block of rows is not what was written")

// blockReader takes the parts of a block off, one after the other. Once it has failed it takes nothing.
type blockReader struct {
	left   []byte
	failed bool
}

// readBlock makes rows of a block. Texts and bitmaps alias block; other memory of rows serves again.
func readBlock(rows *columns.Batch, block []byte) error {
	r := &blockReader{left: block}
	rows.Rows = r.count()
	for i := range rows.Columns {
		r.column(&rows.Columns[i])
	}
	if r.failed || len(r.left) > 0 {
		return errBlock
	}
	return nil
}

func (r *blockReader) fail() { r.failed, r.left = true, nil }

// count takes a number that says how much follows.
func (r *blockReader) count() int {
	v, n := binary.Uvarint(r.left)
	if n <= 0 || v > math.MaxInt32 {
		r.fail()
		return 0
	}
	r.left = r.left[n:]
	return int(v)
}

// bytes takes n bytes.
func (r *blockReader) bytes(n int) []byte {
	if n > len(r.left) {
		r.fail()
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

func (r *blockReader) column(a *columns.Array) {
	a.Len, a.Nulls, a.Repeat, a.Validity, a.Data = 0, 0, false, nil, nil
	a.Int32s, a.Int64s, a.Float32s, a.Float64s, a.Offsets = a.Int32s[:0], a.Int64s[:0], a.Float32s[:0], a.Float64s[:0], a.Offsets[:0]
	flags := r.bytes(1)
	if r.failed {
		return
	}
	has := flags[0]
	a.Len, a.Repeat = r.count(), has&repeats != 0
	if has&hasValidity != 0 {
		a.Nulls = r.count()
		a.Validity = r.bytes(r.count())
	}
	r.numbers(a, has)
	if has&hasOffsets != 0 {
		a.Offsets = r.offsets(a.Offsets)
	}
	if has&hasData != 0 {
		a.Data = r.bytes(r.count())
	}
	for i := range a.Children {
		r.column(&a.Children[i])
	}
}

func (r *blockReader) numbers(a *columns.Array, has byte) {
	if has&hasInt32s != 0 {
		a.Int32s = taken(r, a.Int32s, 4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) })
	}
	if has&hasInt64s != 0 {
		a.Int64s = taken(r, a.Int64s, 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	}
	if has&hasFloat32s != 0 {
		a.Float32s = taken(r, a.Float32s, 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) })
	}
	if has&hasFloat64s != 0 {
		a.Float64s = taken(r, a.Float64s, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	}
}

// taken are numbers of so many bytes each.
func taken[T any](r *blockReader, into []T, width int, number func([]byte) T) []T {
	n := r.count()
	b := r.bytes(width * n)
	if r.failed {
		return into[:0]
	}
	into = slices.Grow(into[:0], n)[:n]
	for i := range into {
		into[i] = number(b[width*i : width*i+width])
	}
	return into
}

func (r *blockReader) offsets(into []int32) []int32 {
	n := r.count()
	if n > len(r.left) { // each length takes a byte at least
		r.fail()
		return into[:0]
	}
	into = append(slices.Grow(into[:0], n+1), 0)
	end, left := int32(0), r.left
	for range n {
		v, size := binary.Uvarint(left)
		if size <= 0 {
			r.fail()
			return into[:0]
		}
		end += int32(v)
		into, left = append(into, end), left[size:]
	}
	r.left = left
	return into
}
