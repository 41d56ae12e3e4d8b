package json

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"sluice/columns"
	"sluice/decode/malformed"
)

// Parser reads records of one schema. It is used by one goroutine.
type Parser struct {
	scanner
	schema        columns.Schema
	root          *node
	unknown       func(parent string, name, value []byte) bool
	zone          *time.Location
	numbersInText bool
	cut           bool

	// name holds a name without its escapes, bytes what base64 stands for.
	name, bytes []byte
	moment      moment
	// path is where a fault is, innermost first.
	path []step
}

// step is a name, or an index where the name is empty, or a map's key.
type step struct {
	name  string
	index int
	isKey bool
}

// Schema is what Compile was given.
func (p *Parser) Schema() columns.Schema { return p.schema }

// Append reads the record in value and adds its row to dst, which columns.Make made for the schema.
//
// If the record is malformed, the error is a *malformed.Error and dst is as it was before. Nothing of value is kept. The
// values of all rows in dst must be fewer than 2 GiB, so that offsets fit.
func (p *Parser) Append(dst []columns.Array, value []byte) error {
	p.b, p.i, p.depth, p.path = value, 0, 0, p.path[:0]
	row := dst[0].Len
	if p.record(dst, row) {
		p.b = nil
		return nil
	}
	columns.TruncateAll(dst, row)
	err := p.fault
	err.Path, err.Excerpt = p.where(), malformed.Excerpt(value, err.Position)
	p.b = nil
	return &err
}

func (p *Parser) record(dst []columns.Array, row int) bool {
	if len(p.b) == 0 {
		return p.fail(malformed.Empty, 0, "the value has no bytes")
	}
	if c := p.space(); c != '{' {
		return p.other(c, "an object")
	}
	if !p.object(p.root, dst, row) {
		return false
	}
	p.space()
	if p.i < len(p.b) {
		return p.fail(malformed.Syntax, p.i, "there is more after the object")
	}
	return true
}

// where is the path of a fault. An index follows its list without a dot.
func (p *Parser) where() string {
	var out []byte
	for _, s := range slices.Backward(p.path) {
		switch {
		case s.isKey:
			out = append(strconv.AppendQuote(append(out, '['), s.name), ']')
		case s.name == "":
			out = append(strconv.AppendInt(append(out, '['), int64(s.index), 10), ']')
		default:
			if len(out) > 0 {
				out = append(out, '.')
			}
			out = append(out, s.name...)
		}
	}
	return string(out)
}

// at notes that the fault is inside a field, and is always false.
func (p *Parser) at(s step) bool {
	p.path = append(p.path, s)
	return false
}

// value reads the value of a column.
func (p *Parser) value(n *node, a *columns.Array) bool {
	c := p.space()
	if c == 'n' {
		return p.null(n, a)
	}
	switch n.reads {
	case readsText:
		if c == '"' {
			return p.textValue(n, a)
		}
	case readsNumber:
		if c == '-' || isDigit(c) || c == '"' && p.numbersInText {
			return p.numeric(n, a, c)
		}
	case readsBool:
		if c == 't' || c == 'f' {
			return p.boolean(a, c == 't')
		}
	case readsAny:
		return p.any(a)
	case readsList:
		if c == '[' {
			return p.list(n, a)
		}
	case readsMap:
		if c == '{' {
			return p.mapping(n, a)
		}
	case readsStruct:
		if c == '{' {
			if !p.object(n, a.Children, a.Len) {
				return false
			}
			a.AppendStruct()
			return true
		}
	}
	return p.other(c, typeName(n.typ))
}

// numeric reads a number, or a string that holds one.
func (p *Parser) numeric(n *node, a *columns.Array, c byte) bool {
	at := p.i
	if c == '"' {
		text, ok := p.text()
		return ok && p.numberInText(n, a, text, at)
	}
	text, ok := p.numeral()
	return ok && p.number(n, a, text, at)
}

func (p *Parser) boolean(a *columns.Array, value bool) bool {
	word := "false"
	if value {
		word = "true"
	}
	if !p.literal(word) {
		return false
	}
	a.AppendBool(value)
	return true
}

// any keeps the text of a value.
func (p *Parser) any(a *columns.Array) bool {
	from := p.i
	if !p.skip() {
		return false
	}
	a.AppendBytes(p.b[from:p.i])
	return true
}

func (p *Parser) null(n *node, a *columns.Array) bool {
	at := p.i
	if !p.literal("null") {
		return false
	}
	if n.required {
		return p.fail(malformed.Null, at, "null, and the column is required")
	}
	a.AppendNothing(n.typ)
	return true
}

// other says that the record has something else than what is wanted.
func (p *Parser) other(c byte, wanted string) bool {
	found := ""
	switch {
	case c == '"':
		found = "a string"
	case c == '{':
		found = "an object"
	case c == '[':
		found = "an array"
	case c == 't' || c == 'f':
		found = "a boolean"
	case c == 'n':
		found = "null"
	case c == '-' || isDigit(c):
		found = "a number"
	default:
		return p.unexpected("a value")
	}
	return p.fail(malformed.WrongType, p.i, "%s where %s should be", found, wanted)
}

// typeName is how an error shows a type.
func typeName(t *columns.Type) string {
	if t.Kind == columns.Decimal {
		return "decimal(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	}
	return t.Kind.String()
}

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
		a.AppendNothing(f.typ)
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
		return p.fail(malformed.Unknown, at, "the schema has no such field") || p.at(step{name: string(p.name)})
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
	if n.keys.repeated(keys, from) {
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

// clip bounds what an error shows of a record.
func clip(text []byte) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return string(bytes.ToValidUTF8(text[:most], nil)) + "…"
}

// key reads a name as a map's key.
func (p *Parser) key(n *node, a *columns.Array, text []byte, at int) bool {
	switch n.reads {
	case readsNumber:
		return p.numberInText(n, a, text, at)
	case readsBool:
		if value := string(text) == "true"; value || string(text) == "false" {
			a.AppendBool(value)
			return true
		}
		return p.fail(malformed.Format, at, "a boolean key is true or false")
	}
	return p.scalar(n, a, text, at)
}

// numberInText reads a string that is a number to the letter.
func (p *Parser) numberInText(n *node, a *columns.Array, text []byte, at int) bool {
	if size, whole := numeralSize(text); !whole || size != len(text) {
		return p.fail(malformed.Format, at, "the text is no JSON number")
	}
	return p.number(n, a, text, at)
}

// textValue reads a string; most are kept as they are.
func (p *Parser) textValue(n *node, a *columns.Array) bool {
	at := p.i
	text, escaped, ok := p.quoted()
	if escaped && ok {
		p.scratch, ok = p.unescape(p.scratch[:0], text, at+1)
		text = p.scratch
	}
	if !ok {
		return false
	}
	if n.kind == columns.String {
		a.AppendBytes(text)
		return true
	}
	return p.scalar(n, a, text, at)
}

// scalar reads the text of a value, which begins at byte at.
func (p *Parser) scalar(n *node, a *columns.Array, text []byte, at int) bool {
	switch n.kind {
	case columns.String:
		a.AppendBytes(text)
		return true
	case columns.Binary, columns.Fixed:
		return p.base64(n, a, text, at)
	case columns.UUID:
		return p.uuid(a, text, at)
	}
	return p.temporal(n, a, text, at)
}
