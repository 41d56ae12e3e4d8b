package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// beginnings are the bytes that values of other formats begin with.
var beginnings = []struct{ bytes, looks string }{
	{"Obj\x01", "an Avro object container file"},
	{"\xc3\x01", "Avro in single-object encoding"},
	{"PAR1", "a Parquet file"},
	{"\x1f\x8b", "compressed by gzip, by its producer and not by Kafka"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd, by its producer and not by Kafka"},
	{"\xff\x06\x00\x00sNaPpY", "compressed by snappy, by its producer and not by Kafka"},
	{"\x82SNAPPY\x00", "compressed by snappy, by its producer and not by Kafka"},
	{"\x04\x22\x4d\x18", "compressed by lz4, by its producer and not by Kafka"},
	{":)\n", "Smile, a binary form of JSON"},
	{"\xac\xed\x00\x05", "a serialised object of Java"},
	{"\xef\xbb\xbf", "text behind a byte order mark"},
	{"\xfe\xff", "UTF-16"},
	{"\xff\xfe", "UTF-16"},
	{"<", "XML"},
}

// looksLike says what a value that is no JSON object may be; empty if there is nothing to say.
func looksLike(value []byte) string {
	for _, b := range beginnings {
		if bytes.HasPrefix(value, []byte(b.bytes)) {
			return b.looks
		}
	}
	switch {
	case len(value) > 5 && value[0] == 0 && value[1] == 0 && value[2] == 0 && value[3] == 0 && value[4] == 0:
		return "binary"
	case len(value) > 5 && value[0] == 0:
		return fmt.Sprintf("%s behind the prefix of a schema registry, schema id %d", payload(value[5:]), binary.BigEndian.Uint32(value[1:]))
	case len(value) > 17 && value[0] == 1:
		return fmt.Sprintf("%s behind the prefix of a schema registry, schema GUID %x", payload(value[17:]), value[1:17])
	case isText(value):
		return plainText(bytes.TrimSpace(value))
	}
	return "binary, such as Avro or Protobuf without a prefix"
}

// payload is what a registry's prefix is in front of.
func payload(value []byte) string {
	if trimmed := bytes.TrimSpace(value); len(trimmed) > 0 && trimmed[0] == '{' && isText(trimmed) {
		return "JSON"
	}
	return "Avro or Protobuf"
}

func isText(value []byte) bool {
	return utf8.Valid(value) && !bytes.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' })
}

func plainText(value []byte) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '{':
		return "" // it tries to be a record, and the error says what is wrong
	case value[0] == '[':
		return "an array of JSON"
	case bytes.HasPrefix(value, []byte(`"{`)) || bytes.HasPrefix(value, []byte(`"[`)):
		return "JSON within a string of JSON: it was encoded twice"
	}
	return "text"
}
