package lakesink

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/laketest"
)

// audited makes a table and a sink that writes to its branch audit.
func audited(t testing.TB, c catalog.Catalog, change ...func(*Options)) *Iceberg {
	t.Helper()
	o := testOptions()
	o.Branch = "audit"
	for _, f := range change {
		f(&o)
	}
	return New(c, o)
}

// refs moves or removes references, as another engine would.
func refs(t testing.TB, c catalog.Catalog, updates ...table.Update) {
	t.Helper()
	if _, _, err := c.CommitTable(context.Background(), catalog.ToIdentifier(tableName), nil, updates); err != nil {
		t.Error(err)
	}
}

// publish moves main forward to the branch.
func publish(t testing.TB, c catalog.Catalog) {
	t.Helper()
	refs(t, c, table.NewSetSnapshotRefUpdate(table.MainBranch, load(t, c).SnapshotByName("audit").SnapshotID, table.BranchRef, 0, 0, 0))
}

func removeBranch(t testing.TB, c catalog.Catalog) {
	t.Helper()
	refs(t, c, table.NewRemoveSnapshotRefUpdate("audit"))
}

// rowsAt counts the rows that a reference has; -1 where it is not there.
func rowsAt(t testing.TB, c catalog.Catalog, ref string) int {
	t.Helper()
	tbl := load(t, c)
	s := tbl.SnapshotByName(ref)
	if s == nil {
		return -1
	}
	return len(scan(t, tbl, table.WithSnapshotID(s.SnapshotID), table.WithSelectedFields("partition", "offset")))
}

func wantRowsAt(t testing.TB, c catalog.Catalog, main, audit int) {
	t.Helper()
	if m, a := rowsAt(t, c, table.MainBranch), rowsAt(t, c, "audit"); m != main || a != audit {
		t.Fatalf("main has %d rows and the branch %d, want %d and %d", m, a, main, audit)
	}
}

func TestRowsGoToTheBranchAndNotToMain(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		for name, foreign := range map[string]int{"an empty table": 0, "a table with rows": 20} {
			other, c := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"format-version": version} })
			main := -1
			if foreign > 0 {
				mustApply(t, other, strings.Replace(queryID, "3f6c", "4f6c", 1), planN(0))
				main = foreign
			}
			s := audited(t, c)
			a := mustApply(t, s, queryID, planN(0))
			if a.Batch != 0 || a.Ledger.Branch != "audit" {
				t.Errorf("version %s, %s: got %+v", version, name, a)
			}
			mustApply(t, s, queryID, planOf(1, 10, 10))
			mustApply(t, s, queryID, planOf(2, 10, 20))
			wantRowsAt(t, c, main, foreign+40)
			if n := len(load(t, c).Metadata().Snapshots()); n != 3+foreign/20 {
				t.Errorf("version %s, %s: %d snapshots", version, name, n)
			}
		}
	}
}

// What becomes of the branch between two batches: published and kept, published and removed, removed unpublished.
func TestABranchThatIsPublishedGoesOnAndOneThatIsRemovedUnpublishedDoesNot(t *testing.T) {
	_, c := newTable(t)
	rival(t, c, 3)
	s := audited(t, c)
	mustApply(t, s, queryID, planN(0))
	publish(t, c)
	wantRowsAt(t, c, 23, 23)
	mustApply(t, s, queryID, planN(1))
	wantRowsAt(t, c, 23, 43)

	publish(t, c)
	removeBranch(t, c)
	rival(t, c, 2) // main goes on
	reading, err := s.Table(context.Background(), queryID)
	if err != nil || reading.Applied.Batch != 1 || reading.Applied.RolledBack {
		t.Fatalf("got %+v, %v", reading, err)
	}
	mustApply(t, s, queryID, planN(2))
	wantRowsAt(t, c, 45, 65)

	removeBranch(t, c)
	reading, err = s.Table(context.Background(), queryID)
	if err != nil || !reading.Applied.RolledBack {
		t.Fatalf("got %+v, %v, want it to be rolled back", reading, err)
	}
	_, err = apply(s, queryID, planN(3))
	wantClass(t, err, batch.Inconsistent, "rolled back")
	wantRowsAt(t, c, 45, -1)
}

// A run that is about to make the branch sleeps. Meanwhile another one makes it, and commits the same batch, and it is
// published, or not, and removed.
func TestASleeperDoesNotMakeABranchOverWhatWasPublished(t *testing.T) {
	for name, c := range map[string]struct {
		published bool
		main      int
		class     batch.Class
		says      string
	}{"published": {true, 23, batch.Fenced, "batch 0"}, "unpublished": {false, 3, batch.Inconsistent, "rolled back"}} {
		_, lake := newTable(t)
		rival(t, lake, 3)
		wrapped := laketest.Wrap(lake, &laketest.Script{})
		came := false
		wrapped.BeforeCommit = func(table.Identifier) {
			if came {
				return
			}
			came = true
			if _, err := apply(audited(t, lake), queryID, planN(0)); err != nil {
				t.Error(err)
			}
			if c.published {
				publish(t, lake)
			}
			removeBranch(t, lake)
		}
		_, err := apply(audited(t, wrapped), queryID, planN(0))
		if batch.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
		wantRowsAt(t, lake, c.main, -1)
	}
}

// Writers to main take nothing from the branch, though sequence numbers are the table's and they race for those; and a lost
// answer is found on the branch.
func TestABranchAndMainDoNotConflict(t *testing.T) {
	s, c := newTable(t)
	branch := audited(t, c)
	mustApply(t, branch, queryID, planN(0))
	wrapped := laketest.Wrap(c, &laketest.Script{})
	offers := rivalsFirst(t, wrapped, 3)
	if _, err := apply(audited(t, wrapped, func(o *Options) { o.Attempts = 1 }), queryID, planN(1)); err != nil || *offers != 4 {
		t.Errorf("got %v after %d offers", err, *offers)
	}
	broken := afterTheLostAnswer(c, func() { rival(t, c, 1) })
	if _, err := apply(audited(t, broken), queryID, planN(2)); err != nil || !broken.Script.Broke() {
		t.Errorf("got %v after a lost answer", err)
	}
	other := strings.Replace(queryID, "3f6c", "4f6c", 1)
	mustApply(t, s, other, planN(0))
	mustApply(t, branch, queryID, planN(3))
	mustApply(t, s, other, planN(1))
	wantRowsAt(t, c, 44, 80)
	for id, b := range map[string]string{queryID: "audit", other: ""} {
		if l, err := batch.ParseLedger(load(t, c).Properties(), id); err != nil || l.Branch != b {
			t.Errorf("got %+v, %v, want branch %q", l, err, b)
		}
	}
}

func TestATagIsNoBranch(t *testing.T) {
	_, c := newTable(t)
	rival(t, c, 1)
	refs(t, c, table.NewSetSnapshotRefUpdate("audit", load(t, c).CurrentSnapshot().SnapshotID, table.TagRef, 0, 0, 0))
	_, err := audited(t, c).Table(context.Background(), queryID)
	wantClass(t, err, batch.NotSetUp, "audit is a tag of table db.orders")
}

// The table's schema is that of all branches.
func TestABranchsRowsAlterTheTable(t *testing.T) {
	for name, begun := range map[string]bool{"not there yet": false, "there": true} {
		_, c := newTable(t)
		rival(t, c, 2)
		s := audited(t, c)
		n := int64(0)
		if begun {
			mustApply(t, s, queryID, planN(0))
			n = 1
		}
		wider := append(rawSchema(), columns.Field{Name: "more", Type: columns.Type{Kind: columns.String}})
		reading, done, err := s.Evolve(context.Background(), commitOf(s, queryID, planN(n), nil), wider)
		if err != nil || len(done) != 1 || reading.SchemaID != load(t, c).Schema().ID {
			t.Fatalf("%s: got %+v, %q, %v", name, reading, done, err)
		}
		mustApply(t, s, queryID, planN(n))
		wantRowsAt(t, c, 2, 22+20*int(n))
	}
}

// Expiry keeps the heads of branches and tags, with what they need, and the books of the branch.
func TestExpiryKeepsBranchesTagsAndTheirBooks(t *testing.T) {
	s, c := newTable(t)
	rival(t, c, 3)
	refs(t, c, table.NewSetSnapshotRefUpdate("eoy", load(t, c).CurrentSnapshot().SnapshotID, table.TagRef, 0, 0, 0))
	audit := audited(t, c, func(o *Options) { o.ExpireEvery, o.KeepSnapshots = 2, 2 })
	other := strings.Replace(queryID, "3f6c", "4f6c", 1)
	for n := range int64(6) {
		a := mustApply(t, audit, queryID, planN(n))
		if err := audit.Maintain(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, other, planN(n))
	}
	tbl := load(t, c)
	if n := len(tbl.Metadata().Snapshots()); n > 8 {
		t.Errorf("%d snapshots are left", n)
	}
	wantRowsAt(t, c, 123, 123)
	if n := rowsAt(t, c, "eoy"); n != 3 {
		t.Errorf("the tag has %d rows, want 3", n)
	}
	for _, query := range []struct {
		sink *Iceberg
		id   string
	}{{audit, queryID}, {s, other}} {
		reading, err := query.sink.Table(context.Background(), query.id)
		if err != nil || reading.Applied.Batch != 5 || reading.Applied.RolledBack {
			t.Errorf("got %+v, %v", reading, err)
		}
		mustApply(t, query.sink, query.id, planN(6))
	}
}
