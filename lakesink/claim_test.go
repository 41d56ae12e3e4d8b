package lakesink

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/batch"
)

// A Hadoop catalog's claim on a version outlives the process that was killed with it. Others wait for it briefly, and do
// not take it from somebody who is at it.
func TestTheClaimOfAKilledWriterMakesWay(t *testing.T) {
	dir := t.TempDir()
	c, err := open(t, CatalogOptions{Type: "hadoop", Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(0)) // version 2
	claim := filepath.Join(localPath(load(t, c).Location()), "metadata", "v3.metadata.json.claim")
	if err := os.WriteFile(claim, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = apply(s, queryID, planN(1))
	wantClass(t, err, batch.Failed, "already claimed")
	age := time.Now().Add(-claimLives - time.Second)
	if err := os.Chtimes(claim, age, age); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(1))
	wantOffsets(t, c, 20, 0)
}

// A writer that lost its claim while it was slow is told so and commits again.
func TestAClaimThatWasTakenAwayCostsNoRow(t *testing.T) {
	c, err := open(t, CatalogOptions{Type: "hadoop", Warehouse: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	fs := durableFS{}
	meta := filepath.Join(localPath(load(t, c).Location()), "metadata")
	slow, fast := filepath.Join(meta, "slow"), filepath.Join(meta, "fast")
	claim, version := filepath.Join(meta, "v9.metadata.json.claim"), filepath.Join(meta, "v9.gz.metadata.json")
	for _, path := range []string{slow, fast} {
		if err := fs.WriteFile(path, []byte(path)); err != nil {
			t.Fatal(err)
		}
	}
	age := time.Now().Add(-time.Minute)
	if err := os.Chtimes(slow, age, age); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ from, to string }{{slow, claim}, {fast, claim}, {claim, version}} {
		if err := fs.RenameNoReplace(step.from, step.to); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.RenameNoReplace(claim, version); err == nil {
		t.Error("the slow writer's claim was published over the other's")
	}
	if text, err := os.ReadFile(version); err != nil || !strings.HasSuffix(string(text), "fast") {
		t.Errorf("got %s, %v", text, err)
	}
}
