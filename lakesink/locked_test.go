package lakesink

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// lockedCatalog answers the first commits with SQLite's error for a database that another connection has locked; those
// below 0 do not end.
type lockedCatalog struct {
	catalog.Catalog
	locked error
	times  int
	asked  int
}

func (c *lockedCatalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c.asked++
	if c.times != 0 {
		c.times--
		return nil, "", c.locked
	}
	return c.Catalog.CommitTable(ctx, id, reqs, updates)
}

// lockedError is what SQLite says of a database that another connection holds.
func lockedError(t *testing.T) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "locked.db")
	var dbs []*sql.DB
	for range 2 {
		db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(0)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1)
		dbs = append(dbs, db)
	}
	if _, err := dbs[0].Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	_, err := dbs[1].Exec("BEGIN EXCLUSIVE")
	if !isLocked(err) {
		t.Fatalf("got %v, want an error of a lock", err)
	}
	return err
}

// SQLite waits for the lock with each attempt: twelve of them were more than a minute.
func TestALockThatIsKeptEndsACommitSoon(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	locked := &lockedCatalog{Catalog: c, locked: lockedError(t), times: -1}
	_, err := apply(newSink(locked), queryID, planN(1))
	wantClass(t, err, batch.Failed, "batch 1 is not in table", "locked", "/catalog.db")
	if hint := batch.HintOf(err); !strings.Contains(hint, "lsof") || strings.Contains(hint, "writers") {
		t.Errorf("got the hint %q, want it to say how to find who holds the lock", hint)
	}
	if locked.asked != lockedAnswers {
		t.Errorf("the catalog was asked %d times, want %d", locked.asked, lockedAnswers)
	}
	wantOffsets(t, c, 10, 0)
}

func TestALockThatIsLetGoCostsAnAttempt(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	mustApply(t, newSink(&lockedCatalog{Catalog: c, locked: lockedError(t), times: lockedAnswers - 1}), queryID, planN(1))
	wantOffsets(t, c, 20, 0)
}
