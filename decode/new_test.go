package decode_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/malformed"
	"sluice/runner"
)

var _ runner.Decoder = decode.Decoder(nil)

func jsonValue(ddl string) batch.Value {
	return batch.Value{Format: "json", Schema: ddl, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
}

func TestEveryFormatHasItsColumns(t *testing.T) {
	about := []string{"kafka_key", "kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp"}
	withValue := jsonValue("a INT")
	withValue.IncludeRawValue = true
	for _, c := range []struct {
		value   batch.Value
		headers bool
		want    []string
	}{
		{batch.Value{Format: "raw"}, false, []string{"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}},
		{batch.Value{Format: "raw"}, true, []string{"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"}},
		{batch.Value{Format: "string", OnMalformed: "fail", OnTombstone: "keep"}, false, append([]string{"value"}, about...)},
		{jsonValue("a INT, b STRING"), true, slices.Concat([]string{"a", "b"}, about, []string{"kafka_headers"})},
		{withValue, false, []string{"a", "kafka_key", "kafka_value", "kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp"}},
	} {
		d, err := decode.New(c.value, c.headers)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range d.Schema() {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.value, got, c.want)
		}
	}
}

func TestTextIsKeptOrMalformed(t *testing.T) {
	d, err := decode.New(batch.Value{Format: "string", OnMalformed: "null", OnTombstone: "keep"}, false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Decode(topic("a", "", none, "gr\u00f6\u00dfe\x00", "a\xffb", "\ufffd"))
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for i := range rows.Rows {
		if b := rows.Columns[0].Bytes(i); b != nil {
			got = append(got, string(b))
		} else {
			got = append(got, nil)
		}
	}
	if want := []any{"a", "", nil, "gr\u00f6\u00dfe\x00", nil, "\ufffd"}; !reflect.DeepEqual(got, want) || rows.Nulled != 1 || rows.Dropped != 0 {
		t.Errorf("got %q, %d nulled, want %q, 1", got, rows.Nulled, want)
	}
	d, _ = decode.New(batch.Value{Format: "string", OnMalformed: "fail", OnTombstone: "drop"}, false)
	_, err = d.Decode(topic("a", "b\xff"))
	if err == nil || batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), `value: the bytes are not UTF-8 (encoding, at byte 1) near b\xff`) {
		t.Errorf("got %v", err)
	}
}

func TestDroppedAndNulledRecordsAreCountedForEachCall(t *testing.T) {
	v := jsonValue("a INT")
	v.OnMalformed, v.OnTombstone = "null", "drop"
	d, err := decode.New(v, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows, err := d.Decode(topic(`{"a":1}`, none, "{", none, none, ""))
		if err != nil || rows.Rows != 3 || rows.Dropped != 3 || rows.Nulled != 2 {
			t.Errorf("got %d rows, %d dropped, %d nulled, %v, want 3, 3, 2", rows.Rows, rows.Dropped, rows.Nulled, err)
		}
	}
}

func TestLenientMakesRowsOfNullsAndTellsWhy(t *testing.T) {
	v := jsonValue("a INT NOT NULL")
	v.OnTombstone, v.OnUnknownField = "drop", "fail"
	told := map[int64]malformed.Reason{}
	d, err := decode.Lenient(v, false, func(records *columns.Records, row int, why *malformed.Error) { told[records.Offsets[row]] = why.Reason })
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Decode(topic(`{"a":1}`, none, "{", `{"a":1,"b":2}`, `{}`))
	if err != nil || rows.Rows != 5 || rows.Columns[0].Nulls != 4 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if want := map[int64]malformed.Reason{12: "tombstone", 14: "syntax", 16: "unknown", 18: "missing"}; !reflect.DeepEqual(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

func TestEveryProblemOfTheSettingsIsFoundWhereItIs(t *testing.T) {
	with := func(change func(*batch.Value)) batch.Value {
		v := jsonValue("a INT, t TIMESTAMP_NTZ, d DATE, s STRUCT<x: STRING>")
		change(&v)
		return v
	}
	for _, c := range []struct {
		value batch.Value
		want  map[string]string
	}{
		{jsonValue("a INT"), nil},
		{batch.Value{Format: "raw"}, nil},
		{batch.Value{Format: "xml", OnMalformed: "fail", OnTombstone: "keep"}, map[string]string{"format": `no format "xml"`}},
		{with(func(v *batch.Value) { v.OnMalformed, v.OnTombstone, v.OnUnknownField = "deadLetter", "", "add" }),
			map[string]string{"onMalformed": "deadLetter", "onTombstone": "keep or drop", "onUnknownField": "ignore or fail"}},
		{with(func(v *batch.Value) { v.Schema, v.JSON.TimeZone = "a WOMBAT", "Mars" }), map[string]string{"schema": "no type WOMBAT", "json.timeZone": `"Mars"`}},
		{with(func(v *batch.Value) { v.Schema = "m MAP<DOUBLE, INT>" }), map[string]string{"schema": "equal keys must be told"}},
		{with(func(v *batch.Value) { v.Schema = "kafka_headers INT" }), map[string]string{"schema": "a column about the record"}},
		{with(func(v *batch.Value) { v.Key = batch.Key{Format: "json", Type: "STRUCT<a: STRNG>"} }), map[string]string{"key.schema": "no type STRNG"}},
		{with(func(v *batch.Value) { v.Key = batch.Key{Format: "json", Type: "MAP<DOUBLE, INT>"} }), map[string]string{"key.schema": "equal keys must be told"}},
		{with(func(v *batch.Value) { v.Key = batch.Key{Format: "xml"} }), map[string]string{"key.format": `no format "xml"`}},
		{batch.Value{Format: "raw", Key: batch.Key{Format: "string"}}, map[string]string{"key.format": "value.format is raw"}},
		{with(func(v *batch.Value) { v.Key = batch.Key{Format: "json", Type: "STRUCT<kafka_key: INT NOT NULL>"} }), nil},
		{with(func(v *batch.Value) { v.Schema, v.OnMalformed = "a INT NOT NULL", "null" }), map[string]string{"onMalformed": "column a is NOT NULL"}},
		{with(func(v *batch.Value) {
			v.JSON = batch.JSONValue{TimestampFormat: "yy", DateFormat: "HH", MaxDepth: 20000, ColumnFormats: map[string]string{"s.y": "json"}}
		}),
			map[string]string{"json.timestampFormat": "yy", "json.dateFormat": "HH", "json.maxDepth": "20000", "json.columnFormats": "column s.y"}},
		{with(func(v *batch.Value) {
			v.JSON = batch.JSONValue{TimestampFormat: "yyyyMMdd", DateFormat: "epochDays", MaxDepth: 7, ColumnFormats: map[string]string{"s.x": "json"}, TimeZone: "Asia/Kathmandu", NumbersInText: true, CutFractions: true}
		}), nil},
	} {
		found := decode.Problems(c.value)
		if len(found) != len(c.want) {
			t.Errorf("%+v: got %v, want %v", c.value, found, c.want)
		}
		for _, p := range found {
			if want, ok := c.want[strings.TrimPrefix(p.Setting, "value.")]; !ok || !strings.Contains(p.Error(), want) {
				t.Errorf("%+v: got %v, want %v", c.value, &p, c.want)
			}
		}
		if _, err := decode.New(c.value, false); (err != nil) != (len(c.want) > 0) {
			t.Errorf("%+v: New says %v", c.value, err)
		}
	}
}
