package protobuf

import (
	"math"
	"strconv"

	"sluice/decode/malformed"
)

// jsonWriter writes what a Struct, Value or ListValue says as JSON. These messages hold each other, and parts of one may
// stand apart, so that each is the list of its parts: a range of spans, of which the innermost are the last.
type jsonWriter struct {
	out     []byte
	spans   []span
	members []member
}

// writeNumber writes a number as ECMAScript does: the shortest digits that are this number and no other.
func (p *Parser) writeNumber(until int) bool {
	at := p.i
	bits, ok := p.fixed64(until)
	v := math.Float64frombits(bits)
	switch abs := math.Abs(v); {
	case !ok:
		return false
	case math.IsNaN(v), math.IsInf(v, 0):
		return p.fail(malformed.Format, at, "JSON has no number %v", v)
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		out := strconv.AppendFloat(p.json.out, v, 'e', -1, 64)
		if end := len(out); out[end-4] == 'e' && out[end-2] == '0' { // e-09 is written e-9
			out = append(out[:end-2], out[end-1])
		}
		p.json.out = out
	default:
		p.json.out = strconv.AppendFloat(p.json.out, v, 'f', -1, 64)
	}
	return true
}

// shortEscapes are the letters that stand for characters behind a backslash.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// text writes a string that is UTF-8.
func (w *jsonWriter) text(s []byte) {
	const hex = "0123456789abcdef"
	w.out = append(w.out, '"')
	for _, c := range s {
		switch short := shortEscapes[c]; {
		case short != 0:
			w.out = append(w.out, '\\', short)
		case c >= ' ':
			w.out = append(w.out, c)
		default:
			w.out = append(w.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	w.out = append(w.out, '"')
}
