package decode_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/rowtest"
)

// fields writes a schema as it is.
func fields(schema []columns.Field, next *int) []parquetfile.Field {
	out := make([]parquetfile.Field, len(schema))
	for i, f := range schema {
		*next++
		out[i] = parquetfile.Field{Name: f.Name, ID: *next, Required: f.Required, Type: f.Type, Source: i}
	}
	for i := range out {
		out[i].Children = fields(schema[i].Type.Fields, next)
	}
	return out
}

// written puts rows into a Parquet file and reads them with another library.
func written(t *testing.T, schema columns.Schema, rows *columns.Batch) [][]any {
	t.Helper()
	next := 0
	w, err := parquetfile.NewWriter(fields(schema, &next), parquetfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < rows.Rows; {
		if from, err = w.Append(rows, from); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := reader.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	records := array.NewTableReader(table, 0)
	defer records.Release()
	var all [][]any
	for records.Next() {
		all = append(all, rowtest.FromArrow(records.RecordBatch())...)
	}
	return all
}

// The columns of every kind are such as the writer of data files takes: nulls and empties at each depth, lists whose
// first row has nothing, required fields below null structs, rows that were taken back.
func TestWhatIsDecodedCanBeWritten(t *testing.T) {
	const text = `b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, e DECIMAL(9,2), w DECIMAL(38,10), s STRING, y BINARY, x FIXED(3), u UUID, a DATE, t TIME, n TIMESTAMP_NTZ, p TIMESTAMP,
		o STRUCT<r: BIGINT NOT NULL, s: STRING NOT NULL, q: STRUCT<z: FIXED(2) NOT NULL>>, g ARRAY<ARRAY<INT>>, m MAP<BIGINT, STRUCT<v: ARRAY<STRING NOT NULL>>>`
	d := newTyped(t, text, decode.TypedOptions{NoMetadata: true, OnMalformed: decode.AsNull, OnTombstone: decode.Drop})
	rows, err := d.Decode(topic(
		`{}`,
		`{"b":true,"i":-1,"l":9007199254740993,"f":1.5,"d":0.1,"e":-12.34,"w":-0.0000000001,"s":"é","y":"AAE=","x":"AAEC","u":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","a":"1969-12-31","t":"00:00:01",
			"n":"1969-12-31T23:59:59.999999","p":"2026-01-02T03:04:05Z","o":{"r":1,"s":"","q":{"z":"AAE"}},"g":[[1,null],[],null],"m":{"5":{"v":["a","b"]},"6":null,"7":{}}}`,
		none,
		`{"b":false,"o":{"s":"x","r":2},"g":[],"m":{},"i":1,"s":"","y":"","l":"broken late"}`,
		`{"o":{"s":"x","r":2},"g":[[7]],"m":{},"s":"","y":""}`))
	if err != nil {
		t.Fatal(err)
	}
	const nulls = "<nil>(<nil>),"
	null := func(n int) (s string) {
		for range n {
			s += nulls
		}
		return s
	}
	want := []string{
		"[" + null(18) + "]",
		`[bool(true),int32(-1),int64(9007199254740993),float32(1.5),float64(0.1),d-1234,d-1,"é",x0001,x000102,xf81d4fae7dec11d0a76500a0c91e6bf6,int32(-1),int64(1000000),int64(-1),int64(1767323045000000),` +
			`[int64(1),"",[x0001,],],[[int32(1),<nil>(<nil>),],[],<nil>(<nil>),],{int64(5):[["a","b",],],int64(6):<nil>(<nil>),int64(7):[<nil>(<nil>),],},]`,
		"[" + null(18) + "]",
		"[" + null(7) + `"",x,` + null(6) + `[int64(2),"x",<nil>(<nil>),],[[int32(7),],],{},]`,
	}
	got := written(t, d.Schema(), rows)
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if text := rowtest.Text(got[i]); text != want[i] {
			t.Errorf("row %d: got\n%s\nwant\n%s", i, text, want[i])
		}
	}
}
