package avro

import (
	"encoding/binary"
	"math/bits"

	"sluice/columns"
	"sluice/decode/malformed"
)

// uint128 is a number without sign.
type uint128 struct{ high, low uint64 }

// powers are 10^0 to 10^38.
var powers = func() (t [mostDigits + 1]uint128) {
	t[0].low = 1
	for i := 1; i < len(t); i++ {
		t[i], _ = t[i-1].times(10)
	}
	return t
}()

func (u uint128) less(v uint128) bool { return u.high < v.high || u.high == v.high && u.low < v.low }

func (u uint128) times(v uint64) (product uint128, ok bool) {
	carry, low := bits.Mul64(u.low, v)
	over, high := bits.Mul64(u.high, v)
	high, more := bits.Add64(high, carry, 0)
	return uint128{high, low}, over == 0 && more == 0
}

func (u uint128) divided(by uint64) (quotient uint128, rest uint64) {
	high, rest := u.high/by, u.high%by
	low, rest := bits.Div64(rest, u.low, by)
	return uint128{high, low}, rest
}

// decimal reads an unscaled number, two's complement and most significant byte first.
func (p *Parser) decimal(s *step, a *columns.Array, i int) int {
	from, until := p.span(s, i)
	if until < 0 {
		return -1
	}
	b := p.b[from:until]
	if len(b) == 0 {
		return p.refuse(s, malformed.Syntax, i, "a decimal has at least one byte")
	}
	if s.typ.Precision > columns.WideDecimal || len(b) > 8 || s.from != s.typ.Scale {
		return p.wideDecimal(s, a, b, from)
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	if most := int64(powers[s.typ.Precision].low); v >= most || v <= -most {
		return p.tooLarge(s, from)
	}
	a.Int64s = append(a.Int64s, v)
	appendPresent(a)
	return until
}

func (p *Parser) tooLarge(s *step, at int) int {
	return p.refuse(s, malformed.Overflow, at, "the number has more digits than %s", typeName(s.typ))
}

// wideDecimal reads any number that fits the column.
func (p *Parser) wideDecimal(s *step, a *columns.Array, b []byte, at int) int {
	u, negative, ok := magnitude(b)
	if !ok {
		return p.tooLarge(s, at)
	}
	u, reason := rescale(u, s.typ.Scale-s.from)
	switch {
	case reason == malformed.Lossy:
		return p.refuse(s, reason, at, "the number has more than %d digits behind the point", s.typ.Scale)
	case reason != "", !u.less(powers[s.typ.Precision]):
		return p.tooLarge(s, at)
	}
	if negative {
		low, borrow := bits.Sub64(0, u.low, 0)
		high, _ := bits.Sub64(0, u.high, borrow)
		u = uint128{high, low}
	}
	if s.typ.Precision <= columns.WideDecimal {
		a.AppendInt64(int64(u.low))
	} else {
		a.AppendInt128(int64(u.high), u.low)
	}
	return at + len(b)
}

// magnitude is the number without its sign; it may have more bytes than it needs.
func magnitude(b []byte) (u uint128, negative, ok bool) {
	negative = b[0] >= 0x80
	var sign byte
	if negative {
		sign = 0xff
	}
	for len(b) > 16 {
		if b[0] != sign {
			return u, negative, false
		}
		b = b[1:]
	}
	var word [16]byte
	for i := range word[:16-len(b)] {
		word[i] = sign
	}
	copy(word[16-len(b):], b)
	if word[0] >= 0x80 != negative { // the sign of what was left out was another
		return u, negative, false
	}
	u = uint128{binary.BigEndian.Uint64(word[:8]), binary.BigEndian.Uint64(word[8:])}
	if negative {
		low, carry := bits.Add64(^u.low, 1, 0)
		u = uint128{^u.high + carry, low}
	}
	return u, negative, true
}

// rescale multiplies by a power of ten, which may be negative.
func rescale(u uint128, by int) (uint128, malformed.Reason) {
	if u == (uint128{}) {
		return u, ""
	}
	ok := true
	for ; by > 0; by-- {
		if u, ok = u.times(10); !ok {
			return u, malformed.Overflow
		}
	}
	for ; by < 0; by++ {
		var rest uint64
		if u, rest = u.divided(10); rest != 0 {
			return u, malformed.Lossy
		}
	}
	return u, ""
}
