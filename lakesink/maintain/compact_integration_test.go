//go:build integration

package maintain

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/lakesink"
	"sluice/rig"
)

// Tables of PyIceberg, altered between their files in every way that the format allows: after a compaction PyIceberg and DuckDB read
// of each what they read before.
func TestForeignTablesAreReadAlikeBeforeAndAfterACompaction(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "catalog.db")
	rig.MakeSmall(t, db, dir)
	before := rig.ReadSmall(t, db)
	c, err := lakesink.OpenCatalog(context.Background(), lakesink.CatalogOptions{Type: "sql", URI: db, Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for name := range before {
		sink := sinkOf(c, func(o *lakesink.Options) { o.Table = name })
		done, err := Open(sink, Options{}).Compact(context.Background(), CompactOptions{MinInputFiles: 2})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if done != nil && (done.Commits == 0 || states(done)[Compacted] != len(done.Groups)) {
			t.Errorf("%s: %+v", name, done)
		}
		tbl, err := c.LoadTable(context.Background(), catalog.ToIdentifier(name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = len(liveFiles(t, tbl))
		if _, named := tbl.Properties()["schema.name-mapping.default"]; named != (name == "small.nameless") {
			t.Errorf("%s has a name mapping: %v", name, named)
		}
	}
	if err := c.(catalog.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	after := rig.ReadSmall(t, db)
	for name := range before {
		if !reflect.DeepEqual(before[name], after[name]) {
			t.Errorf("%s: read before %+v, after %+v", name, before[name], after[name])
		}
	}
	// Of small.parted 24 files have an earlier spec, one of which a deletion has written anew for the current one, with three values.
	if want := map[string]int{"small.evolved": 1, "small.first": 1, "small.parted": 23 + 3, "small.nameless": 1}; !maps.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
}

// Rows of format version 3 have their ids in the files after they have moved; the other engines see the same columns.
func TestForeignReadersSeeTheRowsOfFormatVersionThreeThatMoved(t *testing.T) {
	read := rig.Python(t)
	dir := t.TempDir()
	s := &small{t: t, c: openCatalog(t, dir), schema: kafkaColumns}
	s.sink = sinkOf(s.c, formatThree)
	if err := s.sink.Create(context.Background(), s.schema); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		n := 10 * s.next
		s.add([][]any{{nil, []byte("v"), "orders", int32(0), n, n}, {[]byte("k"), nil, "orders", int32(0), n + 1, n}})
	}
	args := []string{"--catalog-db", filepath.Join(dir, "catalog.db"), "--table", smallTable, "--filter", "offset >= 20", "--filter", "timestamp is null"}
	before := read(args...)
	if c := s.compact(CompactOptions{}); c.Commits != 1 {
		t.Errorf("%+v", c)
	}
	after := read(args...)
	if len(after.Engines) != 2 {
		t.Errorf("%d engines read the table", len(after.Engines))
	}
	for name, e := range after.Engines {
		if was := before.Engines[name]; e.Count != 10 || e.SHA256 != was.SHA256 {
			t.Errorf("%s: %d rows with digest %.12s, there were %d with %.12s", name, e.Count, e.SHA256, was.Count, was.SHA256)
		}
		for _, f := range e.Filters {
			if f.Filtered != f.Full {
				t.Errorf("%s: %s finds %d rows of %d", name, f.Filter, f.Filtered, f.Full)
			}
		}
	}
}
