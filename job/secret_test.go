package job

import (
	"fmt"
	"strings"
	"testing"
)

func TestNamesThatHoldSecrets(t *testing.T) {
	for _, name := range []string{"sasl.password", "sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "ssl.keystore.password", "s3.secret-access-key",
		"s3.session-token", "token", "credential", "header.Authorization", "adls.sas-token.host", "adls.auth.shared-key.account.key",
		"adls.connection-string.account", "gcs.jsonkey", "gcs.oauth2.token", "sasl.oauthbearer.client.credentials.client.secret", "SLUICE_SOURCE_KAFKA_SASL_PASSWORD"} {
		if !SecretName(name) {
			t.Errorf("%s: got no secret, want a secret", name)
		}
	}
	for _, name := range []string{"bootstrap.servers", "sasl.username", "sasl.mechanism", "ssl.keystore.location", "ssl.truststore.type", "sasl.oauthbearer.token.endpoint.url",
		"oauth2-server-uri", "s3.access-key-id", "s3.endpoint", "gcs.keypath", "client.id", "sasl.login.callback.handler.class"} {
		if SecretName(name) {
			t.Errorf("%s: got a secret, want none", name)
		}
	}
}

func TestRedactHidesWhatIsSecretAndLeavesTheRest(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"sasl.password", "hunter2", "(redacted)"},
		{"sasl.password", "", ""},
		{"ssl.keystore.certificate.chain", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n", "(redacted)"},
		{"ssl.truststore.certificates", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"},
		{"uri", "https://etl:hunter2@catalog/v1", "https://etl:(redacted)@catalog/v1"},
		{"uri", "https://:hunter2@catalog/v1", "https://:(redacted)@catalog/v1"},
		{"uri", "postgres://etl:hunter/2@db/catalog", "postgres://etl:(redacted)@db/catalog"},
		{"uri", "https://catalog/v1?token=hunter2&name=a", "https://catalog/v1?token=(redacted)&name=a"},
		{"sasl.oauthbearer.token.endpoint.url", "https://idp/token?client_secret=hunter2&x=y", "https://idp/token?(redacted)"},
		{"bearer.auth.issuer.endpoint.url", "https://idp/token?k=hunter2", "https://idp/token?(redacted)"},
		{"sink.iceberg.catalog.properties.oauth2-server-uri", "https://idp/token?hunter2", "https://idp/token?(redacted)"},
		{"oauth2-server-uri", "https://idp/token", "https://idp/token"},
		{"config", `ScramLoginModule required username="etl" password="hunter2 and more";`, `ScramLoginModule required username="etl" password=(redacted);`},
		{"connection", "AccountName=a;AccountKey=hunter2==;EndpointSuffix=b", "AccountName=a;AccountKey=(redacted);EndpointSuffix=b"},
		{"bootstrap.servers", "a:9092,b:9092", "a:9092,b:9092"},
		{"checkpoint", "s3://lake/checkpoints?region=eu", "s3://lake/checkpoints?region=eu"},
	} {
		if got := Redact(c.name, c.value); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNoWayOfPrintingAJobShowsItsSecrets(t *testing.T) {
	j, err := Load(caseInput(t, cases+"/full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if j.Source.Kafka["ssl.keystore.key"] != "hunter2" || j.Source.Kafka["client.id"] != "hunter2" {
		t.Fatalf("the Job itself has lost its secrets")
	}
	for _, text := range []string{fmt.Sprint(j), fmt.Sprintf("%v %+v", j, j), j.LogValue().String(), j.Text("source.kafka.client.id"),
		j.Text("source.kafka"), fmt.Sprintf("%v %+v %#v", j.Sink, j.Sink, j.Sink)} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret shows: %s", text)
		}
	}
}
