package cmd_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// old makes all files below a folder a week old.
func old(t *testing.T, root string) {
	t.Helper()
	when := time.Now().Add(-7 * 24 * time.Hour)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(path, when, when)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// maintained is what maintain says of the table with a role.
func (o *outcome) maintained(role string) map[string]any {
	o.t.Helper()
	for _, of := range o.last("maintain")["tables"].([]any) {
		if of := of.(map[string]any); of["role"] == role {
			return of
		}
	}
	o.t.Fatalf("%s\nno table with the role %s: %s", o.line, role, o.stdout)
	return nil
}

func TestMaintainKeepsRowsAndDeadLettersAndTheQueryGoesOn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--format", "json", "--schema", "id INT", "--on-malformed", "deadLetter", "--dead-letter-table", "sales.dead")
	produce := func(n int) {
		for i := range n {
			value := fmt.Sprintf(`{"id":%d}`, i)
			if i%5 == 0 {
				value = "{"
			}
			k.produce(t, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte(value)})
		}
	}
	for range 2 {
		produce(20)
		p.run(t, "--max-offsets-per-trigger", "3")
	}
	p.do(t, "verify", "--source").wants(0)
	rows := scan(t, p.table(t))
	lost := filepath.Join(p.dir, "sales.db", "orders", "data", "lost-by-somebody.parquet")
	if err := os.WriteFile(lost, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	old(t, p.dir)
	before := everything(t, p.dir)
	dry := p.do(t, "maintain", "--dry-run", "--older-than", "1ms", "--retain-last", "1", "--expire", "--compact", "--rewrite-manifests", "--orphans", "--yes").wants(0)
	if after := everything(t, p.dir); !slices.Equal(after, before) {
		t.Errorf("a dry run changed the lake: got %v, had %v", after, before)
	}
	if got := at(dry.maintained("rows"), "orphans.found.files"); got != 1.0 {
		t.Errorf("the dry run found %v orphans, want 1", got)
	}
	did := p.do(t, "maintain", "--older-than", "1ms", "--retain-last", "1").wants(0)
	for _, role := range []string{"rows", "deadLetters"} {
		of := did.maintained(role)
		if at(of, "compact.out.files") != 1.0 || at(of, "expire.kept") != 1.0 || at(of, "error") != nil || at(of, "orphans") != nil {
			t.Errorf("%s: got %v", role, of)
		}
	}
	p.do(t, "maintain", "--expire", "--older-than", "1ms", "--retain-last", "1", "--abandoned-query", "nobody").wants(0)
	if got := scan(t, p.table(t)); !slices.Equal(got, rows) {
		t.Errorf("got %d rows, had %d", len(got), len(rows))
	}
	p.do(t, "verify", "--source").wants(0)
	if shown := p.do(t, "maintain", "--orphans", "--only", "rows").wants(0); at(shown.maintained("rows"), "orphans.removed.files") != 0.0 {
		t.Errorf("removed without --yes: %s", shown.stdout)
	}
	p.do(t, "maintain", "--orphans", "--yes").wants(0)
	if _, err := os.Stat(lost); err == nil {
		t.Errorf("%s is left", lost)
	}
	produce(20)
	p.run(t, "--max-offsets-per-trigger", "3")
	p.do(t, "verify", "--source").wants(0)
	text := call(t, nil, append([]string{"sluice", "maintain", "--dry-run"}, p.flags...)...).wants(0).stdout
	if !strings.Contains(text, "sales.orders: nothing was changed (--dry-run)") || !strings.Contains(text, "sales.dead (dead letters)") {
		t.Errorf("got %s", text)
	}
}

func TestMaintainRemovesAbandonedFilesOfAFolder(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).without("--warehouse", "--table")
	p = p.with("--parquet-path", filepath.Join(p.dir, "rows"), "--checkpoint", filepath.Join(p.dir, "rows", "checkpoint"))
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	lost := filepath.Join(p.dir, "rows", "part-0-0-7-"+uuid.NewString()+".zstd.parquet")
	if err := os.WriteFile(lost, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	old(t, p.dir)
	o := p.do(t, "maintain").wants(0)
	if of := o.maintained("rows"); at(of, "expire.skipped") == nil || at(of, "manifests.skipped") == nil {
		t.Errorf("got %v", of)
	}
	if of := p.do(t, "maintain", "--orphans", "--yes").wants(0).maintained("rows"); at(of, "orphans.removed.files") != 1.0 {
		t.Errorf("got %v", of)
	}
	if _, err := os.Stat(lost); err == nil {
		t.Errorf("%s is left", lost)
	}
	p.do(t, "verify", "--source").wants(0)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	p.do(t, "verify", "--source").wants(0)
}

func TestMaintainRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	for parts, more := range map[string][]string{
		"24h":        {"--orphans", "--orphans-older-than", "23h"},
		"age":        {"--older-than", "soon"},
		"--older":    {"--older-than", "-5d"},
		"rows":       {"--only", "both"},
		"at least 1": {"--retain-last", "0"},
		"argument":   {"orders.yaml"},
	} {
		p.do(t, "maintain", more...).fails(64, parts)
	}
	p.do(t, "maintain").fails(10, "sales.orders", "to maintain")
}
