package protobuf

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"sluice/columns"
	"sluice/decode/malformed"
)

// Parser reads records of one message. It is used by one goroutine.
type Parser struct {
	schema columns.Schema
	new    []columns.Field
	root   *node
	limit  int
	cut    bool
	// refuseUnfit is Options.RefuseUnfit.
	refuseUnfit bool
	unknown     func(parent string, number int32, value []byte) bool

	// b is the record in hand, i where the parser is in it, depth how many messages it is in.
	b        []byte
	i, depth int
	// groupEnd is where the tag stands that ends the group passed last.
	groupEnd int
	// room is how many more values the record may leave out.
	room  int
	fault malformed.Error
	// path is where a fault is, innermost first.
	path []step
	// json is the text of a Struct, Value or ListValue.
	json jsonWriter
}

// step is a name, or an index where the name is empty, or a map's key.
type step struct {
	name  string
	index int
	isKey bool
}

// How many values a record may leave out, by its bytes and by the columns of the schema: a message that leaves out all of
// its fields takes two bytes, and each field takes room in the columns.
const (
	perByte   = 16
	perColumn = 16
)

// Schema is the columns that Compile was given.
func (p *Parser) Schema() columns.Schema { return p.schema }

// Unknown lists the fields that the message has and the columns lack, with the types that Message.Columns gives them. What
// is new inside of a message, a list or a map that the columns have stands there in a struct, list or map that holds only
// what is new. A field whose message holds itself cannot be a column and is not listed.
func (p *Parser) Unknown() []columns.Field { return p.new }

// Append reads the record in value, which is one message without any framing, and adds its row to dst, which columns.Make
// made for the schema. No bytes are a message, of which every field is absent.
//
// If the record is malformed, the error is a *malformed.Error and dst is as it was before. Nothing of value is kept. The
// values of all rows in dst must be fewer than 2 GiB, so that offsets fit.
func (p *Parser) Append(dst []columns.Array, value []byte) error {
	p.b, p.i, p.depth, p.path = value, 0, 1, p.path[:0]
	p.room = malformed.Room(len(value), perByte) + perColumn*p.root.leaves
	row := dst[0].Len
	p.root.begin()
	if p.message(p.root, dst, row, bounds{until: len(value)}) && p.close(p.root, dst, row) {
		p.root.open, p.b = false, nil
		return nil
	}
	p.root.forget()
	columns.TruncateAll(dst, row)
	err := p.fault
	err.Path, err.Excerpt = p.where(), malformed.Excerpt(value, err.Position)
	p.b = nil
	return &err
}

// fail notes a fault, and is always false.
func (p *Parser) fail(reason malformed.Reason, at int, format string, args ...any) bool {
	p.fault = malformed.Error{Reason: reason, Position: at, Detail: fmt.Sprintf(format, args...)}
	return false
}

// at notes that the fault is inside a field, and is always false.
func (p *Parser) at(s step) bool {
	p.path = append(p.path, s)
	return false
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

// begin opens a message, of which nothing was met.
func (n *node) begin() {
	n.open = true
	for i := range n.members {
		n.members[i] = -1
	}
	n.parts, n.pieces = [5]int64{}, n.pieces[:0]
}

// forget closes a message, and those inside, that is taken back.
func (n *node) forget() {
	n.open = false
	for i := range n.fields {
		if inner := n.fields[i].node; inner != nil {
			inner.forget()
		}
	}
}

// bounds are where a message ends: at a byte, and, for a group, at the end tag of its number before.
type bounds struct {
	until int
	group uint64
}

// maxNumber is the largest field number.
const maxNumber = 1<<29 - 1

// message reads the fields of a message into its columns a, of which row is the next row. Scalars are appended as they are
// met, and again, after taking the value back, when they are met again: the last one counts. Lists grow as their elements
// come. A message inside stays open until this one ends, so that another part of it, which the encoding says is merged
// into it, goes on where the first has stopped.
func (p *Parser) message(n *node, a []columns.Array, row int, end bounds) bool {
	for p.i < end.until {
		// A tag of one byte that is as the schema has it says all.
		tag := uint64(p.b[p.i])
		k := -1
		if tag < 0x80 {
			k = int(n.tags[tag]) - 1
		}
		if k >= 0 {
			p.i++
		} else {
			var ended, ok bool
			if tag, k, ended, ok = p.tagIn(n, end); !ok || ended {
				return ok
			}
			if k < 0 {
				if !p.stranger(n, tag>>3, wire(tag&7), end.until) {
					return false
				}
				continue
			}
		}
		f := &n.fields[k]
		if f.oneof >= 0 && n.members[f.oneof] != int16(k) && !p.choose(n, a, row, k) {
			return false
		}
		if !p.field(n, f, a, k, tag, row, end.until) {
			return p.at(step{name: f.name})
		}
	}
	return end.group == 0 || p.fail(malformed.Syntax, p.i, "group %d does not end", end.group)
}

// tagIn reads a tag and finds its field, -1 if there is none, or finds that the group ends with it.
func (p *Parser) tagIn(n *node, end bounds) (tag uint64, k int, ended, ok bool) {
	at := p.i
	if tag, ok = p.varint(end.until); !ok {
		return
	}
	number, w := tag>>3, wire(tag&7)
	switch {
	case number == 0 || number > maxNumber:
		ok = p.fail(malformed.Syntax, at, "field number %d", number)
	case w == wireEndGroup && number == end.group:
		ended = true
	case w == wireEndGroup:
		ok = p.fail(malformed.Syntax, at, "the end of group %d, which was not begun", number)
	default:
		k = n.find(number)
	}
	return
}

// field reads one occurrence of field k of a message.
func (p *Parser) field(n *node, f *field, a []columns.Array, k int, tag uint64, row, until int) bool {
	w := wire(tag & 7)
	switch f.shape {
	case shapeOne:
		switch {
		case w != f.wire:
			return p.mismatch(f, w, p.i)
		case f.reads == readsMessage:
			return p.embedded(f, a[k:k+1], row, until)
		}
		c := &a[k]
		if c.Len != row {
			c.Truncate(row)
		}
		return p.value(f, c, until)
	case shapeList:
		return p.element(f, &a[k], w, until)
	case shapeMap:
		return p.entry(f, &a[k], w, until)
	case shapePart:
		return p.part(n, f, w, until)
	}
	if f.unfit && p.refuseUnfit {
		return p.fail(malformed.Unknown, p.i, "the columns have no such field, and none can take it: its message holds itself")
	}
	return p.skip(f.number, w, until)
}

func (p *Parser) mismatch(f *field, w wire, at int) bool {
	if w == 6 || w == 7 {
		return p.fail(malformed.Syntax, at, "wire type %d", w)
	}
	return p.fail(malformed.WrongType, at, "%s where %s should be", wireNames[w], wireNames[f.wire])
}

// stranger passes a field whose number the message does not have.
func (p *Parser) stranger(n *node, number uint64, w wire, until int) bool {
	from := p.i
	if !p.skip(number, w, until) {
		return p.at(step{name: strconv.FormatUint(number, 10)})
	}
	if p.unknown == nil || p.unknown(n.path, int32(number), p.passed(from, w)) {
		return true
	}
	p.fail(malformed.Unknown, from, "the message has no field %d", number)
	return p.at(step{name: strconv.FormatUint(number, 10)})
}

// passed is the value that ends before p.i without what stands around it: a length, the end of a group.
func (p *Parser) passed(from int, w wire) []byte {
	switch w {
	case wireBytes:
		_, size := binary.Uvarint(p.b[from:])
		from += size
	case wireGroup:
		return p.b[from:p.groupEnd]
	}
	return p.b[from:p.i]
}

// choose sets a member of a oneof, and with that takes back the one that was set.
func (p *Parser) choose(n *node, a []columns.Array, row, k int) bool {
	oneof := n.fields[k].oneof
	before := int(n.members[oneof])
	n.members[oneof] = int16(k)
	if before < 0 || before >= n.width {
		return true
	}
	f := &n.fields[before]
	if p.room -= f.leaves; p.room < 0 {
		return p.tooMany() || p.at(step{name: f.name})
	}
	a[before].Truncate(row)
	return f.node == nil || p.dismiss(f.node) || p.at(step{name: f.name})
}

func (p *Parser) tooMany() bool {
	return p.fail(malformed.Size, p.i, "the record leaves out more values than %d for each of its bytes", perByte)
}

// embedded reads a message, or a part of one that is open, into the column that is all of a.
func (p *Parser) embedded(f *field, a []columns.Array, row, until int) bool {
	n := f.node
	if !n.open {
		n.begin()
	}
	end, ok := p.enter(f, until)
	if !ok {
		return false
	}
	switch n.known {
	case knownJSON:
		ok = p.piece(n, end)
	case knownNot:
		ok = p.message(n, a[0].Children, row, end)
	default:
		ok = p.message(n, a, row, end)
	}
	p.depth--
	return ok
}

// enter goes into a message.
func (p *Parser) enter(f *field, until int) (bounds, bool) {
	at := p.i
	end := bounds{until: until, group: f.number}
	if f.wire == wireBytes {
		size, ok := p.length(until)
		if !ok {
			return end, false
		}
		end = bounds{until: p.i + size}
	}
	if p.depth++; p.depth > p.limit {
		return end, p.deep(at)
	}
	return end, true
}

func (p *Parser) deep(at int) bool {
	return p.fail(malformed.Depth, at, "more than %d messages within each other", p.limit)
}
