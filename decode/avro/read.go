package avro

import (
	"encoding/binary"
	"math"

	"sluice/columns"
	"sluice/decode/malformed"
)

// fields reads a value for each step, one after the other, and returns where the last ends, -1 if one is malformed. It
// is long since it holds what most fields are: a call for each would take as long as the reading.
func (p *Parser) fields(steps []step, arrays []columns.Array, i int) int {
	b := p.b
	for k := range steps {
		s := &steps[k]
		a := &arrays[s.column]
		if s.optional {
			if i < len(b) && b[i] == s.valueAt {
				i++
			} else {
				var present bool
				if present, i = p.present(s, a, i); i < 0 {
					return p.in(s)
				}
				if !present {
					continue
				}
			}
		}
		switch s.op {
		case opString:
			if i = p.text(s, a, i); i < 0 {
				return -1
			}
		case opInt32:
			var u uint64
			next := i + 1
			if i < len(b) && b[i] < 0x80 {
				u = uint64(b[i])
			} else {
				u, next = longVarint(b, i)
			}
			v := zigzag(u)
			if next < 0 || v < s.low || v > s.high || next-i > s.most {
				return p.badInteger(s, i)
			}
			a.Int32s = append(a.Int32s, int32(v))
			appendPresent(a)
			i = next
		case opInt64:
			var u uint64
			next := i + 1
			if i < len(b) && b[i] < 0x80 {
				u = uint64(b[i])
			} else {
				u, next = longVarint(b, i)
			}
			v := zigzag(u)
			if next < 0 || v < s.low || v > s.high || next-i > s.most {
				return p.badInteger(s, i)
			}
			a.Int64s = append(a.Int64s, v*s.factor)
			appendPresent(a)
			i = next
		case opDouble:
			if len(b)-i < 8 {
				return p.short(s, i, "a double")
			}
			a.Float64s = append(a.Float64s, math.Float64frombits(binary.LittleEndian.Uint64(b[i:])))
			appendPresent(a)
			i += 8
		case opRecord:
			if i = p.record(s, a.Children, i); i < 0 {
				return p.in(s)
			}
			appendPresent(a)
		case opSkip:
			if i = p.skip(s.skips, i, 0); i < 0 {
				return p.in(s)
			}
		default:
			if i = p.other(s, arrays[s.column:], i); i < 0 {
				return -1
			}
		}
	}
	return i
}

// other reads a value of the rarer types into the first of arrays.
func (p *Parser) other(s *step, arrays []columns.Array, i int) int {
	a := &arrays[0]
	switch s.op {
	case opDecimal:
		return p.decimal(s, a, i)
	case opList:
		return p.list(s, a, i)
	case opMap:
		return p.mapping(s, a, i)
	case opBool:
		return p.boolean(s, a, i)
	case opEnum:
		return p.enum(s, a, i)
	case opBinary:
		from, until := p.span(s, i)
		if until >= 0 {
			appendBytes(a, p.b[from:until])
		}
		return until
	case opFixed:
		from, until := p.span(s, i)
		if until >= 0 {
			a.AppendFixed(p.b[from:until])
		}
		return until
	case opFloat, opFloatDouble:
		return p.float(s, a, i)
	case opNull:
		if !p.nothing(s, a, i, false) {
			return p.in(s)
		}
		return i
	case opUnion:
		return p.union(s, arrays, i)
	case opMembers:
		return p.members(s, a, i)
	case opUUID:
		return p.uuid(s, a, i)
	case opRefuse:
		return p.refuse(s, malformed.WrongType, i, "%s", s.refuses)
	}
	return p.integer(s, a, i)
}

// present reads which of null and a type a union has, and appends the null.
func (p *Parser) present(s *step, a *columns.Array, i int) (bool, int) {
	u, next := varint(p.b, i)
	switch v := zigzag(u); {
	case next < 0:
		p.badVarint(&nameless, i)
	case v == int64(s.valueAt>>1):
		return true, next
	case v == int64(s.nullAt>>1):
		if p.nothing(s, a, i, true) {
			return false, next
		}
	default:
		p.fail(malformed.Syntax, i, "the union has 2 types, and the value is of number %d", v)
	}
	return false, -1
}

// nothing appends a null. Where the record has a byte for it, only one that is wider than a number counts as left out.
func (p *Parser) nothing(s *step, a *columns.Array, at int, paid bool) bool {
	if s.required {
		p.fail(malformed.Null, at, "null, and the column is required")
		return false
	}
	if !paid || s.weight > 1 {
		if !p.charge(s.weight, at) {
			return false
		}
	}
	a.AppendNothing(s.typ)
	return true
}

// charge counts values that the record has no bytes for.
func (p *Parser) charge(values, at int) bool {
	if p.room -= values; p.room < 0 {
		p.fail(malformed.Size, at, "the record leaves out more values than %d for each of its bytes", perByte)
		return false
	}
	return true
}

// span is where the bytes of a value lie: [from, until), until -1 if they are not all there.
func (p *Parser) span(s *step, i int) (from, until int) {
	size := int64(s.size)
	from = i
	if !s.fixed {
		if i < len(p.b) && p.b[i] < 0x80 && p.b[i]&1 == 0 && int(p.b[i]>>1) < len(p.b)-i {
			return i + 1, i + 1 + int(p.b[i]>>1)
		}
		var u uint64
		if u, from = varint(p.b, i); from < 0 {
			return 0, p.badVarint(s, i)
		}
		size = zigzag(u)
	}
	if size < 0 || size > int64(len(p.b)-from) {
		return 0, p.badSize(s, size, i, from)
	}
	return from, from + int(size)
}

func (p *Parser) badSize(s *step, size int64, at, from int) int {
	if size < 0 {
		return p.refuse(s, malformed.Syntax, at, "a length of %d bytes", size)
	}
	return p.refuse(s, malformed.Syntax, at, "a length of %d bytes, and %d are left", size, len(p.b)-from)
}

// badInteger says what is wrong with a number at byte at.
func (p *Parser) badInteger(s *step, at int) int {
	u, next := varint(p.b, at)
	v := zigzag(u)
	switch {
	case next < 0:
		return p.badVarint(s, at)
	case next-at > s.most, s.most == 5 && v != int64(int32(v)):
		return p.refuse(s, malformed.Syntax, at, "an int has more than 32 bits or 5 bytes")
	}
	return p.refuse(s, malformed.Overflow, at, "%d is beyond what %s holds", v, typeName(s.typ))
}

// record reads the fields of a record into the columns of a struct.
func (p *Parser) record(s *step, children []columns.Array, i int) int {
	if i = p.fields(s.steps, children, i); i < 0 || len(s.missing) == 0 {
		return i
	}
	if !p.charge(s.missingWeight, i) {
		return -1
	}
	for _, column := range s.missing {
		children[column].AppendNothing(&s.typ.Fields[column].Type)
	}
	return i
}
