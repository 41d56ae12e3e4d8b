package avro

import (
	"encoding/binary"
	"math"
	"math/bits"

	"sluice/columns"
	"sluice/decode/malformed"
)

func (p *Parser) boolean(s *step, a *columns.Array, i int) int {
	switch {
	case i >= len(p.b):
		return p.short(s, i, "a boolean")
	case p.b[i] > 1:
		return p.refuse(s, malformed.Syntax, i, "a boolean is a byte 0 or 1, not %d", p.b[i])
	}
	a.AppendBool(p.b[i] == 1)
	return i + 1
}

func (p *Parser) enum(s *step, a *columns.Array, i int) int {
	u, next := varint(p.b, i)
	if next < 0 {
		return p.badVarint(s, i)
	}
	v := zigzag(u)
	if v < 0 || v >= int64(len(s.symbols)) {
		return p.refuse(s, malformed.Syntax, i, "the enum has %d symbols, and the value is number %d", len(s.symbols), v)
	}
	symbol := s.symbols[v]
	if !p.charge(len(symbol)/8, i) {
		return p.in(s)
	}
	appendBytes(a, symbol)
	return next
}

func (p *Parser) float(s *step, a *columns.Array, i int) int {
	if len(p.b)-i < 4 {
		return p.short(s, i, "a float")
	}
	v := math.Float32frombits(binary.LittleEndian.Uint32(p.b[i:]))
	if s.op == opFloat {
		a.AppendFloat32(v)
	} else {
		a.AppendFloat64(float64(v))
	}
	return i + 4
}

// integer reads numbers that change their form.
func (p *Parser) integer(s *step, a *columns.Array, i int) int {
	u, next := varint(p.b, i)
	v := zigzag(u)
	if next < 0 || v < s.low || v > s.high || next-i > s.most {
		return p.badInteger(s, i)
	}
	switch s.op {
	case opNanos:
		micros := v / 1000
		if rest := v % 1000; rest != 0 {
			if !s.cut {
				return p.refuse(s, malformed.Lossy, i, "%d ns are finer than a microsecond", v)
			}
			if rest < 0 {
				micros--
			}
		}
		a.AppendInt64(micros)
	case opIntFloat:
		if !fits(v, 24) {
			return p.refuse(s, malformed.Lossy, i, "a float has no %d", v)
		}
		a.AppendFloat32(float32(v))
	default:
		if !fits(v, 53) {
			return p.refuse(s, malformed.Lossy, i, "a double has no %d", v)
		}
		a.AppendFloat64(float64(v))
	}
	return next
}

// fits reports whether a floating-point number with so many bits of precision is v.
func fits(v int64, precision int) bool {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	return bits.Len64(u)-bits.TrailingZeros64(u) <= precision
}

// uuid reads the text form of RFC 9562, §4.
func (p *Parser) uuid(s *step, a *columns.Array, i int) int {
	from, until := p.span(s, i)
	if until < 0 {
		return -1
	}
	var id [16]byte
	if !readUUID(&id, p.b[from:until]) {
		return p.refuse(s, malformed.Format, from, "%q is not a UUID such as f81d4fae-7dec-11d0-a765-00a0c91e6bf6", clip(p.b[from:until]))
	}
	a.AppendFixed(id[:])
	return until
}

func readUUID(id *[16]byte, text []byte) bool {
	if len(text) != 36 {
		return false
	}
	digit := 0
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return false
		}
		id[digit/2] = id[digit/2]<<4 | c
		digit++
	}
	return true
}
