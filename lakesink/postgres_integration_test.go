//go:build integration

package lakesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/rig"
)

// postgresOptions are a catalog in a database, with a local warehouse of the test's own.
func postgresOptions(t testing.TB, uri string) CatalogOptions {
	t.Helper()
	return CatalogOptions{Type: "sql", URI: uri, Warehouse: t.TempDir(), Properties: map[string]string{}}
}

// inPostgres is a table in a database.
func inPostgres(t testing.TB, o CatalogOptions) (*Iceberg, catalog.Catalog) {
	t.Helper()
	c := openFresh(t, o)
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// openFresh opens a catalog, and closes it with the test.
func openFresh(t testing.TB, o CatalogOptions) catalog.Catalog {
	t.Helper()
	c, err := OpenCatalog(context.Background(), o)
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

func TestACatalogInPostgreSQLIsMadeByWhoeverWritesFirst(t *testing.T) {
	db := rig.Postgres(t)
	o := postgresOptions(t, db.URL)
	ctx := context.Background()
	looking := openFresh(t, o)
	found, err := New(looking, Options{Table: tableName}).Table(ctx, queryID)
	if err != nil || found.Exists || !strings.Contains(found.CatalogMissing, "/"+db.Name+" (its tables iceberg_tables") || strings.Contains(found.CatalogMissing, "rig-secret") {
		t.Fatalf("got %+v, %v", found, err)
	}
	var tables int
	if err := db.Connect(t).QueryRow(ctx, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'iceberg%'").Scan(&tables); err != nil || tables != 0 {
		t.Fatalf("looking made %d tables, %v", tables, err)
	}
	if err := errors.Join(Writable(ctx, looking), Unwritable(ctx, looking)); err != nil {
		t.Fatal(err)
	}
	s, c := inPostgres(t, o)
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
	}
	if rows := scan(t, load(t, c)); len(rows) != 60 {
		t.Errorf("got %d rows, want 60", len(rows))
	}
	if applied, err := New(looking, Options{Table: tableName}).Table(ctx, queryID); err != nil || applied.Applied.Batch != 2 {
		t.Errorf("who looked before got %+v, %v", applied, err)
	}
}

// Every process is told that the tables are not there, and all begin to make them at once.
func TestTenProcessesMakeTheTablesOfACatalogAtOnce(t *testing.T) {
	o := postgresOptions(t, rig.Postgres(t).URL)
	var all sync.WaitGroup
	begin := make(chan struct{})
	sinks := make([]*Iceberg, 10)
	for i := range sinks {
		sinks[i] = newSink(openFresh(t, o))
		all.Go(func() {
			<-begin
			if err := sinks[i].Create(context.Background(), rawSchema()); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	uuids := map[string]bool{}
	for _, s := range sinks {
		found, err := s.Table(context.Background(), queryID)
		if err != nil {
			t.Fatal(err)
		}
		uuids[found.UUID] = true
	}
	if len(uuids) != 1 {
		t.Errorf("got tables %v, want one", uuids)
	}
}

func TestTenQueriesCommitToOneTableAtOnce(t *testing.T) {
	o := postgresOptions(t, rig.Postgres(t).URL)
	_, c := inPostgres(t, o)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			options := testOptions()
			options.Attempts = 200
			s := New(openFresh(t, o), options)
			for n := range int64(2) {
				if _, err := apply(s, fmt.Sprintf("%s-%d", queryID, i), planN(n)); err != nil {
					t.Errorf("query %d, batch %d: %v", i, n, err)
					return
				}
			}
		})
	}
	all.Wait()
	tbl := load(t, c)
	if rows := scan(t, tbl); len(rows) != 10*2*20 {
		t.Errorf("got %d rows, want %d", len(rows), 10*2*20)
	}
	if got := len(tbl.Metadata().Snapshots()); got != 20 {
		t.Errorf("got %d snapshots, want 20", got)
	}
}

func TestOneOfTenRunsOfABatchCommitsIt(t *testing.T) {
	o := postgresOptions(t, rig.Postgres(t).URL)
	_, c := inPostgres(t, o)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := apply(newSink(openFresh(t, o)), queryID, planN(0)); err != nil && batch.ClassOf(err) != batch.Fenced {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if rows := scan(t, load(t, c)); len(rows) != 20 {
		t.Errorf("got %d rows, want 20", len(rows))
	}
}

// commitWatch counts the transactions that change the catalog, as they are ended on the wire.
type commitWatch struct {
	writing bool
	seen    int
}

// count reports whether a client ends such a transaction here.
func (c *commitWatch) count(b []byte) bool {
	c.writing = c.writing || bytes.Contains(b, []byte(`INSERT INTO "iceberg_tables"`)) || bytes.Contains(b, []byte(`UPDATE "iceberg_tables"`))
	if !c.writing || !bytes.Contains(b, []byte("commit\x00")) {
		return false
	}
	c.writing = false
	c.seen++
	return true
}

// cutAt cuts the connection at the n-th such commit.
func cutAt(w *rig.Wire, n int, cut rig.Cut) (hit func() bool) {
	var mu sync.Mutex
	commits := &commitWatch{}
	w.Rule(func(fromClient bool, b []byte) rig.Cut {
		mu.Lock()
		defer mu.Unlock()
		if fromClient && commits.count(b) && commits.seen == n {
			return cut
		}
		return rig.Pass
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return commits.seen >= n
	}
}

// https://github.com/redpanda-data/connect/issues/4591: an answer that was lost was taken for a refusal.
func TestAConnectionThatIsCutInACommitIsNoAnswer(t *testing.T) {
	for name, cut := range map[string]rig.Cut{"not applied": rig.Before, "applied": rig.After} {
		t.Run(name, func(t *testing.T) {
			db := rig.Postgres(t)
			w := rig.Cable(t, db.Address)
			s, c := inPostgres(t, postgresOptions(t, w.Through(t, db.URL)))
			mustApply(t, s, queryID, planN(0))
			hit := cutAt(w, 1, cut)
			mustApply(t, s, queryID, planN(1))
			if !hit() {
				t.Fatal("no commit was cut")
			}
			tbl := load(t, c)
			if rows := scan(t, tbl); len(rows) != 40 || len(tbl.Metadata().Snapshots()) != 2 {
				t.Errorf("got %d rows in %d snapshots, want 40 in 2", len(rows), len(tbl.Metadata().Snapshots()))
			}
		})
	}
}

// The server is gone when it is asked what became of the commit: only the next run can tell.
func TestACommitWhoseServerIsGoneAfterwardsIsUnknown(t *testing.T) {
	for name, cut := range map[string]rig.Cut{"not applied": rig.Before, "applied": rig.After} {
		t.Run(name, func(t *testing.T) {
			db := rig.Postgres(t)
			w := rig.Cable(t, db.Address)
			o := postgresOptions(t, w.Through(t, db.URL))
			s, _ := inPostgres(t, o)
			mustApply(t, s, queryID, planN(0))
			cutAndGone(w, cut)
			_, err := apply(s, queryID, planN(1))
			wantClass(t, err, batch.UnknownOutcome, "may or may not be in table")
			if strings.Contains(fmt.Sprint(err), "rig-secret") {
				t.Errorf("the error tells the password: %v", err)
			}
			w.Rule(func(bool, []byte) rig.Cut { return rig.Pass })
			next := openFresh(t, o)
			mustApply(t, newSink(next), queryID, planN(1))
			tbl := load(t, next)
			if rows := scan(t, tbl); len(rows) != 40 || len(tbl.Metadata().Snapshots()) != 2 {
				t.Errorf("got %d rows in %d snapshots, want 40 in 2", len(rows), len(tbl.Metadata().Snapshots()))
			}
		})
	}
}

// cutAndGone is cutAt the first commit, after which nothing reaches the server.
func cutAndGone(w *rig.Wire, cut rig.Cut) {
	commits := &commitWatch{}
	w.Rule(func(fromClient bool, b []byte) rig.Cut {
		switch {
		case fromClient && commits.seen > 0:
			return rig.Before
		case fromClient && commits.count(b):
			return cut
		}
		return rig.Pass
	})
}

// The library removes the metadata of a table whose creation seems to have failed: here the table is in the catalog.
func TestATableWhoseCreationWasNotAnsweredIsWhole(t *testing.T) {
	for name, cut := range map[string]rig.Cut{"not applied": rig.Before, "applied": rig.After} {
		t.Run(name, func(t *testing.T) {
			db := rig.Postgres(t)
			w := rig.Cable(t, db.Address)
			o := postgresOptions(t, w.Through(t, db.URL))
			s := newSink(openFresh(t, o))
			hit := cutAt(w, 1, cut)
			if err := s.Create(context.Background(), rawSchema()); err != nil { // it is asked again, and what is there counts
				t.Fatal(err)
			}
			if !hit() {
				t.Fatal("no commit was cut")
			}
			if err := s.Create(context.Background(), rawSchema()); err != nil {
				t.Fatal(err)
			}
			mustApply(t, s, queryID, planN(0))
		})
	}
}

// A server that restarts is there again a moment later: what was in the table stays, and connections are made anew.
func TestConnectionsThatTheServerEndedAreMadeAnew(t *testing.T) {
	db := rig.Postgres(t)
	s, _ := inPostgres(t, postgresOptions(t, db.URL))
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
		db.Do(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice' AND datname = current_database()")
	}
	if found, err := s.Table(context.Background(), queryID); err != nil || found.Applied.Batch != 2 {
		t.Errorf("got %+v, %v", found, err)
	}
}

// The tables as Iceberg's own library makes them, without and with the column that tells tables from views.
var tablesOfJava = []string{`CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
	metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))`,
	`CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255),
	property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))`}

func TestTablesThatJavaMadeAreTakenAsTheyAre(t *testing.T) {
	for name, more := range map[string]struct {
		statement string
		property  string
		columns   int
	}{
		"V0": {"SELECT 1", "", 5}, "V1": {"ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)", "", 6}, "V0 to be made V1": {"SELECT 1", "V1", 6},
	} {
		t.Run(name, func(t *testing.T) {
			db := rig.Postgres(t)
			db.Do(t, append(tablesOfJava, more.statement)...)
			o := postgresOptions(t, db.URL)
			o.Properties["jdbc.schema-version"] = more.property
			s, c := inPostgres(t, o)
			mustApply(t, s, queryID, planN(0))
			mustApply(t, s, queryID, planN(1))
			if rows := scan(t, load(t, c)); len(rows) != 40 {
				t.Errorf("got %d rows, want 40", len(rows))
			}
			var columns int
			if err := db.Connect(t).QueryRow(context.Background(), "SELECT count(*) FROM information_schema.columns WHERE table_name = 'iceberg_tables'").Scan(&columns); err != nil || columns != more.columns {
				t.Errorf("got %d columns, %v, want %d", columns, err, more.columns)
			}
		})
	}
}

// A transaction that somebody left open holds the table's row.
func TestARowThatSomebodyHoldsIsGivenUpAndSaidSo(t *testing.T) {
	db := rig.Postgres(t)
	o := postgresOptions(t, db.URL+"&options=-c%20lock_timeout%3D50")
	s, c := inPostgres(t, o)
	mustApply(t, s, queryID, planN(0))
	ctx := context.Background()
	holding := db.Connect(t)
	for _, statement := range []string{"BEGIN", "SELECT 1 FROM iceberg_tables FOR UPDATE"} {
		if _, err := holding.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err := apply(s, queryID, planN(1))
	wantClass(t, err, batch.Failed, "did not answer over 2 attempts", "55P03")
	if _, err := holding.Exec(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(1))
	if rows := scan(t, load(t, c)); len(rows) != 40 {
		t.Errorf("got %d rows, want 40", len(rows))
	}
}
