package runner_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// rivalry is what another engine does to a table that a run writes to, and what comes of it.
type rivalry struct {
	name string
	does func(t *testing.T, w *lakeWorld)
	// version is the table's format, 2 unless it says otherwise.
	version string
	// between, before and after are what the run ends with if the rival comes between two runs, between the reading of a table
	// and the commit, and between a commit whose answer is lost and the next reading; success unless it says otherwise.
	between, before, after end
	// again says that after a lost answer the batch has to be committed again.
	again bool
	// then is what the next run ends with after that; unaccounted says that verify finds rows there which the ledger does not
	// know.
	then        end
	unaccounted bool
}

// end is an error of a class that says something.
type end struct {
	class batch.Class
	says  string
}

var fine = end{}

func (e end) met(err error) bool {
	if e == fine {
		return err == nil
	}
	return err != nil && batch.ClassOf(err) == e.class && batch.HintOf(err) != "" && strings.Contains(err.Error(), e.says)
}

// deleted removes the rows at offset 1 with the table's delete mode, and the oldest file.
func deleted(filter iceberg.BooleanExpression) func(t *testing.T, w *lakeWorld) {
	return func(t *testing.T, w *lakeWorld) {
		w.change(t, func(tx *table.Transaction) error { return tx.Delete(t.Context(), filter, nil) })
	}
}

func lazily(does func(t *testing.T, w *lakeWorld)) func(t *testing.T, w *lakeWorld) {
	return func(t *testing.T, w *lakeWorld) {
		w.change(t, func(tx *table.Transaction) error {
			return tx.SetProperties(iceberg.Properties{table.WriteDeleteModeKey: "merge-on-read"})
		})
		does(t, w)
	}
}

func alters(alter func(tx *table.Transaction) error) func(t *testing.T, w *lakeWorld) {
	return func(t *testing.T, w *lakeWorld) { w.change(t, alter) }
}

func evolves(f func(u *table.UpdateSchema) *table.UpdateSchema) func(t *testing.T, w *lakeWorld) {
	return alters(func(tx *table.Transaction) error { return f(tx.UpdateSchema(true, true)).Commit() })
}

// updates sends what transactions have no method for.
func updates(f func(tbl *table.Table) []table.Update) func(t *testing.T, w *lakeWorld) {
	return func(t *testing.T, w *lakeWorld) {
		if _, _, err := w.catalog.CommitTable(t.Context(), orders, nil, f(w.table(t))); err != nil {
			t.Fatal(err)
		}
	}
}

// rollsBack goes back by so many snapshots.
func rollsBack(by int) func(t *testing.T, w *lakeWorld) {
	return func(t *testing.T, w *lakeWorld) {
		s := w.table(t).CurrentSnapshot()
		for range by {
			s = w.table(t).SnapshotByID(*s.ParentSnapshotID)
		}
		w.change(t, func(tx *table.Transaction) error { return tx.RollbackToSnapshot(s.SnapshotID) })
	}
}

// restores makes the catalog name metadata that the table had before, as who restores a backup does.
func restores(t *testing.T, w *lakeWorld) {
	log := []string{}
	for entry := range w.table(t).Metadata().PreviousFiles() {
		log = append(log, entry.MetadataFile)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'orders'", log[len(log)-1]); err != nil {
		t.Fatal(err)
	}
}

var removesLedgers = alters(func(tx *table.Transaction) error {
	var ours []string
	staged, err := tx.StagedTable()
	if err != nil {
		return err
	}
	for key := range staged.Properties() {
		if strings.HasPrefix(key, batch.LedgerPrefix) {
			ours = append(ours, key)
		}
	}
	return tx.RemoveProperties(ours)
})

var (
	notTaken  = func(says string) end { return end{batch.Inconsistent, says} }
	gone      = end{batch.Inconsistent, "the table db.orders is gone"}
	dropped   = end{batch.Inconsistent, "was dropped while batch"}
	replaced  = end{batch.Inconsistent, "dropped and created again"}
	wentBack  = end{batch.Inconsistent, "rolled back"}
	published = iceberg.Properties{"source-snapshot-id": "17", "published-wap-id": "audit"}
)

var rivalries = []rivalry{
	{name: "appends", does: func(t *testing.T, w *lakeWorld) { w.append(t, 3) }},
	{name: "appends to format 1", version: "1", does: func(t *testing.T, w *lakeWorld) { w.append(t, 3) }},
	{name: "cherry-picks a snapshot", does: func(t *testing.T, w *lakeWorld) { w.appendWith(t, 3, published) }},
	{name: "compacts", does: func(t *testing.T, w *lakeWorld) { w.compact(t) }},
	{name: "rewrites manifests", does: alters(func(tx *table.Transaction) error {
		_, err := tx.RewriteManifests(context.Background())
		return err
	})},
	{name: "deletes rows and writes the rest anew", does: deleted(iceberg.EqualTo(iceberg.Reference("offset"), int64(1)))},
	{name: "deletes rows by position", does: lazily(deleted(iceberg.EqualTo(iceberg.Reference("offset"), int64(1))))},
	{name: "deletes rows by vectors", version: "3", does: lazily(deleted(iceberg.EqualTo(iceberg.Reference("offset"), int64(1))))},
	{name: "deletes everything", does: deleted(iceberg.AlwaysTrue{})},
	{name: "expires all but the head", does: func(t *testing.T, w *lakeWorld) { w.expire(t) }},
	{name: "appends, compacts and expires", does: func(t *testing.T, w *lakeWorld) { w.maintain(t) }},
	{name: "appends and rolls that back", does: func(t *testing.T, w *lakeWorld) { w.append(t, 2); rollsBack(1)(t, w) }},
	{name: "rolls back our batch", does: rollsBack(1), between: wentBack, before: wentBack, after: wentBack},
	{name: "rolls back our batch and appends", does: func(t *testing.T, w *lakeWorld) { rollsBack(1)(t, w); w.append(t, 2) }, between: wentBack, before: wentBack, after: wentBack},

	{name: "adds a column", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema {
		return u.AddColumn([]string{"rivals"}, iceberg.PrimitiveTypes.String, "", false, nil)
	})},
	{name: "adds a required column", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema {
		return u.AddColumn([]string{"rivals"}, iceberg.PrimitiveTypes.String, "", true, nil)
	}), between: notTaken("column rivals of the table is required"), before: notTaken("column rivals of the table is required"), then: notTaken("column rivals of the table is required")},
	{name: "drops a column of ours", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema { return u.DeleteColumn([]string{"value"}) }),
		between: notTaken("no column value"), before: notTaken("no column value"), then: notTaken("no column value")},
	{name: "renames a column of ours", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema { return u.RenameColumn([]string{"value"}, "payload") }),
		between: notTaken("no column value"), before: notTaken("no column value"), then: notTaken("no column value")},
	{name: "widens a column", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema {
		return u.UpdateColumn([]string{"partition"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}})
	})},
	{name: "moves a column", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema { return u.MoveFirst([]string{"timestamp"}) })},
	{name: "makes a column optional", does: evolves(func(u *table.UpdateSchema) *table.UpdateSchema {
		return u.UpdateColumn([]string{"topic"}, table.ColumnUpdate{Required: iceberg.Optional[bool]{Val: false, Valid: true}})
	})},
	{name: "adds a partition field", does: alters(func(tx *table.Transaction) error {
		return tx.UpdateSpec(true).AddField("offset", iceberg.BucketTransform{NumBuckets: 2}, "half").Commit()
	})},
	{name: "changes the sort order", does: alters(func(tx *table.Transaction) error {
		order, err := table.NewSortOrder(1, []table.SortField{{SourceIDs: []int{5}, Transform: iceberg.IdentityTransform{}, Direction: table.SortDESC, NullOrder: table.NullsLast}})
		if err != nil {
			return err
		}
		return tx.ReplaceSortOrder(order)
	})},
	{name: "sets properties", does: alters(func(tx *table.Transaction) error {
		return tx.SetProperties(iceberg.Properties{"write.parquet.compression-codec": "gzip", "gc.enabled": "false", "write.data.path": "", "owner": "somebody"})
	})},
	{name: "removes our ledger", does: removesLedgers, unaccounted: true},
	{name: "upgrades to format 3", does: alters(func(tx *table.Transaction) error { return tx.UpgradeFormatVersion(3) })},

	{name: "makes a branch and a tag", does: updates(func(tbl *table.Table) []table.Update {
		head := tbl.CurrentSnapshot().SnapshotID
		return []table.Update{table.NewSetSnapshotRefUpdate("audit", head, table.BranchRef, 0, 0, 0), table.NewSetSnapshotRefUpdate("eoy", head, table.TagRef, 0, 0, 0)}
	})},
	{name: "makes a branch and removes it", does: func(t *testing.T, w *lakeWorld) {
		updates(func(tbl *table.Table) []table.Update {
			return []table.Update{table.NewSetSnapshotRefUpdate("audit", tbl.CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0)}
		})(t, w)
		updates(func(*table.Table) []table.Update { return []table.Update{table.NewRemoveSnapshotRefUpdate("audit")} })(t, w)
	}},
	{name: "drops the table", does: func(t *testing.T, w *lakeWorld) {
		if err := w.catalog.DropTable(t.Context(), orders); err != nil {
			t.Fatal(err)
		}
	}, between: gone, before: dropped, after: dropped},
	{name: "renames the table", does: func(t *testing.T, w *lakeWorld) {
		if _, err := w.catalog.RenameTable(t.Context(), orders, catalog.ToIdentifier("db.others")); err != nil {
			t.Fatal(err)
		}
	}, between: gone, before: dropped, after: dropped},
	{name: "renames the table and back", does: func(t *testing.T, w *lakeWorld) {
		for _, names := range [][2]table.Identifier{{orders, catalog.ToIdentifier("db.others")}, {catalog.ToIdentifier("db.others"), orders}} {
			if _, err := w.catalog.RenameTable(t.Context(), names[0], names[1]); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{name: "drops the table and creates it again", does: func(t *testing.T, w *lakeWorld) {
		if err := w.swap(); err != nil {
			t.Fatal(err)
		}
	}, between: replaced, before: replaced, after: replaced},
	{name: "restores the metadata from before our batch", does: restores, between: end{batch.Inconsistent, "batch"}, before: end{batch.Inconsistent, "batch"}, again: true},
}

// newRivalWorld has two batches in the table and another to come.
func newRivalWorld(t *testing.T, version string) *lakeWorld {
	w := newLakeWorld(t)
	w.mutate = nil
	w.format = version
	w.drain(t, nil)
	w.arrive()
	return w
}

const lostAnswer = "after a lost answer"

// beside runs something apart from the run that waits for it: a failure ends it, and not the run.
func beside(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// live are the paths of the table's live files, each with how often it is there; nil if the table is not.
func (w *lakeWorld) live(t *testing.T) map[string]int {
	t.Helper()
	tbl, err := w.catalog.LoadTable(t.Context(), orders)
	if err != nil {
		return nil
	}
	tasks, err := tbl.Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]int{}
	for _, task := range tasks {
		paths[task.File.FilePath()]++
		for _, d := range task.DeleteFiles {
			paths[d.FilePath()] = 1
		}
	}
	return paths
}

// wantOurs checks that the table has what it had, each once, and files of ours besides.
func (w *lakeWorld) wantOurs(t *testing.T, before map[string]int, ours bool) {
	t.Helper()
	added := 0
	now := w.live(t)
	for path, n := range now {
		switch {
		case n != 1:
			t.Errorf("%s is there %d times", path, n)
		case before[path] == 0:
			added++
		}
	}
	for path := range before {
		if now[path] == 0 {
			t.Errorf("%s is gone", path)
		}
	}
	if ours != (added > 0) {
		t.Errorf("%d files were added", added)
	}
}

// Rivals come when it hurts: between two runs, between reading the table and the commit, between a commit whose answer is
// lost and reading the table again. Every batch lands once with the rival's work intact, or the run says what happened.
func TestEveryRivalAtEveryMoment(t *testing.T) {
	for _, r := range rivalries {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.comesBetweenRuns(t)
			r.comesBeforeTheCommit(t)
			r.comesAfterALostAnswer(t)
		})
	}
}

func (r *rivalry) comesBetweenRuns(t *testing.T) {
	w := newRivalWorld(t, r.version)
	r.does(t, w)
	before := w.live(t)
	_, _, err := w.run(w.clean(), nil)
	w.wantOurs(t, before, r.between == fine)
	r.judge(t, w, "between runs", r.between, err)
}

func (r *rivalry) comesBeforeTheCommit(t *testing.T) {
	w := newRivalWorld(t, r.version)
	c := w.clean()
	var before map[string]int
	came := false
	c.BeforeCommit = func(table.Identifier) {
		if !came {
			came = true
			beside(func() { r.does(t, w); before = w.live(t) })
		}
	}
	_, _, err := w.run(c, nil)
	w.wantOurs(t, before, r.before == fine)
	r.judge(t, w, "before the commit", r.before, err)
}

func (r *rivalry) comesAfterALostAnswer(t *testing.T) {
	w := newRivalWorld(t, r.version)
	c := laketest.Wrap(w.catalog, laketest.BreakWhen(func(effect string) bool { return strings.HasSuffix(effect, " snapshot") }, laketest.AnswerLost))
	var before map[string]int
	came := false
	c.FailLoad = func() error {
		if c.Script.Broke() && !came {
			came = true
			beside(func() { r.does(t, w); before = w.live(t) })
		}
		return nil
	}
	_, _, err := w.run(c, func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
	w.wantOurs(t, before, r.again)
	r.judge(t, w, lostAnswer, r.after, err)
}

// judge compares the end of a run with what it should be, lets the next run go on, and asks verify.
func (r *rivalry) judge(t *testing.T, w *lakeWorld, when string, want end, err error) {
	t.Helper()
	if !want.met(err) {
		t.Errorf("%s: got %v (%v), want %v %q", when, err, batch.ClassOf(err), want.class, want.says)
		return
	}
	w.arrive()
	_, _, err = w.run(w.clean(), nil)
	if when == lostAnswer && want == fine && r.then != fine {
		if !r.then.met(err) {
			t.Errorf("%s: the next run ended with %v", when, err)
		}
		return
	}
	if want != fine {
		if batch.ClassOf(err) != want.class || batch.HintOf(err) == "" {
			t.Errorf("%s: the next run ended with %v", when, err)
		}
		return
	}
	if err == nil && !(when == lostAnswer && r.unaccounted) {
		err = w.judgeRivals(t.Context())
	}
	if err != nil {
		t.Errorf("%s: the next run: %v", when, err)
	}
}

// judgeRivals asks verify, and does not count the rows that others added or took.
func (w *lakeWorld) judgeRivals(ctx context.Context) error {
	report, err := w.verify(ctx)
	if err == nil && !report.OK {
		err = fmt.Errorf("verify: %v", report.Problems)
	}
	return err
}

// A ledger that somebody removed is no reason to stop as long as the history tells, and a person should know.
func TestALedgerThatWasRemovedIsTold(t *testing.T) {
	w := newRivalWorld(t, "")
	removesLedgers(t, w)
	_, said, err := w.run(w.clean(), nil)
	if err != nil || !strings.Contains(strings.Join(said.said, "\n"), "the table's ledger of this query is gone") {
		t.Errorf("got %q, %v", said.said, err)
	}
	w.arrive()
	if _, said, err = w.run(w.clean(), nil); err != nil || strings.Contains(strings.Join(said.said, "\n"), "ledger") {
		t.Errorf("the run after it: got %q, %v", said.said, err)
	}
}
