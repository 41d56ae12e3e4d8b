package decode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/decode"
	"sluice/decode/malformed"
)

// A mistyped name in value.schema is a column of nulls: it is found before the first record.
func TestColumnsThatNoRecordFillsAreFound(t *testing.T) {
	const orders = `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"old","aliases":["was"],"type":"int"},
		{"name":"s","type":["null",{"type":"record","name":"S","fields":[{"name":"x","type":"int"}]}]},{"name":"l","type":{"type":"array","items":"S"}},{"name":"m","type":{"type":"map","values":"S"}}]}`
	const message = `syntax = "proto3"; message M { int32 id = 1; S s = 2; repeated S l = 3; map<string, S> m = 4; } message S { int32 x = 1; }`
	for _, c := range []struct {
		format, text, schema, want string
	}{
		{decode.FormatAvro, orders, "id INT, was INT, idd INT", "[idd]"},
		{decode.FormatAvro, orders, "id INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, z: STRUCT<q: INT>>>, m MAP<STRING, STRUCT<x: INT, w: INT>>, n DATE", "[n s.y l.element.z m.value.w]"},
		{decode.FormatAvro, orders, "id INT, s STRUCT<x: INT>", "[]"},
		{decode.FormatAvro, orders, "", "[]"},
		{decode.FormatProtobuf, message, "id INT, idd INT", "[idd]"},
		{decode.FormatProtobuf, message, "id INT, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, z: INT>>, m MAP<STRING, STRUCT<x: INT, w: INT>>, n DATE", "[s.y l.element.z m.value.w n]"},
		{decode.FormatProtobuf, message, "id INT", "[]"},
		{decode.FormatAvro, orders, "id STRING, x INT", "[]"}, // which is a problem of its own
		{decode.FormatJSON, `{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`, "x INT", "[]"},
	} {
		got := fmt.Sprint(decode.Absent(batch.Value{Format: c.format, Schema: c.schema, Written: batch.Written{Text: c.text, Message: map[string]string{decode.FormatProtobuf: "M"}[c.format]}}))
		if got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.schema, c.format, got, c.want)
		}
	}
	if got := decode.Absent(batch.Value{Format: decode.FormatAvro, Schema: "x INT", Framing: batch.ConfluentFraming, Written: batch.Written{Text: orders}}); got != nil {
		t.Errorf("records that say what they were written with: got %v", got)
	}
}

// A number in quotes leads to the option that reads it, and to no option where none does.
func TestANumberInQuotesNamesTheOptionThatReadsIt(t *testing.T) {
	for _, c := range []struct {
		schema, value string
		names         bool
	}{
		{"a INT", `{"a":"5"}`, true}, {"a DECIMAL(9,2)", `{"a":"-1.50"}`, true}, {"o STRUCT<a: DOUBLE>", `{"o":{"a":"1e5"}}`, true},
		{"a INT", `{"a":""}`, false}, {"a INT", `{"a":"5 "}`, false}, {"a INT", `{"a":"05"}`, false}, {"a INT", `{"a":"x"}`, false}, {"a BOOLEAN", `{"a":"5"}`, false}, {"a INT", `{"a":"5`, false},
	} {
		_, err := decoderOf(t, jsonValue(c.schema)).Decode(topic(c.value))
		var why *malformed.Error
		if !errors.As(err, &why) || strings.Contains(why.Detail, "value.json.numbersInText") != c.names {
			t.Errorf("%s: got %v", c.value, err)
		}
	}
	v := jsonValue("a INT")
	v.Key = batch.Key{Format: "json", Type: "BIGINT"}
	records := topic(`{"a":1}`)
	records.Key.Reset()
	records.Key.AppendBytes([]byte(`"5"`))
	if _, err := decoderOf(t, v).Decode(records); err == nil || strings.Contains(err.Error(), "numbersInText") {
		t.Errorf("a key: got %v", err)
	}
}
