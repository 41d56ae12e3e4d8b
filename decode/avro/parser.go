package avro

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/columns"
	"sluice/decode/malformed"
)

// Parser reads values that were written with one schema. It is used by one goroutine.
type Parser struct {
	schema  columns.Schema
	root    []step
	unknown []columns.Field
	// spread says that the root's fields are the columns; around then stands for the column that they would be in.
	spread bool
	around [1]columns.Array
	// least is how many bytes a value has at least; weight is how many values a row has.
	least, weight int

	b []byte
	// room is how many more values may be appended for which the value in hand has no bytes.
	room  int
	fault malformed.Error
	// path is where a fault is, innermost first.
	path []spot
}

// Schema is the columns that Append fills.
func (p *Parser) Schema() columns.Schema { return p.schema }

// Unknown is what the writer has and the columns lack, with the types that Columns gives. What is new inside of a struct,
// list or map comes as that, holding nothing but what is new. A field that no column can hold, such as a recursive one,
// has the zero Type.
func (p *Parser) Unknown() []columns.Field { return p.unknown }

// How many values a record may append that it has no bytes for, by its bytes and by the columns: nulls of a wide struct, the
// columns that the writer does not have, and the elements of an array of nulls.
const (
	perByte   = 16
	perColumn = 16
)

// Append reads the datum in value and adds its row to dst, which columns.Make made for the schema.
//
// If it is malformed, the error is a *malformed.Error and dst is as it was before. Nothing of value is kept. The values
// of all rows in dst must be fewer than 2 GiB, so that offsets fit.
func (p *Parser) Append(dst []columns.Array, value []byte) error {
	p.b, p.path, p.room = value, p.path[:0], malformed.Room(len(value), perByte)+perColumn*p.weight
	row := dst[0].Len
	i := p.datum(dst)
	p.b = nil
	if i == len(value) {
		return nil
	}
	columns.TruncateAll(dst, row)
	if i >= 0 {
		p.fail(malformed.Syntax, i, "%d bytes are left after the value", len(value)-i)
	}
	err := p.fault
	err.Detail += framed(value)
	err.Path, err.Excerpt = p.where(), malformed.Excerpt(value, err.Position)
	return &err
}

// framed says what a malformed value may be instead: the usual mistake is that of how values are framed.
func framed(value []byte) string {
	for head, kind := range map[string]string{
		"Obj\x01": "of a container file", "\xc3\x01": "of a single-object encoding", "\x00\x00": "with a schema registry's header",
	} {
		if len(value) > 5 && strings.HasPrefix(string(value[:4]), head) {
			return "; the first bytes are as those of a value " + kind
		}
	}
	return ""
}

// datum reads the value, and returns where it ends, -1 if it is malformed.
func (p *Parser) datum(dst []columns.Array) int {
	if len(p.b) == 0 && p.least > 0 {
		return p.fail(malformed.Empty, 0, "the value has no bytes")
	}
	if !p.spread {
		return p.fields(p.root, dst, 0)
	}
	if root := &p.root[0]; root.op == opRecord && !root.optional {
		return p.record(root, dst, 0)
	}
	p.around[0] = columns.Array{Kind: columns.Struct, Len: dst[0].Len, Children: dst}
	i := p.fields(p.root, p.around[:], 0)
	p.around[0].Children = nil
	return i
}

// spot is a name, or an index where the name is empty, or a map's key.
type spot struct {
	name  string
	index int
	isKey bool
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
			if quoted := strconv.Quote(s.name); quoted[1:len(quoted)-1] != s.name {
				out = append(out, quoted...)
			} else {
				out = append(out, s.name...)
			}
		}
	}
	return string(out)
}

// fail notes what is wrong at byte at, and returns -1.
func (p *Parser) fail(reason malformed.Reason, at int, detail string, values ...any) int {
	p.fault = malformed.Error{Reason: reason, Position: at, Detail: fmt.Sprintf(detail, values...)}
	return -1
}

// in notes that the fault is inside of a field, and returns -1. Elements and branches have no names of their own.
func (p *Parser) in(s *step) int {
	if s.name != "" {
		p.path = append(p.path, spot{name: s.name})
	}
	return -1
}

// refuse is fail at a field.
func (p *Parser) refuse(s *step, reason malformed.Reason, at int, detail string, values ...any) int {
	p.fail(reason, at, detail, values...)
	return p.in(s)
}

// badVarint says why there is no number at byte at.
func (p *Parser) badVarint(s *step, at int) int {
	if len(p.b)-at < 10 {
		return p.refuse(s, malformed.Syntax, at, "the bytes end within a number")
	}
	return p.refuse(s, malformed.Syntax, at, "a number has more than 64 bits")
}

// short says that the bytes end before what is at byte at does.
func (p *Parser) short(s *step, at int, what string) int {
	return p.refuse(s, malformed.Syntax, at, "the bytes end before %s does", what)
}

// clip bounds what an error shows of a value.
func clip(text []byte) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}
