package decode_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/registry"
	"sluice/lakesink/rowtest"
)

// frame is the value of a record in hexadecimal digits.
func frame(digits string) string {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// numbered is a registry with one schema.
func numbered(id int32, kind, text string) *registered {
	r := registryOf()
	r.schemas[registry.Number(id)] = &registry.Schema{ID: registry.Number(id), Type: kind, Text: text}
	return r
}

// field1 is the schema of a record of one field, whose bytes are the field's.
func field1(name, kind string) string {
	return `{"type":"record","name":"R","fields":[{"name":"` + name + `","type":` + kind + `}]}`
}

// letteredValue is a format in Confluent's framing whose malformed records are dead letters.
func letteredValue(format, schema string) batch.Value {
	return batch.Value{Format: format, Framing: batch.ConfluentFraming, Schema: schema, OnMalformed: "deadLetter", OnTombstone: "drop", OnUnknownField: "ignore", DeadLetters: "ops.dead"}
}

// outcomes decodes records and says what became of all of them: the rows, and the reasons and paths of the dead letters.
func outcomes(t *testing.T, d decode.Decoder, records *columns.Records) string {
	t.Helper()
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.Schema(), func(f columns.Field) bool { return f.Name == "kafka_key" })
	var all []string
	for i := range rows.Rows {
		all = append(all, rowtest.ShownRow(d.Schema()[:at], rows.Columns, i))
	}
	if rows.Rejected != nil {
		for i := range rows.Rejected.Rows {
			c := rows.Rejected.Columns
			row := slices.Index(records.Offsets, c[5].Int64s[i])
			if string(c[1].Bytes(i)) != string(records.Value.Bytes(row)) {
				t.Errorf("the dead letter of offset %d has the bytes %x, want %x", c[5].Int64s[i], c[1].Bytes(i), records.Value.Bytes(row))
			}
			text, _, _ := strings.Cut(string(c[8].Bytes(i)), " (")
			text, _, _ = strings.Cut(text, ":")
			all = append(all, string(c[7].Bytes(i))+" of "+text)
		}
	}
	if rows.Dropped > 0 {
		all = append(all, fmt.Sprint(rows.Dropped, " dropped"))
	}
	return strings.Join(all, "; ")
}

// Frames of reports, byte for byte, through their registry to the columns of the table.
func TestFramesOfReportsAreReadExactlyOrRefused(t *testing.T) {
	const money, text = `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, `["null","string"]`
	millis := `{"type":"long","logicalType":"timestamp-millis"}`
	for _, c := range []struct {
		id                      int32
		field, ddl, frame, want string
	}{
		// https://github.com/apache/iceberg/issues/15344, and https://github.com/hamba/avro/issues/69, /70 and /128: the leap day of
		// 2400, the year 2500, and the last second of 9999.
		{7, millis, "a TIMESTAMP", "000000000780f0a3b0929606", "{a: 2400-02-29T00:00:00.000000Z}"},
		{7, millis, "a TIMESTAMP", "000000000780d08bd2c4cd07", "{a: 2500-01-01T00:00:00.000000Z}"},
		{7, millis, "a TIMESTAMP", "0000000007b0e0fea1fa9d73", "{a: 9999-12-31T23:59:59.000000Z}"},
		// https://github.com/confluentinc/schema-registry/issues/833, /695 and /1430: -1.00, 1.28, -1.28, and no bytes.
		{7, money, "a DECIMAL(9,2)", "0000000007029c", "{a: -1.00}"},
		{7, money, "a DECIMAL(9,2)", "0000000007040080", "{a: 1.28}"},
		{7, money, "a DECIMAL(9,2)", "00000000070280", "{a: -1.28}"},
		{7, money, "a DECIMAL(9,2)", "000000000700", "syntax of a"},
		// https://github.com/actgardner/gogen-avro/issues/32 and https://github.com/linkedin/goavro/issues/2: lengths of -1 and 2^40.
		{7, `"string"`, "a STRING", "000000000701", "syntax of a"},
		{7, `"string"`, "a STRING", "0000000007808080808040", "syntax of a"},
		// https://github.com/Apicurio/apicurio-registry/issues/1479, /4199 and /2547: a plain value that begins with zero.
		{7, `["null","long"]`, "a BIGINT", "00", "framing of the value ends within the schema id, which takes 5 bytes"},
		// https://github.com/MaterializeInc/materialize/issues/3612: a decimal of which the scale is larger than the precision.
		{7, `{"type":"bytes","logicalType":"decimal","precision":2,"scale":4}`, "a BINARY", "0000000007029c", "{a: 0x9c}"},
		// https://github.com/redpanda-data/connect/issues/4399, /4402 and https://github.com/apache/iceberg/issues/16681
		{7, `{"type":"int","logicalType":"time-millis"}`, "a TIME", "0000000007f8bbc603", "{a: 01:02:03.004000}"},
		{7, `{"type":"long","logicalType":"local-timestamp-millis"}`, "a TIMESTAMP_NTZ", "0000000007dcbccccaef66", "{a: 2026-01-02T03:04:05.678000}"},
		// https://github.com/actgardner/gogen-avro/issues/32 again: a branch that is not there, and a byte left over.
		{9, text, "a STRING", "000000000900", "{a: null}"},
		{9, text, "a STRING", "0000000009020262", `{a: "b"}`},
		{9, text, "a STRING", "00000000090a", "syntax of a"},
		{7, `"long"`, "a BIGINT", "000000000702ff", "syntax of 1 bytes are left"},
		// https://github.com/duckdb/duckdb/issues/1932: half of a surrogate pair, as UTF-8 would have it.
		{7, `"string"`, "a STRING", "000000000706eda080", "encoding of a"},
	} {
		d := numbered(c.id, registry.Avro, field1("a", c.field)).decoder(t, letteredValue("avro", c.ddl))
		if got := outcomes(t, d, topic(frame(c.frame))); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s of %s: got %s, want %s", c.frame, c.field, got, c.want)
		}
	}
}

// https://github.com/Apicurio/apicurio-registry/issues/1479 and https://github.com/redpanda-data/connect/issues/3657: framing is
// a setting. The byte that is no frame is a whole value without framing.
func TestFramingIsNotGuessed(t *testing.T) {
	v := avroValue(field1("a", `["null","long"]`), "")
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcomes(t, d, topic(frame("00"))); got != "{a: null}" {
		t.Errorf("got %s", got)
	}
}

// https://github.com/confluentinc/schema-registry/issues/1975 and /2857: the registry is asked once for a schema that was deleted, however
// many records of a block have it. They are dead letters where there are any, or for a person, and rows once it is back.
func TestADeletedSchemaIsAskedForOnce(t *testing.T) {
	values := slices.Repeat([]string{frame("000000002a02")}, 100)
	strict := letteredValue("avro", "a BIGINT")
	strict.OnMalformed, strict.DeadLetters = "fail", ""
	for _, v := range []batch.Value{strict, letteredValue("avro", "a BIGINT")} {
		r := registryOf()
		d := r.decoder(t, v)
		if v.OnMalformed == "fail" {
			_, err := d.Decode(topic(values...))
			if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), "orders-3 at offset 10: schema 42") {
				t.Errorf("got %v", err)
			}
		} else if got, want := outcomes(t, d, topic(values...)), strings.Repeat("; schema of the registry has no schema 42", 100)[2:]; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if want := []registry.ID{registry.Number(42)}; !slices.Equal(r.asked, want) {
			t.Errorf("%s: got asked for %v, want %v", v.OnMalformed, r.asked, want)
		}
		r.schemas[registry.Number(42)] = &registry.Schema{Type: registry.Avro, Text: field1("a", `"long"`)}
		if got, want := outcomes(t, d, topic(values...)), strings.Repeat("; {a: 1}", 100)[2:]; got != want {
			t.Errorf("%s: got %s, want %s", v.OnMalformed, got, want)
		}
	}
}

// https://github.com/apache/seatunnel/pull/12039: a message without a byte has its defaults, and is no tombstone.
func TestAnEmptyMessageIsARow(t *testing.T) {
	r := numbered(11, registry.Protobuf, `syntax = "proto3"; message M { int64 id = 1; string s = 2; optional int32 o = 3; repeated int32 l = 4; bool b = 5; }`)
	d := r.decoder(t, letteredValue("protobuf", "id BIGINT, s STRING, o INT, l ARRAY<INT>, b BOOLEAN"))
	if got, want := outcomes(t, d, topic(frame("000000000b00"), none)), `{id: 0, s: "", o: null, l: [], b: false}; 1 dropped`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// https://github.com/redpanda-data/connect/issues/3660 and https://github.com/thomhurst/Dekaf/issues/2564: a record without value is
// a tombstone before any framing is looked for, and no bytes are a frame that is broken.
func TestATombstoneHasNoFrame(t *testing.T) {
	r := numbered(7, registry.Avro, field1("a", `"long"`))
	for _, format := range []string{"avro", "protobuf", "json"} {
		if got := outcomes(t, r.decoder(t, letteredValue(format, "a BIGINT")), topic(none)); got != "1 dropped" || len(r.asked) > 0 {
			t.Errorf("%s: got %s, and asked for %v", format, got, r.asked)
		}
		if got := outcomes(t, r.decoder(t, letteredValue(format, "a BIGINT")), topic("")); !strings.HasPrefix(got, "empty of ") || len(r.asked) > 0 {
			t.Errorf("%s: got %s, and asked for %v", format, got, r.asked)
		}
	}
}

// https://github.com/redpanda-data/connect/issues/4383: the schema tells the type of a field that is new, while it is null.
func TestANewFieldThatIsNullFirst(t *testing.T) {
	r := numbered(7, registry.Avro, `{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":["null","long"]}]}`)
	v := batch.Value{Format: "avro", Framing: batch.ConfluentFraming, Schema: "a BIGINT", OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: decode.AddColumn}
	records := topic(frame("00000000070200"), frame("000000000704020e"))
	d := r.decoder(t, v)
	if _, err := d.Decode(records); err != nil {
		t.Fatal(err)
	}
	found := d.(*decode.Typed).Unknown()
	if got := ddl.Format(batch.NewColumns(found)); got != "b BIGINT" {
		t.Fatalf("got %q", got)
	}
	wide, err := decode.Widen(v, batch.Fields(found))
	if err != nil {
		t.Fatal(err)
	}
	if got := outcomes(t, r.decoder(t, wide), records); got != "{a: 1, b: null}; {a: 2, b: 7}" {
		t.Errorf("got %s", got)
	}
}

// Values of reports in JSON, and what becomes of each where malformed records and unknown fields are dead letters.
func TestRecordsOfReportsAreRowsOrDeadLetters(t *testing.T) {
	strict := func(schema string) batch.Value {
		v := letteredValue("json", schema)
		v.Framing, v.OnUnknownField = "", "deadLetter"
		return v
	}
	for _, c := range []struct {
		schema string
		values []string
		want   string
	}{
		// https://github.com/apache/iceberg/issues/15395, /15396: a field that is new inside of a struct is not ignored.
		{"u STRUCT<a: INT>", []string{`{"u":{"a":1,"z":9}}`}, "unknown of u.z"},
		// https://github.com/redpanda-data/connect/issues/4365 and https://github.com/apache/iceberg/issues/18066
		{"id BIGINT", []string{`{"ID":5}`, `{"id":1,"ID":2}`, `{"id":1}`}, "{id: 1}; unknown of ID; unknown of ID"},
		// https://github.com/databricks/iceberg-kafka-connect/issues/141, /152 and https://github.com/apache/iceberg/issues/14618
		{"n BIGINT", []string{`{"n":1}`, `{"n":"x"}`, `{"n":{"a":1}}`, `{"n":2}`}, "{n: 1}; {n: 2}; type of n; type of n"},
		// https://github.com/databricks/iceberg-kafka-connect/issues/170
		{"id BIGINT NOT NULL", []string{`{"id":null}`, `{}`, `{"id":1}`}, "{id: 1}; null of id; missing of id"},
		// https://github.com/golang/go/issues/15363: what is no object, beside a tombstone and a value of no bytes.
		{"a BIGINT", []string{none, "", `null`, `[]`, `5`, `"x"`, strings.Repeat("[", 10001)},
			"empty of the value has no bytes; type of null where an object should be; type of an array where an object should be; type of a number where an object should be; type of a string where an object should be; type of an array where an object should be; 1 dropped"},
		// https://github.com/duckdb/duckdb/issues/1932: the dead letter has the bytes as they are.
		{"k STRING", []string{frame("7b226b223a2261ff62227d")}, "encoding of k"},
	} {
		d, err := decode.New(strict(c.schema), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomes(t, d, topic(c.values...)); got != c.want {
			t.Errorf("%.60q: got %s\nwant %s", c.values, got, c.want)
		}
	}
}
