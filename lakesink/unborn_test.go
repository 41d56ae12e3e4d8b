package lakesink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/columns"
)

// A mistyped path must not leave a catalog behind, and a plan writes nothing.
func TestLookingIntoACatalogThatIsNotThereMakesNone(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "new", "catalog.db")
	open := func() catalog.Catalog {
		c, err := OpenCatalog(ctx, CatalogOptions{Type: "sql", URI: path, Warehouse: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.(catalog.Closer).Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	looking, making := open(), open()
	id := catalog.ToIdentifier("db.t")
	if _, err := looking.LoadTable(ctx, id); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("load: got %v, want no such table", err)
	}
	if exists, err := looking.CheckNamespaceExists(ctx, catalog.ToIdentifier("db")); exists || err != nil {
		t.Errorf("namespace: got %v, %v", exists, err)
	}
	if found, err := New(looking, Options{Table: "db.t"}).Table(ctx, "q"); err != nil || found.Exists || found.CatalogMissing != path {
		t.Errorf("table: got %+v, %v, want it to name the database %s", found, err, path)
	}
	var missing *DatabaseMissing
	if _, err := New(looking, Options{Table: "db.t"}).Load(ctx); !errors.As(err, &missing) || missing.Path != path || MissingDatabase(ctx, looking) != path {
		t.Errorf("load: got %v, want it to name the database %s", err, path)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("looking made the catalog's folder: %v", err)
	}
	if err := New(making, Options{Table: "db.t"}).Create(ctx, columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Int64}}}); err != nil {
		t.Fatal(err)
	}
	if found, err := New(looking, Options{Table: "db.other"}).Table(ctx, "q"); err != nil || found.CatalogMissing != "" || MissingDatabase(ctx, looking) != "" {
		t.Errorf("another table: got %+v, %v, want no word of the database, which is there", found, err)
	}
	if _, err := looking.LoadTable(ctx, id); err != nil {
		t.Errorf("a table that another process made is not seen: %v", err)
	}
}
