package lakesink

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink/hivecatalog/thrift"
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
		"lost":                   {Lost: true}, "an answer that is lost": {Lost: true, Applied: true},
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

// rivalsRecord is the record of the table after a commit of another query's that was made on the table as it is, which it is
// left as.
func rivalsRecord(t *testing.T, server *hivetest.Server, o CatalogOptions) thrift.Struct {
	t.Helper()
	now := server.Table("db", "orders")
	mustApply(t, newSink(openHiveTest(t, o)), "rival", planN(0))
	rivals := server.Table("db", "orders")
	server.Put("db", "orders", now)
	return rivals
}

// A run that slept until its lock had ended, and a writer that trusted the lock: Iceberg's own library alters the record without a
// condition under it. Whichever of the two comes first, both commits are in the table.
func TestASleeperWhoseLockHasEndedOverwritesNothingAndLosesNothing(t *testing.T) {
	for name, moment := range map[string]string{"before its alteration": hivetest.Alter, "after it": "check_lock"} {
		t.Run(name, func(t *testing.T) {
			s, server, o := inHive(t)
			mustApply(t, s, queryID, planN(0))
			rivals := rivalsRecord(t, server, o)
			altered := false
			server.Break(func(method string, n int) *hivetest.Fault {
				if altered = altered || method == hivetest.Alter; method == moment && altered && n == 0 {
					server.Unlock(true)
					server.Put("db", "orders", rivals)
				}
				return nil
			})
			mustApply(t, s, queryID, planN(1))
			tbl := load(t, openHiveTest(t, o))
			if rows := scan(t, tbl); len(rows) != 60 || len(tbl.Metadata().Snapshots()) != 3 || server.Locks() != 0 {
				t.Errorf("got %d rows in %d snapshots and %d locks, want 60 in 3 and none", len(rows), len(tbl.Metadata().Snapshots()), server.Locks())
			}
		})
	}
}

// What Iceberg's own library writes into a record (HMSTablePropertyHelper), and what else is in it.
func TestTheRecordOfATableIsAsOtherEnginesWantIt(t *testing.T) {
	s, server, _ := inHive(t)
	record := server.Table("db", "orders")
	record[99] = "of a newer Hive"
	record.Texts(9)["of.somebody"] = "else"
	server.Put("db", "orders", record)
	before := record.Texts(9)["metadata_location"]
	mustApply(t, s, queryID, planN(0))
	record = server.Table("db", "orders")
	parameters, tbl := record.Texts(9), load(t, s.catalog)
	for key, want := range map[string]string{
		"EXTERNAL": "TRUE", "table_type": "ICEBERG", "metadata_location": tbl.MetadataLocation(), "previous_metadata_location": before, "uuid": tbl.Metadata().TableUUID().String(),
		"snapshot-count": "1", "current-snapshot-id": fmt.Sprint(tbl.CurrentSnapshot().SnapshotID), "numRows": "20", "of.somebody": "else", "storage_handler": "",
		"write.parquet.compression-codec": "zstd",
	} {
		if parameters[key] != want {
			t.Errorf("%s: got %q, want %q", key, parameters[key], want)
		}
	}
	for _, key := range []string{"current-schema", "current-snapshot-summary", "current-snapshot-timestamp-ms", "numFiles", "totalSize", "DO_NOT_UPDATE_STATS"} {
		if parameters[key] == "" {
			t.Errorf("there is no %s", key)
		}
	}
	if record[99] != "of a newer Hive" || record.Text(12) != "EXTERNAL_TABLE" || record.Struct(7).Text(2) != tbl.Location() {
		t.Errorf("got %v", record)
	}
	columns := record.Struct(7).List(1)
	if len(columns) != len(tbl.Schema().Fields()) {
		t.Errorf("got %d columns, want %d", len(columns), len(tbl.Schema().Fields()))
	}
}

func TestATableWhoseWritersDoNotLockIsNotLocked(t *testing.T) {
	server := hivetest.New(t)
	options := testOptions()
	options.TableProperties = map[string]string{"engine.hive.lock-enabled": "false"}
	s := New(openHiveTest(t, hiveOptions(t, server)), options)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(0))
	if server.Calls("lock") != 0 || server.Calls(hivetest.Alter) != 1 {
		t.Errorf("got %d locks and %d alterations, want none and one", server.Calls("lock"), server.Calls(hivetest.Alter))
	}
}

func TestATableOfHivesOwnIsNotTakenForOneOfIcebergs(t *testing.T) {
	s, server, _ := inHive(t)
	record := server.Table("db", "orders")
	record[12], record[9] = "MANAGED_TABLE", map[string]string{"transactional": "true"}
	server.Put("db", "orders", record)
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.NotSetUp, "")
	if !strings.Contains(err.Error(), "is no table of Iceberg's, but a MANAGED_TABLE of Hive's") {
		t.Errorf("got %v", err)
	}
	wantClass(t, s.Create(context.Background(), rawSchema()), batch.NotSetUp, "")
}

func TestWhatIsNoMetastoreIsSaidToBeNone(t *testing.T) {
	for name, answer := range map[string]string{"a web server": "HTTP/1.1 400 Bad Request\r\n\r\n", "TLS": "\x15\x03\x01\x00\x02\x02\x46", "SASL, which hangs up": ""} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(answer)) // the client may be gone
				conn.Close()
			}
		}()
		s := newSink(openHiveTest(t, CatalogOptions{Type: "hive", URI: "thrift://" + listener.Addr().String(), Warehouse: t.TempDir()}))
		_, err = apply(s, queryID, planN(0))
		wantClass(t, err, batch.NotSetUp, "")
		if !strings.Contains(batch.HintOf(err), "SASL and Kerberos") {
			t.Errorf("%s: got %v (%s)", name, err, batch.HintOf(err))
		}
	}
}

func TestOneServerOfSeveralIsEnough(t *testing.T) {
	s, server, o := inHive(t)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	o.URI = "thrift://" + gone.Addr().String() + "," + server.URI
	mustApply(t, newSink(openHiveTest(t, o)), queryID, planN(0))
	if rows := scan(t, load(t, s.catalog)); len(rows) != 20 {
		t.Errorf("got %d rows, want 20", len(rows))
	}
	o.URI = "thrift://" + gone.Addr().String()
	_, err = apply(newSink(openHiveTest(t, o)), queryID, planN(1))
	wantClass(t, err, batch.Failed, "")
	if !strings.Contains(err.Error(), gone.Addr().String()) {
		t.Errorf("got %v, want the address", err)
	}
}

func TestWhatAHiveCatalogDoesNotTakeIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	for name, o := range map[string]CatalogOptions{
		"no address": {}, "http": {URI: "http://h:1"}, "a path": {URI: "thrift://h:9083/db"}, "half": {URI: "thrift://h:9083,"}, "a user": {URI: "thrift://me:SEKRET@h:9083"},
		"TLS":     {URI: "thrift://h", Properties: map[string]string{"hive.metastore.use.SSL": "true"}},
		"SASL":    {URI: "thrift://h", Properties: map[string]string{"hive.metastore.sasl.enabled": "true"}},
		"no wait": {URI: "thrift://h", Properties: map[string]string{"iceberg.hive.lock-timeout-ms": "soon"}},
	} {
		o.Type, o.Warehouse = "hive", t.TempDir()
		_, err := OpenCatalog(context.Background(), o)
		if batch.ClassOf(err) != batch.NotSetUp || strings.Contains(err.Error(), "SEKRET") {
			t.Errorf("%s: got %v, want class not set up", name, err)
		}
	}
	s, _, _ := inHive(t)
	if _, err := s.catalog.LoadTable(context.Background(), []string{"a", "b", "c"}); err == nil || !strings.Contains(err.Error(), "database.table") {
		t.Errorf("got %v for a namespace within another", err)
	}
}
