package cmd_test

import (
	"strings"
	"testing"
)

// What proves who connects is in nothing that is printed: not in the job with all its values, and in no error.
func TestSecretsOfKafkaClientsAreNeverShown(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"sasl.jaas.config":        `org.apache.kafka.common.security.scram.ScramLoginModule required username="etl" password="hunter2";`,
		"ssl.truststore.password": "hunter2", "ssl.keystore.password": "hunter2", "ssl.key.password": "hunter2", "ssl.keystore.key": "hunter2",
		"sasl.oauthbearer.client.credentials.client.secret": "hunter2", "sasl.password": "hunter2",
	}
	var text strings.Builder
	text.WriteString("checkpoint: checkpoint\nsource:\n  kafka:\n    bootstrap.servers: 127.0.0.1:1\n    security.protocol: SASL_SSL\n    sasl.mechanism: SCRAM-SHA-512\n")
	for name, value := range secrets {
		text.WriteString("    " + name + ": '" + value + "'\n")
	}
	text.WriteString("  subscribe: [orders]\nsink: {iceberg: {catalog: {warehouse: lake}, table: sales.orders}}\n")
	file := write(t, t.TempDir(), "orders.yaml", text.String())
	for _, args := range [][]string{{"run"}, {"run", "--print-config"}, {"plan"}, {"validate"}, {"status"}} {
		o := call(t, nil, append([]string{"sluice"}, append(args, "--job", file)...)...)
		if strings.Contains(o.stdout+o.stderr, "hunter2") || o.stdout+o.stderr == "" {
			t.Errorf("%v: got\n%s\n%s", args, o.stdout, o.stderr)
		}
	}
	// A job that is right in itself gets as far as the file of certificates, and shows no more.
	good := strings.NewReplacer("    sasl.password: 'hunter2'\n", "", "    ssl.keystore.key: 'hunter2'\n", "").Replace(text.String())
	file = write(t, t.TempDir(), "orders.yaml", strings.Replace(good, "  subscribe:", "    ssl.truststore.location: /no/such/trust.jks\n  subscribe:", 1))
	o := call(t, nil, "sluice", "run", "--job", file)
	if o.wants(10); !strings.Contains(o.stderr, "ssl.truststore.location") || !strings.Contains(o.stderr, "no such file") || strings.Contains(o.stdout+o.stderr, "hunter2") {
		t.Errorf("got\n%s\n%s", o.stdout, o.stderr)
	}
	o = call(t, nil, "sluice", "run", "--print-config", "--job", file)
	if !strings.Contains(o.stdout, "sasl.jaas.config: (redacted)") || strings.Contains(o.stdout+o.stderr, "hunter2") {
		t.Errorf("got\n%s\n%s", o.stdout, o.stderr)
	}
}
