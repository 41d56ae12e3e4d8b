package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/malformed"
)

// twice reads records as a run does: once to see what they bring, and again with the columns that were chosen.
func twice(t *testing.T, v batch.Value, make func(batch.Value) decode.Decoder, records *columns.Records) (schema string, came became) {
	t.Helper()
	first := make(v)
	var seen became
	seen.take(t, first, records)
	found := unknownOf(first)
	if len(found) == 0 {
		return v.Schema, seen
	}
	chosen, err := batch.Settle(found, first.Schema())
	if err != nil {
		t.Fatal(err)
	}
	wide, err := decode.Widen(v, batch.Fields(chosen))
	if err != nil {
		t.Fatal(err)
	}
	wide.Closed = true
	second := make(wide)
	came.take(t, second, records)
	if again := unknownOf(second); len(again) > 0 {
		t.Errorf("the second reading brings %v", again)
	}
	return wide.Schema, came
}

func lettered(v batch.Value) batch.Value {
	v.OnMalformed, v.OnTombstone, v.OnUnknownField, v.DeadLetters = batch.DeadLetterPolicy, "keep", decode.AddColumn, "ops.dead"
	return v
}

// What records have between them costs those that came later, and no others.
func TestRecordsThatStandAgainstEarlierOnesAreDeadLetters(t *testing.T) {
	for _, c := range []struct{ records, schema, reasons string }{
		{`{"x":1} {"x":"a"} {"x":{"y":1}} {"x":2.5} {"x":null} {"x":[]} {"x":{}}`, "a INT,\nx DOUBLE", "map[type:4]"},
		{`{"x":"a"} {"x":1} {"x":"b","z":1}`, "a INT,\nx STRING,\nz BIGINT", "map[type:1]"},
		{`{"x":[1]} {"x":["a"]} {"x":[1.5]} {"x":3}`, "a INT,\nx ARRAY<DOUBLE>", "map[type:2]"},
		{`{"x":{"y":1}} {"x":{"y":"s","z":1}} {"x":{"z":2}}`, "a INT,\nx STRUCT<y: BIGINT, z: BIGINT>", "map[type:1]"},
		{`{"Id":1} {"ID":2} {"Id":3} {"ID":null}`, "a INT,\nId BIGINT", "map[unknown:1]"},
		{`{"o.b":1} {"o":{"b":1}} {"o":{"b":null}}`, "a INT,\n`o.b` BIGINT", "map[unknown:1]"},
		{`{"x":1,"kafka_y":2} {"x":"s"} {"y":[1,"s"]} {"kafka_y":2}`, "a INT,\nx STRING", "map[type:1 unknown:2]"},
		{`{"a":1} {"a":2}`, "a INT", "map[]"},
		{`{"x":"s"}x {"x":1}`, "a INT,\nx BIGINT", "map[type:1]"}, // what is malformed by itself decides nothing
	} {
		v := lettered(batch.Value{Format: "json", Schema: "a INT"})
		values := strings.Split(c.records, " ")
		schema, came := twice(t, v, func(v batch.Value) decode.Decoder { return decoderOf(t, v) }, topic(values...))
		if schema != c.schema || fmt.Sprint(came.reasons) != c.reasons || len(came.rows)+len(came.letters) != len(values) {
			t.Errorf("%s: got %q, %v, %d rows and %d dead letters, want %q, %s", c.records, schema, came.reasons, len(came.rows), len(came.letters), c.schema, c.reasons)
		}
	}
	v := lettered(batch.Value{Format: "json", Schema: "a INT"})
	v.OnMalformed, v.DeadLetters = "fail", ""
	if _, err := found(t, v, `{"x":1}`, `{"x":"s"}`); batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "offset 10") || !strings.Contains(err.Error(), "offset 11") {
		t.Errorf("without dead letters: got %v, want both records named", err)
	}
}

// A schema that values were written with is judged as a whole: by what no column can take, and by what stands against the
// schema of an earlier record.
func TestRecordsOfSchemasThatCannotBeColumnsAreDeadLetters(t *testing.T) {
	item := `{"name":"id","type":"int"}`
	recursive := `{"type":"record","name":"R","fields":[` + item + `,{"name":"next","type":["null","R"]}]}`
	number := `{"type":"record","name":"R","fields":[` + item + `,{"name":"x","type":"long"}]}`
	letters := `{"type":"record","name":"R","fields":[` + item + `,{"name":"x","type":"string"},{"name":"z","type":"int"}]}`
	spelled := `{"type":"record","name":"R","fields":[` + item + `,{"name":"X","type":"long"}]}`
	reserved := `{"type":"record","name":"R","fields":[` + item + `,{"name":"kafka_x","type":"long"}]}`
	r := registryOf(recursive, number, letters, spelled, reserved)
	v := lettered(batch.Value{Format: "avro", Framing: "confluent", Schema: "id INT"})
	for _, c := range []struct {
		records         []string
		schema, reasons string
	}{
		{[]string{framedBy(1, datum(1, 0)), framedBy(2, datum(2, 5)), framedBy(1, datum(3, 0))}, "id INT,\nx BIGINT", "map[unknown:2]"},
		{[]string{framedBy(2, datum(1, 5)), framedBy(3, datum(2, "s", 4)), framedBy(2, datum(3, 6))}, "id INT,\nx BIGINT,\nz INT", "map[schema:1]"},
		{[]string{framedBy(3, datum(2, "s", 4)), framedBy(2, datum(1, 5)), framedBy(2, datum(3, 6))}, "id INT,\nx STRING,\nz INT", "map[schema:2]"},
		{[]string{framedBy(2, datum(1, 5)), framedBy(4, datum(2, 5)), framedBy(5, datum(2, 5)), framedBy(4, datum(3, 6))}, "id INT,\nx BIGINT", "map[unknown:3]"},
	} {
		schema, came := twice(t, v, func(v batch.Value) decode.Decoder { return r.decoder(t, v) }, topic(c.records...))
		if schema != c.schema || fmt.Sprint(came.reasons) != c.reasons || len(came.rows)+len(came.letters) != len(c.records) {
			t.Errorf("got %q, %v, %d rows, want %q, %s", schema, came.reasons, len(came.rows), c.schema, c.reasons)
		}
		if strings.Contains(fmt.Sprint(came.examples), "at offset") {
			t.Errorf("an error names a record, and may be that of another one: %v", came.examples)
		}
	}
	local := lettered(avroValue(recursive, "id INT"))
	if schema, came := twice(t, local, func(v batch.Value) decode.Decoder { return decoderOf(t, v) }, topic(string(datum(1, 0)), string(datum(2, 0)))); schema != "id INT" || fmt.Sprint(came.reasons) != "map[unknown:2]" {
		t.Errorf("with a local schema: got %q, %v", schema, came.reasons)
	}
}

// A Protobuf message may hold itself in a field that most records do not have: those that have it are told, and no others.
func TestAFieldThatNoColumnCanTakeIsNeverLeftOutSilently(t *testing.T) {
	const text = `syntax = "proto3"; message M { int32 id = 1; M parent = 2; string name = 3; }`
	plain, with := "\x08\x05\x1a\x01x", "\x08\x06\x12\x02\x08\x05"
	for policy, want := range map[string]string{
		decode.AddColumn: "rows 2 map[unknown:1]", "ignore": "rows 3 map[]", "deadLetter": "rows 0 map[unknown:3]",
	} {
		v := lettered(batch.Value{Format: "protobuf", Schema: "id INT", Written: batch.Written{Text: text}})
		if v.OnUnknownField = policy; policy == "deadLetter" {
			v.Schema = "id INT, name STRING"
			want = "rows 2 map[unknown:1]"
		}
		_, came := twice(t, v, func(v batch.Value) decode.Decoder { return decoderOf(t, v) }, topic(plain, with, plain))
		if got := fmt.Sprint("rows ", len(came.rows), " ", came.reasons); got != want {
			t.Errorf("%s: got %s, want %s", policy, got, want)
		}
	}
	v := lettered(batch.Value{Format: "protobuf", Schema: "id INT, name STRING", Written: batch.Written{Text: text}})
	v.OnMalformed, v.DeadLetters = "fail", ""
	d := decoderOf(t, v)
	if _, err := d.Decode(topic(plain)); err != nil {
		t.Error(err)
	}
	if _, err := d.Decode(topic(with)); batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "parent: ") || !strings.Contains(err.Error(), string(malformed.Unknown)) {
		t.Errorf("got %v", err)
	}
}

// While nothing is new, looking for it costs no memory, also beside dead letters.
func TestFieldsThatStayUndecidedCostNothingBesideDeadLetters(t *testing.T) {
	r := registryOf(ordersV1)
	framed := lettered(batch.Value{Format: "avro", Framing: "confluent", Schema: "id BIGINT, name STRING"})
	for name, c := range map[string]struct {
		d       decode.Decoder
		records *columns.Records
	}{
		"JSON": {decoderOf(t, lettered(batch.Value{Format: "json", Schema: "a INT, b INT"})), topic(`{"b":2,"a":1,"n":null,"l":[],"s":{}}`, `{"x":null,"a":1}`, none)},
		"Avro": {r.decoder(t, framed), topic(framedBy(1, datum(1, "a")), framedBy(1, datum(2, "b")))},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if rows, err := c.d.Decode(c.records); err != nil || rows.Rejected != nil {
				t.Fatal(rows, err)
			}
		}); n > 0 {
			t.Errorf("%s: got %v allocations", name, n)
		}
	}
}
