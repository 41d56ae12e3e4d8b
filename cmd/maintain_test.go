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
	p := newPipeline(t, k).with("--value-format", "json", "--value-schema", "id INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.table=sales.dead")
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
	if of := dry.maintained("rows"); at(of, "compact.out.files") != 1.0 || at(of, "compact.out.bytes") != at(of, "compact.in.bytes") {
		t.Errorf("the dry run estimates %v", at(of, "compact"))
	}
	did := p.do(t, "maintain", "--older-than", "1ms", "--retain-last", "1").wants(0)
	for _, role := range []string{"rows", "deadLetters"} {
		of := did.maintained(role)
		if at(of, "compact.out.files") != 1.0 || at(of, "expire.kept") != 1.0 || at(of, "error") != nil || at(of, "orphans") != nil {
			t.Errorf("%s: got %v", role, of)
		}
	}
	p.do(t, "maintain", "--expire", "--older-than", "1ms", "--retain-last", "1", "--abandoned-query", uuid.NewString()).wants(0)
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
	if of := o.maintained("rows"); at(of, "expire.skipped") == nil || at(of, "compact.skipped") == nil || at(of, "manifests.skipped") == nil {
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
	some := uuid.NewString()
	for parts, more := range map[string][]string{
		"--yes makes no difference without --orphans":                {"--yes"},
		"--orphans-older-than makes no difference without --orphans": {"--expire", "--orphans-older-than", "5d"},
		"--unsafe-age makes no difference without --orphans":         {"--unsafe-age"},
		"--dropped-table makes no difference without --orphans":      {"--dropped-table", some},
		"--older-than makes no difference without --expire":          {"--compact", "--older-than", "5d"},
		"--retain-last makes no difference without --expire":         {"--orphans", "--retain-last", "1"},
		"without --expire or --orphans":                              {"--compact", "--abandoned-query", some},
		`--abandoned-query "nobody" is no UUID`:                      {"--abandoned-query", "nobody"},
		`--dropped-table "orders" is no UUID`:                        {"--orphans", "--dropped-table", "orders"},
		"no table and no folder of dead letters":                     {"--only", "dead-letters"},
		"24h":                                                        {"--orphans", "--orphans-older-than", "23h"},
		"age":                                                        {"--older-than", "soon"},
		"--older":                                                    {"--older-than", "-5d"},
		"rows":                                                       {"--only", "both"},
		"at least 1":                                                 {"--retain-last", "0"},
		"argument":                                                   {"orders.yaml"},
	} {
		p.do(t, "maintain", more...).fails(64, parts)
	}
	p.do(t, "maintain").fails(10, "sales.orders", "to maintain")
}

func TestMaintainRefusesToAbandonTheJobsOwnQuery(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 3, 0)
	p.run(t)
	own := p.do(t, "maintain", "--expire").wants(0).last("maintain")["queryId"].(string)
	for _, id := range []string{own, strings.ToUpper(own)} {
		p.do(t, "maintain", "--expire", "--abandoned-query", id).fails(64, "the query of this job itself")
	}
	p.do(t, "maintain", "--expire", "--abandoned-query", "flink operator 7f", "--abandoned-query", uuid.NewString()).wants(0)
}

func TestMaintainOfDeadLettersThatHaveNoTableYet(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "json", "--value-schema", "id INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.table=sales.dead")
	o := p.do(t, "maintain", "--only", "dead-letters").wants(0)
	if tables, ok := o.last("maintain")["tables"].([]any); !ok || len(tables) != 0 {
		t.Errorf("got %s", o.stdout)
	}
}

func TestMaintainIsQuietUntilSomethingIsWrong(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	quiet := func() *outcome { return call(t, nil, append([]string{"sluice", "maintain", "-q"}, p.flags...)...) }
	if o := quiet().wants(10); o.stderr == "" {
		t.Error("it says nothing of a table that is not there")
	}
	k.fill(t, "orders", 3, 0)
	p.run(t)
	if o := quiet().wants(0); o.stdout != "" || o.stderr != "" {
		t.Errorf("got %q and %q", o.stdout, o.stderr)
	}
	p.do(t, "maintain", "-q").wants(0).last("maintain")
}

// Compaction and manifests are about main, whatever branch the job writes to.
func TestMaintainOfABranchNamesTheTable(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--branch", "audit")
	k.fill(t, "orders", 3, 0)
	p.run(t)
	of := p.do(t, "maintain").wants(0).maintained("rows")
	if of["table"] != tableOfTests || at(of, "compact.skipped") != "main has no snapshot" || at(of, "manifests.skipped") != "main has no snapshot" {
		t.Errorf("got %v", of)
	}
}

func TestMaintainHelpTellsTheDefaults(t *testing.T) {
	t.Parallel()
	help := call(t, nil, "sluice", "maintain", "--help").wants(0).stdout
	for _, want := range []string{"--only TABLE", "min-snapshots-to-keep, or 1)", "max-snapshot-age-ms, or 5d)"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help has no %q:\n%s", want, help)
		}
	}
	if strings.Contains(help, "(default: 0)") {
		t.Errorf("the help has a default that is refused:\n%s", help)
	}
}
