package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

func inferred(t *testing.T, o decode.InferOptions, values ...string) *decode.Inferred {
	t.Helper()
	var sample []decode.SampledValue
	for i, v := range values {
		s := decode.SampledValue{Value: []byte(v), Place: fmt.Sprint("#", i)}
		if v == "" {
			s.Value = nil
		}
		sample = append(sample, s)
	}
	found, err := decode.Infer(sample, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What a record leaves out takes room: such a record has no row whatever is inferred, and is named.
func TestInferNamesRecordsThatHaveNoRow(t *testing.T) {
	var wide strings.Builder
	for i := range 200 {
		fmt.Fprintf(&wide, `,"column_%d":%s`, i, []string{"1", "true"}[i%2]) // of several kinds: no map
	}
	found := inferred(t, decode.InferOptions{}, `{"l":[{"a":1`+wide.String()+`}]}`, "", `{"l":[`+strings.Repeat("{},", 2000)+`{}]}`)
	if found.Records != 2 || found.Tombstones != 1 || len(found.Misfits) != 1 || found.Misfits[0].Place != "#2" || found.Misfits[0].Why.Reason != malformed.Size {
		t.Errorf("got %+v", found.Misfits)
	}
}

// With what is inferred, a decoder takes the sample.
func TestADecoderTakesWhatWasInferred(t *testing.T) {
	values := []string{`{"a":1,"o":{"x":[1,"y"]},"at":"02.01.2026"}`, `{"a":{},"o":{"x":null}}`, `{"at":"31.12.2026"}`}
	read := batch.JSONValue{DateFormat: "dd.MM.yyyy", ColumnFormats: map[string]string{"elsewhere": "json"}}
	found := inferred(t, decode.InferOptions{JSON: read}, values...)
	read.ColumnFormats = found.Formats
	d, err := decode.New(batch.Value{Format: decode.FormatJSON, Schema: found.DDL, OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "fail", JSON: read}, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range values {
		rows, err := d.Decode(topic(v))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rowtest.ShownRow(d.Schema()[:3], rows.Columns, 0))
	}
	if want := `{a: "1", o: {x: ["1", "\"y\""]}, at: 2026-01-02} {a: "{}", o: {x: null}, at: null} {a: null, o: null, at: 2026-12-31}`; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestInferRefusesOptionsThatDoNotWork(t *testing.T) {
	for _, o := range []batch.JSONValue{{DateFormat: "yy"}, {TimeZone: "Nowhere/Land"}, {TimestampFormat: "yyyy"}} {
		if _, err := decode.Infer(nil, decode.InferOptions{JSON: o}); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// No name is taken that a table of typed values has anyway.
func TestNoColumnIsInferredThatIsAboutTheRecord(t *testing.T) {
	var fields []string
	d, err := decode.New(batch.Value{Format: decode.FormatString, OnMalformed: "fail", OnTombstone: "keep", IncludeRawValue: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Schema()[1:] {
		fields = append(fields, fmt.Sprintf("%q:1", strings.ToUpper(f.Name)))
	}
	found := inferred(t, decode.InferOptions{}, `{`+strings.Join(fields, ",")+`,"value":1}`)
	if len(fields) < 7 || len(found.Columns) != 1 || found.Columns[0].Type.Kind != columns.Int64 {
		t.Errorf("got %s of %s", found.DDL, fields)
	}
}
