package lakesink

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
)

func TestCreateMakesATableThatStaysCheap(t *testing.T) {
	s, c := newTable(t, func(o *Options) {
		o.TableProperties = map[string]string{"owner": "data", "write.metadata.previous-versions-max": "7"}
	})
	tbl := load(t, c)
	if tbl.Metadata().Version() != 2 {
		t.Errorf("format version %d, want 2", tbl.Metadata().Version())
	}
	for key, want := range map[string]string{"commit.manifest-merge.enabled": "true", "write.metadata.delete-after-commit.enabled": "true",
		"write.metadata.previous-versions-max": "7", "write.metadata.compression-codec": "gzip", "write.parquet.compression-codec": "zstd",
		"write.parquet.compression-level": "1", "history.expire.min-snapshots-to-keep": "20", "sluice.created-by": "sluice", "owner": "data", "commit.retry.num-retries": ""} {
		if got := tbl.Properties()[key]; got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	for i, f := range rawSchema() {
		got := tbl.Schema().Fields()[i]
		if got.Name != f.Name || got.Required != f.Required || got.Type.String() != f.Type.Kind.String() || got.ID != i+1 {
			t.Errorf("got %v, want %v", got, f)
		}
	}
	location := tbl.MetadataLocation()
	if err := s.Create(context.Background(), rawSchema()); err != nil || load(t, c).MetadataLocation() != location {
		t.Errorf("creating it again: %v", err)
	}
}

func TestCreateMayBeRaced(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		s := newSink(openSQLite(t, dir))
		wg.Go(func() {
			if err := s.Create(context.Background(), rawSchema()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mustApply(t, newSink(openSQLite(t, dir)), queryID, planN(0))
}

func TestNamespacesAreMadeWithThoseAbove(t *testing.T) {
	for _, kind := range []string{"sql", "hadoop"} {
		dir := t.TempDir()
		c, err := OpenCatalog(context.Background(), CatalogOptions{Type: kind, URI: dir + "/c.db", Warehouse: dir + "/w"})
		if err != nil {
			t.Fatal(err)
		}
		o := testOptions()
		o.Table = "a.b.c.orders"
		if err := New(c, o).Create(context.Background(), rawSchema()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := c.(catalog.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestATableThatDoesNotFitIsRefusedWithEveryDifference(t *testing.T) {
	c := openSQLite(t, t.TempDir())
	ctx := context.Background()
	if err := c.CreateNamespace(ctx, catalog.ToIdentifier("db"), nil); err != nil {
		t.Fatal(err)
	}
	p := iceberg.PrimitiveTypes
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "key", Type: p.String}, iceberg.NestedField{ID: 2, Name: "value", Type: p.Binary, Required: true},
		iceberg.NestedField{ID: 3, Name: "topic", Type: p.String, Required: true}, iceberg.NestedField{ID: 4, Name: "partition", Type: p.Int32, Required: true},
		iceberg.NestedField{ID: 5, Name: "offset", Type: p.Int32, Required: true}, iceberg.NestedField{ID: 6, Name: "timestamp", Type: p.Timestamp},
		iceberg.NestedField{ID: 7, Name: "tenant", Type: p.String, Required: true})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1000, Name: "topic_id", Transform: iceberg.IdentityTransform{}})
	if _, err := c.CreateTable(ctx, catalog.ToIdentifier(tableName), schema, catalog.WithPartitionSpec(&spec)); err != nil {
		t.Fatal(err)
	}
	wantClass(t, newSink(c).Create(ctx, rawSchema()), batch.Inconsistent,
		"column key is string in the table and binary in the rows", "column value is required in the table and may be empty in the rows",
		"column offset is int in the table and long in the rows", "column timestamp is timestamp in the table and timestamptz in the rows",
		"column tenant of the table is required and the rows do not have it", "the table has no column timestampType (int)")
}

// A run never alters a table of dead letters, and the job has no say in its columns.
func TestWhatCanBeDoneAboutATableOfDeadLettersIsAnotherOne(t *testing.T) {
	s, c := newTable(t)
	letters := New(c, Options{Table: s.TableName(), DeadLetters: true})
	for sink, want := range map[*Iceberg]string{s: "addColumn", letters: "another deadLetter.table"} {
		err := sink.Create(t.Context(), append(rawSchema(), columns.Field{Name: "more", Type: columns.Type{Kind: columns.String}}))
		wantClass(t, err, batch.Inconsistent, "no column more")
		var fault *batch.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Hint, want) || sink == letters && strings.Contains(fault.Hint, "addColumn") {
			t.Errorf("got %+v, want a hint with %s", fault, want)
		}
	}
}

func TestATableOfOthersWithMoreAndWiderColumnsIsWritten(t *testing.T) {
	c := openSQLite(t, t.TempDir())
	ctx := context.Background()
	if err := c.CreateNamespace(ctx, catalog.ToIdentifier("db"), nil); err != nil {
		t.Fatal(err)
	}
	p := iceberg.PrimitiveTypes
	var fields []iceberg.NestedField // in another order, with ids of its own, and more
	for i, f := range rawSchema() {
		kind, _ := icebergType(f.Type, new(int))
		if f.Name == "partition" {
			kind = p.Int64
		}
		fields = append([]iceberg.NestedField{{ID: 40 - i, Name: f.Name, Type: kind}}, fields...)
	}
	fields = append(fields, iceberg.NestedField{ID: 50, Name: "tenant", Type: p.String}, iceberg.NestedField{ID: 51, Name: "points", Type: &iceberg.ListType{ElementID: 52,
		ElementRequired: true, Element: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 53, Name: "x", Type: p.Float64, Required: true}}}}})
	if _, err := c.CreateTable(ctx, catalog.ToIdentifier(tableName), iceberg.NewSchema(0, fields...)); err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(ctx, rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(0))
	rows := scan(t, load(t, c), table.WithSelectedFields("partition", "offset", "tenant", "points", "topic"))
	if len(rows) != 20 {
		t.Fatalf("got %d rows", len(rows))
	}
	for _, r := range rows {
		if _, ok := find2(r, int64(0), int64(1)); !ok {
			t.Fatalf("got %v", r)
		}
	}
	if got := scan(t, load(t, c), table.WithRowFilter(iceberg.IsNull(iceberg.Reference("tenant")))); len(got) != 20 {
		t.Errorf("%d rows without tenant, want 20", len(got))
	}
}

// find2 says whether one of the values is in the row, and that it has two nulls.
func find2(row []any, values ...any) (any, bool) {
	nulls := 0
	var found any
	for _, v := range row {
		if v == nil {
			nulls++
		}
		for _, w := range values {
			if v == w {
				found = v
			}
		}
	}
	return found, found != nil && nulls == 2
}

func TestFitLooksIntoStructsListsAndMaps(t *testing.T) {
	i32, i64, str := columns.Type{Kind: columns.Int32}, columns.Type{Kind: columns.Int64}, columns.Type{Kind: columns.String}
	structure := func(fields ...columns.Field) columns.Type { return columns.Type{Kind: columns.Struct, Fields: fields} }
	listOf := func(f columns.Field) columns.Type {
		return columns.Type{Kind: columns.List, Fields: []columns.Field{f}}
	}
	mapOf := func(v columns.Field) columns.Type {
		return columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: str, Required: true}, v}}
	}
	table := columns.Schema{
		{Name: "s", Type: structure(columns.Field{Name: "a", Type: i64}, columns.Field{Name: "b", Type: str}, columns.Field{Name: "c", Type: i32, Required: true})},
		{Name: "l", Type: listOf(columns.Field{Name: "element", Type: i64, Required: true})},
		{Name: "m", Type: mapOf(columns.Field{Name: "value", Type: structure(columns.Field{Name: "x", Type: str})})},
	}
	schema, err := icebergSchema(table)
	if err != nil {
		t.Fatal(err)
	}
	fields, differences := fit(schema, table)
	if len(differences) != 0 || len(fields) != 3 || len(fields[0].Children) != 3 || fields[2].Children[1].Children[0].Name != "x" {
		t.Fatalf("itself: %v, %+v", differences, fields)
	}
	_, differences = fit(schema, columns.Schema{
		{Name: "s", Type: structure(columns.Field{Name: "a", Type: str}, columns.Field{Name: "z", Type: str})},
		{Name: "l", Type: listOf(columns.Field{Name: "element", Type: i32})},
		{Name: "m", Type: mapOf(columns.Field{Name: "value", Type: structure(columns.Field{Name: "x", Type: i32, Required: true})})},
	})
	got := strings.Join(differences, "; ")
	for _, want := range []string{"s.a is long in the table and string", "no column s.z", "s.c of the table is required", "l.element is required", "m.value.x is string"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among: %s", want, got)
		}
	}
	if len(differences) != 5 {
		t.Errorf("got %d differences: %s", len(differences), got)
	}
	if fields, differences := fit(schema, columns.Schema{{Name: "s", Type: structure(columns.Field{Name: "c", Type: i32, Required: true})}}); len(differences) != 0 || len(fields) != 3 || fields[1].Source != -1 {
		t.Errorf("optional columns may be missing: %v, %+v", differences, fields)
	}
}
