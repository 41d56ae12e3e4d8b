package parquetfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// prefixBytes is how much of a byte array is kept as its bound if nothing more is asked for: enough for 16 code points, which is what table formats
// store, and for exact bounds of short values.
const prefixBytes = 64

// bounds follows the smallest and the largest value of a page, a column chunk or a file.
type bounds interface {
	// observe takes in the present values from to until of a.
	observe(a *columns.Array, from, until int)
	// merge takes in bounds of the same kind.
	merge(other bounds)
	reset()
	// lower and upper are in Parquet's PLAIN form without length; nil if there was no value. cut says that only the
	// first bytes of a longer value are there.
	lower() (value []byte, cut bool)
	upper() (value []byte, cut bool)
}

// newBounds makes the bounds of a column that the rows hold as from and the file as kind.
func newBounds(from columns.Type, kind format.Type, width int) bounds {
	switch {
	case kind == format.ByteArray:
		return &byteBounds{most: prefixBytes}
	case kind == format.Boolean:
		return &boolBounds{}
	case from.Kind == columns.Float32, from.Kind == columns.Float64:
		return &floatBounds{width: width}
	case kind == format.FixedLenByteArray && from.Kind == columns.Decimal:
		return &decimalBounds{wide: from.Precision > maxInt64Digits, width: width}
	case kind == format.FixedLenByteArray:
		return &fixedBounds{width: width}
	}
	return &intBounds{width: width, narrow: from.Kind == columns.Int32 || from.Kind == columns.Date}
}

// intBounds serves all that is compared as a signed integer.
type intBounds struct {
	seen   bool
	narrow bool // the rows hold 32 bits
	width  int  // the file holds so many bytes
	lo, hi int64
}

func (b *intBounds) observe(a *columns.Array, from, until int) {
	if from == until {
		return
	}
	lo, hi := b.lo, b.hi
	if !b.seen {
		lo, hi = math.MaxInt64, math.MinInt64
	}
	if b.narrow {
		for _, v := range a.Int32s[from:until] {
			lo, hi = min(lo, int64(v)), max(hi, int64(v))
		}
	} else {
		for _, v := range a.Int64s[from:until] {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	b.seen, b.lo, b.hi = true, lo, hi
}

func (b *intBounds) merge(other bounds) {
	o := other.(*intBounds)
	switch {
	case !o.seen:
	case !b.seen:
		b.seen, b.lo, b.hi = true, o.lo, o.hi
	default:
		b.lo, b.hi = min(b.lo, o.lo), max(b.hi, o.hi)
	}
}

func (b *intBounds) reset()                { b.seen = false }
func (b *intBounds) lower() ([]byte, bool) { return b.plain(b.lo), false }
func (b *intBounds) upper() ([]byte, bool) { return b.plain(b.hi), false }

func (b *intBounds) plain(v int64) []byte {
	if !b.seen {
		return nil
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v))[:b.width]
}

// floatBounds leaves NaN out and counts it: compared with anything it is neither smaller nor larger, and one in a
// bound makes readers skip rows (https://github.com/parquet-go/parquet-go/issues/459). Zero becomes -0 as the lower and
// +0 as the upper bound, as the Parquet specification (ColumnOrder) demands.
type floatBounds struct {
	seen   bool
	width  int
	nans   int64
	lo, hi float64
}

func (b *floatBounds) observe(a *columns.Array, from, until int) {
	if a.Kind == columns.Float32 {
		for _, v := range a.Float32s[from:until] {
			b.one(float64(v))
		}
		return
	}
	for _, v := range a.Float64s[from:until] {
		b.one(v)
	}
}

func (b *floatBounds) one(v float64) {
	switch {
	case v != v:
		b.nans++
	case !b.seen:
		b.seen, b.lo, b.hi = true, v, v
	default:
		b.lo, b.hi = min(b.lo, v), max(b.hi, v)
	}
}

func (b *floatBounds) merge(other bounds) {
	o := other.(*floatBounds)
	b.nans += o.nans
	switch {
	case !o.seen:
	case !b.seen:
		b.seen, b.lo, b.hi = true, o.lo, o.hi
	default:
		b.lo, b.hi = min(b.lo, o.lo), max(b.hi, o.hi)
	}
}

func (b *floatBounds) reset() { b.seen, b.nans = false, 0 }

func (b *floatBounds) lower() ([]byte, bool) {
	if b.lo == 0 {
		return b.plain(math.Copysign(0, -1)), false
	}
	return b.plain(b.lo), false
}

func (b *floatBounds) upper() ([]byte, bool) {
	if b.hi == 0 {
		return b.plain(0), false
	}
	return b.plain(b.hi), false
}

func (b *floatBounds) plain(v float64) []byte {
	switch {
	case !b.seen:
		return nil
	case b.width == 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

// nans counts the NaN that bounds leave out.
func nans(b bounds) int64 {
	if f, ok := b.(*floatBounds); ok {
		return f.nans
	}
	return 0
}

type boolBounds struct{ no, yes bool }

func (b *boolBounds) observe(a *columns.Array, from, until int) {
	for i := from; i < until; i++ {
		if bit(a.Data, i) {
			b.yes = true
		} else {
			b.no = true
		}
	}
}

func (b *boolBounds) merge(other bounds) {
	o := other.(*boolBounds)
	b.no, b.yes = b.no || o.no, b.yes || o.yes
}

func (b *boolBounds) reset() { b.no, b.yes = false, false }

func (b *boolBounds) lower() ([]byte, bool) { return b.plain(b.no, 0, 1), false }
func (b *boolBounds) upper() ([]byte, bool) { return b.plain(b.yes, 1, 0), false }

func (b *boolBounds) plain(has bool, value, other byte) []byte {
	switch {
	case has:
		return []byte{value}
	case b.no || b.yes:
		return []byte{other}
	}
	return nil
}

func bit(data []byte, i int) bool { return data[i>>3]&(1<<(i&7)) != 0 }

// byteBounds compares byte arrays as unsigned bytes, which for UTF-8 is the order of the code points. It keeps the
// first bytes of a value and whether there was more.
type byteBounds struct {
	seen           bool
	most           int // bytes that are kept
	lo, hi         []byte
	loCut, hiCut   bool
	loWord, hiWord uint64 // the first eight bytes, to pass over most values quickly
}

func (b *byteBounds) observe(a *columns.Array, from, until int) {
	for i := from; i < until; i++ {
		v := a.Data[a.Offsets[i]:a.Offsets[i+1]]
		if w := word(v); b.seen && w > b.loWord && w < b.hiWord {
			continue
		}
		cut := len(v) > b.most
		if cut {
			v = v[:b.most]
		}
		b.down(v, cut)
		b.up(v, cut)
		b.seen = true
	}
}

// word is the first eight bytes of v, big-endian, filled up with zeros. Where words differ they order the values.
func word(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	var w uint64
	for i, c := range v {
		w |= uint64(c) << (56 - 8*i)
	}
	return w
}

func (b *byteBounds) down(v []byte, cut bool) {
	if b.seen {
		if c := bytes.Compare(v, b.lo); c > 0 || c == 0 && (cut || !b.loCut) {
			return
		}
	}
	b.lo, b.loCut, b.loWord = append(b.lo[:0], v...), cut, word(v)
}

func (b *byteBounds) up(v []byte, cut bool) {
	if b.seen {
		if c := bytes.Compare(v, b.hi); c < 0 || c == 0 && (!cut || b.hiCut) {
			return
		}
	}
	b.hi, b.hiCut, b.hiWord = append(b.hi[:0], v...), cut, word(v)
}

func (b *byteBounds) merge(other bounds) {
	o := other.(*byteBounds)
	if !o.seen {
		return
	}
	b.down(o.lo, o.loCut)
	b.up(o.hi, o.hiCut)
	b.seen = true
}

func (b *byteBounds) reset() { b.seen = false }

func (b *byteBounds) lower() ([]byte, bool) { return b.plain(b.lo), b.loCut }
func (b *byteBounds) upper() ([]byte, bool) { return b.plain(b.hi), b.hiCut }

func (b *byteBounds) plain(v []byte) []byte {
	if !b.seen {
		return nil
	}
	return append(make([]byte, 0, len(v)), v...) // empty and none differ
}

// fixedBounds compares values of one width as unsigned bytes.
type fixedBounds struct {
	seen   bool
	width  int
	lo, hi []byte
}

func (b *fixedBounds) observe(a *columns.Array, from, until int) {
	for i := from; i < until; i++ {
		b.one(a.Data[i*b.width : (i+1)*b.width])
	}
}

func (b *fixedBounds) one(v []byte) {
	if !b.seen || bytes.Compare(v, b.lo) < 0 {
		b.lo = append(b.lo[:0], v...)
	}
	if !b.seen || bytes.Compare(v, b.hi) > 0 {
		b.hi = append(b.hi[:0], v...)
	}
	b.seen = true
}

func (b *fixedBounds) merge(other bounds) {
	if o := other.(*fixedBounds); o.seen {
		b.one(o.lo)
		b.one(o.hi)
	}
}

func (b *fixedBounds) reset() { b.seen = false }

func (b *fixedBounds) lower() ([]byte, bool) { return b.plain(b.lo), false }
func (b *fixedBounds) upper() ([]byte, bool) { return b.plain(b.hi), false }

func (b *fixedBounds) plain(v []byte) []byte {
	if !b.seen {
		return nil
	}
	return bytes.Clone(v)
}
