package lakesink

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
)

// Where nothing can be written a catalog is read all the same, and nothing is made beside it.
func TestACatalogIsReadWithoutWritingBesideIt(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	if err := c.(catalog.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	path := c.(*unborn).path
	before := below(t, filepath.Dir(path))
	if !isWAL(path) || !strings.Contains(readOnlyDSN(path), "immutable") {
		t.Fatalf("got %s, want a database in WAL mode that nobody has open", readOnlyDSN(path))
	}
	read, err := openDSN(context.Background(), path, readOnlyDSN(path), CatalogOptions{Name: "default", Warehouse: "file://" + filepath.Dir(path)})
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t, read).CurrentSnapshot(); got == nil {
		t.Error("the table has no snapshot")
	}
	if err := read.(catalog.Closer).Close(); err != nil {
		t.Error(err)
	}
	if after := below(t, filepath.Dir(path)); !slices.Equal(after, before) {
		t.Errorf("got %v, want %v", after, before)
	}
}

// What a writer has not yet moved from the -wal file into the database must be seen.
func TestACatalogThatSomebodyHasOpenIsNotTakenForOneThatNobodyChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	db, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if dsn := readOnlyDSN(path); !strings.Contains(dsn, "mode=ro") || strings.Contains(dsn, "immutable") {
		t.Errorf("got %s", dsn)
	}
}
