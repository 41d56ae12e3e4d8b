package decode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
)

// recordsOf are records with these values.
func recordsOf(values ...string) *columns.Records {
	r := &columns.Records{Topic: "orders", Partition: 3, Rows: len(values)}
	r.Key.Kind, r.Value.Kind = columns.Binary, columns.Binary
	for i, v := range values {
		r.Offsets, r.Timestamps = append(r.Offsets, int64(10+i)), append(r.Timestamps, 0)
		r.Key.AppendNullBytes()
		r.Value.AppendBytes([]byte(v))
	}
	return r
}

func addingColumns(schema string) batch.Value {
	return batch.Value{Format: "json", Schema: schema, OnMalformed: "null", OnTombstone: "keep", OnUnknownField: decode.AddColumn}
}

// found is what the decoder of a value finds in records, as DDL, or the error.
func found(t *testing.T, v batch.Value, values ...string) (string, error) {
	t.Helper()
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.Decode(recordsOf(values...)); err != nil {
		return "", err
	}
	return ddl.Format(batch.NewColumns(d.(*decode.Typed).Unknown())), nil
}

func TestUnknownFieldsAreFoundInWhatBecomesARow(t *testing.T) {
	for _, tc := range []struct{ schema, records, want string }{
		{"a INT", `{"a":1}`, ""},
		{"a INT", `{"a":1} {"a":2,"b":3}`, "b BIGINT"},                               // https://github.com/apache/iceberg/issues/9641
		{"a INT", `{"b":null,"l":[],"s":{}} {"s":{"x":null}} {"l":[null,[]]}`, ""},   // https://github.com/databricks/iceberg-kafka-connect/pull/162
		{"a INT", `{"b":null,"l":[]} {"b":5,"l":[1]}`, "b BIGINT,\nl ARRAY<BIGINT>"}, // the same
		{"id INT", `{"a":null,"l":[]} {"a":5,"l":[1]}`, "a BIGINT,\nl ARRAY<BIGINT>"},
		{"u STRUCT<a: INT>", `{"u":{"a":1,"z":9}}`, "`u.z` BIGINT"}, // https://github.com/apache/iceberg/issues/15395
		{"l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>", `{"l":[{"b":1}],"m":{"k":{"c":"x"}}}`, "`l.element.b` BIGINT,\n`m.value.c` STRING"}, // in lists and maps
		{"a INT", `{"x":1} {"x":2.5} {"x":3}`, "x DOUBLE"},
		{"a INT", `{"x":1} {"x":99999999999999999999}`, "x DECIMAL(38,0)"},
		{"a INT", `{"x":"2026-01-02T03:04:05Z","y":true,"z":{"p":[{"q":1},{"r":"s"}]}}`, "x STRING,\ny BOOLEAN,\nz STRUCT<p: ARRAY<STRUCT<q: BIGINT, r: STRING>>>"},
		{"a INT", `{"a":"no","b":1} {"b":1,"a":{}} {"b":1}x {"c":1,"c":2,"a":[]}`, ""}, // malformed ones bring nothing
		{"a INT", `{"\u0062\u00f6":1,"c-d":2}`, "`bö` BIGINT,\n`c-d` BIGINT"},
	} {
		got, err := found(t, addingColumns(tc.schema), strings.Split(tc.records, " ")...)
		if err != nil || got != tc.want {
			t.Errorf("%s of %s: got %q, %v, want %q", tc.records, tc.schema, got, err, tc.want)
		}
	}
}

func TestWhatCannotBeAColumnIsSaidWithTheRecord(t *testing.T) {
	var names []string
	for n := range 2 * batch.MostNewColumns {
		names = append(names, fmt.Sprintf(`"id-%d":%d`, n, n))
	}
	for _, tc := range []struct{ records, want string }{
		{`{"x":1} {"x":"y"}`, "x, which value.schema does not have, is long in orders-3 at offset 10 and string in orders-3 at offset 11"},
		{`{"x":[1,"y"]}`, "orders-3 at offset 10 has a field x"},
		{`{"s":{"x":[1,{"y":2}]}}`, "orders-3 at offset 10 has a field s.x"},
		{`{"A":1}`, "A, and value.schema or the table has a: the two differ by case only"}, // https://github.com/redpanda-data/connect/issues/4365
		{`{"s":{"kafka_x":1},"kafka_x":1}`, "field kafka_x"},
		{`{"ids":{` + strings.Join(names, ",") + `}}`, "too many names"},
		{`{` + strings.Join(names, ",") + `}`, "more than 100 columns"},
	} {
		_, err := found(t, addingColumns("a INT, s STRUCT<b: INT>"), strings.Split(tc.records, " ")...)
		if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), tc.want) || batch.HintOf(err) == "" {
			t.Errorf("%.80s: got %v (%v), want it to say %q", tc.records, err, batch.HintOf(err), tc.want)
		}
	}
}

// Whoever only looks hears what there is, whatever the policy, and is not stopped.
func TestWhoeverLooksHearsOfUnknownFields(t *testing.T) {
	for policy, want := range map[string]string{"ignore": "c BIGINT", "addColumn": "c BIGINT", "fail": ""} {
		v := addingColumns("a INT")
		v.OnUnknownField = policy
		d, err := decode.Lenient(v, false, func(*columns.Records, int, *malformed.Error) {})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.Decode(recordsOf(`{"c":1}`, `{"c":"x"}`, `{"a":1}`))
		if err != nil || rows.Rows != 3 {
			t.Fatalf("%s: got %+v, %v", policy, rows, err)
		}
		typed := d.(*decode.Typed)
		if got := ddl.Format(batch.NewColumns(typed.Unknown())); got != want {
			t.Errorf("%s: got %q, want %q", policy, got, want)
		}
		if err := typed.Undecided(); (err != nil) != (want != "") {
			t.Errorf("%s: got %v", policy, err)
		}
	}
}

func TestASchemaIsWidened(t *testing.T) {
	for _, tc := range []struct{ schema, by, want string }{
		{"a INT", "a BIGINT", "a INT"},
		{"a INT NOT NULL COMMENT 'x'", "b STRING COMMENT 'y', a INT", "a INT NOT NULL COMMENT 'x',\nb STRING"},
		{"a INT", "b STRING NOT NULL", "a INT"}, // the records may lack it
		{"a INT", "A STRING, kafka_offset BIGINT, Kafka_x INT", "a INT"},
		{"s STRUCT<a: INT>", "s STRUCT<b: STRING, a: BIGINT, A: INT>", "s STRUCT<a: INT, b: STRING>"},
		{"l ARRAY<STRUCT<a: INT NOT NULL> NOT NULL>", "l ARRAY<STRUCT<b: INT>>", "l ARRAY<STRUCT<a: INT NOT NULL, b: INT> NOT NULL>"},
		{"m MAP<STRING, STRUCT<a: INT>>", "m MAP<STRING, STRUCT<b: ARRAY<STRUCT<c: INT NOT NULL>>>>", "m MAP<STRING, STRUCT<a: INT, b: ARRAY<STRUCT<c: INT NOT NULL>>>>"},
		{"s STRUCT<a: INT>, l ARRAY<INT>", "s ARRAY<STRUCT<a: INT>>, l STRUCT<x: INT>", "s STRUCT<a: INT>, l ARRAY<INT>"},
		{"a INT", "m MAP<DOUBLE, INT>, n MAP<BIGINT, INT>", "a INT,\nn MAP<BIGINT, INT>"}, // JSON has no such keys
	} {
		by, err := ddl.Parse(tc.by)
		if err != nil {
			if by, err = parseEach(tc.by); err != nil {
				t.Fatal(err)
			}
		}
		got, err := decode.Widen(addingColumns(tc.schema), by)
		if err != nil || got.Schema != tc.want {
			t.Errorf("%s by %s: got %q, %v, want %q", tc.schema, tc.by, got.Schema, err, tc.want)
		}
		if again, err := decode.Widen(got, by); err != nil || again.Schema != got.Schema {
			t.Errorf("%s by %s twice: got %q, %v", tc.schema, tc.by, again.Schema, err)
		}
		if problems := decode.Problems(got); len(problems) > 0 && got.OnMalformed != "null" {
			t.Errorf("%s: %v", got.Schema, problems)
		}
	}
}

// parseEach is for names that a schema of ours could not have beside each other.
func parseEach(text string) (columns.Schema, error) {
	s, err := ddl.Parse("s STRUCT<b: STRING, a: BIGINT>")
	s[0].Type.Fields = append(s[0].Type.Fields, columns.Field{Name: "A", Type: columns.Type{Kind: columns.Int32}})
	return s, err
}

func TestASchemaDoesNotGrowWithoutBound(t *testing.T) {
	v := addingColumns("a INT")
	var by []columns.Field
	for n := range decode.MostColumns {
		by = append(by, columns.Field{Name: fmt.Sprintf("f%d", n), Type: columns.Type{Kind: columns.Int64}})
	}
	for n, want := range map[int]bool{decode.MostColumns - 1: true, decode.MostColumns: false} {
		wide, err := decode.Widen(v, by[:n])
		if err != nil {
			t.Fatal(err)
		}
		if err := decode.Bounded(wide); (err == nil) != want || err != nil && batch.ClassOf(err) != batch.BadRecords {
			t.Errorf("%d more columns: got %v", n, err)
		}
	}
}

// While nothing is new, looking for it costs no memory.
func TestFieldsThatStayUndecidedCostNothing(t *testing.T) {
	d, err := decode.New(addingColumns("a INT, b INT"), false)
	if err != nil {
		t.Fatal(err)
	}
	records := recordsOf(`{"b":2,"a":1,"n":null,"l":[],"s":{}}`, `{"x":null,"a":1}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(records); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("got %v allocations", n)
	}
}

// Whatever bytes come, the rows are those of a decoder that ignores such fields, and what was found can be read.
func FuzzUnknownFields(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[1,2.5]}}`, `{"s":{"x":[{"y":null}]},"s2":[[]]}`, `{"A":1}`, `{"b":1,"b":"x"}`, `{"":1}`, `{"b":{"b":1,"B":2}}`, "{\"\\u0000\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		v := addingColumns("a INT, s STRUCT<x: ARRAY<STRUCT<z: INT>>>")
		d, err := decode.New(v, false)
		if err != nil {
			t.Fatal(err)
		}
		v.OnUnknownField = "ignore"
		plain, err := decode.New(v, false)
		if err != nil {
			t.Fatal(err)
		}
		records := recordsOf(string(value))
		want, err := plain.Decode(records)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(records)
		if err != nil {
			if batch.ClassOf(err) != batch.BadRecords {
				t.Fatal(err)
			}
			return
		}
		if got.Nulled != want.Nulled || fmt.Sprint(got.Columns) != fmt.Sprint(want.Columns) {
			t.Fatalf("got %v, want %v", got, want)
		}
		unknown := d.(*decode.Typed).Unknown()
		wide, err := decode.Widen(addingColumns(v.Schema), batch.Fields(unknown))
		if err != nil || (wide.Schema == v.Schema) != (len(unknown) == 0) {
			t.Fatalf("%q: got %q, %v for %+v", value, wide.Schema, err, unknown)
		}
		again, err := decode.New(wide, false)
		if err != nil {
			t.Fatalf("%q: %v", wide.Schema, err)
		}
		if _, err := again.Decode(records); err != nil || len(again.(*decode.Typed).Unknown()) > 0 {
			t.Fatalf("%q: got %v, and still %v", value, err, again.(*decode.Typed).Unknown())
		}
	})
}

// Where a schema says what values were written with, it tells the type of a new field, also while its values are null:
// https://github.com/redpanda-data/connect/issues/4383
func TestWrittenSchemasTellWhatIsNew(t *testing.T) {
	nested := `{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-millis"}]},
		{"name":"s","type":{"type":"record","name":"S","fields":[{"name":"x","type":"int"},{"name":"m","type":{"type":"map","values":"double"}}]}}]}`
	r := registryOf(ordersV1, ordersV2, nested)
	v := batch.Value{Format: "avro", Framing: "confluent", Schema: "id BIGINT, name STRING, s STRUCT<x: INT>", OnMalformed: "null", OnTombstone: "keep", OnUnknownField: decode.AddColumn}
	for _, tc := range []struct {
		records []string
		want    string
	}{
		{[]string{framedBy(1, datum(1, "a"))}, ""},
		{[]string{framedBy(1, datum(1, "a")), framedBy(2, datum(2, 0, "b")), framedBy(2, datum(3, 1, "t", "c"))}, "tag STRING"},
		{[]string{framedBy(2, datum(2, 0, "b")), framedBy(3, datum(2, 0, 5, 0))}, "tag STRING,\nat TIMESTAMP,\n`s.m` MAP<STRING, DOUBLE>"},
		{[]string{framedBy(2, datum(2))}, ""}, // malformed
	} {
		d := r.decoder(t, v)
		if _, err := d.Decode(topic(tc.records...)); err != nil {
			t.Fatal(err)
		}
		unknown := d.(*decode.Typed).Unknown()
		if got := ddl.Format(batch.NewColumns(unknown)); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		wide, err := decode.Widen(v, batch.Fields(unknown))
		if err != nil {
			t.Fatal(err)
		}
		again := r.decoder(t, wide)
		if rows, err := again.Decode(topic(tc.records...)); err != nil || len(again.(*decode.Typed).Unknown()) > 0 || len(unknown) > 0 && rows.Nulled > 0 {
			t.Errorf("%q: got %v, and still %v", wide.Schema, err, again.(*decode.Typed).Unknown())
		}
	}
	local := avroValue(ordersV2, "id BIGINT")
	local.OnUnknownField = decode.AddColumn
	if got, err := found(t, local, string(datum(1, 0, "x"))); err != nil || got != "tag STRING,\nname STRING" {
		t.Errorf("got %q, %v", got, err)
	}
	framedJSON := addingColumns("a INT")
	framedJSON.Framing = "confluent"
	d := r.decoder(t, framedJSON)
	if _, err := d.Decode(topic(framedBy(9, []byte(`{"a":1,"b":2}`)))); err != nil || ddl.Format(batch.NewColumns(d.(*decode.Typed).Unknown())) != "b BIGINT" {
		t.Errorf("got %v, %v", d.(*decode.Typed).Unknown(), err)
	}
}

// A record whose key is no key becomes a row of nulls, and brings nothing either.
func TestARecordWithAMalformedKeyBringsNothing(t *testing.T) {
	v := addingColumns("a INT")
	v.Key = batch.Key{Format: "json", Type: "BIGINT"}
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	records := recordsOf(`{"b":1}`, `{"c":1}`)
	records.Key = columns.Array{Kind: columns.Binary}
	records.Key.AppendBytes([]byte("no key"))
	records.Key.AppendBytes([]byte("7"))
	rows, err := d.Decode(records)
	if err != nil || rows.Nulled != 1 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if got := ddl.Format(batch.NewColumns(d.(*decode.Typed).Unknown())); got != "c BIGINT" {
		t.Errorf("got %q", got)
	}
}

// A record that is rejected for its timestamp after its value and key were read leaves nothing of them, and malformed keys
// are counted as malformed records.
func TestRejectedRecordsLeaveNoKeyBehind(t *testing.T) {
	v := addingColumns("a INT")
	v.Key, v.OnMalformed, v.DeadLetters = batch.Key{Format: "json", Type: "BIGINT"}, "deadLetter", "ops.dead"
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	records := topic(`{"a":1,"x":1}`, `{"a":2}`, `{"a":3}`)
	records.Key = columns.Array{Kind: columns.Binary}
	for _, key := range []string{"7", "no key", "9"} {
		records.Key.AppendBytes([]byte(key))
	}
	records.Timestamps[0] = math.MaxInt64
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	keys := &rows.Columns[1]
	if rows.Rows != 1 || rows.Bad != 2 || rows.Columns[0].Len != 1 || keys.Len != 1 || keys.Int64s[0] != 9 {
		t.Errorf("got %d rows, %d malformed, keys %v", rows.Rows, rows.Bad, keys.Int64s)
	}
	if found := d.(interface{ Unknown() []batch.Unknown }).Unknown(); len(found) > 0 {
		t.Errorf("a record that was rejected brought %v", found)
	}
}

// No decoder could tell the two, nor a table: said as what it is, so that the next run gets past with another policy.
func TestNamesWithDotsThatMeetBoundWhatASchemaMayBecome(t *testing.T) {
	for schema, meets := range map[string]string{
		"`o.a` STRUCT<y: BIGINT>, o STRUCT<a: STRUCT<x: BIGINT>>":              "o.a",
		"e ARRAY<STRUCT<z: BIGINT>>, `e.element` STRUCT<y: BIGINT>":            "e.element",
		"t MAP<STRING, STRUCT<n: BIGINT>>, `t.value` BIGINT":                   "t.value",
		"`o.b` STRUCT<y: BIGINT>, o STRUCT<a: STRUCT<x: BIGINT>>, `a.x` FLOAT": "",
	} {
		err := decode.Bounded(addingColumns(schema))
		if meets == "" && err != nil || meets != "" && (batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "the path "+meets+":")) {
			t.Errorf("%s: got %v, want a refusal of %q", schema, err, meets)
		}
	}
}

// One record must not hold up the others, wherever its bytes are kept.
func TestARecordWhoseFieldsCanNeverBeColumnsIsADeadLetterByItself(t *testing.T) {
	v := addingColumns("a INT")
	v.OnMalformed, v.DeadLetters = batch.DeadLetterPolicy, "ops.dead"
	many := `{"a":0`
	for i := range batch.MostNewColumns + 1 {
		many += fmt.Sprintf(`,"n%d":1`, i)
	}
	poison := []string{`{"a":1,"kafka_offset":5}`, `{"a":1,"A":2}`, `{"a":1,"x":[1,"s"]}`, `{"a":1,"":2}`, many + "}"}
	for _, p := range poison {
		d, err := decode.New(v, false)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.Decode(recordsOf(`{"a":1}`, p, `{"a":2,"b":"x"}`, p, `{"a":3}`))
		if err != nil || rows.Rows != 3 || rows.Rejected == nil || rows.Rejected.Rows != 2 || rows.Bad != 2 || rows.Reasons[string(malformed.Unknown)] != 2 {
			t.Errorf("%.40s: got %+v, %v, want three rows and two dead letters", p, rows, err)
			continue
		}
		if got := rows.Columns[0].Int32s; rows.Columns[0].Len != 3 || got[0] != 1 || got[1] != 2 || got[2] != 3 {
			t.Errorf("%.40s: got column a %v", p, got)
		}
		if got := ddl.Format(batch.NewColumns(d.(interface{ Unknown() []batch.Unknown }).Unknown())); got != "b STRING" {
			t.Errorf("%.40s: got new columns %s, want those of the rows alone", p, got)
		}
	}
}
