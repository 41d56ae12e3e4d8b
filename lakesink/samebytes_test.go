package lakesink

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"

	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/rowtest"
)

// hashOfFiles writes random rows of every kind and hashes the files in the order in which they were finished.
func hashOfFiles(t *testing.T, s *Iceberg) (hash string, files int) {
	t.Helper()
	ctx, schema := t.Context(), typedSchema()
	w, err := s.Write(ctx, taskFor(load(t, s.catalog)), "a", schema)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 40 {
		rows := rowtest.RandomRows(rng, schema, 1+rng.IntN(400))
		b := rowtest.Build(schema, rows)
		b.Columns[2] = rowtest.Constant(schema[2].Type, int64(rng.IntN(9)), len(rows))
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	written, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, f := range written {
		text, err := os.ReadFile(localPath(f.Path))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), len(written)
}

// How rows are gathered and sorted must not show in the files. The hashes are of files whose rows were copied one by one and
// whose keys were compared whole. They change with what the files' footers say of this program, and with the pages' limits.
func TestFilesAreTheSameHoweverRowsAreGathered(t *testing.T) {
	for name, c := range map[string]struct {
		partitionBy, sortBy []string
		memory              int64
		hash                string
	}{
		"partitions":      {[]string{"bucket(5, s)"}, nil, 40 << 20, "67d0e90d160b3205"},
		"many partitions": {[]string{"bucket(5, s)"}, nil, 3 << 20, "d19ca7a0cec79ba4"},
		"sorted":          {nil, []string{"truncate(2, s) DESC", "d"}, 3 << 20, "ce93d3189932b507"},
		"both":            {[]string{"bucket(3, i)"}, []string{"l", "bin"}, 3 << 20, "99988376e1d964f1"},
	} {
		s := New(openSQLite(t, t.TempDir()), func() Options {
			o := testOptions()
			o.Codec, o.MemoryBytes, o.CreatedBy = parquetfile.Uncompressed, c.memory, "sluice 1.0.0"
			o.PartitionBy, o.SortBy = partitionBy(t, c.partitionBy...), sortBy(t, c.sortBy...)
			return o
		}())
		if err := s.Create(t.Context(), columns.Schema(typedSchema())); err != nil {
			t.Fatal(err)
		}
		if hash, files := hashOfFiles(t, s); hash != c.hash {
			t.Errorf("%s: %d files have the hash %s, want %s", name, files, hash, c.hash)
		}
	}
}
