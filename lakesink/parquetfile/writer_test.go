package parquetfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// everyKind is a schema with all kinds, required and optional, also inside each other.
func everyKind() columns.Schema {
	var s columns.Schema
	kinds := []columns.Type{
		{Kind: columns.Bool}, {Kind: columns.Int32}, {Kind: columns.Int64}, {Kind: columns.Float32}, {Kind: columns.Float64},
		{Kind: columns.Decimal, Precision: 9, Scale: 2}, {Kind: columns.Decimal, Precision: 18, Scale: 4}, {Kind: columns.Decimal, Precision: 20, Scale: 2},
		{Kind: columns.Decimal, Precision: 38, Scale: 10}, {Kind: columns.Date}, {Kind: columns.Time}, {Kind: columns.Timestamp}, {Kind: columns.TimestampTZ},
		{Kind: columns.String}, {Kind: columns.Binary}, {Kind: columns.Fixed, Width: 7}, {Kind: columns.UUID},
	}
	for i, t := range kinds {
		s = append(s, columns.Field{Name: fmt.Sprintf("o%d", i), Type: t}, columns.Field{Name: fmt.Sprintf("r%d", i), Type: t, Required: true})
	}
	str := columns.Type{Kind: columns.String}
	point := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "x", Type: kinds[4], Required: true}, {Name: "label", Type: str}}}
	tags := columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: str}}}
	points := columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: point, Required: true}}}
	grid := columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: kinds[2]}}}}}}
	dict := columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: str, Required: true}, {Name: "value", Type: tags}}}
	deep := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "inner", Type: point}, {Name: "points", Type: points, Required: true}, {Name: "dict", Type: dict}}}
	for _, t := range []columns.Type{point, tags, points, grid, dict, deep} {
		n := len(s)
		s = append(s, columns.Field{Name: fmt.Sprintf("o%d", n), Type: t}, columns.Field{Name: fmt.Sprintf("r%d", n), Type: t, Required: true})
	}
	return s
}

// fieldsOf writes a schema as it is.
func fieldsOf(schema []columns.Field, next *int) []Field {
	var fields []Field
	for i, f := range schema {
		*next++
		fields = append(fields, Field{Name: f.Name, ID: *next, Required: f.Required, Type: f.Type, Source: i})
	}
	for i := range fields {
		fields[i].Children = fieldsOf(schema[i].Type.Fields, next)
	}
	return fields
}

// write writes batches into one file and fails the test on any error.
func write(t testing.TB, fields []Field, options Options, batches ...*columns.Batch) ([]byte, *Summary) {
	t.Helper()
	w, err := NewWriter(fields, options)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		for from := 0; from < b.Rows; {
			if from, err = w.Append(b, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if s.Bytes != int64(out.Len()) {
		t.Fatalf("summary says %d bytes, written are %d", s.Bytes, out.Len())
	}
	return out.Bytes(), s
}

// readArrow reads a file with arrow-go.
func readArrow(t testing.TB, data []byte) [][]any {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := reader.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	records := array.NewTableReader(table, 0)
	defer records.Release()
	var rows [][]any
	for records.Next() {
		rows = append(rows, rowtest.FromArrow(records.RecordBatch())...)
	}
	return rows
}

func compareRows(t *testing.T, got, want [][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	for r := range want {
		for c := range want[r] {
			if g, w := rowtest.Text(got[r][c]), rowtest.Text(want[r][c]); g != w {
				t.Fatalf("row %d column %d: got %s, want %s", r, c, g, w)
			}
		}
	}
}

func TestEveryKindComesBackThroughArrow(t *testing.T) {
	schema := everyKind()
	next := 0
	fields := fieldsOf(schema, &next)
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		options := Options{PageBytes: 1 << (10 + seed), RowGroupBytes: 1 << (14 + 2*seed), Codec: []Codec{Zstd, Snappy, Gzip, Uncompressed}[seed%4]}
		var rows [][]any
		var batches []*columns.Batch
		for range 1 + rng.IntN(3) {
			more := rowtest.RandomRows(rng, schema, rng.IntN(700))
			rows = append(rows, more...)
			batches = append(batches, rowtest.Build(schema, more))
		}
		data, summary := write(t, fields, options, batches...)
		if summary.Rows != int64(len(rows)) {
			t.Errorf("seed %d: summary says %d rows, want %d", seed, summary.Rows, len(rows))
		}
		compareRows(t, readArrow(t, data), rows)
		checkPages(t, data)
	}
}

// checkPages reads a file with parquet-go: every page through the page index, counts, offsets and sizes that fit.
// A strict reader refuses a file whose index is wrong (https://github.com/xitongsys/parquet-go/issues/567).
func checkPages(t *testing.T, data []byte) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var rows int64
	for g, group := range f.RowGroups() {
		rows += group.NumRows()
		for c, chunk := range group.ColumnChunks() {
			checkChunk(t, fmt.Sprintf("group %d column %d", g, c), chunk, group.NumRows(), int64(len(data)))
		}
	}
	if rows != f.NumRows() {
		t.Errorf("the groups have %d rows, the file %d", rows, f.NumRows())
	}
}

func checkChunk(t *testing.T, name string, chunk parquet.ColumnChunk, rows, size int64) {
	t.Helper()
	offsets, err := chunk.OffsetIndex()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	index, _ := chunk.ColumnIndex()
	pages := chunk.Pages()
	defer pages.Close()
	var seenRows, values int64
	n := 0
	for ; ; n++ {
		page, err := pages.ReadPage()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s page %d: %v", name, n, err)
		}
		if first := offsets.FirstRowIndex(n); first != seenRows {
			t.Errorf("%s page %d: first row %d, want %d", name, n, first, seenRows)
		}
		if at, long := offsets.Offset(n), offsets.CompressedPageSize(n); at < 4 || long <= 0 || at+long > size {
			t.Errorf("%s page %d lies at %d+%d in a file of %d", name, n, at, long, size)
		}
		if index != nil && index.NullCount(n) != page.NumNulls() {
			t.Errorf("%s page %d: %d nulls in the index, %d in the page", name, n, index.NullCount(n), page.NumNulls())
		}
		seenRows += page.NumRows()
		values += page.NumValues()
		parquet.Release(page)
	}
	if n != offsets.NumPages() || seenRows != rows || values != chunk.NumValues() {
		t.Errorf("%s: %d pages of %d in the index, %d rows of %d, %d values of %d", name, n, offsets.NumPages(), seenRows, rows, values, chunk.NumValues())
	}
}

func TestEveryNodeHasItsFieldID(t *testing.T) {
	next := 0
	fields := fieldsOf(everyKind(), &next)
	data, _ := write(t, fields, Options{}, rowtest.Build(everyKind(), nil))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for _, e := range f.Metadata().Schema[1:] {
		if e.FieldID == 0 && e.Name != "list" && e.Name != "key_value" {
			t.Errorf("%s has no field id", e.Name)
		}
		seen[e.FieldID] = true
	}
	if len(seen)-1 != next { // the groups in the middle have none
		t.Errorf("got %d ids, want %d", len(seen)-1, next)
	}
}

func TestConstantColumnsCostNextToNothing(t *testing.T) {
	text, number := columns.Type{Kind: columns.String}, columns.Type{Kind: columns.Int32}
	fields := []Field{{Name: "topic", ID: 1, Required: true, Type: text, Source: 0}, {Name: "partition", ID: 2, Type: number, Source: 1}, {Name: "none", ID: 3, Type: text, Source: 2}}
	const n = 1_000_000
	batches := []*columns.Batch{}
	for p := range int32(3) {
		batches = append(batches, &columns.Batch{Rows: n, Columns: []columns.Array{
			rowtest.Constant(text, "orders", n), rowtest.Constant(number, p, n), rowtest.Constant(text, nil, n)}})
	}
	data, summary := write(t, fields, Options{}, batches...)
	if len(data) > 20_000 {
		t.Errorf("3 million rows of constants take %d bytes", len(data))
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil || f.NumRows() != 3*n {
		t.Fatalf("got %d rows, %v", f.NumRows(), err)
	}
	if c := summary.Columns[1]; string(c.Lower) != "\x00\x00\x00\x00" || string(c.Upper) != "\x02\x00\x00\x00" || c.Values != 3*n {
		t.Errorf("got %+v", c)
	}
	if c := summary.Columns[2]; c.Nulls != 3*n || c.Lower != nil {
		t.Errorf("got %+v", c)
	}
	checkPages(t, data)
}

func TestADictionaryThatGrowsTooLargeIsLeftForPlainValues(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	fields := []Field{{Name: "s", ID: 1, Type: text, Source: 0}}
	schema := columns.Schema{{Name: "s", Type: text}}
	rng := rand.New(rand.NewPCG(3, 3))
	want := [][]any{}
	first := &columns.Batch{Rows: 100, Columns: []columns.Array{rowtest.Constant(text, "same", 100)}}
	for range 100 {
		want = append(want, []any{"same"})
	}
	rows := rowtest.RandomRows(rng, schema, 20_000)
	want = append(want, rows...)
	data, _ := write(t, fields, Options{RowGroupBytes: 256 << 10}, first, rowtest.Build(schema, rows))
	compareRows(t, readArrow(t, data), want)
	checkPages(t, data)
}

func TestRowGroupsEndInTimeWhateverTheRecordsWeigh(t *testing.T) {
	// https://github.com/apache/parquet-java/issues/2697: small rows, then very large ones.
	binary := columns.Type{Kind: columns.Binary}
	schema := columns.Schema{{Name: "v", Type: binary}}
	var rows [][]any
	for range 1000 {
		rows = append(rows, []any{[]byte("0123456789")})
	}
	const large, target = 1 << 20, 8 << 20
	for range 64 {
		rows = append(rows, []any{make([]byte, large)})
	}
	data, _ := write(t, []Field{{Name: "v", ID: 1, Type: binary, Source: 0}}, Options{RowGroupBytes: target}, rowtest.Build(schema, rows))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range f.Metadata().RowGroups {
		if g.TotalByteSize > target+large+4096 {
			t.Errorf("group %d has %d bytes, want at most %d and a record", i, g.TotalByteSize, target)
		}
	}
	compareRows(t, readArrow(t, data), rows)
}

func TestMemoryForTheOpenGroupIsBounded(t *testing.T) {
	binary := columns.Type{Kind: columns.Binary}
	schema := columns.Schema{{Name: "v", Type: binary, Required: true}}
	rng := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 1000)
	var rows [][]any
	for range 8000 {
		for i := range value {
			value[i] = byte(rng.Uint32())
		}
		rows = append(rows, []any{bytes.Clone(value)})
	}
	w, err := NewWriter([]Field{{Name: "v", ID: 1, Required: true, Type: binary, Source: 0}}, Options{MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(io.Discard); err != nil {
		t.Fatal(err)
	}
	b := rowtest.Build(schema, rows)
	for from := 0; from < b.Rows; {
		if from, err = w.Append(b, from); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if held := len(w.blocks.free) * blockBytes; held > 1<<20 {
		t.Errorf("8 MB that cannot be compressed took %d bytes of blocks, want at most 1 MiB", held)
	}
	if w.Groups() < 8 {
		t.Errorf("got %d groups", w.Groups())
	}
}

func TestAFailedOutputFailsTheFile(t *testing.T) {
	binary := columns.Type{Kind: columns.Binary}
	schema := columns.Schema{{Name: "v", Type: binary}}
	b := rowtest.Build(schema, rowtest.RandomRows(rand.New(rand.NewPCG(1, 1)), schema, 5000))
	for limit := 0; ; limit += 20_000 {
		w, err := NewWriter([]Field{{Name: "v", ID: 1, Type: binary, Source: 0}}, Options{Codec: Uncompressed, RowGroupBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		out := &brokenOutput{limit: limit}
		err = w.Begin(out)
		for from := 0; err == nil && from < b.Rows; {
			from, err = w.Append(b, from)
		}
		summary, closeErr := w.Close()
		if !out.broke {
			if closeErr != nil || summary == nil {
				t.Errorf("unbroken output: %v", closeErr)
			}
			return
		}
		if closeErr == nil {
			t.Fatalf("the output broke after %d bytes and Close said nothing", limit)
		}
	}
}

type brokenOutput struct {
	limit, n int
	broke    bool
}

func (o *brokenOutput) Write(b []byte) (int, error) {
	if o.n += len(b); o.n > o.limit {
		o.broke = true
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestANullInARequiredColumnIsRefused(t *testing.T) {
	number := columns.Type{Kind: columns.Int64}
	list := columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: number}}}
	for name, c := range map[string]struct {
		field Field
		array columns.Array
	}{
		"flat":     {Field{Name: "n", Required: true, Type: number}, rowtest.Array(number, []any{int64(1), nil})},
		"constant": {Field{Name: "n", Required: true, Type: number}, rowtest.Constant(number, nil, 2)},
		"in a list": {Field{Name: "n", Type: list, Children: []Field{{Name: "element", Required: true, Type: number}}},
			rowtest.Array(list, []any{[]any{int64(1)}, []any{nil}})},
	} {
		w, err := NewWriter([]Field{c.field}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Begin(io.Discard); err != nil {
			t.Fatal(err)
		}
		_, err = w.Append(&columns.Batch{Rows: 2, Columns: []columns.Array{c.array}}, 0)
		if err == nil {
			t.Errorf("%s: a null in a required column was written", name)
		}
	}
}

func TestNarrowColumnsAreWidened(t *testing.T) {
	i32, i64 := columns.Type{Kind: columns.Int32}, columns.Type{Kind: columns.Int64}
	f32, f64 := columns.Type{Kind: columns.Float32}, columns.Type{Kind: columns.Float64}
	small, large := columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}, columns.Type{Kind: columns.Decimal, Precision: 30, Scale: 2}
	fields := []Field{{Name: "i", ID: 1, Type: i64, From: i32, Source: 0}, {Name: "f", ID: 2, Type: f64, From: f32, Source: 1}, {Name: "d", ID: 3, Type: large, From: small, Source: 2}}
	rows := [][]any{{int32(-5), float32(1.5), big.NewInt(-123)}, {int32(math.MaxInt32), float32(math.Inf(-1)), big.NewInt(999_999_999)}, {nil, nil, nil}}
	data, summary := write(t, fields, Options{}, rowtest.Build(columns.Schema{{Type: i32}, {Type: f32}, {Type: small}}, rows))
	compareRows(t, readArrow(t, data), [][]any{{int64(-5), 1.5, big.NewInt(-123)}, {int64(math.MaxInt32), math.Inf(-1), big.NewInt(999_999_999)}, {nil, nil, nil}})
	if got := fmt.Sprintf("%x %x", summary.Columns[0].Lower, summary.Columns[0].Upper); got != "fbffffffffffffff ffffff7f00000000" {
		t.Errorf("bounds of the widened integer: %s", got)
	}
}

func TestColumnsTheRowsLackAreNull(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	list := columns.Type{Kind: columns.List}
	fields := []Field{{Name: "a", ID: 1, Type: text, Source: Nowhere}, {Name: "b", ID: 2, Type: text, Source: 0},
		{Name: "c", ID: 3, Type: list, Source: Nowhere, Children: []Field{{Name: "element", ID: 4, Required: true, Type: text}}}}
	data, summary := write(t, fields, Options{}, rowtest.Build(columns.Schema{{Type: text}}, [][]any{{"x"}, {nil}}))
	compareRows(t, readArrow(t, data), [][]any{{nil, "x", nil}, {nil, nil, nil}})
	if summary.Columns[2].Nulls != 2 || summary.Columns[2].Values != 2 {
		t.Errorf("got %+v", summary.Columns[2])
	}
}

// Lists that hold nothing leave their child without any value, and so without offsets.
func TestListsWithoutAnyElement(t *testing.T) {
	pair := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "value", Type: columns.Type{Kind: columns.Binary}}}}
	schema := columns.Schema{{Name: "headers", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: pair, Required: true}}}}}
	lists := columns.Array{Kind: columns.List, Len: 2, Nulls: 1, Validity: []byte{0b01}, Offsets: []int32{0, 0, 0}, Children: []columns.Array{
		{Kind: columns.Struct, Children: []columns.Array{{Kind: columns.String}, {Kind: columns.Binary}}}}}
	next := 0
	data, _ := write(t, fieldsOf(schema, &next), Options{}, &columns.Batch{Rows: 2, Columns: []columns.Array{lists}})
	compareRows(t, readArrow(t, data), [][]any{{[]any{}}, {nil}})
}
