//go:build integration

package lakesink

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/rig"
)

// rowsOf are the rows of rawRows as a digest knows them.
func rowsOf(partition int32, from, until int64) []rig.Row {
	var rows []rig.Row
	for o := from; o < until; o++ {
		rows = append(rows, rig.Row{Topic: topic, Partition: partition, Offset: o,
			Values: [][]byte{fmt.Appendf(nil, "key-%d", o%7), fmt.Appendf(nil, `{"order_id":%d,"partition":%d}`, o, partition)}})
	}
	return rows
}

func wantReading(t *testing.T, got rig.Reading, rows []rig.Row) {
	t.Helper()
	if len(got.Engines) != 2 {
		t.Errorf("%d engines read the table, want 2", len(got.Engines))
	}
	for name, e := range got.Engines {
		if e.Count != int64(len(rows)) || e.Distinct != int64(len(rows)) || e.SHA256 != rig.Digest(rows) {
			t.Errorf("%s %s: %d rows, %d distinct, digest %.12s; want %d and %.12s", name, e.Version, e.Count, e.Distinct, e.SHA256, len(rows), rig.Digest(rows))
		}
		for _, f := range e.Filters {
			if f.Filtered != f.Full {
				t.Errorf("%s %s: %s finds %d rows with the filter pushed down, %d in a full scan", name, e.Version, f.Filter, f.Filtered, f.Full)
			}
		}
	}
}

var rawFilters = []string{"--filter", "offset >= 95 and offset < 105", "--filter", "offset = 0", "--filter", "partition = 1", "--filter", "topic = 'orders'",
	"--filter", "topic > 'orders'", "--filter", "timestampType = 0"}

func TestForeignReadersSeeEveryRowOnce(t *testing.T) {
	t.Parallel()
	read := rig.Python(t)
	dir := t.TempDir()
	o := testOptions()
	o.ExpireEvery, o.KeepSnapshots, o.MemoryBytes = 8, 3, 4<<20
	o.TableProperties = map[string]string{"commit.manifest.min-count-to-merge": "4"}
	c := openSQLite(t, dir)
	s := New(c, o)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	var rows []rig.Row
	var from int64
	for n := range int64(30) {
		until := from + 10
		if n == 17 {
			until = from // an empty batch among them
		}
		a := mustApply(t, s, queryID, planOf(n, from, until))
		if err := s.Maintain(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		rows = append(append(rows, rowsOf(0, from, until)...), rowsOf(1, from, until)...)
		from = until
	}
	got := read(append([]string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName}, rawFilters...)...)
	wantReading(t, got, rows)
}

func TestForeignReadersReadAHadoopTable(t *testing.T) {
	t.Parallel()
	read := rig.Python(t)
	dir := t.TempDir()
	c, err := open(t, CatalogOptions{Type: "hadoop", Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planOf(0, 0, 200))
	wantReading(t, read(append([]string{"--metadata", filepath.Join(dir, "db", "orders")}, rawFilters...)...), append(rowsOf(0, 0, 200), rowsOf(1, 0, 200)...))
}

// What Readable lets pass, others read.
func TestForeignReadersReadBelowADifficultName(t *testing.T) {
	t.Parallel()
	read := rig.Python(t)
	dir := t.TempDir()
	c, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, difficult)})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planOf(0, 0, 20))
	wantReading(t, read(append([]string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName}, rawFilters...)...),
		append(rowsOf(0, 0, 20), rowsOf(1, 0, 20)...))
}

// typedFilters compare columns of every kind with values that lie in and around the data.
func typedFilters(rng *rand.Rand, rows [][]any, first int) []string {
	var filters []string
	add := func(f string, args ...any) { filters = append(filters, "--filter", fmt.Sprintf(f, args...)) }
	for range 6 {
		row := rows[rng.IntN(len(rows))][first:]
		op := [...]string{"<", "=", ">"}[rng.IntN(3)]
		if v, ok := row[1].(int32); ok {
			add("i %s %d", op, v)
		}
		add("l %s %d", op, row[2].(int64))
		if v, ok := row[12].(string); ok && !strings.ContainsAny(v, "'\x7f") {
			add("s %s '%s'", op, v)
		}
	}
	add("d < -1.5") // not >: engines differ in whether NaN is above everything
	add("d9 < 0")
	add("d18 < 0")
	add("d38 < 0")
	add("s is null")
	add("date > '1970-01-01'")
	return filters
}

func TestForeignReadersReadEveryKindAndPruneRight(t *testing.T) {
	t.Parallel()
	read := rig.Python(t)
	schema := append(columns.Schema{
		{Name: "topic", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "partition", Type: columns.Type{Kind: columns.Int32}, Required: true},
		{Name: "offset", Type: columns.Type{Kind: columns.Int64}, Required: true}}, typedSchema()...)
	for seed := range uint64(2) {
		dir := t.TempDir()
		c := openSQLite(t, dir)
		o := testOptions()
		o.PageBytes, o.RowGroupBytes = 2<<10, 32<<10 // many pages and row groups
		s := New(c, o)
		if err := s.Create(context.Background(), schema); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 7))
		var all [][]any
		for range 5 {
			rows := rowtest.RandomRows(rng, schema, 400)
			for i := range rows {
				rows[i][0], rows[i][1], rows[i][2] = topic, int32(0), int64(len(all)+i)
			}
			all = append(all, rows...)
			addFiles(t, c, writeFiles(t, s, c, schema, rowtest.Build(schema, rows)))
		}
		var want []rig.Row
		for i, row := range all {
			var bin []byte
			if v, ok := row[3+13].([]byte); ok {
				bin = v
			}
			want = append(want, rig.Row{Topic: topic, Offset: int64(i), Values: [][]byte{bin}})
		}
		got := read(append([]string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName, "--columns", "bin"}, typedFilters(rng, all, 3)...)...)
		wantReading(t, got, want)
	}
}

func TestATableOnS3(t *testing.T) {
	read := rig.Python(t)
	bucket := rig.S3(t)
	dir := t.TempDir()
	c, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: bucket.Folder, Properties: map[string]string{"s3.endpoint": bucket.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		mustApply(t, s, queryID, planOf(n, 100*n, 100*n+100))
	}
	wantOffsets(t, c, 300, 0)
	wantReading(t, read(append([]string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName}, rawFilters...)...), append(rowsOf(0, 0, 300), rowsOf(1, 0, 300)...))
}

func TestAbortOnS3LeavesNoObject(t *testing.T) {
	bucket := rig.S3(t)
	c, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "catalog.db"), Warehouse: bucket.Folder, Properties: map[string]string{"s3.endpoint": bucket.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions()
	o.MemoryBytes = 20 << 20
	s := New(c, o)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(context.Background(), taskFor(load(t, c)), "a", rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows := rawRows(0, 0, 4000)
	var values []any
	for range 4000 { // 16 MB that cannot be compressed: several parts are sent
		v := make([]byte, 4096)
		for i := range v {
			v[i] = byte(rng.Uint32())
		}
		values = append(values, v)
	}
	rows.Columns[1] = rowtest.Array(rawSchema()[1].Type, values)
	if err := w.Write(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	objects := bucket.Open(t).List(nil)
	for {
		object, err := objects.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(object.Key, ".parquet") {
			t.Errorf("left: %s", object.Key)
		}
	}
}

func TestAMissingBucketAndWrongCredentialsAreSaidSo(t *testing.T) {
	bucket := rig.S3(t)
	c, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "catalog.db"), Warehouse: "s3://no-such-bucket-here/lake", Properties: map[string]string{"s3.endpoint": bucket.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	err = newSink(c).Create(context.Background(), rawSchema())
	wantClass(t, err, batch.NotSetUp, "NoSuchBucket")
	if !strings.Contains(batch.HintOf(err), "create the bucket") {
		t.Errorf("hint %q", batch.HintOf(err))
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	c, err = open(t, CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "catalog.db"), Warehouse: bucket.Folder, Properties: map[string]string{"s3.endpoint": bucket.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	wantClass(t, newSink(c).Create(context.Background(), rawSchema()), batch.NotSetUp)
}
