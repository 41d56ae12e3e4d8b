// Package malformed says why the bytes of a record are no row of the schema. All formats share it, so that policies,
// dead letters and error texts are the same whichever format a topic has.
package malformed

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reason is the class of a fault. Its text is stored in dead letters and never changes meaning.
type Reason string

// The reasons.
const (
	Empty     Reason = "empty"     // there is a value, and it has no bytes
	Schema    Reason = "schema"    // what it was written with cannot be read into the columns
	Framing   Reason = "framing"   // the schema registry's framing is not there, or is broken
	Syntax    Reason = "syntax"    // the bytes are not of the format
	Encoding  Reason = "encoding"  // text is not UTF-8, or has half a surrogate pair
	Depth     Reason = "depth"     // nested deeper than the limit
	Size      Reason = "size"      // many more values than bytes
	Duplicate Reason = "duplicate" // a name or a map's key comes twice
	Missing   Reason = "missing"   // a required field is not there
	Null      Reason = "null"      // a required field is null
	WrongType Reason = "type"      // such as a string where the schema has a number
	Overflow  Reason = "overflow"  // a number or time beyond what the column holds
	Lossy     Reason = "lossy"     // a value that the column could hold rounded only
	Format    Reason = "format"    // text that is not written as a date, a time, base64, … is
	Zone      Reason = "zone"      // a zone where none may be, or a local time that a zone has not, or has twice
	Unknown   Reason = "unknown"   // a field that the schema does not have, where that is not ignored
	Tombstone Reason = "tombstone" // no value at all, where that is not wanted
)

// Error is why one record is malformed.
type Error struct {
	Reason Reason
	// Path is the column, such as items[2].sku or attributes["a.b"]; empty for the record as a whole.
	Path string
	// Position is the offset in the value's bytes where the fault was found.
	Position int
	// Detail says what is wrong, in words.
	Detail string
	// Excerpt is a bounded piece of the value around Position, with everything but printable characters escaped: safe
	// for a terminal and a log. It is empty where bytes would say nothing to people.
	Excerpt string
}

// Error is path, detail, position and excerpt in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s (%s, at byte %d)", e.Detail, e.Reason, e.Position)
	if e.Excerpt != "" {
		b.WriteString(" near ")
		b.WriteString(e.Excerpt)
	}
	return b.String()
}

// mostLeftOut is how many values of eight bytes a record may leave out besides one for each of its bytes.
const mostLeftOut = 2 << 20

// Room is how many values of eight bytes, or as much as they take, a record of so many bytes may append to columns that it
// has no bytes for: perByte for each byte, and of a large record no more than one a byte and mostLeftOut besides. It bounds
// the columns of one record to 16 MiB and 24 times its size, for what it does have is at most 16 times as large there.
func Room(size, perByte int) int { return min(perByte*size, size+mostLeftOut) }

// How much of a value an excerpt shows before and after the position, in bytes before escaping.
const (
	before = 32
	after  = 48
)

// Excerpt is the piece of value around position: at most 80 bytes, control and invisible characters and bytes that are
// no UTF-8 escaped as in Go's strings, an ellipsis where something was left out.
func Excerpt(value []byte, position int) string {
	from, until := max(0, position-before), min(len(value), position+after)
	if from >= until {
		from = max(0, until-before)
	}
	from, until = whole(value, from), whole(value, until)
	var out []byte
	if from > 0 {
		out = append(out, "…"...)
	}
	for at := from; at < until; {
		r, size := utf8.DecodeRune(value[at:until])
		out = appendSafe(out, value[at], r, size)
		at += size
	}
	if until < len(value) {
		out = append(out, "…"...)
	}
	return string(out)
}

// whole moves a cut out of the middle of a character, back to its first byte.
func whole(value []byte, at int) int {
	for back := range min(at, utf8.UTFMax-1) + 1 {
		if at < len(value) && utf8.RuneStart(value[at-back]) {
			if r, size := utf8.DecodeRune(value[at-back:]); r != utf8.RuneError && back < size {
				return at - back
			}
			break
		}
	}
	return at
}

func appendSafe(out []byte, first byte, r rune, size int) []byte {
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Appendf(out, `\x%02x`, first)
	case unicode.IsPrint(r):
		return utf8.AppendRune(out, r)
	}
	quoted := strconv.QuoteRune(r)
	return append(out, quoted[1:len(quoted)-1]...)
}
