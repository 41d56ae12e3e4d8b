package avro

import "sluice/decode/malformed"

// deepestValue bounds values of types that contain themselves.
const deepestValue = 1000

// skip passes a value of n that begins at byte i, and returns where it ends. It checks lengths and counts, and not what
// the bytes say. Types that contain themselves are passed down to a depth.
func (p *Parser) skip(n *node, i, depth int) int {
	if n.measure.size >= 0 {
		if n.measure.size > len(p.b)-i {
			return p.short(&nameless, i, n.String())
		}
		return i + n.measure.size
	}
	if depth > deepestValue {
		return p.fail(malformed.Depth, i, "a value is nested deeper than %d levels", deepestValue)
	}
	switch n.kind {
	case kindRecord:
		for k := range n.fields {
			if i = p.skip(n.fields[k].node, i, depth+1); i < 0 {
				return p.in(&step{name: n.fields[k].name})
			}
		}
		return i
	case kindUnion:
		branch, next := p.index(n, i)
		if next < 0 {
			return -1
		}
		return p.skip(n.branches[branch], next, depth+1)
	case kindArray, kindMap:
		return p.skipBlocks(n, i, depth+1)
	case kindBytes, kindString:
		_, until := p.span(&nameless, i)
		return until
	}
	return p.skipNumber(n, i)
}

func (p *Parser) skipNumber(n *node, i int) int {
	u, next := varint(p.b, i)
	switch v := zigzag(u); {
	case next < 0:
		return p.badVarint(&nameless, i)
	case n.kind == kindEnum && (v < 0 || v >= int64(len(n.symbols))):
		return p.fail(malformed.Syntax, i, "the enum has %d symbols, and the value is number %d", len(n.symbols), v)
	case n.kind == kindInt && (next-i > 5 || v != int64(int32(v))):
		return p.fail(malformed.Syntax, i, "an int has more than 32 bits or 5 bytes")
	}
	return next
}

// skipBlocks passes an array or a map, in one step where a block says how long it is or its items are all as long.
func (p *Parser) skipBlocks(n *node, i, depth int) int {
	item, least := n.item(), n.item().measure.least
	if n.kind == kindMap {
		least++
	}
	for {
		count, end, next := p.block(i)
		if end >= 0 && next >= 0 {
			i = end
			continue
		}
		if next >= 0 {
			next = p.enough(count, least, i, next)
		}
		if i = next; i < 0 || count == 0 {
			return i
		}
		if n.kind == kindArray && item.measure.size >= 0 {
			i += int(count) * item.measure.size // block saw that they are there
			continue
		}
		for ; count > 0; count-- {
			if n.kind == kindMap {
				if _, i = p.span(&nameless, i); i < 0 {
					return -1
				}
			}
			if i = p.skip(item, i, depth); i < 0 {
				return -1
			}
		}
	}
}
