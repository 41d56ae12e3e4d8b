package protobuf

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
	"sluice/decode/malformed"
)

// document says which of google/protobuf/struct.proto a message is.
type document uint8

const (
	documentStruct document = iota
	documentValue
	documentList
)

func documentOf(m protoreflect.MessageDescriptor) document {
	switch m.Name() {
	case "Struct":
		return documentStruct
	case "Value":
		return documentValue
	}
	return documentList
}

// member is an entry of a Struct: its key, and the range of spans that its value's parts are.
type member struct {
	key         span
	from, until int
}

// piece notes a part of a document, to be read when all parts are known.
func (p *Parser) piece(n *node, end bounds) bool {
	from := p.i
	until := end.until
	if end.group != 0 {
		if !p.skipGroup(end.group, end.until) {
			return false
		}
		until = p.groupEnd
	} else {
		p.i = until
	}
	n.pieces = append(n.pieces, span{from, until})
	return true
}

// document appends the text of a document to its column.
func (p *Parser) document(n *node, a *columns.Array) bool {
	if !p.compose(n) {
		return false
	}
	a.AppendBytes(p.json.out)
	return true
}

// compose writes the document of a node to p.json.out.
func (p *Parser) compose(n *node) bool {
	at := p.i
	w := &p.json
	w.out, w.spans, w.members = w.out[:0], append(w.spans[:0], n.pieces...), w.members[:0]
	p.depth++
	if !p.write(n, n.document, 0) {
		return false
	}
	p.depth--
	p.i = at
	return true
}

// dismiss closes a message that is taken back, and those inside. A document among them, of which nothing but its bounds
// was looked at yet, has to be one all the same.
func (p *Parser) dismiss(n *node) bool {
	if !n.open {
		return true
	}
	n.open = false
	for i := range n.fields {
		if inner := n.fields[i].node; inner != nil && !p.dismiss(inner) {
			return p.at(step{name: n.fields[i].name})
		}
	}
	return n.known != knownJSON || p.compose(n)
}

// write writes the document whose parts are the spans beginning with from, and drops them.
func (p *Parser) write(n *node, d document, from int) (ok bool) {
	if p.depth > p.limit {
		return p.deep(p.i)
	}
	switch d {
	case documentStruct:
		ok = p.writeStruct(n, from)
	case documentList:
		ok = p.writeList(n, from)
	default:
		ok = p.writeValue(n, from)
	}
	p.json.spans = p.json.spans[:from]
	return ok
}

// tag reads the number and the wire type of the next field.
func (p *Parser) tag(until int) (uint64, wire, bool) {
	at := p.i
	tag, ok := p.varint(until)
	if !ok {
		return 0, 0, false
	}
	number, w := tag>>3, wire(tag&7)
	if number == 0 || number > maxNumber {
		return 0, 0, p.fail(malformed.Syntax, at, "field number %d", number)
	}
	if w == wireEndGroup {
		return 0, 0, p.fail(malformed.Syntax, at, "the end of group %d, which was not begun", number)
	}
	return number, w, true
}

// body passes the body of a field that has a length, and is where it stands.
func (p *Parser) body(w wire, until int) (span, bool) {
	if w != wireBytes {
		return span{}, p.fail(malformed.WrongType, p.i, "%s where %s should be", wireNames[w], wireNames[wireBytes])
	}
	size, ok := p.length(until)
	p.i += size
	return span{p.i - size, p.i}, ok
}

func (p *Parser) writeList(n *node, from int) bool {
	w := &p.json
	w.out = append(w.out, '[')
	first := true
	for k, until := from, len(w.spans); k < until; k++ {
		s := w.spans[k]
		for p.i = s.from; p.i < s.until; {
			number, wt, ok := p.tag(s.until)
			if !ok {
				return false
			}
			if number != 1 {
				if !p.stranger(n, number, wt, s.until) {
					return false
				}
				continue
			}
			if !first {
				w.out = append(w.out, ',')
			}
			first = false
			element, ok := p.body(wt, s.until)
			if !ok {
				return false
			}
			after := p.i
			w.spans = append(w.spans, element)
			if !p.nested(n, documentValue, until) {
				return false
			}
			p.i = after
		}
	}
	w.out = append(w.out, ']')
	return true
}

// nested writes a document inside of another.
func (p *Parser) nested(n *node, d document, from int) bool {
	p.depth++
	ok := p.write(n, d, from)
	p.depth--
	return ok
}

func (p *Parser) writeStruct(n *node, from int) bool {
	w := &p.json
	until, first := len(w.spans), len(w.members)
	for k := from; k < until; k++ {
		s := w.spans[k]
		for p.i = s.from; p.i < s.until; {
			number, wt, ok := p.tag(s.until)
			switch {
			case !ok:
				return false
			case number == 1:
				ok = p.member(n, wt, s.until)
			default:
				ok = p.stranger(n, number, wt, s.until)
			}
			if !ok {
				return false
			}
		}
	}
	if !p.writeMembers(n, first) {
		return false
	}
	w.members = w.members[:first]
	return true
}

// member notes an entry of a Struct.
func (p *Parser) member(n *node, wt wire, until int) bool {
	entry, ok := p.body(wt, until)
	if !ok {
		return false
	}
	w := &p.json
	m := member{from: len(w.spans)}
	for p.i = entry.from; p.i < entry.until; {
		number, wt, ok := p.tag(entry.until)
		if !ok {
			return false
		}
		if number > 2 {
			if !p.stranger(n, number, wt, entry.until) {
				return false
			}
			continue
		}
		part, ok := p.body(wt, entry.until)
		switch {
		case !ok:
			return false
		case number == 1:
			m.key = part
			if text := p.b[part.from:part.until]; !utf8.Valid(text) {
				return p.fail(malformed.Encoding, part.from+valid(text), "the text is not UTF-8")
			}
		default:
			w.spans = append(w.spans, part)
		}
	}
	m.until = len(w.spans)
	w.members = append(w.members, m)
	return true
}

// writeMembers writes the members from first on by the order of their keys, of equal ones the last.
func (p *Parser) writeMembers(n *node, first int) bool {
	w := &p.json
	last := len(w.members)
	slices.SortStableFunc(w.members[first:], func(a, b member) int {
		return bytes.Compare(p.b[a.key.from:a.key.until], p.b[b.key.from:b.key.until])
	})
	w.out = append(w.out, '{')
	start := len(w.out)
	for k := first; k < last; k++ {
		m := w.members[k]
		before := len(w.out)
		if before > start {
			w.out = append(w.out, ',')
		}
		w.text(p.b[m.key.from:m.key.until])
		w.out = append(w.out, ':')
		top := len(w.spans)
		w.spans = append(w.spans, w.spans[m.from:m.until]...)
		if !p.nested(n, documentValue, top) {
			return false
		}
		if k+1 < last && bytes.Equal(p.b[m.key.from:m.key.until], p.b[w.members[k+1].key.from:w.members[k+1].key.until]) {
			w.out = w.out[:before]
		}
	}
	w.out = append(w.out, '}')
	return true
}

// writeValue writes what the last of a Value's fields says. What was written of fields before is taken back.
func (p *Parser) writeValue(n *node, from int) bool {
	w := &p.json
	until, start, open := len(w.spans), len(w.out), uint64(0)
	w.out = append(w.out, "null"...)
	for k := from; k < until; k++ {
		s := w.spans[k]
		for p.i = s.from; p.i < s.until; {
			number, wt, ok := p.tag(s.until)
			if !ok {
				return false
			}
			if number > 6 {
				if !p.stranger(n, number, wt, s.until) {
					return false
				}
				continue
			}
			if number != open && !p.writeParts(n, open, until, start) {
				return false
			}
			open = number
			if !p.writeKind(number, wt, s.until, start) {
				return false
			}
		}
	}
	return p.writeParts(n, open, until, start)
}

// writeParts writes the Struct or ListValue whose parts were noted after the Value's own.
func (p *Parser) writeParts(n *node, number uint64, from, start int) bool {
	if number < 5 {
		return true
	}
	p.json.out = p.json.out[:start]
	after := p.i
	d := documentStruct
	if number == 6 {
		d = documentList
	}
	ok := p.nested(n, d, from)
	p.i = after
	return ok
}

// writeKind writes one field of a Value, or notes a part of one.
func (p *Parser) writeKind(number uint64, wt wire, until, start int) bool {
	at, w := p.i, &p.json
	wants := [...]wire{1: wireVarint, 2: wireFixed64, 3: wireBytes, 4: wireVarint, 5: wireBytes, 6: wireBytes}[number]
	if wt != wants {
		return p.fail(malformed.WrongType, at, "%s where %s should be", wireNames[wt], wireNames[wants])
	}
	if number >= 5 {
		part, ok := p.body(wt, until)
		w.spans = append(w.spans, part)
		return ok
	}
	w.out = w.out[:start]
	switch number {
	case 2:
		return p.writeNumber(until)
	case 3:
		part, ok := p.body(wt, until)
		if text := p.b[part.from:part.until]; ok && !utf8.Valid(text) {
			return p.fail(malformed.Encoding, part.from+valid(text), "the text is not UTF-8")
		}
		w.text(p.b[part.from:part.until])
		return ok
	}
	v, ok := p.varint(until)
	switch {
	case !ok:
		return false
	case number == 1 && int64(v) != int64(int32(v)):
		return p.overflow(at, "enum")
	case number == 1:
		w.out = append(w.out, "null"...)
	case v > 1:
		return p.overflow(at, "bool")
	default:
		w.out = strconv.AppendBool(w.out, v == 1)
	}
	return true
}
