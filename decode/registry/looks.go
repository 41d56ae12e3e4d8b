package registry

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// signatures tell by their first bytes what people send where a schema id is expected.
var signatures = []struct{ prefix, what string }{
	{"{", "plain JSON"},
	{"[", "plain JSON"},
	{`"`, "plain JSON"},
	{"\xef\xbb\xbf", "text with a byte order mark"},
	{"Obj\x01", "an Avro file, with its schema inside"},
	{"\xc3\x01", "Avro's single-object encoding"},
	{"\x03\x00", "the framing of the AWS Glue registry"},
	{"\x03\x05", "the framing of the AWS Glue registry"},
	{"\x1f\x8b", "gzip"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"PAR1", "a Parquet file"},
	{"<", "XML"},
}

// looks says what the first bytes of an unframed value are, and what they are likely to be.
func looks(value []byte) string {
	return "it begins with " + begin(value) + ", which looks like " + likeness(value)
}

func likeness(value []byte) string {
	// JSON may begin with white space, and the codes of white space begin none of the others.
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	for _, s := range signatures {
		if bytes.HasPrefix(trimmed, []byte(s.prefix)) {
			return s.what
		}
	}
	if printable(value[:min(len(value), 16)]) {
		return "plain text"
	}
	return "Avro or Protobuf without the id of a schema"
}

// printable says whether the bytes are those of text. A character may be cut at their end.
func printable(start []byte) bool {
	for len(start) > 0 {
		r, size := utf8.DecodeRune(start)
		if r < ' ' && !bytes.ContainsRune([]byte("\t\r\n"), r) || r == 0x7f {
			return false
		}
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(start)
		}
		start = start[size:]
	}
	return true
}

// begin is the first bytes in hexadecimal.
func begin(value []byte) string {
	if len(value) > 8 {
		return fmt.Sprintf("% x …", value[:8])
	}
	return fmt.Sprintf("% x", value)
}
