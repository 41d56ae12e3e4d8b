//go:build clouds

package lakesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"

	"sluice/rig"
)

// inMetastore is a table in a real Hive metastore, through an address of it.
func inMetastore(t *testing.T, m rig.Metastore, uri string, change ...func(*Options)) *Iceberg {
	t.Helper()
	c, err := OpenCatalog(context.Background(), CatalogOptions{Type: "hive", URI: uri, Warehouse: m.Warehouse})
	if err != nil {
		t.Fatal(err)
	}
	options := testOptions()
	options.Attempts, options.Table = 200, m.Table("orders")
	for _, f := range change {
		f(&options)
	}
	return New(c, options)
}

func wantInMetastore(t *testing.T, s *Iceberg, rows, snapshots int) {
	t.Helper()
	tbl, err := s.load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := scan(t, tbl); len(got) != rows || len(tbl.Metadata().Snapshots()) != snapshots {
		t.Errorf("got %d rows in %d snapshots, want %d in %d", len(got), len(tbl.Metadata().Snapshots()), rows, snapshots)
	}
}

func TestATableInARealHiveMetastoreHasEveryBatchOnce(t *testing.T) {
	m := rig.Hive(t)
	s := inMetastore(t, m, m.URI)
	for range 2 {
		if err := s.Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(2) {
		mustApply(t, s, queryID, planN(n))
		mustApply(t, s, queryID, planN(n)) // a replay
	}
	wantInMetastore(t, s, 40, 2)
	ctx, id := context.Background(), []string{m.Database, "orders"}
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: iceberg.PrimitiveTypes.String})
	if err := s.catalog.CreateNamespace(ctx, id[:1], nil); !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		t.Errorf("the database again: got %v", err)
	}
	if _, err := s.catalog.CreateTable(ctx, id, schema); !errors.Is(err, catalog.ErrTableAlreadyExists) {
		t.Errorf("the table again: got %v", err)
	}
	if err := s.catalog.DropNamespace(ctx, id[:1]); !errors.Is(err, catalog.ErrNamespaceNotEmpty) {
		t.Errorf("drop the database: got %v", err)
	}
	if _, err := s.catalog.LoadTable(ctx, []string{m.Database, "none"}); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("no table: got %v", err)
	}
	if err := s.catalog.DropTable(ctx, id); err != nil {
		t.Error(err)
	}
	if err := s.catalog.DropNamespace(ctx, id[:1]); err != nil {
		t.Error(err)
	}
}

func TestFourQueriesCommitToOneTableInARealHiveMetastoreAtOnce(t *testing.T) {
	m := rig.Hive(t)
	s := inMetastore(t, m, m.URI)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if _, err := apply(inMetastore(t, m, m.URI), fmt.Sprintf("%s-%d", queryID, i), planN(0)); err != nil {
				t.Errorf("query %d: %v", i, err)
			}
		})
	}
	all.Wait()
	wantInMetastore(t, s, 80, 4)
}

// An answer to a commit that is lost, whether the commit was carried out or not.
func TestACommitToARealHiveMetastoreThatIsCutOffIsThereOnce(t *testing.T) {
	for name, cut := range map[string]rig.Cut{"not applied": rig.Before, "applied": rig.After} {
		t.Run(name, func(t *testing.T) {
			m := rig.Hive(t)
			wire := rig.Cable(t, strings.TrimPrefix(m.URI, "thrift://"))
			s := inMetastore(t, m, "thrift://"+wire.Address)
			if err := s.Create(context.Background(), rawSchema()); err != nil {
				t.Fatal(err)
			}
			mustApply(t, s, queryID, planN(0))
			var done atomic.Bool
			wire.Rule(func(fromClient bool, b []byte) rig.Cut {
				if fromClient && isAlteration(b) && done.CompareAndSwap(false, true) {
					return cut
				}
				return rig.Pass
			})
			mustApply(t, s, queryID, planN(1))
			if !done.Load() {
				t.Error("nothing was cut off")
			}
			wantInMetastore(t, s, 40, 2)
		})
	}
}

// Writers that do not lock: another's commit arrives while ours is on its way, so that the server alone can tell.
func TestACommitThatIsOvertakenOnItsWayToARealHiveMetastoreIsRefusedThere(t *testing.T) {
	m := rig.Hive(t)
	wire := rig.Cable(t, strings.TrimPrefix(m.URI, "thrift://"))
	unlocked := func(o *Options) { o.TableProperties = map[string]string{"engine.hive.lock-enabled": "false"} }
	s, rival := inMetastore(t, m, "thrift://"+wire.Address, unlocked), inMetastore(t, m, m.URI, unlocked)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(0))
	var done atomic.Bool
	wire.Rule(func(fromClient bool, b []byte) rig.Cut {
		if fromClient && isAlteration(b) && done.CompareAndSwap(false, true) {
			mustApply(t, rival, "rival", planN(0))
		}
		return rig.Pass
	})
	mustApply(t, s, queryID, planN(1))
	if !done.Load() {
		t.Error("nothing came in between")
	}
	wantInMetastore(t, s, 60, 3)
}

// isAlteration says whether bytes to a metastore begin a commit, and not the question whether conditions are honoured.
func isAlteration(b []byte) bool {
	return bytes.Contains(b, []byte("alter_table_with")) && !bytes.Contains(b, []byte("sluice_probe"))
}
