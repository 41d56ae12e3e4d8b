package cmd_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// checks validates, and returns the status of each check.
func (p *pipeline) checks(t *testing.T, code int) map[string]string {
	t.Helper()
	o := p.do(t, "validate").wants(code)
	o.has("validate", "ok", code == 0)
	found := map[string]string{}
	for _, c := range o.last("validate")["checks"].([]any) {
		found[fmt.Sprint(at(c, "name"))] = fmt.Sprint(at(c, "status"))
		if at(c, "detail") == "" || (at(c, "status") == "failed") != (at(c, "hint") != nil) {
			t.Errorf("%v does not say what is wrong, or what to do", c)
		}
	}
	return found
}

// all is the outcome where nothing is wrong, but for pairs of a check and its status.
func all(but ...string) map[string]string {
	found := map[string]string{}
	for _, name := range []string{"job", "kafka", "checkpoint", "catalog", "table", "warehouse", "query"} {
		found[name] = "ok"
	}
	for i := 0; i < len(but); i += 2 {
		found[but[i]] = but[i+1]
	}
	return found
}

// everything lists what is below a folder, folders too.
func everything(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func TestValidateChecksEveryPartAndKeepsNothing(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	want := func(p *pipeline, code int, want map[string]string) {
		t.Helper()
		if got := p.checks(t, code); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	before := everything(t, filepath.Dir(p.dir))
	want(p, 0, all())
	if after := everything(t, filepath.Dir(p.dir)); !slices.Equal(after, before) {
		t.Errorf("got %v, had %v", after, before)
	}
	p.run(t)
	p.untouched(t, "validate", func() { want(p, 0, all()) })
	want(p.with("--subscribe", "refunds"), 10, all("kafka", "failed", "query", "skipped"))
	blocked := write(t, t.TempDir(), "file", "")
	want(p.with("--checkpoint", blocked), 10, all("checkpoint", "failed", "query", "skipped"))
	want(p.with("--warehouse", blocked, "--checkpoint", p.checkpoint()), 10,
		all("catalog", "failed", "table", "skipped", "warehouse", "skipped", "query", "skipped"))
	want(p.with("--warehouse", blocked, "--checkpoint", filepath.Join(t.TempDir(), "state"), "--catalog-uri", filepath.Join(t.TempDir(), "c.db")), 10, all("warehouse", "failed"))
}

// What a run would refuse is not ready to run.
func TestValidateSaysWhatARunWouldRefuse(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders", "refunds")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	write(t, p.checkpoint(), "metadata", fmt.Sprintf(`{"id":"%s"}`, uuid.NewString()))
	ran := p.do(t, "run")
	if ran.code != 13 {
		t.Fatalf("got %d from a run with the identity of another query, want 13", ran.code)
	}
	if got, want := p.checks(t, 13), all("query", "failed"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A table that does not take the rows lies somewhere all the same, and is not altered.
func TestValidateLeavesATableThatDoesNotFitAlone(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	with := p.with("--set", "source.includeHeaders=true", "--checkpoint", filepath.Join(t.TempDir(), "state"))
	p.untouched(t, "validate", func() {
		if got, want := with.checks(t, 13), all("table", "failed", "query", "skipped"); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A permission that a run would miss is missed by validate.
func TestValidateMissesThePermissionThatARunWouldMiss(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	dir := open(t)
	p := newPipeline(t, k)
	p.dir = filepath.Join(dir, "lake")
	p = p.with("--warehouse", p.dir, "--checkpoint", filepath.Join(dir, "state"), "--catalog-uri", filepath.Join(dir, "catalog", "c.db"))
	for folder, mode := range map[string]fs.FileMode{"lake": 0o555, "state": 0o777, "catalog": 0o777} {
		path := filepath.Join(dir, folder)
		if err := errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	o := nobody(t, p.args("validate")...).wait()
	if o.code != 10 || !strings.Contains(o.stdout, `"name":"warehouse","status":"failed"`) || !strings.Contains(o.stdout, "permission denied") {
		t.Errorf("got %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// What a run would refuse to make, validate and plan refuse too.
func TestWhatCannotBeMadeIsNotReady(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	p := newPipeline(t, k)
	for _, layout := range []string{`sink.iceberg.partitionBy=["days(created)"]`, `sink.iceberg.sortBy=["nothing"]`} {
		wrong := p.with("--set", layout)
		if got, want := wrong.checks(t, 10), all("table", "failed", "query", "skipped"); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", layout, got, want)
		}
		wrong.do(t, "plan").wants(10)
	}
	f := filed(t, k)
	spark := filepath.Join(f.dir, "_spark_metadata")
	if err := os.MkdirAll(spark, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, spark, "0", "v1\n")
	if got, want := f.checks(t, 13), all("table", "failed", "query", "skipped"); !maps.Equal(got, want) {
		t.Errorf("Spark's folder: got %v, want %v", got, want)
	}
	f.do(t, "plan").wants(13)
	f.do(t, "run").wants(13)
}

// A folder of files has no catalog to look for.
func TestAFolderThatIsNotThereIsCalledOne(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	f := filed(t, k)
	for _, verb := range []string{"verify", "peek"} {
		if o := f.do(t, verb).wants(10); !strings.Contains(o.stderr, "is not a folder that sluice has written to") || strings.Contains(o.stderr, "catalog") {
			t.Errorf("%s said\n%s", verb, o.stderr)
		}
	}
}
