//go:build integration && linux

package cmd_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// inPostgres keeps the catalog in a database; warehouse and checkpoint stay local.
func (p *pipeline) inPostgres(uri string) *pipeline {
	other := *p
	other.environ = slices.DeleteFunc(slices.Clone(p.environ), func(v string) bool { return strings.HasPrefix(v, catalogVariable) })
	other.environ = append(other.environ, catalogVariable+uri)
	return &other
}

// The life of a job whose catalog is in PostgreSQL: each verb, dead letters, a table that grows, and expiry.
func TestEachVerbWorksOnACatalogInPostgreSQL(t *testing.T) {
	k := embedded(t, "orders")
	db := rig.Postgres(t)
	p := lettered(t, k, "a INT").inPostgres(db.URL).with("--set", "value.onUnknownField=addColumn", "--set", "sink.iceberg.expireEvery=2", "--set", "sink.iceberg.keepSnapshots=2")
	k.say(t, `{"a":1}`, `{`)
	if got, want := p.checks(t, 0), all("deadLetters", "ok"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.do(t, "plan").wants(0).has("plan", "batch", 0)
	p.do(t, "status").wants(0)
	p.do(t, "verify").wants(10)
	var tables int
	if err := db.Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'iceberg%'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("who only looks has made %d tables, %v", tables, err)
	}
	p.run(t).has("summary", "rows", 1, "deadLetters", 1)
	for i := range 6 {
		k.say(t, fmt.Sprintf(`{"a":%d,"new%d":"x"}`, i, i))
		p.run(t).has("summary", "rows", 1)
	}
	for _, verb := range []string{"validate", "plan", "status"} {
		if o := p.do(t, verb).wants(0); strings.Contains(o.stdout+o.stderr, "rig-secret") {
			t.Errorf("%s tells the password:\n%s%s", verb, o.stdout, o.stderr)
		}
	}
	if o := p.do(t, "peek").wants(0); !strings.Contains(o.stdout, "new5") {
		t.Errorf("got %s", o.stdout)
	}
	p.proves(t, "proved", 7)
	if got := len(p.table(t).Metadata().Snapshots()); got > 4 {
		t.Errorf("the table has %d snapshots, want no more than are kept and made since", got)
	}
	if text := p.do(t, "run", "--print-config").stdout; !strings.Contains(text, "(redacted)@") || strings.Contains(text, "rig-secret") {
		t.Errorf("the password is printed:\n%s", text)
	}
	for _, name := range everything(t, p.dir) {
		if content, err := os.ReadFile(name); err == nil && bytes.Contains(content, []byte("rig-secret")) {
			t.Errorf("the password is in %s", name)
		}
	}
}

// killedAt is a run that is killed at the n-th commit in the database, before it or after it and without its answer. It
// reports whether there were so many.
func (p *pipeline) killedAt(t *testing.T, db rig.Database, n int, cut rig.Cut) bool {
	t.Helper()
	w := rig.Cable(t, db.Address)
	p = p.inPostgres(w.Through(t, db.URL))
	r := prepared(t, child(p.args("run")...))
	r.cmd.Env = append(r.cmd.Env, p.environ...)
	seen, writing, sent := 0, false, false
	w.Rule(func(fromClient bool, b []byte) rig.Cut {
		writing = writing || fromClient && bytes.Contains(b, []byte(`"iceberg_tables"`)) && (bytes.Contains(b, []byte("INSERT INTO")) || bytes.Contains(b, []byte("UPDATE")))
		ends := writing && fromClient && bytes.Contains(b, []byte("commit\x00"))
		if ends {
			writing = false
			seen++
		}
		if seen == n && (ends && cut == rig.Before || sent && !fromClient) {
			_ = r.cmd.Process.Kill() // it may have ended just now
			return rig.Before
		}
		sent = sent || ends && seen == n
		return rig.Pass
	})
	r.start()
	return r.wait().code == -1
}

// Each commit is that of a table's creation, of dead letters, of rows, of a schema or of an expiry. Every other run is killed
// before it, the others after it.
func TestARunKilledAtEachCommitInPostgreSQLLosesAndDoublesNothing(t *testing.T) {
	for n, killed := 1, true; killed; n++ {
		k := embedded(t, "orders")
		db := rig.Postgres(t)
		p := lettered(t, k, "a INT").brief().with("--set", "value.onUnknownField=addColumn", "--max-offsets-per-trigger", "2", "--set", "sink.iceberg.expireEvery=2", "--set", "sink.iceberg.keepSnapshots=1")
		k.say(t, `{"a":1}`, `{`, `{"a":2,"b":3}`, `{"a":4}`)
		killed = p.killedAt(t, db, n, []rig.Cut{rig.Before, rig.After}[n%2])
		k.say(t, `{"a":5}`)
		p = p.inPostgres(db.URL)
		p.patient().run(t).has("summary", "caughtUp", true)
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 4, "duplicates", 0, "missing", 0, "unexpected", 0)
		if got := p.letters(t, "kafka_offset"); len(got) != 1 {
			t.Errorf("got dead letters %v, want one", got)
		}
		if t.Failed() || !killed && n < 7 {
			t.Fatalf("at commit %d, killed %v", n, killed)
		}
	}
}

func TestTenProcessesAtOnceOnPostgreSQL(t *testing.T) {
	k := embedded(t, "orders")
	p := newPipeline(t, k).inPostgres(rig.Postgres(t).URL)
	for round := range 2 {
		k.fill(t, "orders", 15, 0, 1)
		together(t, func() *outcome {
			r := prepared(t, child(p.args("run", "--max-offsets-per-trigger", "15", "--wait", "500ms")...))
			r.cmd.Env = append(r.cmd.Env, p.environ...)
			r.start()
			return r.wait()
		})
		p.run(t)
		p.exact(t, 30*(round+1))
	}
	p.wantAll(t, "orders")
}

// A server that is gone in the middle of a run's commit: the run says that it does not know, and the next one finds out.
func TestARunWhosePostgreSQLGoesAwayIsUnknown(t *testing.T) {
	k := embedded(t, "orders")
	db := rig.Postgres(t)
	p := newPipeline(t, k).brief()
	k.fill(t, "orders", 20, 0, 1)
	p.inPostgres(db.URL).run(t)
	k.fill(t, "orders", 20, 0, 1)
	w := rig.Cable(t, db.Address)
	gone := false
	w.Rule(func(fromClient bool, b []byte) rig.Cut {
		gone = gone || fromClient && bytes.Contains(b, []byte(`UPDATE "iceberg_tables"`))
		if gone {
			return rig.Before
		}
		return rig.Pass
	})
	p.inPostgres(w.Through(t, db.URL)).do(t, "run").fails(15, "may or may not be in table")
	p.inPostgres(db.URL).patient().run(t).has("summary", "records", 40)
	p.inPostgres(db.URL).exact(t, 80)
}

// One catalog for several programs: PyIceberg reads and writes the table of sluice's, under the same name of the catalog.
func TestPyIcebergSharesACatalogInPostgreSQL(t *testing.T) {
	read := rig.Python(t)
	k := embedded(t, "orders")
	db := rig.Postgres(t)
	p := newPipeline(t, k).inPostgres(db.URL)
	theirs := strings.Replace(db.URL, "postgresql://", "postgresql+psycopg2://", 1)
	k.fill(t, "orders", 10, 0, 1)
	p.run(t)
	var rows []rig.Row
	for _, r := range k.of(func(*kgo.Record) bool { return true }) {
		rows = append(rows, rig.RowOf(r))
	}
	got := read("--catalog-db", theirs, "--table", tableOfTests, "--filter", "offset >= 5")
	for name, engine := range got.Engines {
		if engine.Count != 20 || engine.Distinct != 20 || engine.SHA256 != rig.Digest(rows) || engine.Filters[0].Filtered != 10 || engine.Filters[0].Full != 10 {
			t.Errorf("%s: got %+v", name, engine)
		}
	}
	if left := rig.Expire(t, theirs, tableOfTests, "--append", "--keep"); len(left) != 2 {
		t.Errorf("got snapshots %v", left)
	}
	k.fill(t, "orders", 5, 0, 1)
	p.run(t).has("summary", "records", 10)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0)
	if got := len(scan(t, p.table(t))); got != 31 {
		t.Errorf("got %d rows, want 30 and PyIceberg's", got)
	}
}

// Tables that PyIceberg made there are found and written to.
func TestTablesThatPyIcebergMadeInPostgreSQLAreWritten(t *testing.T) {
	rig.Python(t)
	db := rig.Postgres(t)
	s := &foreignStage{kafka: embedded(t, "orders"), dir: t.TempDir(), want: map[string]map[string]*string{}, environ: []string{catalogVariable + db.URL}}
	tables := slices.DeleteFunc(slices.Clone(foreignTables), func(f foreignTable) bool { return f.name != "odd" && f.name != "grown" })
	rig.MakeForeign(t, strings.Replace(db.URL, "postgresql://", "postgresql+psycopg2://", 1), s.dir)
	s.produce(t, rand.New(rand.NewPCG(5, 6)), 0, 16)
	s.run(t, tables, false, 16)
	p := newPipeline(t, s.kafka).inPostgres(db.URL)
	for _, f := range tables {
		name := f.name
		tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier("foreign."+name))
		if err != nil {
			t.Fatal(err)
		}
		if rows := scan(t, tbl); len(rows) != 16 {
			t.Errorf("%s: got %d rows, want 16", name, len(rows))
		}
	}
}
