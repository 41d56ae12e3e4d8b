package json

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"sluice/decode/malformed"
)

// scanner reads the grammar of RFC 8259. Its methods return false once something is wrong; fault then says what.
type scanner struct {
	b     []byte
	i     int
	depth int
	limit int
	fault malformed.Error
	// scratch holds a string without its escapes.
	scratch []byte
}

// fail notes what is wrong, and is always false.
func (s *scanner) fail(reason malformed.Reason, at int, detail string, a ...any) bool {
	s.fault = malformed.Error{Reason: reason, Position: at, Detail: fmt.Sprintf(detail, a...)}
	return false
}

// space passes white space and returns the byte that follows, without passing it, or 0 at the end.
func (s *scanner) space() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.i++
	}
	return 0
}

// unexpected says that something else should be where the scanner stands.
func (s *scanner) unexpected(wanted string) bool {
	if s.i >= len(s.b) {
		return s.fail(malformed.Syntax, s.i, "the text ends where %s should be", wanted)
	}
	switch c := s.b[s.i]; {
	case s.i == 0 && len(s.b) > 1 && (s.b[0] == 0xfe && s.b[1] == 0xff || s.b[0] == 0xff && s.b[1] == 0xfe || c == 0 || s.b[1] == 0):
		return s.fail(malformed.Syntax, 0, "the text is UTF-16 or binary; JSON is UTF-8")
	case s.i == 0 && len(s.b) > 2 && c == 0xef && s.b[1] == 0xbb && s.b[2] == 0xbf:
		return s.fail(malformed.Syntax, 0, "the text begins with a byte order mark")
	case c == 'N' || c == 'I':
		return s.fail(malformed.Syntax, s.i, "JSON has neither NaN nor Infinity, and %s should be here", wanted)
	case c < ' ' || c > '~':
		return s.fail(malformed.Syntax, s.i, "byte %#02x where %s should be", c, wanted)
	default:
		return s.fail(malformed.Syntax, s.i, "%c where %s should be", c, wanted)
	}
}

// begins says whether the word stands where the scanner does.
func (s *scanner) begins(word string) bool {
	return len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word
}

func (s *scanner) literal(word string) bool {
	if !s.begins(word) {
		return s.unexpected("a value")
	}
	s.i += len(word)
	return true
}

// open passes the bracket that begins an array or object, close the one that ends it.
func (s *scanner) open() bool {
	s.i++
	s.depth++
	return s.depth <= s.limit || s.tooDeep()
}

func (s *scanner) tooDeep() bool {
	return s.fail(malformed.Depth, s.i-1, "arrays and objects are nested deeper than %d", s.limit)
}

func (s *scanner) close() {
	s.depth--
	s.i++
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// quoted passes a string, the scanner being at its first quote, and returns what is between the quotes. It is UTF-8, and
// its escapes are yet to be looked at.
func (s *scanner) quoted() (raw []byte, escaped, ok bool) {
	b, from := s.b, s.i+1
	i, wide := from, uint64(0)
	for {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			// A byte that is a quote, a backslash or below the space has its highest bit set here; the first such is exact.
			stop := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
			if stop == 0 {
				wide |= w & highs
				i += 8
				continue
			}
			k := bits.TrailingZeros64(stop) &^ 7
			wide |= w & highs & (1<<k - 1)
			i += k >> 3
		} else {
			for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
				wide |= uint64(b[i]) & 0x80
				i++
			}
			if i >= len(b) {
				s.i = len(b)
				return nil, false, s.unexpected("the end of a string")
			}
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			raw = b[from:i]
			if wide != 0 && !utf8.Valid(raw) {
				return nil, false, s.notUTF8(from)
			}
			return raw, escaped, true
		case c == '\\':
			escaped = true
			i += 2
		case c < ' ':
			return nil, false, s.fail(malformed.Syntax, i, "a string has the bare control character %#02x", c)
		}
	}
}

func (s *scanner) notUTF8(from int) bool {
	at := from
	for at < len(s.b) {
		r, size := utf8.DecodeRune(s.b[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return s.fail(malformed.Encoding, at, "the text is not UTF-8")
}

// text passes a string and returns it without escapes. It is valid until the next call.
func (s *scanner) text() ([]byte, bool) {
	at := s.i + 1
	raw, escaped, ok := s.quoted()
	if !ok || !escaped {
		return raw, ok
	}
	s.scratch, ok = s.unescape(s.scratch[:0], raw, at)
	return s.scratch, ok
}

var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends raw, which begins at byte at, without its escapes.
func (s *scanner) unescape(dst, raw []byte, at int) ([]byte, bool) {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' { // a backslash is never the last byte: the quote behind it would not have ended the string
			c := short[raw[i+1]]
			if c == 0 {
				return dst, s.fail(malformed.Syntax, at+i, `there is no escape \%s`, malformed.Excerpt(raw[i+1:i+2], 0))
			}
			dst = append(dst, c)
			i += 2
			continue
		}
		r, size := unicode(raw[i:])
		switch {
		case size == 0:
			return dst, s.fail(malformed.Syntax, at+i, `\u is not followed by four hexadecimal digits`)
		case r == utf8.RuneError && size == lone:
			return dst, s.fail(malformed.Encoding, at+i, "%s is half of a surrogate pair and has no other half", raw[i:i+6])
		}
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst, true
}

// lone is the size that unicode gives half a surrogate pair.
const lone = -1

// unicode reads \uXXXX, or two of them that make a pair, and returns how many bytes that took.
func unicode(raw []byte) (r rune, size int) {
	r = hex4(raw)
	switch {
	case r < 0:
		return 0, 0
	case r < 0xd800 || r > 0xdfff:
		return r, 6
	case r < 0xdc00 && len(raw) >= 12:
		if low := hex4(raw[6:]); low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
		}
	}
	return utf8.RuneError, lone
}

// hex4 is the code unit of \uXXXX, -1 if raw does not begin with one.
func hex4(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range raw[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// numeral passes a number and returns its text.
func (s *scanner) numeral() ([]byte, bool) {
	from := s.i
	size, whole := numeralSize(s.b[from:])
	s.i += size
	switch {
	case !whole:
		return nil, s.unexpected("a digit")
	case s.i < len(s.b) && isDigit(s.b[s.i]):
		return nil, s.fail(malformed.Syntax, from, "a number begins with a zero")
	}
	return s.b[from:s.i], true
}

// numeralSize is how long the number is that b begins with, and whether it is whole: if not, a digit is missing there.
func numeralSize(b []byte) (int, bool) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		i = 1
	}
	from := i
	if i < len(b) && b[i] == '0' {
		i++
	} else {
		i = digitsEnd(b, i)
	}
	if i == from {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digitsEnd(b, from); i == from {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		i = digitsEnd(b, from)
		return i, i > from
	}
	return i, true
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// skip passes any value, and finds everything that is wrong with its text.
func (s *scanner) skip() bool {
	switch c := s.space(); {
	case c == '"':
		_, ok := s.text()
		return ok
	case c == '{':
		return s.skipMembers('}', true)
	case c == '[':
		return s.skipMembers(']', false)
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || isDigit(c):
		_, ok := s.numeral()
		return ok
	}
	return s.unexpected("a value")
}

func (s *scanner) skipMembers(end byte, named bool) bool {
	if !s.open() {
		return false
	}
	if s.space() == end {
		s.close()
		return true
	}
	for {
		if named && !s.skipName() || !s.skip() {
			return false
		}
		switch s.space() {
		case ',':
			s.i++
		case end:
			s.close()
			return true
		default:
			return s.unexpected("a comma or the end of the array or object")
		}
	}
}

func (s *scanner) skipName() bool {
	if s.space() != '"' {
		return s.unexpected("a name")
	}
	if _, ok := s.text(); !ok {
		return false
	}
	return s.colon()
}

func (s *scanner) colon() bool {
	if s.space() != ':' {
		return s.unexpected("a colon")
	}
	s.i++
	return true
}

// members reads an array or object, each member with read.
func (s *scanner) members(end byte, read func() bool) bool {
	if !s.open() {
		return false
	}
	if s.space() == end {
		s.close()
		return true
	}
	for read() {
		switch s.space() {
		case ',':
			s.i++
		case end:
			s.close()
			return true
		default:
			return s.unexpected("a comma or the end of the array or object")
		}
	}
	return false
}
