package cmd_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"sluice/lakesink/gluetest"
)

// The life of a job whose catalog is in Glue, as far as a stand-in can tell: each verb, and a commit whose answer is lost.
func TestEachVerbWorksOnACatalogInGlue(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	server := gluetest.New(t)
	p := newPipeline(t, k).with("--catalog-type", "glue", "--checkpoint", t.TempDir())
	p.environ = []string{fmt.Sprintf(`SLUICE_SINK_ICEBERG_CATALOG_PROPERTIES={"glue.endpoint":"%s","glue.region":"eu-west-1","glue.access-key-id":"AK","glue.secret-access-key":"SEKRET"}`, server.URL)}
	k.fill(t, "orders", 10, 0, 1)
	if got, want := p.checks(t, 0), all(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if server.Table("sales", "orders") != nil {
		t.Error("who only looks has made a table")
	}
	p.run(t).has("summary", "records", 20)
	k.fill(t, "orders", 10, 0, 1)
	server.Silence(true)
	p.do(t, "run").fails(15, "may or may not be in table")
	server.Break(func(string, int) *gluetest.Fault { return nil })
	p.run(t).has("summary", "caughtUp", true)
	p.proves(t, "proved", 40)
	p.do(t, "status").wants(0).has("status", "lastCommit", 1)
	if o := p.do(t, "peek").wants(0); !strings.Contains(o.stdout, `"orders"`) {
		t.Errorf("got %s", o.stdout)
	}
	server.Break(func(string, int) *gluetest.Fault { return &gluetest.Fault{Code: "AccessDeniedException"} })
	if o := p.do(t, "run").wants(10); !strings.Contains(o.stdout+o.stderr, "glue:UpdateTable") || strings.Contains(o.stdout+o.stderr, "SEKRET") {
		t.Errorf("got %s%s", o.stdout, o.stderr)
	}
}
