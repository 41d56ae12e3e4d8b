//go:build integration

package lakesink

import (
	"bytes"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/rig"
)

// question is a predicate on a table of one column, and how many rows pass it. For DuckDB NaN is above every number, for PyIceberg
// it is beside them.
type question struct {
	op                string
	value             any
	pyiceberg, duckdb int
}

// askOf makes a table of these values, each group in a row group of its own, and asks both engines with and without pushing the
// predicates down.
func askOf(t *testing.T, kind columns.Type, questions []question, groups ...[]any) {
	t.Helper()
	dir := t.TempDir()
	c := openSQLite(t, dir)
	o := testOptions()
	o.PageBytes, o.RowGroupBytes = 1, 1
	s := New(c, o)
	schema := columns.Schema{{Name: "id", Type: columns.Type{Kind: columns.Int64}, Required: true}, {Name: "v", Type: kind}}
	if err := s.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	var batches []*columns.Batch
	id := int64(0)
	for _, values := range groups {
		var rows [][]any
		for _, v := range values {
			rows = append(rows, []any{id, v})
			id++
		}
		batches = append(batches, rowtest.Build(schema, rows))
	}
	addFiles(t, c, writeFiles(t, s, c, schema, batches...))
	var predicates []rig.Predicate
	for _, q := range questions {
		p := rig.Predicate{Column: "v", Op: q.op}
		if q.value != nil {
			p.Values = []string{constant(q.value)}
		}
		predicates = append(predicates, p)
	}
	got := rig.CompareScans(t, "id", predicates, "--catalog-db", filepath.Join(dir, "catalog.db"), "--table", tableName)
	for i, q := range questions {
		for name, d := range map[string]*rig.Difference{"pyiceberg": got.PyIceberg[i], "iceberg_scan": got.IcebergScan[i], "read_parquet": got.ReadParquet[i]} {
			want := q.duckdb
			if name == "pyiceberg" {
				want = q.pyiceberg
			}
			if d == nil || d.Rows != want || d.Lost != 0 || d.Extra != 0 {
				t.Errorf("%s of %v, %s: got %+v, want %d rows", got.SQL[i], groups, name, d, want)
			}
		}
	}
}

// https://github.com/parquet-go/parquet-go/issues/592, https://github.com/parquet-go/parquet-go/issues/459,
// https://github.com/trinodb/trino/issues/19052, https://github.com/apache/arrow/issues/50182 and
// https://github.com/apache/parquet-java/issues/3457: numbers whose statistics made readers skip rows.
func TestForeignReadersFindTheNumbersOfReports(t *testing.T) {
	t.Parallel()
	rig.Python(t)
	nan, double := math.NaN(), columns.Type{Kind: columns.Float64}
	askOf(t, columns.Type{Kind: columns.Decimal, Precision: 20, Scale: 2}, []question{{"<", 0, 1, 1}, {">", 0, 1, 1}, {"=", -100, 1, 1}}, []any{big.NewInt(-100), big.NewInt(100)})
	askOf(t, double, []question{{">", 1.5, 1, 3}, {"=", 1.0, 1, 1}, {"nan", nil, 2, 2}, {"notnan", nil, 2, 2}, {"<", 1.5, 1, 1}}, []any{nan, 1.0, 2.0}, []any{nan})
	askOf(t, double, []question{{"=", 0.0, 2, 2}, {">=", 0.0, 2, 2}, {"<", 0.0, 0, 0}}, []any{math.Copysign(0, -1), 0.0})
	askOf(t, double, []question{{">", 1e308, 1, 1}, {"<", -1e308, 1, 1}, {"=", 0.0, 1, 1}, {"notnull", nil, 3, 3}}, []any{math.Inf(-1), 0.0, math.Inf(1)})
	askOf(t, double, []question{{">", 50.0, 1, 2}, {"=", 100.0, 1, 1}, {"<=", 5.0, 5, 5}}, []any{1.0, 2.0, 3.0, 4.0, 5.0}, []any{nan, 100.0})
	askOf(t, double, []question{{"nan", nil, 2, 2}, {"notnull", nil, 2, 2}, {"null", nil, 0, 0}}, []any{nan, nan})
}

// https://github.com/duckdb/duckdb-iceberg/issues/1136 and https://github.com/segmentio/parquet-go/issues/495: texts and bytes whose
// bounds were cut within a character, or below the value.
func TestForeignReadersFindTheLongValuesOfReports(t *testing.T) {
	t.Parallel()
	rig.Python(t)
	text, binary := columns.Type{Kind: columns.String}, columns.Type{Kind: columns.Binary}
	const long = "abcdefghijklmno"
	askOf(t, text, []question{{"=", long + "€z", 1, 1}, {">", long + "€", 1, 1}, {">=", long + "€z", 1, 1}, {"prefix", long + "€", 1, 1}}, []any{long + "€z"})
	for _, letter := range []string{"\u007f", "\u07ff", "\ud7ff", "\uffff", "\U0010ffff"} {
		v := long + letter + "z"
		askOf(t, text, []question{{"=", v, 1, 1}, {">", long + letter, 1, 1}, {"<=", v, 1, 1}}, []any{v})
	}
	last, ones := strings.Repeat("\U0010ffff", 20), bytes.Repeat([]byte{0xff}, 20)
	askOf(t, text, []question{{"notnull", nil, 1, 1}, {"=", last, 1, 1}, {">=", last, 1, 1}}, []any{last})
	askOf(t, binary, []question{{"notnull", nil, 1, 1}, {"=", ones, 1, 1}, {">=", ones, 1, 1}}, []any{ones})
	var counting []byte
	for i := range byte(0x18) {
		counting = append(counting, i)
	}
	askOf(t, binary, []question{{"=", counting, 1, 1}, {">", counting[:16], 1, 1}}, []any{counting})
}
