package json

import (
	"encoding/binary"

	"sluice/columns"
	"sluice/decode/malformed"
)

// object reads the fields of a struct into children, of which row is the next row.
func (p *Parser) object(n *node, children []columns.Array, row int) bool {
	if !p.open() {
		return false
	}
	if p.space() == '}' {
		p.close()
		return p.missing(n, children, row)
	}
	found := 0
	for next := 0; ; {
		if p.space() != '"' {
			return p.unexpected("a name")
		}
		at := p.i
		k, ok := p.field(n, next)
		if !ok {
			return false
		}
		if k < 0 {
			if !p.ignored(n, at) {
				return false
			}
		} else {
			f, a := &n.children[k], &children[k]
			if a.Len != row {
				return p.fail(malformed.Duplicate, at, "the name comes twice") || p.at(step{name: f.name})
			}
			if !p.value(f, a) {
				return p.at(step{name: f.name})
			}
			next = k + 1
			found++
		}
		switch p.space() {
		case ',':
			p.i++
			continue
		case '}':
			p.close()
			return found == len(n.children) || p.missing(n, children, row)
		}
		return p.unexpected("a comma or the end of the object")
	}
}

// missing closes a row whose record did not have every field.
func (p *Parser) missing(n *node, children []columns.Array, row int) bool {
	for k := range n.children {
		f, a := &n.children[k], &children[k]
		if a.Len != row {
			continue
		}
		if f.required {
			return p.fail(malformed.Missing, p.i-1, "the field is not there, and it is required") || p.at(step{name: f.name})
		}
		if !p.nothing(f, a, p.i-1) {
			return p.at(step{name: f.name})
		}
	}
	return true
}

// field passes a name and a colon and finds the field, -1 if there is none. Most records have their fields in the order of the
// schema, so the field that is next is tried first, before the name is even read.
func (p *Parser) field(n *node, next int) (int, bool) {
	if next < len(n.children) {
		f, rest := &n.children[next], p.b[p.i+1:]
		if size := len(f.quick); size > 0 && len(rest) >= max(size, 8) && (binary.LittleEndian.Uint64(rest)^f.head)&f.mask == 0 &&
			(size <= 8 || string(rest[8:size]) == f.quick[8:]) {
			p.i += 1 + size
			return next, true
		}
	}
	at := p.i + 1
	name, escaped, ok := p.quoted()
	if ok && escaped {
		p.name, ok = p.unescape(p.name[:0], name, at)
		name = p.name
	} else if ok && p.unknown != nil {
		p.name = append(p.name[:0], name...)
	}
	if !ok {
		return 0, false
	}
	return n.child(name), p.colon()
}

// child is the number of the field of that name, -1 if there is none.
func (n *node) child(name []byte) int {
	if len(n.children) > many {
		if k, found := n.index[string(name)]; found {
			return int(k)
		}
		return -1
	}
	for k := range n.children {
		if n.children[k].name == string(name) {
			return k
		}
	}
	return -1
}

// ignored passes the value of a field that the schema does not have; its name begins at byte at and is in p.name.
func (p *Parser) ignored(n *node, at int) bool {
	p.space()
	from := p.i
	if !p.skip() {
		return false
	}
	if p.unknown != nil && !p.unknown(n.path, p.name, p.b[from:p.i]) {
		return p.fail(malformed.Unknown, at, "the schema has no such field") || p.at(step{name: clip(p.name)})
	}
	return true
}

func (p *Parser) list(n *node, a *columns.Array) bool {
	if !p.open() {
		return false
	}
	element, elements := &n.children[0], &a.Children[0]
	if p.space() == ']' {
		p.close()
		a.AppendSpan()
		return true
	}
	for from := elements.Len; ; {
		if !p.value(element, elements) {
			return p.at(step{index: elements.Len - from})
		}
		switch p.space() {
		case ',':
			p.i++
			continue
		case ']':
			p.close()
			a.AppendSpan()
			return true
		}
		return p.unexpected("a comma or the end of the array")
	}
}

func (p *Parser) mapping(n *node, a *columns.Array) bool {
	if !p.open() {
		return false
	}
	entries := &a.Children[0]
	if p.space() == '}' {
		p.close()
		a.AppendSpan()
		return true
	}
	for from := entries.Len; ; {
		if !p.entry(n, entries, from) {
			return false
		}
		switch p.space() {
		case ',':
			p.i++
			continue
		case '}':
			p.close()
			a.AppendSpan()
			return true
		}
		return p.unexpected("a comma or the end of the object")
	}
}

// entry reads one entry of a map whose first entry is from.
func (p *Parser) entry(n *node, entries *columns.Array, from int) bool {
	if p.space() != '"' {
		return p.unexpected("a name")
	}
	at := p.i
	keys := &entries.Children[0]
	if text, ok := p.text(); !ok {
		return false
	} else if !p.key(&n.children[0], keys, text, at) {
		return p.at(step{name: clip(text), isKey: true})
	}
	if n.keys.Repeated(keys, from) {
		return p.fail(malformed.Duplicate, at, "the map has the key twice") || p.at(p.keyAt(at))
	}
	if !p.colon() {
		return false
	}
	if !p.value(&n.children[1], &entries.Children[1]) {
		return p.at(p.keyAt(at))
	}
	entries.AppendStruct()
	return true
}

// keyAt is the step for the key whose name begins at byte at; it is read again, for a fault alone.
func (p *Parser) keyAt(at int) step {
	again := scanner{b: p.b, i: at}
	text, _ := again.text()
	return step{name: clip(text), isKey: true}
}
