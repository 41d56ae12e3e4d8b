//go:build integration

package lakesink

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"sluice/batch"
	"sluice/columns"
	"sluice/rig"
)

// raiseLower makes the lower bound of every column the upper one, so that a reader passes over the smallest value;
// dropUpper does the opposite.
func raiseLower(low, high *[]byte) { *low = *high }
func dropUpper(low, high *[]byte)  { *high = *low }

// falsifyManifest alters what the table will know of a file and returns the ids of the columns that have bounds.
func falsifyManifest(f *batch.DataFile, alter func(low, high *[]byte)) (ids []int) {
	for id, low := range f.LowerBounds {
		if high, ok := f.UpperBounds[id]; ok {
			alter(&low, &high)
			f.LowerBounds[id], f.UpperBounds[id] = low, high
			ids = append(ids, id)
		}
	}
	return ids
}

// falsifyFooter alters the statistics in a Parquet file and returns the ids of the columns that have any.
func falsifyFooter(t *testing.T, f *batch.DataFile, alter func(low, high *[]byte)) (ids []int) {
	t.Helper()
	name := localPath(f.Path)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tail := len(data) - 8
	begin := tail - int(binary.LittleEndian.Uint32(data[tail:]))
	var footer format.FileMetaData
	var protocol thrift.CompactProtocol
	if err := thrift.Unmarshal(&protocol, data[begin:tail], &footer); err != nil {
		t.Fatal(err)
	}
	if len(footer.RowGroups) != 1 {
		t.Fatalf("%s has %d row groups, want 1", name, len(footer.RowGroups))
	}
	leaves := slices.DeleteFunc(slices.Clone(footer.Schema), func(e format.SchemaElement) bool { return !e.Type.Valid })
	for i := range leaves {
		if s := &footer.RowGroups[0].Columns[i].MetaData.Statistics; s.MinValue != nil && s.MaxValue != nil {
			alter(&s.MinValue, &s.MaxValue)
			ids = append(ids, int(leaves[i].FieldID))
		}
	}
	altered, err := thrift.Marshal(&protocol, footer)
	if err != nil {
		t.Fatal(err)
	}
	data = slices.Concat(data[:begin], altered, binary.LittleEndian.AppendUint32(nil, uint32(len(altered))), []byte("PAR1"))
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f.Bytes = int64(len(data))
	return ids
}

// falsified is a table whose first file has false lower bounds and whose second has false upper bounds, and the predicates
// that must lose rows for it.
type falsified struct {
	*statisticsTable
	asked []asked
}

// asked is a predicate on one end of what a file has in a column.
type asked struct {
	statisticsColumn
	low, high any
	predicate rig.Predicate
}

func newFalsified(t *testing.T, falsify func(f *batch.DataFile, alter func(low, high *[]byte)) []int) *falsified {
	t.Helper()
	var ids [2][]int
	alter := [2]func(low, high *[]byte){raiseLower, dropUpper}
	f := &falsified{}
	f.statisticsTable = newStatisticsTable(t, 3, testOptions(), func(number int, file *batch.DataFile) {
		if number < len(ids) {
			ids[number] = falsify(file, alter[number])
		}
	})
	schema := load(t, f.catalog).Schema()
	for _, c := range statisticsColumns(statisticsSchema(), "", nil) {
		field, ok := schema.FindFieldByName(c.path)
		if !ok {
			t.Fatalf("the table has no column %s", c.path)
		}
		for number := range ids {
			low, high := c.extremes(f.files[number])
			if !slices.Contains(ids[number], field.ID) || order(low, high) == 0 {
				continue
			}
			end := [2]any{low, high}[number]
			f.asked = append(f.asked, asked{c, low, high, rig.Predicate{Column: c.path, Op: "=", Values: []string{constant(end)}}})
		}
	}
	return f
}

func (f *falsified) compare(t *testing.T) rig.Comparison {
	t.Helper()
	var predicates []rig.Predicate
	for _, a := range f.asked {
		predicates = append(predicates, a.predicate)
	}
	return f.statisticsTable.compare(t, predicates)
}

// wantLost checks that a reader lost rows of every column, so that a false bound of any type would be found; of the kinds
// that it has no use for the bounds of, and of what unused says, none need be lost.
func (f *falsified) wantLost(t *testing.T, reader string, got []*rig.Difference, unused func(*asked) bool, kinds ...columns.Kind) {
	t.Helper()
	found := map[columns.Kind]bool{}
	for k, d := range got {
		a := &f.asked[k]
		kind := a.field.Type.Kind
		if slices.Contains(kinds, kind) || unused(a) {
			continue
		}
		found[kind] = true
		if d == nil || d.Lost == 0 {
			t.Errorf("%s: %+v (%s) loses no rows although the bounds are false: got %+v", reader, a.predicate, kind, d)
		}
	}
	for kind := columns.Bool; kind <= columns.UUID; kind++ {
		if !found[kind] && !slices.Contains(kinds, kind) {
			t.Errorf("%s: no false bounds of a %s", reader, kind)
		}
	}
}

func allUsed(*asked) bool { return false }

// insideAStruct: DuckDB 1.5 looks at no bounds of fields of structs in manifests.
func insideAStruct(a *asked) bool { return len(a.steps) > 1 }

// unusedInFiles: of the statistics in a file DuckDB compares no more than the first eight bytes of texts, and nothing with
// infinity; empty ones are none.
func unusedInFiles(a *asked) bool {
	low, high := constant(a.low), constant(a.high)
	switch a.field.Type.Kind {
	case columns.String:
		return low == "" || low[:min(16, len(low))] == high[:min(16, len(high))]
	case columns.Float32, columns.Float64:
		return strings.HasSuffix(low, "Inf") || strings.HasSuffix(high, "Inf")
	}
	return false
}

// The comparison of scans would find a bound in a manifest that is false, whatever its type.
func TestAFalseBoundInAManifestLosesRows(t *testing.T) {
	t.Parallel()
	rig.Python(t)
	f := newFalsified(t, falsifyManifest)
	got := f.compare(t)
	f.wantLost(t, "pyiceberg", got.PyIceberg, allUsed)
	f.wantLost(t, "iceberg_scan", got.IcebergScan, insideAStruct)
}

// The comparison of scans would find statistics in a Parquet file that are false, whatever their type. Arrow cannot compare
// UUIDs, and DuckDB looks at no statistics of UUIDs and booleans; binary is left out for DuckDB, as the values here are too
// alike in their first eight bytes. Fixed is there in its place.
func TestFalseStatisticsInAFileLoseRows(t *testing.T) {
	t.Parallel()
	rig.Python(t)
	f := newFalsified(t, func(file *batch.DataFile, alter func(low, high *[]byte)) []int { return falsifyFooter(t, file, alter) })
	got := f.compare(t)
	f.wantLost(t, "pyiceberg", got.PyIceberg, allUsed, columns.UUID)
	f.wantLost(t, "read_parquet", got.ReadParquet, unusedInFiles, columns.Bool, columns.UUID, columns.Binary)
}
