package rig

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Secured is a real broker that asks who connects. Its Addr is a listener for the rig itself, which may do all.
type Secured struct {
	Broker
	// SASL, SASLTLS and TLS are the addresses of the listeners with SASL_PLAINTEXT, SASL_SSL, and SSL with certificates of
	// clients.
	SASL, SASLTLS, TLS string
}

// The passwords of what Secret names: those of stores, and of the private keys in client.jks and client.pem.
const (
	StorePassword = "rig-secret"
	KeyPassword   = "key-secret"
)

// The user that may do all, and the one that may do what Allow lets it, with their passwords for PLAIN and SCRAM.
const (
	Owner          = "owner"
	OwnerPassword  = "owner-secret"
	Reader         = "reader"
	ReaderPassword = "reader-secret"
)

// Session is how long one may stay who came in with a token, or by SCRAM-SHA-512 without TLS, before the broker wants to know
// again who it is (connections.max.reauth.ms); a token that expires sooner ends a session then.
const Session = 2 * time.Second

var secured = sync.OnceValues(func() (string, error) {
	out, err := command("kafka", "start", "--secure")
	return strings.TrimSpace(out), err
})

// SecuredKafka is the shared secured broker, started on first use.
func SecuredKafka(tb testing.TB) Secured {
	tb.Helper()
	addr, err := secured()
	if err != nil {
		tb.Fatal(err)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		tb.Fatal(err)
	}
	at := func(n int) string { return net.JoinHostPort(host, strconv.Itoa(first+n)) }
	return Secured{Broker: Broker{Addr: addr}, SASL: at(2), SASLTLS: at(3), TLS: at(4)}
}

// Secret is the path of a file that rig/secrets.sh has made, such as trust.jks.
func (s Secured) Secret(tb testing.TB, name string) string {
	tb.Helper()
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(root, ".rig", "kafka-secure", "secrets", name)
}

// Allow lets the user do operations on a topic until the test ends, and returns when the broker goes by it.
func (s Secured) Allow(tb testing.TB, user, topic string, operations ...kadm.ACLOperation) {
	tb.Helper()
	admin := kadm.NewClient(s.Client(tb))
	rights := func() *kadm.ACLBuilder {
		return kadm.NewACLs().Allow("User:" + user).AllowHosts("*").Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).Operations(operations...)
	}
	results, err := admin.CreateACLs(tb.Context(), rights())
	if err != nil {
		tb.Fatalf("allow %s %v on topic %s: %v", user, operations, topic, err)
	}
	for _, r := range results {
		if r.Err != nil {
			tb.Fatalf("allow %s %s on topic %s: %v", user, r.Operation, topic, r.Err)
		}
	}
	tb.Cleanup(func() {
		client := kadm.NewClient(s.Client(tb))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := client.DeleteACLs(ctx, rights()); err != nil {
			tb.Errorf("take the rights on topic %s from %s: %v", topic, user, err)
		}
	})
}

// Token is what an identity provider would give the user: a JWT signed with the key of the rig, which the listener with SASL_SSL
// knows.
func (s Secured) Token(tb testing.TB, user string, lifetime time.Duration) string {
	tb.Helper()
	content, err := os.ReadFile(s.Secret(tb, "token.pem"))
	if err != nil {
		tb.Fatal(err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		tb.Fatal("token.pem is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	signed := part(tb, map[string]any{"alg": "RS256", "kid": "rig"}) + "." + part(tb, map[string]any{
		"iss": "https://rig", "aud": "kafka", "sub": user, "scope": "kafka", "iat": now.Unix(), "exp": now.Add(lifetime).Unix()})
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key.(*rsa.PrivateKey), crypto.SHA256, digest[:])
	if err != nil {
		tb.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// UnsignedToken is a JWT without a signature (RFC 7515, appendix A.5), which the listener with SASL takes.
func (s Secured) UnsignedToken(tb testing.TB, user string, lifetime time.Duration) string {
	tb.Helper()
	now := time.Now()
	return part(tb, map[string]any{"alg": "none"}) + "." + part(tb, map[string]any{"sub": user, "iat": now.Unix(), "exp": now.Add(lifetime).Unix()}) + "."
}

func part(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(fmt.Errorf("make a part of a token: %w", err))
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
