package cmd_test

import (
	"maps"
	"strings"
	"testing"

	"sluice/lakesink/hivetest"
)

// The life of a job whose catalog is a Hive metastore, as far as a stand-in can tell: each verb, and a commit whose answer is lost.
func TestEachVerbWorksOnACatalogInAHiveMetastore(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	server := hivetest.New(t)
	p := newPipeline(t, k).with("--catalog-type", "hive", "--catalog-uri", server.URI)
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
	server.Break(func(string, int) *hivetest.Fault { return nil })
	server.Unlock(true)
	p.run(t).has("summary", "caughtUp", true)
	p.proves(t, "proved", 40)
	p.do(t, "status").wants(0).has("status", "lastCommit", 1)
	if o := p.do(t, "peek").wants(0); !strings.Contains(o.stdout, `"orders"`) {
		t.Errorf("got %s", o.stdout)
	}
	p.do(t, "maintain").wants(0)
	p.proves(t, "proved", 40)
}
