package protobuf

import (
	"math"
	"strconv"
	"unicode/utf8"

	"sluice/columns"
	"sluice/decode/malformed"
)

// value reads a scalar and appends it.
func (p *Parser) value(f *field, a *columns.Array, until int) bool {
	at := p.i
	if at < until && p.b[at] < 0x80 {
		switch v := int(p.b[at]); f.quick {
		case quickText:
			if v > until-at-1 {
				break
			}
			p.i = at + 1 + v
			return p.text(f, a, p.b[at+1:p.i], at+1)
		case quickInt32:
			p.i++
			a.AppendInt32(int32(v))
			return true
		case quickInt64:
			p.i++
			a.AppendInt64(int64(v))
			return true
		}
	}
	var v uint64
	var ok bool
	switch f.wire {
	case wireVarint:
		v, ok = p.varint(until)
	case wireFixed32:
		v, ok = p.fixed32(until)
	case wireFixed64:
		v, ok = p.fixed64(until)
	default:
		size, ok := p.length(until)
		if !ok {
			return false
		}
		p.i += size
		return p.text(f, a, p.b[p.i-size:p.i], p.i-size)
	}
	return ok && p.number(f, a, v, at)
}

// text appends a string or bytes.
func (p *Parser) text(f *field, a *columns.Array, text []byte, at int) bool {
	switch f.reads {
	case readsText:
		if !utf8.Valid(text) {
			return p.fail(malformed.Encoding, at+valid(text), "the text is not UTF-8")
		}
	case readsExact:
		if len(text) == 0 && f.absent == absentNull && f.implicit {
			a.AppendNothing(f.value)
			return true
		}
		if int64(len(text)) != f.bound {
			return p.fail(malformed.Format, at, "%d bytes where the column has %d", len(text), f.bound)
		}
		a.AppendFixed(text)
		return true
	}
	a.AppendBytes(text)
	return true
}

// valid is how many bytes of text are UTF-8, of text that is not.
func valid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// number appends what the bits of a value mean. A number that its type does not have, as one of 64 bits has which another
// schema wrote, is malformed, where C++ would cut bits off it.
func (p *Parser) number(f *field, a *columns.Array, v uint64, at int) bool {
	switch f.reads {
	case readsInt64:
		return p.signed(f, a, int64(v), at)
	case readsInt32:
		if int64(v) != int64(int32(v)) {
			return p.overflow(at, "int32")
		}
		return p.signed(f, a, int64(v), at)
	case readsUint32:
		if v > math.MaxUint32 {
			return p.overflow(at, "uint32")
		}
		return p.signed(f, a, int64(v), at)
	case readsUint64:
		return p.unsigned(f, a, v, at)
	case readsSint32:
		if v > math.MaxUint32 {
			return p.overflow(at, "sint32")
		}
		return p.signed(f, a, int64(v>>1)^-int64(v&1), at)
	case readsSint64:
		return p.signed(f, a, int64(v>>1)^-int64(v&1), at)
	case readsSfixed32:
		return p.signed(f, a, int64(int32(v)), at)
	case readsBool:
		if v > 1 {
			return p.overflow(at, "bool")
		}
		a.AppendBool(v == 1)
		return true
	case readsEnum:
		return p.enum(f, a, v, at)
	}
	float(f, a, v)
	return true
}

func float(f *field, a *columns.Array, v uint64) {
	switch {
	case f.reads == readsDouble:
		a.AppendFloat64(math.Float64frombits(v))
	case f.holds == holdsFloat64:
		a.AppendFloat64(float64(math.Float32frombits(uint32(v))))
	default:
		a.AppendFloat32(math.Float32frombits(uint32(v)))
	}
}

func (p *Parser) overflow(at int, what string) bool {
	return p.fail(malformed.Overflow, at, "a number that is no %s", what)
}

// signed appends an integer.
func (p *Parser) signed(f *field, a *columns.Array, v int64, at int) bool {
	switch f.holds {
	case holdsInt64:
		a.AppendInt64(v)
	case holdsInt32:
		if v != int64(int32(v)) {
			return p.tooLarge(f, at)
		}
		a.AppendInt32(int32(v))
	case holdsDecimal:
		if v >= f.bound || v <= -f.bound {
			return p.tooLarge(f, at)
		}
		a.AppendInt64(v)
	default:
		return p.wide(f, a, v>>63, uint64(v), at)
	}
	return true
}

func (p *Parser) unsigned(f *field, a *columns.Array, v uint64, at int) bool {
	if f.holds == holdsWide {
		return p.wide(f, a, 0, v, at)
	}
	if v > math.MaxInt64 {
		return p.tooLarge(f, at)
	}
	return p.signed(f, a, int64(v), at)
}

// wide appends an integer of 128 bits to a decimal of more than columns.WideDecimal digits.
func (p *Parser) wide(f *field, a *columns.Array, high int64, low uint64, at int) bool {
	upper, lower := uint64(high), low
	if high < 0 {
		upper, lower = negate(upper, lower)
	}
	if upper > f.beyond[0] || upper == f.beyond[0] && lower >= f.beyond[1] {
		return p.tooLarge(f, at)
	}
	a.AppendInt128(high, low)
	return true
}

func (p *Parser) tooLarge(f *field, at int) bool {
	return p.fail(malformed.Overflow, at, "a number beyond %s", typeName(f.value))
}

// enum appends the name of a number, or the number where it has no name, as the JSON form of Protobuf does.
func (p *Parser) enum(f *field, a *columns.Array, v uint64, at int) bool {
	number := int32(v)
	if int64(v) != int64(number) {
		return p.overflow(at, "enum")
	}
	name := f.names.of(number)
	if name == nil {
		var digits [11]byte
		name = strconv.AppendInt(digits[:0], int64(number), 10)
	}
	if p.room -= len(name) / 8; p.room < 0 {
		return p.tooMany()
	}
	a.AppendBytes(name)
	return true
}
