//go:build integration

package rig

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite"
)

// written makes db.orders in the catalog, two commits of ten rows each, and returns its rows and its folder.
func written(t *testing.T, c catalog.Catalog) ([]Row, string) {
	t.Helper()
	return writtenIn(t, c, "db")
}

func writtenIn(t *testing.T, c catalog.Catalog, namespace string) ([]Row, string) {
	t.Helper()
	ctx := context.Background()
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "key", Type: iceberg.PrimitiveTypes.Binary},
		iceberg.NestedField{ID: 2, Name: "value", Type: iceberg.PrimitiveTypes.Binary},
		iceberg.NestedField{ID: 3, Name: "topic", Type: iceberg.PrimitiveTypes.String, Required: true},
		iceberg.NestedField{ID: 4, Name: "partition", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 5, Name: "offset", Type: iceberg.PrimitiveTypes.Int64, Required: true})
	if err := c.CreateNamespace(ctx, catalog.ToIdentifier(namespace), nil); err != nil {
		t.Fatal(err)
	}
	tbl, err := c.CreateTable(ctx, catalog.ToIdentifier(namespace+".orders"), schema,
		catalog.WithProperties(iceberg.Properties{"write.metadata.compression-codec": "gzip"}))
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for commit := range 2 {
		var added []Row
		for n := range 10 {
			row := Row{Topic: "orders", Partition: int32(n % 2), Offset: int64(commit*10 + n), Values: [][]byte{nil, fmt.Append(nil, "value ", n)}}
			if n%3 > 0 {
				row.Values[0] = fmt.Append(nil, "key ", n)
			}
			added = append(added, row)
		}
		tbl = appended(t, tbl, added)
		rows = append(rows, added...)
	}
	return rows, tbl.Location()
}

func appended(t *testing.T, tbl *table.Table, rows []Row) *table.Table {
	t.Helper()
	schema, err := table.SchemaToArrowSchema(tbl.Schema(), nil, true, false)
	if err != nil {
		t.Fatal(err)
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for _, row := range rows {
		for i, value := range row.Values {
			if value == nil {
				build.Field(i).AppendNull()
			} else {
				build.Field(i).(*array.BinaryBuilder).Append(value)
			}
		}
		build.Field(2).(*array.StringBuilder).Append(row.Topic)
		build.Field(3).(*array.Int32Builder).Append(row.Partition)
		build.Field(4).(*array.Int64Builder).Append(row.Offset)
	}
	batch := build.NewRecordBatch()
	defer batch.Release()
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	tbl, err = tbl.Append(context.Background(), reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func sqlCatalog(t *testing.T, file, warehouse string) catalog.Catalog {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := sqlcatalog.NewCatalog("default", db, sqlcatalog.SQLite, iceberg.Properties{"warehouse": warehouse, "init_catalog_tables": "true"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agree fails unless both engines saw exactly the rows, and each filter passed the wanted number both ways.
func agree(t *testing.T, reading Reading, rows []Row, passed ...int64) {
	t.Helper()
	for _, name := range []string{"duckdb", "pyiceberg"} {
		got := reading.Engines[name]
		if got.Count != int64(len(rows)) || got.Distinct != int64(len(rows)) || got.SHA256 != Digest(rows) {
			t.Errorf("%s: got %d rows, %d distinct, digest %s; want %d rows, digest %s", name, got.Count, got.Distinct, got.SHA256, len(rows), Digest(rows))
		}
		if len(got.Filters) != len(passed) {
			t.Fatalf("%s: got %d filters, want %d", name, len(got.Filters), len(passed))
		}
		for i, want := range passed {
			if filter := got.Filters[i]; filter.Filtered != want || filter.Full != want {
				t.Errorf("%s: %s: got %d filtered, %d of a full scan, want %d", name, filter.Filter, filter.Filtered, filter.Full, want)
			}
		}
	}
}

func TestForeignEnginesReadATableOfASQLCatalogInAFolder(t *testing.T) {
	readTable, dir := Python(t), t.TempDir()
	file := filepath.Join(dir, "catalog.db")
	rows, _ := written(t, sqlCatalog(t, file, "file://"+dir))
	reading := readTable("--catalog-db", file, "--table", "db.orders",
		"--filter", "offset >= 5 and offset < 12", "--filter", "key is null", "--filter", "topic = 'offset'")
	agree(t, reading, rows, 7, 8, 0)
	if filter := reading.Engines["pyiceberg"].Filters[2]; filter.Files != 0 || filter.AllFiles != 2 {
		t.Errorf("got %d of %d files planned for a topic that is in none, want 0 of 2", filter.Files, filter.AllFiles)
	}
}

func TestForeignEnginesReadATableOfASQLCatalogOnS3(t *testing.T) {
	readTable, bucket := Python(t), S3(t)
	file := filepath.Join(t.TempDir(), "catalog.db")
	rows, _ := written(t, sqlCatalog(t, file, bucket.Folder))
	agree(t, readTable("--catalog-db", file, "--table", "db.orders", "--filter", "partition = 1 and offset > 10"), rows, 5)
}

func TestForeignEnginesReadATableOfAHadoopCatalog(t *testing.T) {
	readTable := Python(t)
	c, err := hadoop.NewCatalog("sluice", t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, folder := written(t, c)
	agree(t, readTable("--metadata", folder, "--filter", "not (offset < 18)"), rows, 2)
}
