package json

import (
	"sluice/columns"
	"sluice/decode/malformed"
)

// The alphabets of RFC 4648, §4 and §5: they differ in two characters.
const (
	noSextet = 0xff
	standard = 0x40 // the character is of the standard alphabet alone
	urlSafe  = 0x80 // of the other alone
)

var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = noSextet
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") {
		t[c] = byte(i)
	}
	t['+'], t['/'] = 62|standard, 63|standard
	t['-'], t['_'] = 62|urlSafe, 63|urlSafe
	return t
}()

// base64 reads the bytes that text stands for.
func (p *Parser) base64(n *node, a *columns.Array, text []byte, at int) bool {
	decoded, ok := decodeBase64(p.bytes[:0], text)
	p.bytes = decoded
	switch {
	case !ok:
		return p.fail(malformed.Format, at, "%q is not base64", clip(text))
	case n.kind == columns.Binary:
		a.AppendBytes(decoded)
	case len(decoded) != n.typ.Width:
		return p.fail(malformed.Format, at, "the text stands for %d bytes, not %d", len(decoded), n.typ.Width)
	default:
		a.AppendFixed(decoded)
	}
	return true
}

// decodeBase64 appends what text stands for; it is strict, see the package comment.
func decodeBase64(dst, text []byte) ([]byte, bool) {
	digits := text
	for len(digits) > 0 && digits[len(digits)-1] == '=' {
		digits = digits[:len(digits)-1]
	}
	if padding := len(text) - len(digits); padding > 0 && (padding > 2 || len(text)%4 != 0) || len(digits)%4 == 1 {
		return dst, false
	}
	var word uint32
	var seen byte
	for i, c := range digits {
		s := sextets[c]
		if s == noSextet {
			return dst, false
		}
		seen |= s
		word = word<<6 | uint32(s&63)
		if i%4 == 3 {
			dst = append(dst, byte(word>>16), byte(word>>8), byte(word))
			word = 0
		}
	}
	if seen&standard != 0 && seen&urlSafe != 0 {
		return dst, false
	}
	switch len(digits) % 4 {
	case 2:
		return append(dst, byte(word>>4)), word&15 == 0
	case 3:
		return append(dst, byte(word>>10), byte(word>>2)), word&3 == 0
	}
	return dst, true
}

// uuid reads the text form of RFC 9562, §4.
func (p *Parser) uuid(a *columns.Array, text []byte, at int) bool {
	var id [16]byte
	if !readUUID(&id, text) {
		return p.fail(malformed.Format, at, "%q is not a UUID such as f81d4fae-7dec-11d0-a765-00a0c91e6bf6", clip(text))
	}
	a.AppendFixed(id[:])
	return true
}

func readUUID(id *[16]byte, text []byte) bool {
	if len(text) != 36 {
		return false
	}
	digit := 0
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		d := hexDigit(c)
		if d < 0 {
			return false
		}
		id[digit/2] = id[digit/2]<<4 | byte(d)
		digit++
	}
	return true
}
