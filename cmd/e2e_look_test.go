package cmd_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tree is every file below the pipeline's folder with a digest of its content.
func (p *pipeline) tree(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, path := range filesIn(t, p.dir, "*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(path, p.dir)] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return found
}

// untouched fails the test if do changes any file of the pipeline.
func (p *pipeline) untouched(t testing.TB, what string, do func()) {
	t.Helper()
	before := p.tree(t)
	do()
	after := p.tree(t)
	maps.DeleteFunc(before, func(path, sum string) bool { return after[path] == sum && strings.HasSuffix(path, "catalog.db") })
	for path, sum := range after {
		if was, ok := before[path]; ok && was != sum || !ok && !strings.HasSuffix(path, "catalog.db") {
			t.Errorf("%s wrote %s", what, path)
		}
		delete(before, path)
	}
	if len(before) > 0 {
		t.Errorf("%s removed %v", what, slices.Collect(maps.Keys(before)))
	}
}

func TestAPlanIsWhatTheNextRunDoesAndWritesNothing(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	limit := []string{"--max-offsets-per-trigger", "8"}
	plan := func() (o *outcome) {
		p.untouched(t, "plan", func() { o = p.do(t, "plan", limit...).wants(0) })
		return o
	}
	k.fill(t, "orders", 10, 0, 1)
	first := plan().has("plan", "action", "start", "batch", 0, "records", 8, "remaining", 12, "batches", 3)
	if _, err := os.Stat(p.dir); err == nil {
		t.Error("a plan made the warehouse")
	}
	o := p.run(t, append(limit, "--max-batches", "1")...)
	sameRanges(t, first, o)
	second := plan().has("plan", "action", "continue", "batch", 1, "records", 8, "remaining", 4)
	sameRanges(t, second, p.run(t, append(limit, "--max-batches", "1")...))
	p.run(t, limit...).has("summary", "batches", 1)
	plan().has("plan", "records", 0, "remaining", 0)
}

// sameRanges fails the test unless the only batch of the run read what was planned.
func sameRanges(t *testing.T, planned, ran *outcome) {
	t.Helper()
	source := ran.last("batch")["sources"].([]any)[0]
	for _, r := range planned.last("plan")["ranges"].([]any) {
		place := fmt.Sprintf("%v.%v", at(r, "topic"), at(r, "partition"))
		if from, until := at(source, "startOffset."+place), at(source, "endOffset."+place); from != at(r, "from") || until != at(r, "until") {
			t.Errorf("%s: planned %v, the run read [%v,%v)", place, r, from, until)
		}
	}
}

func TestAPlanSaysThatItWillFinishWhatWasLeftOpen(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	k.fill(t, "orders", 5, 0)
	p.run(t)
	// The marker is lost: the run died after its commit to the table.
	remove(t, filepath.Join(p.checkpoint(), "commits/1"))
	p.untouched(t, "plan", func() { p.do(t, "plan").wants(0).has("plan", "action", "mark") })
	p.do(t, "status").wants(0).has("status", "lastPlan", 1, "lastCommit", 0, "tableBatch", 1, "uncommitted.batch", 1)
	k.fill(t, "orders", 2, 1)
	p.run(t).has("summary", "batches", 1, "records", 2, "firstBatch", 2)
	p.wantAll(t, "orders")
}

func remove(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStatusSaysWhereTheQueryIsAndWritesNothing(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	status := func() (o *outcome) {
		p.untouched(t, "status", func() { o = p.do(t, "status").wants(0) })
		return o
	}
	status().has("status", "queryId", "", "lastPlan", -1, "lastCommit", -1, "tableBatch", -1, "uncommitted", nil, "lastRun", nil, "lastProgress", nil)
	k.fill(t, "orders", 5, 0, 1)
	s := p.run(t).last("summary")
	k.fill(t, "orders", 3, 1)
	o := status().has("status", "query", tableOfTests, "queryId", s["queryId"], "lastPlan", 0, "lastCommit", 0, "tableBatch", 0, "lag", 3, "uncommitted", nil,
		"lastRun.id", s["runId"], "lastRun.state", "done", "lastRun.exitCode", 0, "lastProgress.batchId", 0, "lastProgress.numInputRows", 10, "lease.released", true)
	var got []string
	for _, row := range o.last("status")["partitions"].([]any) {
		got = append(got, fmt.Sprintf("%v-%v %v %v %v", at(row, "topic"), at(row, "partition"), at(row, "next"), at(row, "end"), at(row, "lag")))
	}
	if want := []string{"orders-0 5 5 0", "orders-1 5 8 3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestVersionNamesTheLibraries(t *testing.T) {
	t.Parallel()
	o := call(t, nil, "sluice", "version", "--output", "json").wants(0)
	v := o.last("version")
	if v["version"] == "" || !strings.HasPrefix(fmt.Sprint(v["go"]), "go1.") || at(v, "os") == nil || at(v, "arch") == nil {
		t.Errorf("got %v", v)
	}
	if text := call(t, nil, "sluice", "version").wants(0).stdout; !strings.Contains(text, fmt.Sprint(v["go"])) {
		t.Errorf("got %q", text)
	}
}

// What people read: a line for each batch, how it ended, and a line to paste; nothing if asked for nothing.
func TestTextForPeople(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	text := func(verb string, more ...string) *outcome {
		t.Helper()
		return call(t, nil, slices.Concat([]string{"sluice", verb}, p.flags, more)...).wants(0)
	}
	o := text("run", "--max-offsets-per-trigger", "5")
	stamped := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ sales\.orders`)
	if n := len(stamped.FindAllString(o.stdout, -1)); n < 2 {
		t.Errorf("got %d lines with a time in\n%s\nwant one for each batch", n, o.stdout)
	}
	if path := pasted(t, o.stdout); path != strings.TrimPrefix(p.table(t).MetadataLocation(), "file://") {
		t.Errorf("the line to paste reads %s, the table is at %s", path, p.table(t).MetadataLocation())
	}
	k.fill(t, "orders", 1, 0)
	if o = text("run"); strings.Contains(o.stdout, "iceberg_scan") || !strings.Contains(o.stdout, "1 (number 2)") {
		t.Errorf("got\n%s\nwant a summary without the line, which is for a query's first run and for terminals", o.stdout)
	}
	if o = text("run", "--quiet"); o.stdout+o.stderr != "" {
		t.Errorf("a quiet run with nothing to say says %q", o.stdout+o.stderr)
	}
	for verb, want := range map[string]string{"plan": "sales.orders", "status": "caught up", "verify": "every row is there once", "validate": "1 topic, 2 partitions; a new query would read 11 offsets"} {
		if o = text(verb); !strings.Contains(o.stdout, want) {
			t.Errorf("%s: got\n%s\nwant it to say %q", verb, o.stdout, want)
		}
	}
	if o = call(t, nil, "sluice", "run", "--help").wants(0); !strings.Contains(o.stdout, "--max-offsets-per-trigger") || !strings.Contains(o.stdout, "Exit codes:") || !strings.Contains(o.stdout, "--help, -h") {
		t.Errorf("got help\n%s", o.stdout)
	}
}

func TestValidateSaysThatThereIsNoBatchYet(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, embedded(t, "orders"))
	p.run(t)
	if o := call(t, nil, append([]string{"sluice", "validate"}, p.flags...)...).wants(0); !strings.Contains(o.stdout, "has no batch yet") {
		t.Errorf("got\n%s", o.stdout)
	}
}

// pasted is the path in the line for DuckDB.
func pasted(t testing.TB, text string) string {
	t.Helper()
	m := regexp.MustCompile(`iceberg_scan\('([^']*)'\)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no line for DuckDB in\n%s", text)
	}
	return m[1]
}
