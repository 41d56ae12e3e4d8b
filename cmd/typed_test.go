package cmd_test

import (
	"strings"
	"testing"
)

// What a flag that does not exist was meant to be is said where it is near, and nowhere else.
func TestAFlagThatDoesNotExistIsAnsweredByWhatWasMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"run --subscibe", "did you mean --subscribe?"},
		{"run --bootstrap-server", "did you mean --bootstrap-servers?"},
		{"run --brokers", "did you mean --bootstrap-servers?"},
		{"run --lease", "use --set run.lease=DURATION"},
		{"verify --lease", "use --set run.lease=DURATION"},
		{"run --expire-every", "use --set sink.iceberg.expireEvery=COUNT OR NONE"},
		{"run --isolation.level", "use --set source.kafka.isolation.level=WORD"},
		{"status --adopt", "it is a flag of sluice run; see sluice run --help"},
		{"plan --print-config", "it is a flag of sluice run; see sluice run --help"},
		{"run --frobnicate", ""},
		{"run --xy", ""},
		{"version --lease", ""},
		{"run --dry-run", "sluice plan shows what a run would do"},
		{"--dry-run run", "sluice plan shows what a run would do"},
		{"version --dry-run", ""},
		{"--lease 5s run", "flags stand after the command"},
		{"--frobnicate", ""},
	} {
		o := call(t, nil, append([]string{"sluice"}, strings.Fields(c.typed)...)...).wants(64)
		switch hint := o.stderr; {
		case !strings.Contains(hint, "there is no flag --") || !strings.Contains(hint, "--help"):
			t.Errorf("%s: got\n%s", c.typed, hint)
		case c.want != "" && !strings.Contains(hint, c.want):
			t.Errorf("%s: got\n%s\nwant %s", c.typed, hint, c.want)
		case c.want == "" && strings.Contains(hint, ";"):
			t.Errorf("%s: got\n%s\nwant no suggestion", c.typed, hint)
		}
	}
}

func TestACommandThatDoesNotExistIsAnsweredByWhatWasMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, near string }{
		{"verfy", "did you mean verify?"}, {"help verfy", "did you mean verify?"}, {"h stauts", "did you mean status?"},
		{"frobnicate", ""}, {"help frobnicate", ""},
	} {
		o := call(t, nil, append([]string{"sluice"}, strings.Fields(c.typed)...)...).wants(64)
		if !strings.Contains(o.stderr, "unknown command") || !strings.Contains(o.stderr, c.near+" the commands are: run, plan, status") || o.stdout != "" {
			t.Errorf("%s: got %q and %q, want %q", c.typed, o.stdout, o.stderr, c.near)
		}
	}
	for _, typed := range []string{"help", "--help", "-h"} {
		if o := call(t, nil, "sluice", typed).wants(0); !strings.Contains(o.stdout, "COMMANDS:") || !strings.Contains(o.stdout, "--help, -h") || !strings.Contains(o.stdout, "SLUICE_SOURCE_SUBSCRIBE") {
			t.Errorf("%s: got\n%s", typed, o.stdout)
		}
	}
	if got, want := call(t, nil, "sluice", "help", "run").wants(0).stdout, call(t, nil, "sluice", "run", "--help").wants(0).stdout; got != want || got == "" {
		t.Errorf("help run: got\n%s\nwant\n%s", got, want)
	}
}

// A line of the help is read alone: it must not point to what only the documentation has.
func TestEveryLineOfTheHelpStandsAlone(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"run", "plan", "status", "verify", "validate", "peek"} {
		help := call(t, nil, "sluice", verb, "--help").wants(0).stdout
		for _, bad := range []string{"below", "under Memory", "](", "`"} {
			if strings.Contains(help, bad) {
				t.Errorf("%s: got %q in\n%s", verb, bad, help)
			}
		}
		if !strings.Contains(help, "SLUICE_SOURCE_SUBSCRIBE") {
			t.Errorf("%s: variables are not in\n%s", verb, help)
		}
	}
	help := call(t, nil, "sluice", "run", "--help").wants(0).stdout
	for _, want := range []string{"without one it is the table's", "without one _checkpoints/<name> in a local warehouse", "which the error of exit code 13 and sluice plan name"} {
		if !strings.Contains(help, want) {
			t.Errorf("got\n%s\nwant %s", help, want)
		}
	}
}

func TestTheVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	want := call(t, nil, "sluice", "version").wants(0).stdout
	for _, flag := range []string{"--version", "-v"} {
		if o := call(t, nil, "sluice", flag).wants(0); o.stdout != want || want == "" {
			t.Errorf("%s: got %q, want %q", flag, o.stdout, want)
		}
	}
}

func TestAFlagThatIsTrueOrFalseStandsAloneOrHasItsValueBehindAnEqualsSign(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"})
	shown := func(args ...string) string {
		return call(t, nil, p.args("run", append(args, "--print-config")...)...).wants(0).stdout
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "includeHeaders: false"},
		{[]string{"--include-headers"}, "includeHeaders: true"},
		{[]string{"--include-headers=true"}, "includeHeaders: true"},
		{[]string{"--include-headers=false"}, "includeHeaders: false"},
		{[]string{"--include-headers", "--retain", "7"}, "includeHeaders: true"},
	} {
		if got := shown(c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%q: got\n%s\nwant %s", c.args, got, c.want)
		}
	}
	call(t, nil, p.args("run", "--include-headers", "false")...).fails(64, `"false"`, "--include-headers=false")
	call(t, nil, p.args("run", "--include-headers=maybe", "--grace", "x")...).fails(64, "2 problems", "includeHeaders", "maybe", "true or false", "run.grace")
}

// The library cuts such values at commas: https://github.com/urfave/cli/issues/1134
func TestSetTakesValuesWithCommas(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"}).without("--subscribe")
	o := call(t, nil, p.args("run", "--set", "source.subscribe=orders,refunds", "--set", `source.kafka={"client.id":"a,b","client.rack":"c"}`, "--print-config")...).wants(0)
	for _, want := range []string{`["orders","refunds"]`, "client.id: a,b", "client.rack: c"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("got\n%s\nwant %s", o.stdout, want)
		}
	}
	call(t, nil, p.args("run", "--set", "run.grace=1s", "--set", "run.grace=2s")...).fails(64, "run.grace", "twice")
	// Somebody means both topics, and would get one.
	call(t, nil, p.args("run", "--subscribe", "orders", "--subscribe", "refunds")...).fails(64, "source.subscribe", "twice", "with commas")
}

// Client properties are keys as others are: all that is wrong is told at once, each where it was written.
func TestClientPropertiesThatDoNotFitAreProblemsOfTheJob(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "orders.yaml", `source:
  kafka:
    bootstrap.servers: nobody.invalid:9092
    security.protocol: SASL_TLS
    sasl.mechanism: SCRAM
    group.id: mine
    clinet.id: etl
  subscribe: [orders]
  maxOffsetsPerTrigger: 0
sink: {iceberg: {catalog: {warehouse: lake}, table: sales.orders}}
`)
	for _, verb := range []string{"run", "plan", "status", "verify", "validate", "peek"} {
		o := call(t, []string{"SLUICE_SOURCE_KAFKA_SASL_PASSWORD=hunter1"}, "sluice", verb, "--job", file, "--set", "source.kafka.request.timeout.ms=30s")
		o.wants(64)
		for _, want := range []string{"job: 6 problems", "orders.yaml:4:24: source.kafka.security.protocol", "want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", "orders.yaml:5:21: source.kafka.sasl.mechanism", "want PLAIN", "orders.yaml:6:15: source.kafka.group.id: cannot be set",
			"orders.yaml:7:16: source.kafka.clinet.id: is unknown", "did you mean source.kafka.client.id?", "orders.yaml:9:",
			`--set: source.kafka.request.timeout.ms: "30s"`, "Try: correct the job; docs/job.md"} {
			if !strings.Contains(o.stderr, want) {
				t.Errorf("%s: got\n%s\nwant it to say %q", verb, o.stderr, want)
			}
		}
		if strings.Contains(o.stderr+o.stdout, "hunter") || o.stdout != "" {
			t.Errorf("%s: got %q and %q", verb, o.stdout, o.stderr)
		}
	}
}

// A line with the flags of a run is right for every verb; the help lists what makes a difference.
func TestHelpListsWhatMakesADifferenceAndEveryVerbTakesTheFlagsOfAJob(t *testing.T) {
	t.Parallel()
	for verb, c := range map[string]struct{ lists, leavesOut []string }{
		"run":      {[]string{"--max-duration", "--grace", "--retain", "--memory", "--set KEY=VALUE", "-o json"}, nil},
		"validate": {[]string{"--max-duration", "--retain"}, nil},
		"plan":     {[]string{"--max-offsets-per-trigger", "--starting-offsets", "--memory"}, []string{"--max-duration", "--max-batches", "--grace", "--wait", "--retain"}},
		"status":   {[]string{"--checkpoint", "--subscribe", "--min-offsets-per-trigger"}, []string{"--max-duration", "--retain", "--min-partitions", "--target-file-size"}},
		"verify":   {[]string{"--checkpoint", "--table"}, []string{"--max-duration", "--starting-offsets"}},
		"peek":     {[]string{"--include-headers", "--table"}, []string{"--max-duration", "--checkpoint"}},
	} {
		help := call(t, nil, "sluice", verb, "--help").wants(0).stdout
		_, options, _ := strings.Cut(help, "\nOPTIONS:")
		for _, flag := range c.lists {
			if !strings.Contains(options, flag) {
				t.Errorf("%s: got no %s in\n%s", verb, flag, help)
			}
		}
		for _, flag := range c.leavesOut {
			if strings.Contains(options, flag+" ") {
				t.Errorf("%s: got %s in\n%s", verb, flag, help)
			}
		}
		if told := strings.Contains(help, "are taken, and not listed"); told != (len(c.leavesOut) > 0) {
			t.Errorf("%s: got that flags are not listed %v in\n%s", verb, told, help)
		}
	}
	p := newPipeline(t, embedded(t, "orders"))
	p.run(t)
	for verb, code := range map[string]int{"plan": 0, "status": 0, "verify": 0, "validate": 0} {
		if o := p.do(t, verb, "--max-duration", "1h", "--max-batches", "3", "--grace", "1s", "--retain", "9"); o.code != code {
			t.Errorf("%s: got %d, want %d: %s", verb, o.code, code, o.stderr)
		}
		p.do(t, verb, "--max-duration", "soon").fails(64, "--max-duration", "soon")
	}
}
