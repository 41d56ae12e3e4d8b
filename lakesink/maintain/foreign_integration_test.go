//go:build integration

package maintain

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"

	"sluice/lakesink"
	"sluice/rig"
)

// Tables of PyIceberg, altered between their files in every way that the format allows: what PyIceberg and DuckDB read of them is
// the same after their manifests were rewritten, all snapshots but one have expired, and all orphans are gone.
func TestForeignTablesAreReadAlikeBeforeAndAfterMaintenance(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "catalog.db")
	rig.MakeSmall(t, db, dir)
	before := rig.ReadSmall(t, db)
	c, err := lakesink.OpenCatalog(context.Background(), lakesink.CatalogOptions{Type: "sql", URI: db, Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	rewritten := 0
	for name := range before {
		m := Open(sinkOf(c, func(o *lakesink.Options) { o.Table = name }), Options{})
		manifests, err := m.RewriteManifests(context.Background())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if manifests.Snapshot != 0 {
			rewritten++
		}
		e, err := m.Expire(context.Background(), ExpireOptions{OlderThan: time.Nanosecond, RetainLast: 1})
		if err != nil || e.Kept > 1 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		o, err := m.Orphans(context.Background(), OrphanOptions{OlderThan: time.Nanosecond, Unsafe: true, Remove: true})
		if err != nil || o.Removed != o.Found {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if rewritten == 0 {
		t.Error("no table had enough manifests")
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
}
