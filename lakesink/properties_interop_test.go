//go:build interop && linux

package lakesink

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/rig"
)

// parquet-java finds every value by the filter of a row group that has it, and denies it to nearly all others; Spark, which asks
// these filters, finds all rows. It needs Java and a JVM's time: make interop.
func TestSparkReadsByBloomFilters(t *testing.T) {
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	schema := columns.Schema{}
	for name, kind := range map[string]columns.Type{"i": {Kind: columns.Int32}, "l": {Kind: columns.Int64}, "f": {Kind: columns.Float32}, "d": {Kind: columns.Float64},
		"s": {Kind: columns.String}, "b": {Kind: columns.Binary}, "d9": {Kind: columns.Decimal, Precision: 9, Scale: 2}, "d18": {Kind: columns.Decimal, Precision: 18, Scale: 2},
		"d38": {Kind: columns.Decimal, Precision: 38, Scale: 2}} {
		schema = append(schema, columns.Field{Name: name, Type: kind})
	}
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
	run := exec.Command(filepath.Join(root, "rig", "spark"), filepath.Join(root, "rig", "spark_filters.py"), localPath(f.Path))
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var found map[string]struct{ Lost, Asked, Excluded int }
	_, line, _ := strings.Cut(string(out), "filters: ")
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&found); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, field := range schema {
		if got := found[field.Name]; got.Lost > 0 || got.Asked < 80 || got.Excluded < got.Asked/2 {
			t.Errorf("%s: got %+v", field.Name, got)
		}
	}
}
