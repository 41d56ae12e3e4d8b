package tlsfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// That what can be used is used is tested where there are servers, in kafkasrc and decode/registry.
func TestWhatCannotBeUsedIsToldWithItsPropertyAndWithoutItsContent(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct {
		files Files
		want  string
	}{
		{Files{Trust: "/no/such/file"}, "client property ssl.truststore.location: stat /no/such/file: no such file"},
		{Files{Trust: t.TempDir()}, "is no regular file"},
		{Files{Trust: written(t, strings.Repeat("secret ", 1<<20))}, "is larger than 4 MiB"},
		{Files{Key: written(t, "secret")}, "is not PEM; keytool"},
		{Files{Trust: written(t, key)}, "client property ssl.truststore: it holds no PEM certificate"},
		{Files{TrustPEM: "secret"}, "client property ssl.truststore: it holds no PEM certificate"},
		{Files{Key: written(t, key)}, "client property ssl.keystore: a PEM certificate chain and its private key are needed"},
		{Files{KeyPEM: key}, "a PEM certificate chain and its private key are needed"},
		{Files{ChainPEM: key}, "a PEM certificate chain and its private key are needed"},
		{Files{KeyPEM: strings.ReplaceAll(key, "PRIVATE", "ENCRYPTED PRIVATE")}, "decrypt it with openssl pkey"},
	} {
		_, err := c.files.Config("client property")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestNothingIsGivenAndTheSystemIsTrusted(t *testing.T) {
	c, err := Files{}.Config("client property")
	if err != nil || c.RootCAs != nil || c.Certificates != nil || c.InsecureSkipVerify || c.VerifyConnection != nil {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestTypesOfStoresAndChecksOfHostsAreThoseThatCanBe(t *testing.T) {
	if err := CheckType("PEM"); err != nil {
		t.Error(err)
	}
	if err := CheckType("JKS"); err == nil || !strings.Contains(err.Error(), "want PEM") {
		t.Errorf("got %v", err)
	}
	for value, want := range map[string]bool{"https": false, "HTTPS": false, "": true} {
		var f Files
		if err := f.CheckHost(value); err != nil || f.AnyHost != want {
			t.Errorf("%q: got any host %v, %v, want %v", value, f.AnyHost, err, want)
		}
	}
	if err := new(Files).CheckHost("none"); err == nil {
		t.Error("none was taken")
	}
}
