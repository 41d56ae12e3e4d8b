package lakesink

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink/hivetest"
)

// hiveOptions are a catalog in a stand-in for a Hive metastore, with a local warehouse.
func hiveOptions(t testing.TB, s *hivetest.Server) CatalogOptions {
	t.Helper()
	return CatalogOptions{Type: "hive", URI: s.URI, Warehouse: t.TempDir(), Properties: map[string]string{"iceberg.hive.lock-check-min-wait-ms": "1", "iceberg.hive.lock-check-max-wait-ms": "5"}}
}

func openHiveTest(t testing.TB, o CatalogOptions) catalog.Catalog {
	t.Helper()
	c, err := OpenCatalog(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inHive is a table in a stand-in for a Hive metastore.
func inHive(t testing.TB) (*Iceberg, *hivetest.Server, CatalogOptions) {
	t.Helper()
	server := hivetest.New(t)
	o := hiveOptions(t, server)
	s := newSink(openHiveTest(t, o))
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	return s, server, o
}

func TestATableInAHiveMetastoreHasEveryBatchOnce(t *testing.T) {
	s, server, o := inHive(t)
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
		mustApply(t, s, queryID, planN(n)) // a replay
	}
	if rows := scan(t, load(t, openHiveTest(t, o))); len(rows) != 60 {
		t.Errorf("got %d rows, want 60", len(rows))
	}
	if got := server.Calls(hivetest.Alter); got != 3 {
		t.Errorf("got %d alterations, want one for each batch", got)
	}
	if got := server.Locks(); got != 0 {
		t.Errorf("%d locks are left", got)
	}
	if got := o.String(); got != "hive "+o.URI {
		t.Errorf("the catalog is called %s", got)
	}
}

func TestTenQueriesCommitToOneTableInAHiveMetastoreAtOnce(t *testing.T) {
	_, _, o := inHive(t)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			options := testOptions()
			options.Attempts = 200
			if _, err := apply(New(openHiveTest(t, o), options), fmt.Sprintf("%s-%d", queryID, i), planN(0)); err != nil {
				t.Errorf("query %d: %v", i, err)
			}
		})
	}
	all.Wait()
	tbl := load(t, openHiveTest(t, o))
	if rows := scan(t, tbl); len(rows) != 200 || len(tbl.Metadata().Snapshots()) != 10 {
		t.Errorf("got %d rows in %d snapshots, want 200 in 10", len(rows), len(tbl.Metadata().Snapshots()))
	}
}

// Whatever a metastore answers to a commit, and whether it has carried it out or not, the batch is in the table once, and no lock is
// left.
func TestNoAnswerOfAMetastoresToACommitIsBelieved(t *testing.T) {
	for name, fault := range map[string]hivetest.Fault{
		"an error": {Message: "javax.jdo.JDOException: deadlock"}, "an error after it": {Message: "Exception thrown when executing query", Applied: true},
		"a conflict with itself": {Message: "The table has been modified. The parameter value for key 'metadata_location' is different", Applied: true},
		"lost": {Lost: true}, "an answer that is lost": {Lost: true, Applied: true},
	} {
		for _, method := range []string{hivetest.Alter, hivetest.Probe, "lock", "unlock", "check_lock", "get_table_req"} {
			t.Run(name+" to "+method, func(t *testing.T) {
				t.Parallel()
				s, server, o := inHive(t)
				mustApply(t, s, queryID, planN(0))
				server.Break(func(m string, n int) *hivetest.Fault {
					if m == method && n < 1 {
						return &fault
					}
					return nil
				})
				if _, err := apply(s, queryID, planN(1)); err != nil {
					if method != "get_table_req" && method != hivetest.Probe {
						t.Fatal(err)
					}
					mustApply(t, newSink(openHiveTest(t, o)), queryID, planN(1)) // the next run
				}
				tbl := load(t, openHiveTest(t, o))
				if rows := scan(t, tbl); len(rows) != 40 || len(tbl.Metadata().Snapshots()) != 2 || server.Locks() != 0 {
					t.Errorf("got %d rows in %d snapshots and %d locks, want 40 in 2 and none", len(rows), len(tbl.Metadata().Snapshots()), server.Locks())
				}
			})
		}
	}
}

func TestACommitAfterWhichAMetastoreIsSilentIsUnknown(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s, server, o := inHive(t)
		mustApply(t, s, queryID, planN(0))
		server.Silence(applied)
		_, err := apply(s, queryID, planN(1))
		wantClass(t, err, batch.UnknownOutcome, "may or may not be in table")
		server.Break(func(string, int) *hivetest.Fault { return nil })
		server.Unlock(true) // it has ended by itself, since nobody gave a sign of life
		mustApply(t, newSink(openHiveTest(t, o)), queryID, planN(1))
		if rows := scan(t, load(t, openHiveTest(t, o))); len(rows) != 40 {
			t.Errorf("applied %v: got %d rows, want 40", applied, len(rows))
		}
	}
}

// https://github.com/apache/iceberg/issues/2301 and many like it: a metastore without HIVE-26882 puts a commit over another's.
func TestNothingIsCommittedThroughAMetastoreThatHonoursNoConditions(t *testing.T) {
	server := hivetest.New(t)
	server.Careless = true
	s := newSink(openHiveTest(t, hiveOptions(t, server)))
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	before := server.Table("db", "orders")
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.NotSetUp, "")
	if !strings.Contains(err.Error(), "HIVE-26882") || !strings.Contains(batch.HintOf(err), "4.0.0") {
		t.Errorf("got %v (%s), want what the metastore lacks and where it is", err, batch.HintOf(err))
	}
	if after := server.Table("db", "orders"); fmt.Sprint(after) != fmt.Sprint(before) || server.Calls(hivetest.Alter) != 0 || server.Locks() != 0 {
		t.Errorf("the table was %v and is %v, %d alterations, %d locks", before, after, server.Calls(hivetest.Alter), server.Locks())
	}
}

func TestATableThatSomebodyElseKeepsLockedEndsTheBatchAndNamesThem(t *testing.T) {
	server := hivetest.New(t)
	o := hiveOptions(t, server)
	o.Properties["iceberg.hive.lock-timeout-ms"] = "3"
	s := newSink(openHiveTest(t, o))
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	server.Lock("db", "orders")
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.Failed, "another writer kept the table locked in the metastore over 2 attempts")
	if !strings.Contains(err.Error(), "spark on worker-1") || server.Calls(hivetest.Alter) != 0 || server.Locks() != 1 {
		t.Errorf("got %v, %d alterations, %d locks; want the holder's name, none, and the holder's", err, server.Calls(hivetest.Alter), server.Locks())
	}
	server.Unlock(false)
	mustApply(t, s, queryID, planN(0))
}
