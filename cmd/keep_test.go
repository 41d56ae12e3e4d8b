package cmd_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kept lists what is in the checkpoint, but for records of runs and files whose names begin with a dot.
func (p *pipeline) kept(t *testing.T) (names []string) {
	t.Helper()
	for _, path := range files(t, p.checkpoint(), "[^.]*") {
		name := strings.TrimPrefix(path, p.checkpoint()+"/")
		if !strings.HasPrefix(name, "runs/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *pipeline) wantKept(t *testing.T, batches ...string) {
	t.Helper()
	want := []string{"identity.json", "lock/lease.json", "metadata", "sources/0/0"}
	for _, n := range batches {
		want = append(want, "commits/"+n, "offsets/"+n, "progress/"+n+".json")
	}
	slices.Sort(want)
	if got := p.kept(t); !slices.Equal(got, want) {
		t.Errorf("got %v in the checkpoint, want %v", got, want)
	}
}

func TestTheCheckpointKeepsTheNewestBatches(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--retain", "2", "--max-offsets-per-trigger", "10")
	k.fill(t, "orders", 30, 0, 1)
	p.run(t).has("summary", "batches", 6, "lastBatch", 5)
	p.wantKept(t, "4", "5")
	p.run(t).has("summary", "batches", 0, "caughtUp", true)
	p.wantKept(t, "4", "5")
	p.wantAll(t, "orders")

	k.fill(t, "orders", 2, 0)
	p.do(t, "plan").wants(0).has("plan", "action", "continue", "batch", 6, "records", 2)
	p.run(t).has("summary", "batches", 1, "firstBatch", 6, "records", 2)
	p.wantKept(t, "5", "6")
	p.wantAll(t, "orders")

	// A batch that was left open counts as well, and what it needs to be carried out stays.
	remove(t, filepath.Join(p.checkpoint(), "commits/6"))
	k.fill(t, "orders", 2, 1)
	p.run(t).has("summary", "batches", 1, "firstBatch", 7)
	p.wantKept(t, "6", "7")
	p.with("--retain", "3").run(t).has("summary", "batches", 0)
	p.wantKept(t, "6", "7")
	p.wantAll(t, "orders")
}
