package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file and returns its path.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// jobFile writes a job of its own name, so that relative paths in it mean its folder.
func jobFile(t testing.TB, k *kafka, more string) string {
	t.Helper()
	return write(t, t.TempDir(), "orders.yaml", `name: orders
checkpoint: state
source:
  kafka:
    bootstrap.servers: `+k.addr+`
  subscribe: [orders]
sink:
  iceberg:
    catalog: {type: sql, warehouse: lake}
    table: sales.orders
`+more)
}

func TestAJobOfAFile(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	file := jobFile(t, k, "run: {maxBatches: 1}\n")
	o := call(t, nil, "sluice", "run", "--job", file, "--output", "json", "--max-offsets-per-trigger", "5").wants(0)
	o.has("summary", "query", "orders", "batches", 1, "records", 5, "caughtUp", false)
	dir := filepath.Dir(file)
	for _, path := range []string{"state/offsets/0", "lake/catalog.db"} { // beside the file, wherever cron starts it
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	call(t, nil, "sluice", "run", "-j", file, "-o", "json", "--max-batches", "none").wants(0).has("summary", "records", 15, "caughtUp", true)
	call(t, nil, "sluice", "verify", "--job", file, "--output", "json", "--source").wants(0).has("verify", "verdict", "proved", "rows", 20)
}

func TestFlagsComeBeforeVariablesBeforeTheFile(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 12, 0)
	file := jobFile(t, k, "run: {maxBatches: 1}\n")
	set := strings.ReplaceAll(file, "orders.yaml", "2.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(file), "2.yaml", strings.Replace(string(text), "subscribe: [orders]", "subscribe: [orders]\n  maxOffsetsPerTrigger: 3", 1))
	run := func(environ []string, more ...string) *outcome {
		return call(t, environ, append([]string{"sluice", "run", "--job", set, "--output", "json"}, more...)...).wants(0)
	}
	run(nil).has("summary", "records", 3)
	environ := []string{"SLUICE_SOURCE_MAXOFFSETSPERTRIGGER=2"}
	run(environ).has("summary", "records", 2)
	run(environ, "--max-offsets-per-trigger", "1").has("summary", "records", 1)
	run(environ, "--set", "source.maxOffsetsPerTrigger=4").has("summary", "records", 4)
	run(environ, "--set", "source.maxOffsetsPerTrigger=none", "--set", "run.maxBatches=none").has("summary", "records", 2, "caughtUp", true)
}

func TestTheConfigurationIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	dir := t.TempDir()
	write(t, dir, "password", "hunter3\n")
	file := write(t, dir, "orders.yaml", `
source:
  kafka:
    bootstrap.servers: `+k.addr+`
    security.protocol: SSL
    ssl.keystore.key: hunter1
    ssl.keystore.certificate.chain: ${file:password}
    client.rack: ${TRUST_PASSWORD}
  subscribe: [orders]
sink:
  iceberg:
    catalog: {type: sql, warehouse: lake, properties: {s3.secret-access-key: hunter4, s3.region: eu-west-1}}
    table: sales.orders
`)
	environ := []string{"TRUST_PASSWORD=hunter2", "SLUICE_RUN_MAXBATCHES=7"}
	o := call(t, environ, "sluice", "run", "--job", file, "--print-config", "--max-duration", "5m", "--set", "source.kafka.client.id=me").wants(0)
	if strings.Contains(o.stdout+o.stderr, "hunter") {
		t.Errorf("a secret shows:\n%s%s", o.stdout, o.stderr)
	}
	for _, want := range []string{"orders.yaml:5:", "SLUICE_RUN_MAXBATCHES", "--max-duration", "--set", "default", "s3.region: eu-west-1", "client.id: me", "(redacted)"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("got\n%s\nwant it to say %q", o.stdout, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "lake")); err == nil {
		t.Error("showing the configuration made the warehouse")
	}
}

// An error names the property that does not fit, never what would have opened the connection.
func TestErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"})
	p.environ = []string{"SLUICE_SOURCE_KAFKA_SECURITY_PROTOCOL=SSL", "SLUICE_SOURCE_KAFKA_SSL_KEYSTORE_TYPE=PEM", "SLUICE_SOURCE_KAFKA_SSL_KEYSTORE_KEY=hunter1",
		"SLUICE_SOURCE_KAFKA_SSL_KEYSTORE_CERTIFICATE_CHAIN=hunter2"}
	o := p.do(t, "run")
	if o.fails(10, "ssl.keystore"); strings.Contains(o.stdout+o.stderr, "hunter") {
		t.Errorf("got %s%s", o.stdout, o.stderr)
	}
}
