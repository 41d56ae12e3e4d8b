package avro

import (
	"math"

	"sluice/columns"
	"sluice/decode/malformed"
)

// block reads how many items the next block of an array or a map has, 0 at the end, and where it ends if it says so, else
// -1.
func (p *Parser) block(i int) (count int64, end, next int) {
	u, next := varint(p.b, i)
	if next < 0 {
		return 0, 0, p.badVarint(&nameless, i)
	}
	count, end = zigzag(u), -1
	if count < 0 {
		at := next
		if u, next = varint(p.b, at); next < 0 {
			return 0, 0, p.badVarint(&nameless, at)
		}
		size := zigzag(u)
		if size < 0 || size > int64(len(p.b)-next) || count == math.MinInt64 {
			return 0, 0, p.fail(malformed.Syntax, i, "a block of %d items and %d bytes, and %d are left", count, size, len(p.b)-next)
		}
		count, end = -count, next+int(size)
	}
	return count, end, next
}

// enough returns where the items of a block begin, -1 if there cannot be so many: least is how many bytes one has at least.
func (p *Parser) enough(count int64, least, at, next int) int {
	if left := len(p.b) - next; least > 0 && count > int64(left/least) {
		return p.fail(malformed.Syntax, at, "a block of %d items, and %d bytes are left", count, left)
	}
	return next
}

// ended checks that a block ended where it said that it would.
func (p *Parser) ended(i, end int) bool {
	if end >= 0 && i != end {
		p.fail(malformed.Syntax, i, "a block ends %d bytes from where it says", i-end)
		return false
	}
	return true
}

func (p *Parser) list(s *step, a *columns.Array, i int) int {
	element := &s.steps[0]
	elements := &a.Children[0]
	for from := elements.Len; ; {
		count, end, next := p.block(i)
		if next >= 0 {
			next = p.enough(count, s.least, i, next)
		}
		if i = next; i < 0 {
			return p.in(s)
		}
		if count == 0 {
			a.AppendSpan()
			return i
		}
		if element.op == opRecord && !element.optional {
			for ; count > 0 && i >= 0; count-- {
				if i = p.record(element, elements.Children, i); i >= 0 {
					appendPresent(elements)
				}
			}
		} else {
			for ; count > 0 && i >= 0; count-- {
				i = p.fields(s.steps, a.Children, i)
			}
		}
		if i < 0 {
			p.path = append(p.path, spot{index: elements.Len - from})
			return p.in(s)
		}
		if !p.ended(i, end) {
			return p.in(s)
		}
	}
}

func (p *Parser) mapping(s *step, a *columns.Array, i int) int {
	entries := &a.Children[0]
	for from := entries.Len; ; {
		count, end, next := p.block(i)
		if next >= 0 {
			next = p.enough(count, s.least, i, next)
		}
		if i = next; i < 0 {
			return p.in(s)
		}
		if count == 0 {
			a.AppendSpan()
			return i
		}
		for ; count > 0; count-- {
			if i = p.entry(s, entries, from, i); i < 0 {
				return p.in(s)
			}
		}
		if !p.ended(i, end) {
			return p.in(s)
		}
	}
}

// entry reads one entry of a map whose first entry is from.
func (p *Parser) entry(s *step, entries *columns.Array, from, i int) int {
	at, until := p.span(&nameless, i)
	if until < 0 {
		return -1
	}
	key, keys := p.b[at:until], &entries.Children[0]
	if !valid(key) {
		return p.fail(malformed.Encoding, at, "a key is not UTF-8")
	}
	appendBytes(keys, key)
	if s.keys.Repeated(keys, from) {
		p.fail(malformed.Duplicate, at, "the map has the key twice")
		until = -1
	} else {
		until = p.fields(s.steps, entries.Children, until)
	}
	if until < 0 {
		p.path = append(p.path, spot{name: clip(key), isKey: true})
		return -1
	}
	appendPresent(entries)
	return until
}

// index reads which branch of a union a value is of.
func (p *Parser) index(n *node, i int) (branch, next int) {
	if i < len(p.b) && p.b[i] < 0x80 && p.b[i]&1 == 0 && int(p.b[i]>>1) < len(n.branches) {
		return int(p.b[i] >> 1), i + 1
	}
	u, next := varint(p.b, i)
	if next < 0 {
		return 0, p.badVarint(&nameless, i)
	}
	if v := zigzag(u); v < 0 || v >= int64(len(n.branches)) {
		return 0, p.fail(malformed.Syntax, i, "the union has %d types, and the value is of number %d", len(n.branches), v)
	}
	return int(zigzag(u)), next
}

func (p *Parser) union(s *step, arrays []columns.Array, i int) int {
	branch, next := p.index(s.union, i)
	if next >= 0 {
		next = p.fields(s.steps[branch:branch+1], arrays, next)
	}
	if next < 0 {
		return p.in(s)
	}
	return next
}

// members reads a value of a union into one of the columns of a struct; the others are null.
func (p *Parser) members(s *step, a *columns.Array, i int) int {
	at, branch := i, 0
	if !s.bare {
		if branch, i = p.index(s.union, i); i < 0 {
			return p.in(s)
		}
	}
	member := &s.steps[branch]
	if member.op == opNull {
		if !p.nothing(s, a, at, true) {
			return p.in(s)
		}
		return i
	}
	if i = p.fields(s.steps[branch:branch+1], a.Children, i); i < 0 || !p.charge(s.weight-member.weight, at) {
		return p.in(s)
	}
	for k := range a.Children {
		if a.Children[k].Len == a.Len {
			a.Children[k].AppendNothing(&s.typ.Fields[k].Type)
		}
	}
	appendPresent(a)
	return i
}
