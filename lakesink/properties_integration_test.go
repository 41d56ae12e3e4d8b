//go:build integration

package lakesink

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/rig"
)

// Files of every compression stand in one table, each written as the table said then, and both readers read them all.
func TestForeignReadersReadEveryCompression(t *testing.T) {
	read := rig.Python(t)
	dir := t.TempDir()
	c := openSQLite(t, dir)
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	var want []rig.Row
	for n, name := range []string{"zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"} {
		change(t, c, setProperties(map[string]string{table.ParquetCompressionKey: name, table.ParquetCompressionLevelKey: "4", "write.parquet.page-row-limit": "50"}))
		from := int64(200 * n)
		addFiles(t, c, writeFiles(t, New(c, testOptions()), c, rawSchema(), rawRows(0, from, from+200)))
		want = append(want, rowsOf(0, from, from+200)...)
	}
	wantReading(t, read(append([]string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName}, rawFilters...)...), want)
}

// filteredSchema has all kinds of columns that DuckDB reads filters of, and decimals and UUIDs, of which it reads none.
func filteredSchema() columns.Schema {
	var schema columns.Schema
	for name, kind := range map[string]columns.Type{"i": {Kind: columns.Int32}, "l": {Kind: columns.Int64}, "f": {Kind: columns.Float32}, "d": {Kind: columns.Float64},
		"s": {Kind: columns.String}, "d9": {Kind: columns.Decimal, Precision: 9, Scale: 2}, "d18": {Kind: columns.Decimal, Precision: 18, Scale: 2}, "d38": {Kind: columns.Decimal, Precision: 38, Scale: 2},
		"u": {Kind: columns.UUID}, "day": {Kind: columns.Date}, "hour": {Kind: columns.Time}, "ts": {Kind: columns.Timestamp}, "tz": {Kind: columns.TimestampTZ}} {
		schema = append(schema, columns.Field{Name: name, Type: kind})
	}
	return schema
}

// Binary columns are left out: DuckDB 1.5.5 asks filters for the text that it shows of a BLOB, and finds no row, whoever wrote the file
// (https://github.com/duckdb/duckdb/pull/23829). parquet-java is asked for them in the test of Spark.
func TestDuckDBFindsWhatIsThereByBloomFilters(t *testing.T) {
	rig.Python(t)
	schema := filteredSchema()
	o := testOptions()
	o.TableProperties = map[string]string{"write.parquet.row-group-size-bytes": "60000", "write.parquet.page-size-bytes": "8000"}
	for _, f := range schema {
		o.TableProperties["write.parquet.bloom-filter-enabled.column."+f.Name] = "true"
	}
	c := openSQLite(t, t.TempDir())
	s := New(c, o)
	if err := s.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	f := writeFiles(t, s, c, schema, rowtest.Build(schema, rowtest.RandomRows(rand.New(rand.NewPCG(1, 1)), schema, 2000)))[0]
	found := rig.CheckFilters(t, localPath(f.Path))
	for _, field := range schema {
		got, ok := found[field.Name]
		asks := field.Type.Kind != columns.Decimal && field.Type.Kind != columns.UUID
		if !ok || got.Lost > 0 || asks && (got.Absent < 50 || got.Excluded < got.Absent*9/10) {
			t.Errorf("%s: got %+v", field.Name, got)
		}
	}
}
