//go:build integration && linux

package cmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// inREST keeps the table in a REST catalog and the checkpoint in its bucket.
func (p *pipeline) inREST(c rig.RESTCatalog) *pipeline {
	return p.without("--warehouse").with("--catalog-type", "rest", "--catalog-uri", c.URI, "--table", c.Table("orders"), "--checkpoint", c.Bucket.Folder+"/state")
}

// The whole life of a table in a real REST catalog, read back through it by foreign engines.
func TestATableInARESTCatalog(t *testing.T) {
	readTable, lake := rig.Python(t), rig.REST(t)
	k, topic := real(t, 3)
	p := reading(t, k, topic).inREST(lake)
	k.varied(t, topic, 3, 100)
	p.do(t, "validate").wants(0).has("validate", "ok", true)
	p.do(t, "plan", "--max-offsets-per-trigger", "120").wants(0).has("plan", "action", "start", "records", 120, "batches", 3)
	p.run(t, "--max-offsets-per-trigger", "120").has("summary", "batches", 3, "records", 300, "lag", 0)
	k.varied(t, topic, 3, 10)
	p.run(t).has("summary", "records", 30, "firstBatch", 3)
	p.do(t, "status").wants(0).has("status", "lastCommit", 3, "tableBatch", 3, "lag", 0)
	p.exact(t, 330)
	if seen := p.do(t, "peek").wants(0).stdout; !strings.Contains(seen, topic) {
		t.Errorf("got %s, want rows", seen)
	}
	filters := map[string]func(*kgo.Record) bool{
		"offset >= 20 and offset < 31": func(r *kgo.Record) bool { return r.Offset >= 20 && r.Offset < 31 },
		"key is null":                  func(r *kgo.Record) bool { return r.Key == nil },
	}
	args := []string{"--rest", lake.URI, "--table", lake.Table("orders")}
	for filter := range filters {
		args = append(args, "--filter", filter)
	}
	sees(t, readTable(args...), k.of(func(*kgo.Record) bool { return true }), filters)
}

// Partitions, sorted files, a table of dead letters in the same catalog, and columns that are added.
func TestADecodedTableInARESTCatalogGrowsAndKeepsItsDeadLetters(t *testing.T) {
	lake := rig.REST(t)
	k, topic := real(t, 2)
	p := reading(t, k, topic).inREST(lake).into(lake.Table("dead")).with("--value-format", "json", "--value-schema", "n BIGINT NOT NULL, region STRING",
		"--set", "value.onMalformed=deadLetter", "--set", "value.onUnknownField=addColumn", "--set", `sink.iceberg.partitionBy=["region","bucket(4, n)"]`, "--set", "sink.iceberg.sortBy=[n DESC]")
	produce := func(from, until int, value func(int) string) {
		var records []*kgo.Record
		for i := from; i < until; i++ {
			records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte(value(i))})
		}
		k.produce(t, records...)
	}
	produce(0, 40, func(i int) string { return fmt.Sprintf(`{"n":%d,"region":"r%d"}`, i, i%3) })
	p.run(t).has("summary", "rows", 40)
	produce(40, 60, func(i int) string {
		if i%5 == 0 {
			return "no JSON"
		}
		return fmt.Sprintf(`{"n":%d,"region":"r%d","note":"n%d"}`, i, i%3, i)
	})
	p.run(t).has("summary", "rows", 16, "deadLetters", 4)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 56)
	if got := p.letter(t, "ls").wants(0).last("deadletters")["deadLetters"]; got != 4.0 {
		t.Errorf("got %v dead letters listed, want 4", got)
	}
	if seen := p.do(t, "peek").wants(0).stdout; !strings.Contains(seen, `"note"`) {
		t.Errorf("got %s, want the new column", seen)
	}
}

// The program is killed when it commits, before the catalog has heard of it and after it was applied: between the commit and
// its marker. The next run goes on.
func TestARunKilledAtItsCommitToARESTCatalogLosesAndDoublesNothing(t *testing.T) {
	lake := rig.REST(t)
	target, err := url.Parse(lake.URI)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var kill atomic.Pointer[func()]
	var after atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shoot := kill.Load()
		if shoot == nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/tables/orders") {
			pass.ServeHTTP(w, r)
			return
		}
		if after.Load() {
			pass.ServeHTTP(httptest.NewRecorder(), r)
		}
		(*shoot)()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	lake.URI = s.URL
	k, topic := real(t, 2)
	p := reading(t, k, topic).inREST(lake).brief()
	rows := 0
	for round, applied := range []bool{true, false} {
		k.fill(t, topic, 10, 0, 1)
		rows += 20
		r := prepared(t, program(t, p.args("run")...))
		shoot := func() { _ = r.cmd.Process.Kill() }
		after.Store(applied)
		kill.Store(&shoot)
		r.start()
		if o := r.wait(); o.code != -1 {
			t.Fatalf("round %d: got exit code %d, want the run killed\n%s%s", round, o.code, o.stdout, o.stderr)
		}
		kill.Store(nil)
		k.fill(t, topic, 5, 0)
		rows += 5
		p.patient().run(t).has("summary", "caughtUp", true)
		p.exact(t, rows)
	}
}

func TestTenProcessesAtOnceOnARESTCatalog(t *testing.T) {
	lake := rig.REST(t)
	k, topic := real(t, 2)
	p := reading(t, k, topic).inREST(lake)
	for round := range 2 {
		k.fill(t, topic, 50, 0, 1)
		together(t, func() *outcome {
			r := prepared(t, program(t, p.args("run", "--max-offsets-per-trigger", "25", "--wait", "1s")...))
			r.start()
			return r.wait()
		})
		p.run(t)
		p.exact(t, 100*(round+1))
	}
}
