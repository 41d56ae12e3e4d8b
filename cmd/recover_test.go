package cmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kfake"
)

// A checkpoint that is gone is no new query, and nothing is read again unless somebody says so
// (https://issues.apache.org/jira/browse/SPARK-55058).
func TestALostCheckpointIsAskedAbout(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	id := p.run(t).last("summary")["queryId"].(string)
	if err := os.RemoveAll(p.checkpoint()); err != nil {
		t.Fatal(err)
	}
	k.fill(t, "orders", 2, 0)
	p.do(t, "run").fails(13, id, "--adopt", "--new-query")
	if o := p.do(t, "validate").wants(13); !strings.Contains(o.stdout, "--adopt is a flag of run and plan") {
		t.Errorf("validate does not say whose flags they are:\n%s", o.stdout)
	}
	p.do(t, "plan").wants(13)
	p.do(t, "run", "--adopt", "no-such-query").fails(13, "no-such-query", id)
	if found := filesIn(t, p.checkpoint(), "[^.]*"); len(found) > 0 {
		t.Errorf("the refused runs left %v", found)
	}
	p.run(t, "--adopt", id).has("summary", "queryId", id, "records", 2, "firstBatch", 1)
	p.wantAll(t, "orders")
}

func TestANewQueryIntoAnOldTableReadsAgainIfAsked(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	id := p.run(t).last("summary")["queryId"]
	other := p.with("--checkpoint", filepath.Join(t.TempDir(), "state"))
	other.do(t, "run").wants(13)
	if got := other.run(t, "--new-query").has("summary", "records", 10, "firstBatch", 0).last("summary")["queryId"]; got == id {
		t.Error("the new query has the old one's id")
	}
	if rows := scan(t, p.table(t)); len(rows) != 20 {
		t.Errorf("got %d rows, want each record once for each query", len(rows))
	}
	p.run(t).has("summary", "batches", 0) // the old query goes on where it was
	for _, judge := range []*pipeline{p, other} {
		o := judge.do(t, "verify", "--source").wants(13).has("verify", "ok", false, "batches", 2, "duplicates", 0)
		if !strings.Contains(o.stdout, `"kind":"read-twice"`) || !strings.Contains(o.stdout, fmt.Sprint(id)) {
			t.Errorf("got\n%s\nwant both queries to be told", o.stdout)
		}
	}
}

// An old copy of the checkpoint gives way to the table (https://github.com/apache/iceberg/issues/10892).
func TestAnOldCopyOfTheCheckpointIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 4, 0, 1)
	p.run(t, "--max-offsets-per-trigger", "4", "--max-batches", "1")
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(p.checkpoint())); err != nil {
		t.Fatal(err)
	}
	p.run(t).has("summary", "lastBatch", 1)
	k.fill(t, "orders", 4, 1)
	p.run(t).has("summary", "lastBatch", 2)
	if err := os.RemoveAll(p.checkpoint()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.checkpoint(), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	p.do(t, "plan").wants(0).has("plan", "action", "rebuild")
	o := p.run(t).has("summary", "batches", 0, "caughtUp", true)
	if !strings.Contains(o.stderr, "rebuilding") {
		t.Errorf("nobody was told:\n%s", o.stderr)
	}
	k.fill(t, "orders", 1, 0)
	p.run(t).has("summary", "firstBatch", 3, "records", 1)
	p.wantAll(t, "orders")
}

// Rows that the table lost by a rollback are read again, or not, as somebody decides
// (https://github.com/apache/iceberg/issues/5846).
func TestARollbackOfTheTableIsAskedAbout(t *testing.T) {
	t.Parallel()
	for choice, records := range map[string]int{"reread": 6, "accept": 1} {
		k := embedded(t, "orders")
		p := newPipeline(t, k)
		k.fill(t, "orders", 5, 0)
		p.run(t)
		k.fill(t, "orders", 5, 1)
		p.run(t)
		p.change(t, func(tx *table.Transaction) error {
			return tx.RollbackToSnapshot(*p.table(t).CurrentSnapshot().ParentSnapshotID)
		})
		p.do(t, "verify").wants(13)
		k.fill(t, "orders", 1, 0)
		p.untouched(t, "a refused plan", func() {
			p.do(t, "plan").wants(13).has("plan", "action", "stop")
		})
		p.do(t, "run").fails(13, "rolled back", "--lost-rows reread", "--lost-rows accept")
		p.run(t, "--lost-rows", choice).has("summary", "records", records, "firstBatch", 2)
		p.run(t).has("summary", "batches", 0)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "unproven", "duplicates", 0)
		if choice == "reread" {
			wantRows(t, p.table(t), k.from("orders", 0, 0), false)
		} else if rows := scan(t, p.table(t)); len(rows) != 6 {
			t.Errorf("got %d rows, want the 5 that stayed and the new one", len(rows))
		}
	}
}

// A table that was dropped, and one that was made again, is another one (https://github.com/apache/iceberg/issues/14979).
func TestATableThatWasDroppedIsAskedAbout(t *testing.T) {
	t.Parallel()
	for choice, rows := range map[string]int{"reread": 11, "accept": 1} {
		k := embedded(t, "orders")
		p := newPipeline(t, k)
		k.fill(t, "orders", 5, 0, 1)
		p.run(t)
		was := p.table(t).Metadata().TableUUID().String()
		if err := p.catalog(t).DropTable(context.Background(), catalog.ToIdentifier(tableOfTests)); err != nil {
			t.Fatal(err)
		}
		k.fill(t, "orders", 1, 1)
		p.do(t, "run").fails(13, was, "gone", "--lost-rows")
		// Another query, of another name, makes the table again.
		p.with("--name", "another", "--checkpoint", filepath.Join(t.TempDir(), "state"), "--starting-offsets", "latest").run(t)
		is := p.table(t).Metadata().TableUUID().String()
		p.do(t, "run").fails(13, was, is, "--lost-rows reread", "--lost-rows accept")
		if p.table(t).CurrentSnapshot() != nil {
			t.Error("a refused run committed")
		}
		p.run(t, "--lost-rows", choice).has("summary", "records", rows)
		p.run(t).has("summary", "batches", 0)
		if got := scan(t, p.table(t)); len(got) != rows {
			t.Errorf("%s: got %d rows, want %d", choice, len(got), rows)
		}
	}
}

// Routine maintenance removes the snapshots that carried a batch, also of a run that died before it could mark it.
func TestExpiryCostsNoProgress(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	for range 4 {
		k.fill(t, "orders", 3, 0, 1)
		p.run(t)
	}
	remove(t, filepath.Join(p.checkpoint(), "commits/3"))
	for len(p.table(t).Metadata().Snapshots()) > 1 {
		p.change(t, func(tx *table.Transaction) error {
			return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1))
		})
	}
	p.run(t).has("summary", "batches", 0, "caughtUp", true)
	p.wantAll(t, "orders")
}

// A checkpoint belongs to one query: what makes a query another one is refused with what was and is.
func TestAChangedJobIsRefusedAndFreeKeysAreNot(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders", "refunds")
	p := newPipeline(t, k).with("--checkpoint", filepath.Join(t.TempDir(), "state"))
	k.fill(t, "orders", 2, 0, 1)
	k.fill(t, "refunds", 2, 0, 1)
	p.run(t)
	for name, changed := range map[string]*pipeline{
		"name":          p.with("--name", "other"),
		"sink":          p.with("--table", "sales.refunds"),
		"subscribe":     p.with("--subscribe", "refunds"),
		"Kafka cluster": p.with("--bootstrap-servers", anotherCluster(t, "orders")),
	} {
		p.untouchedBut(t, name, func() { changed.do(t, "run").fails(13, name) })
	}
	// What is free to change is: also where the catalog's database is.
	moved := filepath.Join(t.TempDir(), "moved.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(filepath.Join(p.dir, "catalog.db"+suffix), moved+suffix); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	p = p.with("--catalog-uri", moved)
	p.with("--subscribe", "orders,refunds", "--max-offsets-per-trigger", "3", "--retain", "7", "--memory", "200MiB").run(t).has("summary", "records", 4)
}

// anotherCluster is a broker of another cluster with the same topic.
func anotherCluster(t *testing.T, topic string) string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topic), kfake.ClusterID("another"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	k := connected(t, strings.Join(cluster.ListenAddrs(), ","))
	k.fill(t, topic, 9, 0, 1)
	return k.addr
}

// untouchedBut is untouched, but for the record that a refused run leaves and its lease.
func (p *pipeline) untouchedBut(t *testing.T, what string, do func()) {
	t.Helper()
	list := func() (all []string) {
		for _, dir := range []string{p.dir, p.flag("--checkpoint")} {
			for _, path := range filesIn(t, dir, "*") {
				if !strings.Contains(path, "/runs/") && !strings.Contains(path, "/lock/") && !strings.Contains(path, "catalog.db") {
					all = append(all, path)
				}
			}
		}
		return all
	}
	before := list()
	do()
	if after := list(); !slices.Equal(before, after) {
		t.Errorf("%s: the refused run changed %s to %s", what, fmt.Sprint(before), fmt.Sprint(after))
	}
}
