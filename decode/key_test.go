package decode_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// keyed makes records of these keys, one after the other, all with the value.
func keyed(value string, keys ...string) *columns.Records {
	var values []string
	for range keys {
		values = append(values, value)
	}
	r := topic(values...)
	r.Key.Reset()
	for _, k := range keys {
		if k == none {
			r.Key.AppendNullBytes()
		} else {
			r.Key.AppendBytes([]byte(k))
		}
	}
	return r
}

// keysOf decodes keys and renders kafka_key.
func keysOf(t *testing.T, v batch.Value, records *columns.Records) ([]string, *columns.Batch) {
	t.Helper()
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	return keysOfDecoder(t, d, records)
}

func keysOfDecoder(t *testing.T, d decode.Decoder, records *columns.Records) ([]string, *columns.Batch) {
	t.Helper()
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	for k, f := range d.Schema() {
		if rows.Columns[k].Len != rows.Rows {
			t.Fatalf("column %s has %d rows of %d", f.Name, rows.Columns[k].Len, rows.Rows)
		}
		if f.Name != "kafka_key" {
			continue
		}
		var got []string
		for i := range rows.Rows {
			got = append(got, rowtest.Shown(&f.Type, &rows.Columns[k], i))
		}
		return got, rows
	}
	t.Fatal("there is no kafka_key")
	return nil, nil
}

func keyValue(format, schema string) batch.Value {
	v := jsonValue("a INT")
	v.Key = batch.Key{Format: format, Type: schema}
	return v
}

func TestKeysHaveTheTypeOfTheirFormat(t *testing.T) {
	for _, c := range []struct {
		format, schema string
		keys           []string
		want           []string
	}{
		{"", "", []string{"k", "", none}, []string{"0x6b", "0x", "null"}},
		{"string", "", []string{"größe", "", none, " a\x00"}, []string{`"größe"`, `""`, "null", `" a\x00"`}},
		{"json", "BIGINT", []string{"9007199254740993", " 5.0 ", none, "null"}, []string{"9007199254740993", "5", "null", "null"}},
		{"json", "STRING", []string{`"a\u0062"`, `""`}, []string{`"ab"`, `""`}},
		{"json", "ARRAY<INT>", []string{`[1,null]`, `[]`}, []string{"[1, null]", "[]"}},
		{"json", "STRUCT<id: BIGINT NOT NULL, r: STRING>", []string{`{"id":1,"more":2}`, none, `{"r":"eu","id":2}`}, []string{`{id: 1, r: null}`, "null", `{id: 2, r: "eu"}`}},
	} {
		got, rows := keysOf(t, keyValue(c.format, c.schema), keyed(`{"a":1}`, c.keys...))
		if strings.Join(got, ", ") != strings.Join(c.want, ", ") || rows.Nulled != 0 {
			t.Errorf("%s %s: got %s, %d nulled, want %s", c.format, c.schema, got, rows.Nulled, c.want)
		}
	}
}

func TestAMalformedKeyMakesTheRecordMalformed(t *testing.T) {
	for _, c := range []struct {
		format, schema, key, want string
	}{
		{"string", "", "a\xff", `kafka_key: the bytes are not UTF-8 (encoding, at byte 1) near a\xff`},
		{"json", "BIGINT", `1,"b":2`, `kafka_key: there is more after the value (syntax, at byte 1) near 1,"b":2`},
		{"json", "BIGINT", "", `kafka_key: the value has no bytes (empty, at byte 0)`},
		{"json", "BIGINT", `"5"`, `kafka_key: a string where long should be (type, at byte 0) near "5"`},
		{"json", "ARRAY<INT>", `[1,"x"]`, `kafka_key[1]: a string where int should be (type, at byte 3) near [1,"x"]`},
		{"json", "STRUCT<id: BIGINT NOT NULL>", `{}`, `kafka_key.id: the field is not there, and it is required (missing, at byte 1) near {}`},
		{"json", "STRUCT<id: BIGINT NOT NULL>", `{"id":1}{"id":2}`, `kafka_key: there is more after the value (syntax, at byte 8) near {"id":1}{"id":2}`},
		{"json", "STRUCT<id: BIGINT NOT NULL>", `[]`, `kafka_key: an array where struct should be (type, at byte 0) near []`},
	} {
		d, err := decode.New(keyValue(c.format, c.schema), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Decode(keyed(`{"a":1}`, none, c.key))
		var why *malformed.Error
		if batch.ClassOf(err) != batch.BadRecords || !errors.As(err, &why) || why.Error() != c.want {
			t.Errorf("%s %s: got %v, want %s", c.format, c.schema, err, c.want)
		}
		if hint := batch.HintOf(err); !strings.Contains(hint, "key.schema") || !strings.Contains(fmt.Sprint(err), "orders-3 at offset 12") {
			t.Errorf("%s %s: got %v, hint %s", c.format, c.schema, err, hint)
		}
	}
}

// Whatever is wrong with value or key, or both, the record is one row of nulls and counts once; a key that can be read stays.
func TestAMalformedRecordKeepsTheKeyThatCanBeRead(t *testing.T) {
	v := keyValue("json", "BIGINT")
	v.OnMalformed = "null"
	records := topic(`{"a":1}`, `{"a":2}`, `{"a":"x"}`, `{"a":"x"}`, none, none, `{"a":7}`)
	records.Key.Reset()
	for _, k := range []string{"1", "x", "3", "x", "5", "x", "7"} {
		records.Key.AppendBytes([]byte(k))
	}
	got, rows := keysOf(t, v, records)
	if want := "1, null, 3, null, 5, null, 7"; strings.Join(got, ", ") != want || rows.Nulled != 4 || rows.Rows != 7 {
		t.Errorf("got %s, %d nulled, %d rows, want %s, 4, 7", got, rows.Nulled, rows.Rows, want)
	}
	a := rows.Columns[0]
	for i, want := range []int32{1, 0, 0, 0, 0, 0, 7} {
		if a.Valid(i) != (want != 0) || want != 0 && a.Int32s[i] != want {
			t.Errorf("row %d: got a %v %d, want %d", i, a.Valid(i), a.Int32s[i], want)
		}
	}
	v.OnTombstone = "drop" // whatever its key is
	if got, rows = keysOf(t, v, records); strings.Join(got, ", ") != "1, null, 3, null, 7" || rows.Dropped != 2 || rows.Nulled != 3 {
		t.Errorf("got %s, %d dropped, %d nulled", got, rows.Dropped, rows.Nulled)
	}
	told := map[int64][]string{}
	d, err := decode.Lenient(v, false, func(records *columns.Records, row int, why *malformed.Error) {
		told[records.Offsets[row]] = append(told[records.Offsets[row]], why.Path+" "+string(why.Reason))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Decode(records); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(told), "map[12:[kafka_key syntax] 14:[a type] 16:[a type] 18:[ tombstone] 20:[ tombstone]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARejectedRecordLeavesNoKeyBehind(t *testing.T) {
	keys, err := decode.ParseKeyType("id BIGINT NOT NULL")
	if err != nil || keys.Kind != columns.Struct || keys.Fields[0].Name != "id" {
		t.Fatalf("got %v, %v", keys, err)
	}
	var rejected []string
	d := newTyped(t, "a INT", decode.TypedOptions{OnMalformed: decode.Reject, Key: &decode.Keys{Parser: jsonParser(t, "id BIGINT NOT NULL"), Record: true},
		Rejected: func(records *columns.Records, row int, why *malformed.Error) error {
			rejected = append(rejected, fmt.Sprintf("%d %s", records.Offsets[row], why.Path))
			return nil
		}})
	records := keyed(`{"a":1}`, `{"id":1}`, `{}`, `{"id":3}`)
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	if key := rows.Columns[1]; rows.Rows != 2 || key.Len != 2 || key.Children[0].Len != 2 || key.Children[0].Int64s[1] != 3 || rows.Columns[0].Len != 2 || rows.Columns[4].Int64s[1] != 14 {
		t.Errorf("got %+v", rows)
	}
	wantRows(t, rejected, "12 kafka_key.id")

	// A record that is rejected for its timestamp leaves neither.
	rejected = nil
	records = keyed(`{"a":1}`, `{"id":1}`, `{"id":2}`, `{"id":3}`)
	records.Timestamps[1] = math.MaxInt64
	if rows, err = d.Decode(records); err != nil {
		t.Fatal(err)
	}
	if key := rows.Columns[1]; rows.Rows != 2 || key.Len != 2 || key.Children[0].Int64s[1] != 3 || rows.Columns[0].Len != 2 {
		t.Errorf("got %+v", rows)
	}
	wantRows(t, rejected, "12 kafka_timestamp")
}

func TestKeysAllocateNothingOnceTheyRun(t *testing.T) {
	d, err := decode.New(keyValue("json", "STRUCT<id: BIGINT, r: STRING>"), false)
	if err != nil {
		t.Fatal(err)
	}
	records := keyed(`{"a":1}`, `{"id":1,"r":"eu"}`, none, `{"id":2}`)
	once := func() {
		if _, err := d.Decode(records); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if got := testing.AllocsPerRun(100, once); got != 0 {
		t.Errorf("got %v allocations", got)
	}
}

func TestASchemaOfKeysIsATypeOrColumns(t *testing.T) {
	for text, want := range map[string]string{
		"bigint": "BIGINT", "a INT, b STRING NOT NULL": "STRUCT<a: INT, b: STRING NOT NULL>", "STRUCT<a: INT>": "STRUCT<a: INT>", "decimal(9, 2)": "DECIMAL(9,2)",
		"ARRAY<INT>": "ARRAY<INT>", "string STRING": "STRUCT<string: STRING>",
	} {
		got, err := decode.ParseKeyType(text)
		if err != nil || ddl.FormatType(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, ddl.FormatType(got), err, want)
		}
	}
	for text, column := range map[string]int{"DECIMAL(50)": 1, "a INT, b STRNG": 10, "WOMBAT": 1, "STRUCT<a: WOMBAT>": 11, "BIGINT NOT NULL": 8} {
		_, err := decode.ParseKeyType(text)
		var wrong *ddl.Error
		if !errors.As(err, &wrong) || wrong.Column != column {
			t.Errorf("%s: got %v, want it at column %d", text, err, column)
		}
	}
}
