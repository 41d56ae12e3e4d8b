package decode

import (
	"unicode/utf8"

	"sluice/columns"
	"sluice/decode/malformed"
)

// text reads values as they are into one STRING column, value. A value of no bytes is an empty text; one that is not
// UTF-8 is malformed (encoding).
type text struct {
	// path is the column in faults.
	path string
}

var textSchema = columns.Schema{{Name: "value", Type: columns.Type{Kind: columns.String}}}

func (text) Schema() columns.Schema { return textSchema }

func (t text) Append(dst []columns.Array, value []byte) error {
	if !utf8.Valid(value) {
		at := invalid(value)
		return &malformed.Error{Reason: malformed.Encoding, Path: t.path, Position: at, Detail: "the bytes are not UTF-8",
			Excerpt: malformed.Excerpt(value, at)}
	}
	dst[0].AppendBytes(value)
	return nil
}

// invalid is where value stops being UTF-8.
func invalid(value []byte) int {
	at := 0
	for at < len(value) {
		r, size := utf8.DecodeRune(value[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return at
}
