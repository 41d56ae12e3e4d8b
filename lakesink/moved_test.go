package lakesink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
)

// describedAs is what a table of a sql catalog with this database is called.
func describedAs(database string) string {
	return New(nil, Options{Table: "sales.orders", Catalog: CatalogOptions{Type: "sql", URI: database, Warehouse: "/lake"}.String()}).Describe()
}

func written(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What Describe makes of an address is found again, whatever is in the path.
func TestADatabaseIsFoundByItsDescription(t *testing.T) {
	for _, folder := range []string{"plain", "with a space", "50%", "a%20b", "ünï", "a+b", "two  spaces", "colon:here"} {
		path := written(t, filepath.Join(t.TempDir(), folder, "catalog.db"))
		for _, uri := range []string{path, "file://" + path, "sqlite://" + path} {
			words := describedAs(uri)
			if uri != path && strings.Contains(folder, "%") { // an escape there, or no URL
				continue
			}
			if strings.Contains(words, "unreadable") { // an address that is no URL is told to nobody
				continue
			}
			found := placesOf(words)
			if len(found) == 0 || found[0].path != path && found[len(found)-1].path != path {
				t.Errorf("%s: described as %q, found %v", uri, words, found)
			}
		}
	}
}

func TestATableThatTwoCatalogsClaimIsRefused(t *testing.T) {
	dir := t.TempDir()
	prod, copy := written(t, filepath.Join(dir, "prod", "catalog.db")), written(t, filepath.Join(dir, "try copy", "catalog.db"))
	if err := os.Symlink(filepath.Join(dir, "prod"), filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(dir, "alias", "catalog.db")
	_, err := CheckMoved("uuid-1", describedAs(prod), describedAs(copy))
	if batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), "two catalogs") || !strings.Contains(err.Error(), "uuid-1") || !strings.Contains(batch.HintOf(err), prod) {
		t.Errorf("a copy: got %v (%q)", err, batch.HintOf(err))
	}
	for _, other := range []string{alias, "file://" + prod, "sqlite://" + prod} {
		if remark, err := CheckMoved("uuid-1", describedAs(prod), describedAs(other)); remark != "" || err != nil {
			t.Errorf("%s: got %q, %v, want the same catalog", other, remark, err)
		}
	}
	if err := os.Remove(prod); err != nil {
		t.Fatal(err)
	}
	if remark, err := CheckMoved("uuid-1", describedAs(prod), describedAs(copy)); !strings.Contains(remark, "is gone") || err != nil {
		t.Errorf("moved: got %q, %v", remark, err)
	}
}

// A hadoop catalog has no database: the folder of the table in it stands for it.
func TestACopiedHadoopTableIsRefused(t *testing.T) {
	dir := t.TempDir()
	described := func(warehouse string) string {
		return New(nil, Options{Table: "sales.orders", Catalog: CatalogOptions{Type: "hadoop", Warehouse: warehouse}.String()}).Describe()
	}
	prod, copy := filepath.Join(dir, "prod"), filepath.Join(dir, "copy")
	for _, warehouse := range []string{prod, copy} {
		written(t, filepath.Join(warehouse, "sales", "orders", "metadata", "v1.metadata.json"))
	}
	if _, err := CheckMoved("uuid-1", described(prod), described(copy)); batch.ClassOf(err) != batch.Inconsistent {
		t.Errorf("a copy: got %v", err)
	}
	if err := os.RemoveAll(filepath.Join(prod, "sales")); err != nil {
		t.Fatal(err)
	}
	if remark, err := CheckMoved("uuid-1", described(prod), described(copy)); remark == "" || err != nil {
		t.Errorf("moved: got %q, %v", remark, err)
	}
}

func TestATableOutsideTheWarehouseIsRemarkedOn(t *testing.T) {
	dir := t.TempDir()
	lake := filepath.Join(dir, "lake")
	if err := os.MkdirAll(filepath.Join(lake, "sales.db"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lake, filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		warehouse, location string
		odd                 bool
	}{
		{lake, "file://" + lake + "/sales.db/orders", false},
		{lake + "/", lake + "/sales.db/orders", false},
		{filepath.Join(dir, "alias"), "file://" + lake + "/sales.db/orders", false},
		{lake, "file://" + lake + "2/sales.db/orders", true},
		{lake, "s3://lake/sales.db/orders", true},
		{"s3://lake/a", "s3a://lake/a/orders", false},
		{"s3://lake/a", "s3://lake/ab/orders", true},
	} {
		if remark := OddLocation(CatalogOptions{Type: "sql", Warehouse: tc.warehouse}, tc.location); (remark != "") != tc.odd {
			t.Errorf("%s in %s: got %q", tc.location, tc.warehouse, remark)
		}
	}
	if remark := OddLocation(CatalogOptions{Type: "hadoop", Warehouse: lake}, "file:///elsewhere"); remark != "" {
		t.Errorf("hadoop: got %q", remark)
	}
}
