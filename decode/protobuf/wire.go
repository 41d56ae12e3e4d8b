package protobuf

import (
	"encoding/binary"

	"sluice/decode/malformed"
)

// varint reads one, which ends before byte until.
func (p *Parser) varint(until int) (uint64, bool) {
	if p.i < until {
		if c := p.b[p.i]; c < 0x80 {
			p.i++
			return uint64(c), true
		}
	}
	return p.longVarint(until)
}

func (p *Parser) longVarint(until int) (uint64, bool) {
	const most = 10
	var v uint64
	b := p.b[p.i:min(p.i+most, until)]
	for k, c := range b {
		v |= uint64(c&0x7f) << (7 * k & 63)
		if c < 0x80 {
			if k == most-1 && c > 1 {
				break
			}
			p.i += k + 1
			return v, true
		}
	}
	if len(b) < most {
		return 0, p.fail(malformed.Syntax, p.i, "a varint that does not end")
	}
	return 0, p.fail(malformed.Syntax, p.i, "a varint of more than 64 bits")
}

// length reads the length of what follows, which ends at byte until at the latest.
func (p *Parser) length(until int) (int, bool) {
	at := p.i
	size, ok := p.varint(until)
	if !ok {
		return 0, false
	}
	if size > uint64(until-p.i) {
		return 0, p.fail(malformed.Syntax, at, "a length of %d, and %d bytes are left", size, until-p.i)
	}
	return int(size), true
}

func (p *Parser) fixed32(until int) (uint64, bool) {
	if until-p.i < 4 {
		return 0, p.fail(malformed.Syntax, p.i, "a fixed32 that does not end")
	}
	p.i += 4
	return uint64(binary.LittleEndian.Uint32(p.b[p.i-4:])), true
}

func (p *Parser) fixed64(until int) (uint64, bool) {
	if until-p.i < 8 {
		return 0, p.fail(malformed.Syntax, p.i, "a fixed64 that does not end")
	}
	p.i += 8
	return binary.LittleEndian.Uint64(p.b[p.i-8:]), true
}

// skip passes the value of a field whose tag was read.
func (p *Parser) skip(number uint64, w wire, until int) (ok bool) {
	switch w {
	case wireVarint:
		_, ok = p.varint(until)
	case wireFixed64:
		_, ok = p.fixed64(until)
	case wireFixed32:
		_, ok = p.fixed32(until)
	case wireBytes:
		var size int
		size, ok = p.length(until)
		p.i += size
	case wireGroup:
		p.depth++
		ok = p.skipGroup(number, until)
		p.depth--
	default:
		return p.fail(malformed.Syntax, p.i, "wire type %d", w)
	}
	return ok
}

// skipGroup passes the fields of a group and its end.
func (p *Parser) skipGroup(group uint64, until int) bool {
	if p.depth > p.limit {
		return p.deep(p.i)
	}
	for {
		at := p.i
		if at >= until {
			return p.fail(malformed.Syntax, at, "group %d does not end", group)
		}
		tag, ok := p.varint(until)
		if !ok {
			return false
		}
		number, w := tag>>3, wire(tag&7)
		switch {
		case number == 0 || number > maxNumber:
			return p.fail(malformed.Syntax, at, "field number %d", number)
		case w == wireEndGroup && number != group:
			return p.fail(malformed.Syntax, at, "the end of group %d within group %d", number, group)
		case w == wireEndGroup:
			p.groupEnd = at
			return true
		}
		if !p.skip(number, w, until) {
			return false
		}
	}
}
