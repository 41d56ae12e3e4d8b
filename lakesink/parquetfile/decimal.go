package parquetfile

import (
	"cmp"
	"encoding/binary"

	"sluice/columns"
)

// decimal is an unscaled value in 128 bits of two's complement.
type decimal struct {
	hi int64
	lo uint64
}

func (d decimal) compare(o decimal) int {
	return cmp.Or(cmp.Compare(d.hi, o.hi), cmp.Compare(d.lo, o.lo))
}

// decimalAt reads value i of a Decimal column: 64 bits, or 16 bytes little-endian where it is wide.
func decimalAt(a *columns.Array, wide bool, i int) decimal {
	if !wide {
		v := a.Int64s[i]
		return decimal{hi: v >> 63, lo: uint64(v)}
	}
	at := a.Data[16*i : 16*i+16]
	return decimal{hi: int64(binary.LittleEndian.Uint64(at[8:])), lo: binary.LittleEndian.Uint64(at)}
}

// appendBigEndian adds the low width bytes, most significant first.
func (d decimal) appendBigEndian(dst []byte, width int) []byte {
	var whole [16]byte
	binary.BigEndian.PutUint64(whole[:], uint64(d.hi))
	binary.BigEndian.PutUint64(whole[8:], d.lo)
	return append(dst, whole[16-width:]...)
}

// decimalBounds compares decimals that the file holds as bytes. They are signed: taken for unsigned, a query for
// negative amounts finds no row (https://github.com/parquet-go/parquet-go/issues/592).
type decimalBounds struct {
	seen   bool
	wide   bool
	width  int
	lo, hi decimal
}

func (b *decimalBounds) observe(a *columns.Array, from, until int) {
	for i := from; i < until; i++ {
		b.one(decimalAt(a, b.wide, i))
	}
}

func (b *decimalBounds) one(d decimal) {
	if !b.seen || d.compare(b.lo) < 0 {
		b.lo = d
	}
	if !b.seen || d.compare(b.hi) > 0 {
		b.hi = d
	}
	b.seen = true
}

func (b *decimalBounds) merge(other bounds) {
	if o := other.(*decimalBounds); o.seen {
		b.one(o.lo)
		b.one(o.hi)
	}
}

func (b *decimalBounds) reset()                { b.seen = false }
func (b *decimalBounds) lower() ([]byte, bool) { return b.plain(b.lo), false }
func (b *decimalBounds) upper() ([]byte, bool) { return b.plain(b.hi), false }

func (b *decimalBounds) plain(d decimal) []byte {
	if !b.seen {
		return nil
	}
	return d.appendBigEndian(nil, b.width)
}
