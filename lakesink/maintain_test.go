package lakesink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// metadataBytes is the size of the newest metadata file and how many files there are beside it.
func metadataBytes(t *testing.T, tbl *table.Table) (size int64, files int) {
	t.Helper()
	info, err := os.Stat(localPath(tbl.MetadataLocation()))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(localPath(tbl.MetadataLocation())))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size(), len(entries)
}

func TestTheCostOfACommitStaysFlat(t *testing.T) {
	script := &laketest.Script{}
	inner := openSQLite(t, t.TempDir())
	o := testOptions()
	o.ExpireEvery = DefaultExpireEvery
	s := New(laketest.Wrap(inner, script), o)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	task := emptyResults(t, s)
	uuid := load(t, inner).Metadata().TableUUID().String()
	commits := int64(200)
	if *full {
		commits = 300
	}
	var early, late, files int64
	effects := map[int]int{}
	for n := range commits {
		before := len(script.Effects())
		a, err := s.Commit(context.Background(), &batch.Commit{Query: queryID, Name: "orders", Run: "run", Plan: planOf(n, n, n+1), Results: task(n), TableUUID: uuid})
		if err != nil {
			t.Fatal(err)
		}
		effects[len(script.Effects())-before]++
		if err := s.Maintain(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		switch {
		case n > 60 && n <= 130:
			size, _ := metadataBytes(t, s.newest)
			early = max(early, size)
		case n > commits-70:
			size, count := metadataBytes(t, s.newest)
			late, files = max(late, size), max(files, int64(count))
		}
	}
	tbl := load(t, inner)
	if n := len(tbl.Metadata().Snapshots()); n > DefaultKeepSnapshots+DefaultExpireEvery {
		t.Errorf("%d snapshots are alive", n)
	}
	if late > early+early/10 {
		t.Errorf("metadata takes up to %d bytes at the end and took %d early on", late, early)
	}
	if files > 400 {
		t.Errorf("%d metadata files are there", files)
	}
	for n, times := range effects { // 2 creates and the commit; a merge, once in a hundred, two more and a removal; old metadata files removed
		if n > 7 {
			t.Errorf("%d commits had %d effects", times, n)
		}
	}
	if a, err := s.Table(context.Background(), queryID); err != nil || a.Applied.Batch != commits-1 || a.Applied.RolledBack || a.Applied.Cut {
		t.Errorf("got %+v, %v", a, err)
	}
	if got := len(paths(liveFiles(t, tbl))); int64(got) != commits {
		t.Errorf("%d live files, want %d", got, commits)
	}
}

// emptyResults gives every batch one small file of its own without writing rows each time.
func emptyResults(t *testing.T, s *Iceberg) func(n int64) []batch.TaskResult {
	t.Helper()
	results, err := execute(context.Background(), s, queryID, planOf(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	return func(n int64) []batch.TaskResult {
		r := results[0]
		f := r.Files[0]
		f.Path = strings.Replace(f.Path, "-0-0-", "-"+string(rune('a'+n%26))+"-"+planN(n).Hash+"-", 1)
		r.Files = []batch.DataFile{f}
		return []batch.TaskResult{r}
	}
}

// commitMany makes n small commits.
func commitMany(t *testing.T, s *Iceberg, n int64) {
	t.Helper()
	at, err := s.Table(context.Background(), queryID)
	if err != nil {
		t.Fatal(err)
	}
	for k := at.Applied.Batch + 1; k <= at.Applied.Batch+n; k++ {
		mustApply(t, s, queryID, planN(k))
	}
}

func TestOnlyOurOwnTablesAreMaintainedUnlessAsked(t *testing.T) {
	few := func(o *Options) { o.ExpireEvery, o.KeepSnapshots = 3, 2 }
	s, c := newTable(t, few)
	commitMany(t, s, 6)
	change(t, c, func(tx *table.Transaction) error { return tx.RemoveProperties([]string{createdBy}) })
	fresh := func(change ...func(*Options)) *Iceberg {
		o := testOptions()
		few(&o)
		for _, f := range change {
			f(&o)
		}
		return New(c, o)
	}
	if err := fresh().Maintain(context.Background(), nil); err != nil || len(load(t, c).Metadata().Snapshots()) != 6 {
		t.Errorf("a table of others: %d snapshots left, %v", len(load(t, c).Metadata().Snapshots()), err)
	}
	if err := fresh(func(o *Options) { o.MaintainForeign, o.ExpireEvery = true, 0 }).Maintain(context.Background(), nil); err != nil || len(load(t, c).Metadata().Snapshots()) != 6 {
		t.Errorf("switched off: %d snapshots left, %v", len(load(t, c).Metadata().Snapshots()), err)
	}
	change(t, c, setProperties(map[string]string{gcEnabled: "false"}))
	if err := fresh(func(o *Options) { o.MaintainForeign = true }).Maintain(context.Background(), nil); err != nil || len(load(t, c).Metadata().Snapshots()) != 6 {
		t.Errorf("a table that forbids it: %d snapshots left, %v", len(load(t, c).Metadata().Snapshots()), err)
	}
	change(t, c, setProperties(map[string]string{gcEnabled: "true"}))
	if err := fresh(func(o *Options) { o.MaintainForeign = true }).Maintain(context.Background(), nil); err != nil || len(load(t, c).Metadata().Snapshots()) != 2 {
		t.Errorf("asked for: %d snapshots left, %v", len(load(t, c).Metadata().Snapshots()), err)
	}
	wantOffsets(t, c, 60, 0)
	if a, err := fresh().Table(context.Background(), queryID); err != nil || a.Applied.Batch != 5 || a.Applied.RolledBack {
		t.Errorf("got %+v, %v", a, err)
	}
	commitMany(t, fresh(), 1)
	wantOffsets(t, c, 70, 0)
}

func TestExpiryRemovesWhatOnlyItRefersTo(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.ExpireEvery, o.KeepSnapshots = 3, 2 })
	commitMany(t, s, 6)
	if err := s.Maintain(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	tbl := load(t, c)
	lists, err := filepath.Glob(filepath.Join(localPath(tbl.Location()), "metadata", "snap-*"))
	if err != nil || len(lists) != 2 {
		t.Errorf("%d manifest lists are left, want 2: %v", len(lists), err)
	}
	if n := len(dataFiles(t, tbl)); n != 12 {
		t.Errorf("%d data files are left, want all 12", n)
	}
	wantOffsets(t, c, 60, 0)
}

func TestExpiryOfARolledBackSnapshotTakesItsDataFiles(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.ExpireEvery, o.KeepSnapshots = 3, 2 })
	commitMany(t, s, 2)
	keep := load(t, c).CurrentSnapshot().SnapshotID
	rival(t, c, 5)
	change(t, c, func(tx *table.Transaction) error { return tx.RollbackToSnapshot(keep) })
	commitMany(t, s, 3)
	if err := s.Maintain(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if n := len(dataFiles(t, load(t, c))); n != 10 {
		t.Errorf("%d data files are left, want 10", n)
	}
	wantOffsets(t, c, 50, 0)
}

func TestAFailureOfMaintenanceHarmsNothing(t *testing.T) {
	for name, mode := range map[string]laketest.Mode{"commit db.orders expiry": laketest.NotApplied, "remove manifest list": laketest.NotApplied, "remove manifest": laketest.AnswerLost} {
		dir := t.TempDir()
		c := openSQLite(t, dir)
		o := testOptions()
		o.ExpireEvery, o.KeepSnapshots = 3, 2
		o.TableProperties = map[string]string{"commit.manifest.min-count-to-merge": "2"} // so that manifests become superfluous
		s := New(c, o)
		if err := s.Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		commitMany(t, s, 6)
		broken := laketest.Wrap(c, laketest.BreakWhen(func(n string) bool { return n == name }, mode))
		err := New(broken, o).Maintain(context.Background(), nil)
		if !errors.Is(err, laketest.ErrInjected) || !broken.Script.Broke() {
			t.Errorf("%s: got %v; effects %v", name, err, broken.Script.Effects())
		}
		wantOffsets(t, c, 60, 0)
		commitMany(t, s, 3)
		if err := s.Maintain(context.Background(), nil); err != nil {
			t.Errorf("%s: the next time: %v", name, err)
		}
		wantOffsets(t, c, 90, 0)
	}
}

func TestARivalsCommitStopsExpiryNotTheTable(t *testing.T) {
	_, c := newTable(t)
	o := testOptions()
	o.ExpireEvery, o.KeepSnapshots = 3, 2
	wrapped := laketest.Wrap(c, &laketest.Script{})
	s := New(wrapped, o)
	commitMany(t, s, 6)
	change(t, c, setProperties(map[string]string{"commit.retry.num-retries": "4"})) // must not make the library replay it
	wrapped.BeforeCommit = func(table.Identifier) { wrapped.BeforeCommit = nil; rival(t, c, 1) }
	if err := s.Maintain(context.Background(), nil); err == nil {
		t.Error("an expiry was committed over a rival's append")
	}
	wantOffsets(t, c, 60, 1)
}

func TestTheLibraryNeverReplaysACommit(t *testing.T) {
	// With commit.retry.num-retries a conflicting append is replayed on the rival's snapshot: the batch would be there
	// twice if the rival was another run of it.
	other, c := newTable(t)
	change(t, c, setProperties(map[string]string{"commit.retry.num-retries": "4", "commit.retry.min-wait-ms": "1"}))
	lying := &conflictCatalog{Catalog: c}
	s := newSink(lying)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	lying.before = func() { mustApply(t, other, queryID, planN(0)) }
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), results))
	wantClass(t, err, batch.Fenced)
	if lying.commits != 1 {
		t.Errorf("%d commits were sent, want 1", lying.commits)
	}
	wantOffsets(t, c, 10, 0)
}

// conflictCatalog answers a conflict as a REST catalog does, so that the library may want to retry.
type conflictCatalog struct {
	catalog.Catalog
	before  func()
	commits int
}

func (c *conflictCatalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return table.New(id, t.Metadata(), t.MetadataLocation(), t.FS, c), nil
}

func (c *conflictCatalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c.commits++
	if c.before != nil {
		c.before()
		c.before = nil
	}
	m, l, err := c.Catalog.CommitTable(ctx, id, reqs, updates)
	if err != nil {
		err = errors.Join(table.ErrCommitFailed, err)
	}
	return m, l, err
}
