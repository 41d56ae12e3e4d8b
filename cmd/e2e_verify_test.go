package cmd_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

func filled(t *testing.T) *pipeline {
	t.Helper()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 30, 0, 1)
	p.run(t, "--max-offsets-per-trigger", "20").has("summary", "batches", 3)
	p.do(t, "verify").wants(0).has("verify", "ok", true, "batches", 3, "rows", 60, "duplicates", 0, "missing", 0, "unexpected", 0)
	return p
}

// dataFile is a live data file of the table, by iceberg-go's own reading.
func (p *pipeline) dataFile(t *testing.T) iceberg.DataFile {
	t.Helper()
	tasks, err := p.table(t).Scan().PlanFiles(context.Background())
	if err != nil || len(tasks) == 0 {
		t.Fatalf("got %d files, %v", len(tasks), err)
	}
	return tasks[0].File
}

// wantProblem fails the test unless verify exits with 13 and names a problem of this kind, and the text form does so too.
func (p *pipeline) wantProblem(t *testing.T, kind string, more ...string) *outcome {
	t.Helper()
	o := p.do(t, "verify", more...).wants(13).has("verify", "ok", false, "verdict", "broken")
	var kinds []string
	for _, problem := range o.last("verify")["problems"].([]any) {
		kinds = append(kinds, at(problem, "kind").(string))
		if at(problem, "what") == "" || at(problem, "evidence") == "" || at(problem, "todo") == "" {
			t.Errorf("%v leaves something unsaid", problem)
		}
	}
	if !slices.Contains(kinds, kind) {
		t.Errorf("got problems %v, want %s among them", kinds, kind)
	}
	text := call(t, nil, slices.Concat([]string{"sluice", "verify"}, p.flags, more)...).wants(13)
	if !strings.Contains(text.stdout, "not ok") || !strings.Contains(text.stdout, "problem ("+kind+")") {
		t.Errorf("got\n%s\nwant it to tell the problem %s", text.stdout, kind)
	}
	return o
}

func TestVerifyFindsAFileThatIsThereTwice(t *testing.T) {
	t.Parallel()
	p := filled(t)
	file := p.dataFile(t)
	planted := strings.TrimPrefix(file.FilePath(), "file://") + ".copy.parquet"
	copyFile(t, strings.TrimPrefix(file.FilePath(), "file://"), planted)
	p.change(t, func(tx *table.Transaction) error {
		return tx.AddFiles(context.Background(), []string{planted}, nil, false)
	})
	p.wantProblem(t, "duplicate-rows").has("verify", "duplicates", int(file.Count()))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsADataFileThatIsGone(t *testing.T) {
	t.Parallel()
	p := filled(t)
	remove(t, strings.TrimPrefix(p.dataFile(t).FilePath(), "file://"))
	p.wantProblem(t, "file-gone")
}

func TestVerifyFindsRowsThatAreGone(t *testing.T) {
	t.Parallel()
	p := filled(t)
	file := p.dataFile(t)
	p.change(t, func(tx *table.Transaction) error { // replaced by nothing, as a rewrite that loses rows does
		return tx.ReplaceDataFilesWithDataFiles(context.Background(), []iceberg.DataFile{file}, nil, nil)
	})
	o := p.do(t, "verify", "--source")
	if got := o.last("verify"); got["ok"] == true && got["deletedByOthers"] == 0. {
		t.Errorf("got %v, want the rows to be missed", got)
	}
}

func TestVerifyFindsAForgedLedger(t *testing.T) {
	t.Parallel()
	p := filled(t)
	p.change(t, func(tx *table.Transaction) error {
		for name, value := range p.table(t).Properties() {
			if strings.HasPrefix(name, "sluice.query.") {
				return tx.SetProperties(iceberg.Properties{name: forged(t, value)})
			}
		}
		t.Fatal("the table has no ledger")
		return nil
	})
	p.do(t, "verify").wants(13).has("verify", "ok", false)
	p.do(t, "verify", "--source").wants(13).has("verify", "ok", false)
}

// forged says that one more batch was applied than was.
func forged(t *testing.T, ledger string) string {
	t.Helper()
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(ledger))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	fields["batch"] = json.Number("3")
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVerifyWithoutATableSaysWhatToDo(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, embedded(t, "orders"))
	p.do(t, "verify").fails(10, tableOfTests, "sluice run")
	p.leftNothing(t, "it")
}
