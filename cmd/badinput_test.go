package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was typed wrongly costs nothing: one error of exit code 64 that names it, and nobody was asked anything.
func TestWhatIsTypedWronglyIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"}) // asking would take seconds and end differently
	file := func(name, content string) []string { return []string{"--job", write(t, dir, name, content)} }
	for name, tc := range map[string]struct {
		args  []string
		parts []string
	}{
		"flag":                {[]string{"run", "--subscibe", "orders"}, []string{"subscibe", "sluice run --help"}},
		"command":             {[]string{"runn"}, []string{"runn", "run, plan, status"}},
		"word":                {p.args("run", "orders")[1:], []string{`"orders"`, "is a flag missing before it?"}},
		"job without flag":    {[]string{"plan", file("orders.yaml", "name: orders\n")[1]}, []string{"did you mean --job " + filepath.Join(dir, "orders.yaml") + "?"}},
		"output":              {[]string{"run", "--output", "yaml"}, []string{"yaml", "text or json"}},
		"log format":          {p.args("run", "--log-format", "xml")[1:], []string{"xml", "text or json"}},
		"choice":              {p.args("run", "--lost-rows", "maybe")[1:], []string{"maybe", "reread or accept"}},
		"contradiction":       {p.args("run", "--adopt", "x", "--new-query")[1:], []string{"--adopt", "--new-query"}},
		"key":                 {p.args("run", "--set", "source.maxOffsetPerTrigger=1")[1:], []string{"source.maxOffsetPerTrigger", "source.maxOffsetsPerTrigger"}},
		"key without a value": {p.args("run", "--set", "source.maxOffsetsPerTrigger")[1:], []string{"has no ="}},
		"size":                {p.args("run", "--memory", "1.5GiB")[1:], []string{"--memory", "1.5GiB", "256MiB"}},
		"size without a unit": {p.args("run", "--memory", "256")[1:], []string{"--memory", `"256" has no unit`, "256MiB"}},
		"unit":                {p.args("run", "--target-file-size", "10 parsecs")[1:], []string{"parsecs", "MiB"}},
		"duration":            {p.args("run", "--grace", "30")[1:], []string{"--grace", "30", "30s"}},
		"number":              {p.args("run", "--max-batches", "-1")[1:], []string{"--max-batches", "-1"}},
		"time":                {p.args("run", "--starting-timestamp", "yesterday")[1:], []string{"yesterday", "2026-11-01T00:00:00Z"}},
		"topic":               {p.with("--subscribe", "bad topic!").args("run")[1:], []string{"bad topic!"}},
		"topic of dots":       {p.with("--subscribe", "..").args("run")[1:], []string{".."}},
		"pattern":             {p.without("--subscribe").with("--subscribe-pattern", "orders-(").args("run")[1:], []string{"orders-(", "regular expression"}},
		"no selection":        {p.without("--subscribe").args("run")[1:], []string{"--subscribe-pattern"}},
		"two selections":      {p.with("--assign", `{"orders":[0]}`).args("run")[1:], []string{"source.subscribe", "source.assign"}},
		"servers":             {p.with("--bootstrap-servers", "broker:port").args("run")[1:], []string{"broker:port"}},
		"servers by URL":      {p.with("--bootstrap-servers", "http://broker:9092").args("run")[1:], []string{"http://broker:9092"}},
		"property":            {p.args("run", "--set", "source.kafka.fetch.max.byte=1")[1:], []string{"fetch.max.byte", "fetch.max.bytes"}},
		"checkpoint":          {p.with("--checkpoint", "ftp://host/x").args("run")[1:], []string{"ftp://host/x", "s3"}},
		"bucket":              {p.with("--checkpoint", "s3://").args("run")[1:], []string{"s3://"}},
		"a bucket alone":      {p.with("--checkpoint", "s3://lake").args("run")[1:], []string{"s3://lake", "no folder"}},
		"warehouse":           {p.with("--warehouse", "http://lake").args("run")[1:], []string{"http://lake"}},
		"credentials in URLs": {p.with("--warehouse", "s3://me:hunter1@lake/x", "--checkpoint", "/x").args("run")[1:], []string{"credentials"}},
		"catalog":             {p.args("run", "--catalog-type", "rst")[1:], []string{"rst", "sql or hadoop"}},
		"table":               {p.with("--table", "orders").args("run")[1:], []string{"orders", "namespace"}},
		"nothing":             {[]string{"run"}, []string{"source.kafka.bootstrap.servers", "--subscribe", "sink.iceberg.table", "sink.iceberg.catalog.warehouse"}},
		"no such file":        {[]string{"run", "--job", filepath.Join(dir, "none.yaml")}, []string{"none.yaml"}},
		"a folder":            {[]string{"run", "--job", dir}, []string{dir}},
		"a tab":               {append([]string{"run"}, file("t.yaml", "name: orders\nsource:\n\tsubscribe: orders\n")...), []string{"t.yaml:3: ", "a tab: YAML indents with blanks"}},
		"a bracket":           {append([]string{"run"}, file("u.yaml", "name: orders\nsource:\n  subscribe: [orders\nsink: {}\n")...), []string{"u.yaml:3: ", "in the [ that begins in this line"}},
		"no YAML":             {append([]string{"run"}, file("a.yaml", "name: [orders\n")...), []string{"a.yaml:"}},
		"key in a file":       {append([]string{"run"}, file("b.yaml", "name: orders\nsource:\n  maxOfsetsPerTrigger: 5\n")...), []string{"b.yaml:3:3", "maxOfsetsPerTrigger", "maxOffsetsPerTrigger"}},
		"variable":            {append([]string{"run"}, file("c.yaml", "name: ${NO_SUCH_VARIABLE}\n")...), []string{"c.yaml:1:7", "NO_SUCH_VARIABLE"}},
		"unit in a file":      {append([]string{"run"}, file("d.yaml", "memory: 12 potatoes\n")...), []string{"d.yaml:1:9", "potatoes"}},
		"several at once":     {p.args("run", "--memory", "x", "--grace", "y", "--set", "retain=z")[1:], []string{"memory", "run.grace", "retain"}},
	} {
		o := call(t, nil, append([]string{"sluice"}, tc.args...)...).wants(64)
		said := o.stdout + o.stderr
		for _, part := range tc.parts {
			if !strings.Contains(said, part) {
				t.Errorf("%s: got\n%s\nwant it to name %q", name, said, part)
			}
		}
		if n := strings.Count(o.stderr, "sluice: "); n != 1 || strings.Contains(said, "hunter") || strings.Contains(said, "goroutine ") {
			t.Errorf("%s: got %d errors, want one without secrets and stacks:\n%s", name, n, said)
		}
	}
	for _, verb := range []string{"plan", "status", "verify", "validate", "peek"} {
		p.do(t, verb, "--no-such-flag").wants(64)
		p.do(t, verb, "--set", "no.such.key=1").wants(64)
	}
	p.leftNothing(t, "it")
}

func TestAVariableOfNoKeyIsNamed(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"})
	for variable, meant := range map[string]string{"SLUICE_SOURCE_SUBSCIBE": "SLUICE_SOURCE_SUBSCRIBE", "SLUICE_SUBSCRIBE": "SLUICE_SOURCE_SUBSCRIBE",
		"SLUICE_LEASE": "SLUICE_RUN_LEASE", "SLUICE_BROKERS": "SLUICE_SOURCE_KAFKA_BOOTSTRAP_SERVERS"} {
		p.environ = []string{variable + "=orders"}
		p.do(t, "run").fails(64, variable+": is the variable of no key; did you mean "+meant+"?")
	}
}

// A job file that this user may not read.
func TestAJobFileWithoutPermissionIsNamed(t *testing.T) {
	t.Parallel()
	file := write(t, open(t), "orders.yaml", "name: orders\n")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	o := nobody(t, "sluice", "run", "--output", "json", "--job", file).wait()
	o.fails(64, "orders.yaml", "permission denied")
}

// A result that cannot be written is an error, and what is in the table stays right.
func TestAFullDiskForTheResults(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	p := newPipeline(t, k)
	for _, verb := range []string{"run", "plan", "status", "verify", "validate", "version"} {
		args := p.args(verb)
		if verb == "version" {
			args = []string{"sluice", "version"}
		}
		r := prepared(t, child(args...))
		r.cmd.Stdout = full
		r.start()
		if o := r.wait(); o.code != 1 || !strings.Contains(o.stderr, "no space left on device") || strings.Count(o.stderr, "sluice: ") != 1 {
			t.Errorf("%s: got %d, %s", verb, o.code, o.stderr)
		}
	}
	p.run(t).has("summary", "batches", 0)
	p.wantAll(t, "orders")
}
