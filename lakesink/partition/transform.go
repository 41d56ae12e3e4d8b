package partition

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"

	"sluice/columns"
	"sluice/layout"
)

// appender adds the transform of the present value at i of a to dst, in the form of a key: 4 or 8 bytes little-endian, 16
// bytes for decimals, the bits of a floating-point number, one byte for a boolean, bytes behind their length for the rest.
type appender func(dst []byte, a *columns.Array, i int) []byte

func newAppender(f *Field) appender {
	switch f.Transform {
	case layout.Identity:
		return identity(f)
	case layout.Bucket:
		return bucket(f)
	case layout.Truncate:
		return truncate(f)
	case layout.Year, layout.Month, layout.Day, layout.Hour:
		return calendar(f)
	}
	return nil // void
}

// whole reads a value of a kind that is held as an integer.
func whole(from columns.Type) func(a *columns.Array, i int) int64 {
	if from.Kind == columns.Int32 || from.Kind == columns.Date {
		return func(a *columns.Array, i int) int64 { return int64(a.Int32s[i]) }
	}
	return func(a *columns.Array, i int) int64 { return a.Int64s[i] }
}

// width is how many bytes a key has for an integer of the type.
func width(t columns.Type) int {
	if t.Kind == columns.Int32 || t.Kind == columns.Date {
		return 4
	}
	return 8
}

func appendInt(dst []byte, v int64, width int) []byte {
	return append(dst, binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(v))[:width]...)
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// fixed is the value at i of a Fixed or UUID.
func fixed(a *columns.Array, i, width int) []byte { return a.Data[i*width : (i+1)*width] }

func fixedWidth(t columns.Type) int {
	if t.Kind == columns.UUID {
		return 16
	}
	return t.Width
}

func identity(f *Field) appender {
	from, to := f.From, f.Source
	switch to.Kind {
	case columns.Bool:
		return func(dst []byte, a *columns.Array, i int) []byte { return append(dst, a.Data[i>>3]>>(i&7)&1) }
	case columns.Float32:
		return func(dst []byte, a *columns.Array, i int) []byte {
			v := a.Float32s[i]
			if v != v { // there are many NaN, and only one is meant
				v = float32(math.NaN())
			}
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	case columns.Float64:
		return func(dst []byte, a *columns.Array, i int) []byte { return appendFloat(dst, floatAt(from, a, i)) }
	case columns.Decimal:
		return func(dst []byte, a *columns.Array, i int) []byte {
			high, low := decimalAt(from, a, i)
			return appendDecimal(dst, high, low)
		}
	case columns.String, columns.Binary:
		return func(dst []byte, a *columns.Array, i int) []byte { return appendText(dst, a.Bytes(i)) }
	case columns.Fixed, columns.UUID:
		n := fixedWidth(to)
		return func(dst []byte, a *columns.Array, i int) []byte { return appendText(dst, fixed(a, i, n)) }
	}
	read, n := whole(from), width(to)
	return func(dst []byte, a *columns.Array, i int) []byte { return appendInt(dst, read(a, i), n) }
}

func floatAt(from columns.Type, a *columns.Array, i int) float64 {
	if from.Kind == columns.Float32 {
		return float64(a.Float32s[i])
	}
	return a.Float64s[i]
}

func appendFloat(dst []byte, v float64) []byte {
	if v != v {
		v = math.NaN()
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// decimalAt is an unscaled decimal in two halves.
func decimalAt(from columns.Type, a *columns.Array, i int) (high int64, low uint64) {
	if from.Precision <= columns.WideDecimal {
		v := a.Int64s[i]
		return v >> 63, uint64(v)
	}
	b := a.Data[16*i:]
	return int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)
}

func appendDecimal(dst []byte, high int64, low uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, low), uint64(high))
}

// bucket is a hash modulo the number of buckets. An int hashes as the long of its value, so that a column may be widened.
func bucket(f *Field) appender {
	n, from := int32(f.Width), f.From
	put := func(dst []byte, hash uint32) []byte { return appendInt(dst, int64(int32(hash&math.MaxInt32)%n), 4) }
	switch f.Source.Kind {
	case columns.Decimal:
		return func(dst []byte, a *columns.Array, i int) []byte {
			var b [16]byte
			high, low := decimalAt(from, a, i)
			return put(dst, murmur3(fewest(&b, high, low)))
		}
	case columns.String, columns.Binary:
		return func(dst []byte, a *columns.Array, i int) []byte { return put(dst, murmur3(a.Bytes(i))) }
	case columns.Fixed, columns.UUID:
		w := fixedWidth(f.Source)
		return func(dst []byte, a *columns.Array, i int) []byte { return put(dst, murmur3(fixed(a, i, w))) }
	}
	read := whole(from)
	return func(dst []byte, a *columns.Array, i int) []byte {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(read(a, i)))
		return put(dst, murmur3(b[:]))
	}
}

// fewest is the shortest big-endian two's complement of a number.
func fewest(b *[16]byte, high int64, low uint64) []byte {
	binary.BigEndian.PutUint64(b[:8], uint64(high))
	binary.BigEndian.PutUint64(b[8:], low)
	k := 0
	for k < 15 && (b[k] == 0 && b[k+1] < 0x80 || b[k] == 0xff && b[k+1] >= 0x80) {
		k++
	}
	return b[k:]
}

// truncate cuts numbers down to a multiple, text to so many code points, and binary to so many bytes. Integers wrap around
// at the lower end of their range, as they do in the reference implementation.
func truncate(f *Field) appender {
	from, w := f.From, f.Width
	switch f.Source.Kind {
	case columns.Int32:
		w := int32(w)
		return func(dst []byte, a *columns.Array, i int) []byte {
			v := a.Int32s[i]
			return appendInt(dst, int64(v-(v%w+w)%w), 4)
		}
	case columns.Int64:
		w, read := int64(w), whole(from)
		return func(dst []byte, a *columns.Array, i int) []byte {
			v := read(a, i)
			return appendInt(dst, v-(v%w+w)%w, 8)
		}
	case columns.Decimal:
		wide := big.NewInt(int64(w))
		return func(dst []byte, a *columns.Array, i int) []byte {
			high, low := decimalAt(from, a, i)
			high, low = truncateDecimal(high, low, wide)
			return appendDecimal(dst, high, low)
		}
	case columns.String:
		return func(dst []byte, a *columns.Array, i int) []byte { return appendText(dst, firstRunes(a.Bytes(i), w)) }
	}
	return func(dst []byte, a *columns.Array, i int) []byte {
		b := a.Bytes(i)
		return appendText(dst, b[:min(len(b), w)])
	}
}

// firstRunes is the first n code points of a text.
func firstRunes(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for i, c := range text {
		if c&0xc0 == 0x80 {
			continue // inside of a code point
		}
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func truncateDecimal(high int64, low uint64, w *big.Int) (int64, uint64) {
	if high == int64(low)>>63 { // 64 bits hold it
		v, w := int64(low), w.Int64()
		if cut := v - (v%w+w)%w; cut <= v {
			return cut >> 63, uint64(cut)
		}
	}
	v := bigDecimal(high, low)
	cut := v.Sub(v, new(big.Int).Mod(v, w)) // Mod is Euclidean: it floors
	return halves(cut)
}

func bigDecimal(high int64, low uint64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(high), 64)
	return v.Add(v, new(big.Int).SetUint64(low))
}

func halves(v *big.Int) (high int64, low uint64) {
	low = new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return new(big.Int).Rsh(v, 64).Int64(), low
}

const (
	microsOfHour = int64(time.Hour / time.Microsecond)
	microsOfDay  = 24 * microsOfHour
)

// calendar counts years, months, days or hours from 1970, in UTC.
func calendar(f *Field) appender {
	read := whole(f.From)
	isDate := f.Source.Kind == columns.Date
	return func(dst []byte, a *columns.Array, i int) []byte {
		v := read(a, i)
		if f.Transform == layout.Hour {
			return appendInt(dst, floorDiv(v, microsOfHour), 4)
		}
		if !isDate {
			v = floorDiv(v, microsOfDay)
		}
		if f.Transform != layout.Day {
			year, month, _ := civil(v)
			if v = year - 1970; f.Transform == layout.Month {
				v = 12*v + month - 1
			}
		}
		return appendInt(dst, v, 4)
	}
}

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// civil is the date of a number of days since 1970 in the proleptic Gregorian calendar.
func civil(days int64) (year, month, day int64) {
	t := time.Unix(days*86400, 0).UTC()
	return int64(t.Year()), int64(t.Month()), int64(t.Day())
}

// murmur3 is the 32-bit x86 variant with seed 0 (specification, Appendix B).
func murmur3(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	var h uint32
	n := uint32(len(b))
	mix := func(k uint32) uint32 {
		k *= c1
		return (k<<15 | k>>17) * c2
	}
	for ; len(b) >= 4; b = b[4:] {
		h ^= mix(binary.LittleEndian.Uint32(b))
		h = h<<13 | h>>19
		h = h*5 + 0xe6546b64
	}
	var tail uint32
	for i, c := range b {
		tail |= uint32(c) << (8 * i)
	}
	h ^= mix(tail) ^ n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
