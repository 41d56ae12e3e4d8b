//go:build integration

package runner_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/rig"
)

// rivalBy is PyIceberg as a rival.
func (w *lakeWorld) rivalBy(t *testing.T, options ...string) map[string]int64 {
	t.Helper()
	return rig.Rival(t, filepath.Join(w.dir, "catalog.db"), "db.orders", options...)
}

// PyIceberg writes to the table between a run's reading of it and its commit.
func TestPyIcebergWritesBetweenReadingAndCommit(t *testing.T) {
	for name, c := range map[string]struct {
		options []string
		want    end
		// foreign is how many rows of others there are afterwards, or how many of ours are gone.
		foreign int64
	}{
		"appends":                       {[]string{"--append"}, fine, 1},
		"overwrites and expires":        {[]string{"--rewrite", "--expire"}, fine, 0},
		"deletes a row":                 {[]string{"--delete", "offset = 1 and partition = 0"}, fine, -1},
		"adds a column and a partition": {[]string{"--add-column", "rivals", "--add-partition", "offset"}, fine, 0},
		"widens a column":               {[]string{"--widen", "partition"}, fine, 0},
		"renames a column of ours":      {[]string{"--rename", "value", "payload"}, end{batch.Inconsistent, "no column value"}, 0},
		"sets a property":               {[]string{"--set", "write.parquet.compression-codec=gzip"}, fine, 0},
		"makes a branch":                {[]string{"--make-branch", "rivals"}, fine, 0},
		"renames the table":             {[]string{"--rename-table", "db.others"}, end{batch.Inconsistent, "was dropped while batch"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRivalWorld(t, "")
			lake := w.clean()
			var before map[string]int
			came := false
			lake.BeforeCommit = func(table.Identifier) {
				if !came {
					came = true
					beside(func() { w.rivalBy(t, c.options...); before = w.live(t) })
				}
			}
			_, said, err := w.run(lake, nil)
			if !c.want.met(err) {
				t.Fatalf("got %v, want %+v", err, c.want)
			}
			if again := strings.Contains(strings.Join(said.said, "\n"), "made again"); again != (strings.HasPrefix(c.options[0], "--add-column") || c.options[0] == "--widen" || c.options[0] == "--rename") {
				t.Errorf("made again: %v; said %q", again, said.said)
			}
			w.wantOurs(t, before, c.want == fine)
			if c.want != fine {
				return
			}
			if err := w.judgeRivals(t.Context()); err != nil {
				t.Error(err)
			}
			if c.foreign == 0 { // what PyIceberg reads of our files is tested elsewhere, and each start of it takes its time
				return
			}
			if seen := w.rivalBy(t); seen["main"] != w.produced()+c.foreign {
				t.Errorf("PyIceberg reads %v, want %d rows in main", seen, w.produced()+c.foreign)
			}
		})
	}
}

// PyIceberg reads the branch before it is published, and main after that.
func TestPyIcebergPublishesABranch(t *testing.T) {
	w := newBranchWorld(t)
	w.drain(t, nil)
	seen := w.rivalBy(t)
	if _, main := seen["main"]; main || seen["audit"] != 8 {
		t.Errorf("before publishing PyIceberg reads %v", seen)
	}
	if seen = w.rivalBy(t, "--publish", "audit"); seen["main"] != 8 || seen["audit"] != 8 {
		t.Errorf("after publishing PyIceberg reads %v", seen)
	}
	w.kafka.produce(0, 4)
	w.drain(t, nil)
	if seen = w.rivalBy(t); seen["main"] != 8 || seen["audit"] != 12 {
		t.Errorf("after the next run PyIceberg reads %v", seen)
	}
	if seen = w.rivalBy(t, "--publish", "audit", "--remove-branch", "audit", "--append"); seen["main"] != 12 {
		t.Errorf("after removing the branch PyIceberg reads %v", seen)
	}
	w.rivalBy(t, "--append")
	w.kafka.produce(1, 2)
	w.drain(t, nil)
	if seen = w.rivalBy(t); seen["audit"] != seen["main"]+2 {
		t.Errorf("in the end PyIceberg reads %v", seen)
	}
}
