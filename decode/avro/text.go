package avro

import (
	"encoding/binary"
	"unicode/utf8"

	"sluice/columns"
	"sluice/decode/malformed"
)

// outside are the bits that ASCII does not have.
const outside = 0x8080808080808080

// heads are the bits outside of ASCII in the first bytes, up to 16, of two words.
var heads = func() (t [17][2]uint64) {
	for size := range t {
		for at := range size {
			t[size][at/8] |= 0x80 << (8 * (at % 8))
		}
	}
	return t
}()

// text reads a string. Most are short, ASCII and not the last of a record: these are checked and copied as two words,
// which a call for each would take longer than.
func (p *Parser) text(s *step, a *columns.Array, i int) int {
	b := p.b
	from, until := p.span(s, i)
	if until < 0 {
		return -1
	}
	data, size := a.Data, until-from
	if size <= 16 && from+16 <= len(b) && len(data)+16 <= cap(data) {
		first, second := binary.LittleEndian.Uint64(b[from:]), binary.LittleEndian.Uint64(b[from+8:])
		if head := &heads[size]; first&head[0]|second&head[1] == 0 {
			room := data[len(data) : len(data)+16]
			binary.LittleEndian.PutUint64(room, first)
			binary.LittleEndian.PutUint64(room[8:], second)
			a.Data = data[:len(data)+size]
			if len(a.Offsets) > 0 {
				a.Offsets = append(a.Offsets, int32(len(a.Data)))
				appendPresent(a)
			} else {
				closeBytes(a)
			}
			return until
		}
	}
	if !valid(b[from:until]) {
		return p.refuse(s, malformed.Encoding, from, "the text is not UTF-8")
	}
	a.Data = append(a.Data, b[from:until]...)
	closeBytes(a)
	return until
}

// valid reports whether text is UTF-8.
func valid(text []byte) bool {
	rest := text
	for len(rest) >= 8 && binary.LittleEndian.Uint64(rest)&outside == 0 {
		rest = rest[8:]
	}
	return utf8.Valid(rest)
}

// appendBytes is Array.AppendBytes, which the compiler does not inline.
func appendBytes(a *columns.Array, value []byte) {
	a.Data = append(a.Data, value...)
	closeBytes(a)
}

// closeBytes closes a row whose bytes were appended.
func closeBytes(a *columns.Array) {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
	a.Offsets = append(a.Offsets, int32(len(a.Data)))
	appendPresent(a)
}

// appendPresent closes a present row.
func appendPresent(a *columns.Array) {
	if len(a.Validity) > 0 {
		a.AppendPresent()
		return
	}
	a.Len++
}
