package rig

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Nessie is a namespace of its own in the REST catalog of Project Nessie, which checks bearer tokens, and forgets its tables
// when it is stopped.
type Nessie struct {
	RESTCatalog
	key *rsa.PrivateKey
}

var nessie = sync.OnceValues(func() ([2]string, error) {
	out, err := command("nessie", "start")
	uri, key, _ := strings.Cut(strings.TrimSpace(out), " ")
	return [2]string{uri, key}, err
})

// InNessie is a fresh namespace in the shared catalog, started on first use, and sets the environment for its S3 server as S3
// does (so the test cannot be parallel). The files of its tables are removed when the test ends, unless it failed.
func InNessie(tb testing.TB) Nessie {
	tb.Helper()
	started, err := nessie()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(started[1])
	if err != nil {
		tb.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		tb.Fatalf("%s holds no key", started[1])
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	c := RESTCatalog{URI: started[0], Warehouse: "s3://lake/nessie", Namespace: strings.ReplaceAll(fresh(tb), "-", "_"), Bucket: S3(tb)}
	tb.Cleanup(func() { c.discardFiles(tb) })
	return Nessie{c, key.(*rsa.PrivateKey)}
}

// Token is a bearer token that the catalog takes until then.
func (n Nessie) Token(tb testing.TB, until time.Time) string {
	tb.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]string{"alg": "RS256", "typ": "JWT"}) + "." + part(map[string]any{"iss": "rig", "sub": "sluice", "iat": until.Add(-time.Hour).Unix(), "exp": until.Unix()})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, n.key, crypto.SHA256, sum[:])
	if err != nil {
		tb.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
