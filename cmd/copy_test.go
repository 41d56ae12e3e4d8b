package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copied is the pipeline in a copy of its folder, as cp -a makes it.
func (p *pipeline) copied(t testing.TB) *pipeline {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "try")
	if err := os.CopyFS(dir, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	other := p.with("--warehouse", dir)
	other.dir = dir
	return other
}

// A copied folder is not a copied table: its metadata has the absolute paths of the original, so that a run on the copy
// would write into the original's folder, and remove metadata there.
func TestARunOnACopiedFolderLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	k.fill(t, "orders", 5, 0)
	try := p.copied(t)
	p.untouched(t, "a run on the copy", func() {
		for _, verb := range []string{"run", "plan", "validate"} {
			o := try.text(t, verb).wants(13)
			for _, part := range []string{"two catalogs, ", filepath.Join(p.dir, "catalog.db") + " ", filepath.Join(try.dir, "catalog.db") + " ", "a copied folder is not a copied table", "remove or rename the old database"} {
				if !strings.Contains(o.stdout+o.stderr, part) {
					t.Errorf("%s: got\n%s%s\nwant it to say %q", verb, o.stdout, o.stderr, part)
				}
			}
		}
		try.do(t, "status").wants(0).has("status", "action", "stop", "refusal.exitCode", 13)
	})
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(p.dir, alias); err != nil {
		t.Fatal(err)
	}
	p.with("--warehouse", alias).run(t).has("summary", "records", 5, "firstBatch", 1)
	p.wantAll(t, "orders")
}

// Without its checkpoint, nothing but where the table is tells that a folder was copied. It may be meant, so the run goes
// on, and says so once.
func TestANewQueryOnACopiedFolderIsTold(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	id := p.run(t).last("summary")["queryId"].(string)
	try := p.copied(t)
	if err := os.RemoveAll(try.checkpoint()); err != nil {
		t.Fatal(err)
	}
	const odd = "outside the catalog's warehouse"
	if o := try.text(t, "plan", "--adopt", id).wants(0); strings.Count(o.stdout, odd) != 1 {
		t.Errorf("plan: got\n%s", o.stdout)
	}
	if o := try.with("--name", "other", "--starting-offsets", "latest").text(t, "validate").wants(0); strings.Count(o.stdout, odd) != 1 {
		t.Errorf("validate: got\n%s", o.stdout)
	}
	for i, want := range []int{1, 0} {
		args := [][]string{{"--adopt", id, "-q"}, nil}[i]
		if o := try.text(t, "run", args...).wants(0); strings.Count(o.stderr, odd) != want {
			t.Errorf("run %d: got\n%s\nwant it told %d times", i, o.stderr, want)
		}
	}
}

// A catalog that was moved for good goes on, with a word about it.
func TestACatalogThatWasMovedGoesOn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	moved := filepath.Join(t.TempDir(), "moved.db")
	if err := os.Rename(filepath.Join(p.dir, "catalog.db"), moved); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		if o := p.with("--catalog-uri", moved).text(t, "run").wants(0); strings.Count(o.stderr, "the old catalog is gone") != want {
			t.Errorf("run %d: got\n%s\nwant it told %d times", i, o.stderr, want)
		}
	}
}
