package json

import (
	"bytes"
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
	// leaves is how many columns the schema has that have none inside them; room is how many more values the record in
	// hand may leave out.
	leaves, room int
	// single says that the text is the value of the only column, and no object that has it as a field.
	single bool

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
	p.room = malformed.Room(len(value), perByte) + perColumn*p.leaves
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
	what := "object"
	if p.single {
		what = "value"
		if !p.value(&p.root.children[0], &dst[0]) {
			return false
		}
	} else if c := p.space(); c != '{' {
		return p.other(c, "an object")
	} else if !p.object(p.root, dst, row) {
		return false
	}
	p.space()
	if p.i < len(p.b) {
		return p.fail(malformed.Syntax, p.i, "there is more after the %s", what)
	}
	return true
}

// where is the path of a fault. An index follows its list without a dot. Names that a terminal should not see are quoted:
// those of unknown fields are the producer's choice.
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
			if quoted := strconv.Quote(s.name); quoted[1:len(quoted)-1] != s.name {
				out = append(out, quoted...)
			} else {
				out = append(out, s.name...)
			}
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
	if n.reads == readsNumber && c == '"' && !p.single && p.holdsNumber() {
		return p.fail(malformed.WrongType, p.i, "a string where %s should be; with value.json.numbersInText it is the number in it", typeName(n.typ))
	}
	return p.other(c, typeName(n.typ))
}

// holdsNumber says whether the string that is next is a number to the letter.
func (p *Parser) holdsNumber() bool {
	again := scanner{b: p.b, i: p.i}
	text, escaped, ok := again.quoted()
	if !ok || escaped {
		return false
	}
	number := scanner{b: text}
	_, ok = number.numeral()
	return ok && number.i == len(text)
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
	return p.nothing(n, a, at)
}

// How many values a record may leave out, by its bytes and by the columns of the schema: leaving many out takes few bytes,
// and each takes room in the columns.
const (
	perByte   = 8
	perColumn = 4
)

// nothing adds a null for what the record, at byte at, leaves out or says is null.
func (p *Parser) nothing(n *node, a *columns.Array, at int) bool {
	if p.room -= n.leaves; p.room < 0 {
		return p.fail(malformed.Size, at, "the record leaves out more values than %d for each of its bytes", perByte)
	}
	a.AppendNothing(n.typ)
	return true
}

// other says that the record has something else than what is wanted.
func (s *scanner) other(c byte, wanted string) bool {
	found := ""
	switch {
	case c == '"':
		found = "a string"
	case c == '{':
		found = "an object"
	case c == '[':
		found = "an array"
	case s.begins("true") || s.begins("false"):
		found = "a boolean"
	case s.begins("null"):
		found = "null"
	case c == '-' || isDigit(c):
		found = "a number"
	default:
		return s.unexpected("a value")
	}
	return s.fail(malformed.WrongType, s.i, "%s where %s should be", found, wanted)
}

// typeName is how an error shows a type.
func typeName(t *columns.Type) string {
	if t.Kind == columns.Decimal {
		return "decimal(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	}
	return t.Kind.String()
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
