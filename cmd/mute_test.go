package cmd_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// inBucket is where a table that was moved there says its metadata is.
const inBucket = "s3://lake/warehouse/sales.db/orders/metadata/v1.metadata.json"

// tableInBucket makes the catalog say that the table is in a bucket.
func (p *pipeline) tableInBucket(t testing.TB) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "catalog.db"))
	if err == nil {
		_, err = db.Exec("UPDATE iceberg_tables SET metadata_location = ?", inBucket)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// silence is a command line that somebody never answers.
type silence struct {
	args []string
	// code is the exit code, and parts are what the error must name.
	code  int
	parts []string
	// make sets it up, and returns the pipeline that meets it.
	make func(testing.TB, *pipeline) *pipeline
}

func (s silence) judge(t *testing.T, name string, o *outcome) {
	t.Helper()
	said, failures := o.stderr, strings.Count(o.stderr, "sluice: ")
	if s.args[0] == "validate" { // its results say what is wrong, once
		said, failures = o.stdout, strings.Count(o.stdout, `"status":"failed"`)
	}
	want := 1
	if s.code == 0 {
		want = 0
	}
	if o.code != s.code || failures != want || strings.Contains(o.stderr+o.stdout, "hunter") {
		t.Errorf("%s: got %d, want %d and %d errors:\n%.300s", name, o.code, s.code, want, said)
	}
	for _, part := range s.parts {
		if !strings.Contains(said, part) {
			t.Errorf("%s: got\n%.300s\nwant it to name %q", name, said, part)
		}
	}
}

// Whatever accepts connections and never answers, each verb ends by itself, with one error that names what it waited for
// and with what to do. What a verb does not ask does not concern it. Each is a process of its own; they only wait.
func TestEveryVerbTellsInTimeWhoNeverAnswers(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	mute := silent(t)
	noBroker := func(t testing.TB, p *pipeline) *pipeline { return p.with("--bootstrap-servers", mute) }
	noTable := func(t testing.TB, p *pipeline) *pipeline {
		p.tableInBucket(t)
		p = p.with("--checkpoint", p.checkpoint())
		p.environ = elsewhere(mute)
		return p
	}
	var all sync.WaitGroup
	for name, tc := range map[string]silence{
		"plan without a broker":            {[]string{"plan"}, 1, []string{mute, "bootstrap.servers"}, noBroker},
		"validate without a broker":        {[]string{"validate"}, 1, []string{mute, "bootstrap.servers"}, noBroker},
		"verify --source without a broker": {[]string{"verify", "--source"}, 1, []string{mute, "bootstrap.servers"}, noBroker},
		"verify without a broker":          {[]string{"verify"}, 0, nil, noBroker},
		"peek --topic without a broker":    {[]string{"peek", "--topic"}, 1, []string{mute, "bootstrap.servers"}, noBroker},
		"peek without a broker":            {[]string{"peek"}, 0, nil, noBroker},
		"status without a broker":          {[]string{"status"}, 0, nil, noBroker},
		"plan without a checkpoint":        {[]string{"plan"}, 1, []string{"s3://lake/checkpoints/orders"}, checkpointAt(mute)},
		"validate without a checkpoint":    {[]string{"validate"}, 1, []string{"s3://lake/checkpoints/orders"}, checkpointAt(mute)},
		"verify without a checkpoint":      {[]string{"verify"}, 1, []string{"s3://lake/checkpoints/orders"}, checkpointAt(mute)},
		"status without a checkpoint":      {[]string{"status"}, 1, []string{"s3://lake/checkpoints/orders"}, checkpointAt(mute)},
		"peek without a checkpoint":        {[]string{"peek"}, 0, nil, checkpointAt(mute)},
		"plan without the table":           {[]string{"plan"}, 1, []string{"sales.orders"}, noTable},
		"validate without the table":       {[]string{"validate"}, 1, []string{"sales.orders"}, noTable},
		"verify without the table":         {[]string{"verify"}, 1, []string{"sales.orders"}, noTable},
		"status without the table":         {[]string{"status"}, 1, []string{"sales.orders"}, noTable},
		"peek without the table":           {[]string{"peek"}, 1, []string{"sales.orders"}, noTable},
		"run without the table":            {[]string{"run"}, 1, []string{"sales.orders"}, noTable},
	} {
		p := newPipeline(t, k)
		p.run(t)
		p = tc.make(t, p)
		r := prepared(t, child(p.args(tc.args[0], tc.args[1:]...)...))
		r.cmd.Env = append(r.cmd.Env, p.environ...)
		all.Go(func() {
			r.start()
			o := r.wait()
			tc.judge(t, name, o)
		})
	}
	all.Wait()
}
