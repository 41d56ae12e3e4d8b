//go:build integration && linux

package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"sluice/rig"
)

// orphan lets PyIceberg write to the table and expire all snapshots but the head, which it leaves without a parent
// (https://github.com/apache/iceberg-python, pyiceberg/table/update).
func (p *pipeline) orphan(t *testing.T, how ...string) {
	t.Helper()
	left := rig.Expire(t, filepath.Join(p.dir, "catalog.db"), tableOfTests, how...)
	if len(left) != 1 || left[0].Parent != nil || left[0].Sequence < 2 {
		t.Fatalf("got %+v, want one snapshot, cut off from what was before it", left)
	}
}

// foreign is how PyIceberg writes to a table of ours.
var foreign = map[string][]string{"append": {"--append"}, "rewrite": {"--rewrite"}, "rewrite and append": {"--rewrite", "--append"}}

// rowsMore is how many rows a way of writing adds.
func rowsMore(how []string) int {
	if slices.Contains(how, "--append") {
		return 1
	}
	return 0
}

func TestARunGoesOnAfterPyIcebergsExpiry(t *testing.T) {
	rig.Python(t)
	for name, how := range foreign {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 2)
			p := reading(t, k, topic)
			k.fill(t, topic, 10, 0, 1)
			p.run(t, "--max-offsets-per-trigger", "10")
			p.orphan(t, how...)
			p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0)
			p.run(t).has("summary", "batches", 0, "caughtUp", true)
			k.fill(t, topic, 5, 0, 1)
			p.run(t).has("summary", "records", 10, "firstBatch", 2)
			p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0)
			if got, want := len(scan(t, p.table(t))), 30+rowsMore(how); got != want {
				t.Errorf("got %d rows, want %d", got, want)
			}
		})
	}
}

// A plan of Spark's may or may not be in what was expired: only somebody who looks can tell.
func TestAnOpenPlanOfSparksIsNotReplayedAfterPyIcebergsExpiry(t *testing.T) {
	rig.Python(t)
	for name, how := range foreign {
		for folder, first := range map[string]bool{"v1": false, "real-4.2.0": false, "the first batch": true} {
			t.Run(name+", "+folder, func(t *testing.T) {
				if first {
					folder = "real-4.2.0"
				}
				l := takeOver(t, folder)
				open := l.open
				if first {
					open = 0
					for n := range l.open + 1 {
						l.drop(n, n > 0)
					}
				}
				l.wrote(open)
				rows := len(scan(t, l.table(t))) + rowsMore(how)
				l.orphan(t, how...)
				for range 2 {
					l.do(t, "run").fails(13, "expired")
				}
				if got := len(scan(t, l.table(t))); got != rows {
					t.Errorf("got %d rows, want %d", got, rows)
				}
			})
		}
	}
}

// drop takes the marker of a batch out of the checkpoint, and the plan if asked.
func (l *legacy) drop(n int, plan bool) {
	l.t.Helper()
	folders := []string{"commits"}
	if plan {
		folders = append(folders, "offsets")
	}
	for _, folder := range folders {
		path := filepath.Join(l.checkpoint(), folder, strconv.Itoa(n))
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			l.t.Fatal(err)
		}
	}
}
