package decode_test

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/decode"
)

// What an error advises is about the format that the job has, and names the usual mistakes: the wrong format, and values
// that are framed otherwise.
func TestAdviceIsAboutTheFormatAndWhatTheValueLooksLike(t *testing.T) {
	plain := avroValue(ordersV1, "")
	framed := framedValue("id BIGINT, name STRING")
	framed.OnMalformed = "fail"
	proto := batch.Value{Format: "protobuf", Written: batch.Written{Text: `syntax = "proto3"; message A { int32 a = 1; }`}, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
	text := jsonValue("")
	text.Format = "string"
	looksJSON, prefixed := "looks like JSON: ", "looks like Avro or Protobuf behind the prefix of a schema registry, schema id 7: "
	for name, c := range map[string]struct {
		settings    batch.Value
		value       string
		want, never string
	}{
		"JSON with a wrong type":            {jsonValue("id INT"), `{"id":"x"}`, "correct value.schema or the way value.json reads it", "looks like"},
		"framed Avro read as JSON":          {jsonValue("id INT"), framedBy(7, datum(1, "a")), prefixed, ""},
		"text read as JSON":                 {jsonValue("id INT"), "not json", "looks like text: ", ""},
		"a truncated object":                {jsonValue("id INT"), `{"id":`, "correct value.schema", "looks like"},
		"JSON read as Avro":                 {plain, `{"id":1}`, looksJSON, "value.json"},
		"framed Avro read without an id":    {plain, framedBy(7, datum(1, "a")), prefixed, "value.json"},
		"damaged Avro":                      {plain, string(datum(1)), "correct value.schemaFile", "value.json"},
		"damaged Avro behind an id":         {framed, framedBy(1, datum(1)), "the way value.avro reads it", "looks like"},
		"JSON read as Protobuf":             {proto, `{"id":1}`, looksJSON, "value.json"},
		"framed Protobuf without an id":     {proto, framedBy(7, []byte{0, 8, 1}), prefixed, "value.json"},
		"bytes that are no text, of string": {text, "a\xff", "value.format raw", "value.json"},
	} {
		_, err := registryOf(ordersV1).decoder(t, decode.Derive(c.settings)).Decode(topic(c.value))
		hint := batch.HintOf(err)
		if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(hint, c.want) || c.never != "" && strings.Contains(hint, c.never) {
			t.Errorf("%s: got %v\nhint %s\nwant %q in it, and not %q", name, err, hint, c.want, c.never)
		}
	}
}
