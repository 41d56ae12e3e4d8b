//go:build integration && linux

package cmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// guarded is a pipeline of 60 records of a broker whose sessions end, behind a proxy that counts the logins.
type guarded struct {
	*pipeline
	broker rig.Secured
	proxy  *faultproxy.Kafka
	logins atomic.Int32
	// hold is how long a request is held.
	hold func() time.Duration
}

// newGuarded logs in by a mechanism with further properties of the client, of which secrets are variables.
func newGuarded(t *testing.T, mechanism string, properties ...string) *guarded {
	t.Helper()
	g := &guarded{broker: rig.SecuredKafka(t), hold: func() time.Duration { return rig.Session }}
	topic := g.broker.CreateTopic(t, 2, nil)
	g.broker.Allow(t, rig.Reader, topic, kadm.OpRead, kadm.OpDescribe)
	k := connected(t, g.broker.Addr)
	k.fill(t, topic, 30, 0, 1)
	var err error
	if g.proxy, err = faultproxy.NewKafka(g.broker.SASL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.proxy.Close)
	g.pipeline = reading(t, k, topic).brief().with("--bootstrap-servers", g.proxy.Addr, "--max-offsets-per-trigger", "10", "--set", "source.kafka.security.protocol=SASL_PLAINTEXT",
		"--set", "source.kafka.sasl.mechanism="+mechanism)
	for _, property := range properties {
		name, value, _ := strings.Cut(property, "=")
		g.environ = append(g.environ, "SLUICE_SOURCE_KAFKA_"+strings.ToUpper(strings.ReplaceAll(name, ".", "_"))+"="+value)
	}
	return g
}

// outlived lets a run come to its third batch, does something, and holds the request for its records until the session that it
// belongs to is over: a broker that gets it then hangs up.
func (g *guarded) outlived(do func()) {
	fetches := 0
	var mu sync.Mutex
	g.proxy.Follow(func(_ int, r faultproxy.Request) *faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch r.Verb {
		case "SASLAuthenticate":
			g.logins.Add(1)
		case "Fetch":
			if fetches++; fetches == 3 {
				over := time.After(g.hold())
				do()
				<-over
			}
		}
		return nil
	})
}

// wantWhole lets a run go over the end of its sessions: each batch is read once and nothing is said about it.
func (g *guarded) wantWhole(t *testing.T, do func()) {
	t.Helper()
	g.outlived(do)
	o := g.run(t).has("summary", "rows", 60, "batches", 6, "caughtUp", true)
	if strings.Contains(o.stderr, "level=WARN") || strings.Contains(o.stderr, "level=ERROR") {
		t.Errorf("got\n%s", o.stderr)
	}
	g.proxy.Follow(nil)
	g.exact(t, 60)
}

// provider is an identity provider for the client etl, whose secret is hunter2; its tokens are good for a session, about.
type provider struct {
	*httptest.Server
	// asked counts requests; the next failing of them are answered with status.
	asked, failing, status atomic.Int32
}

// forever is more requests than there are.
const forever = 1 << 20

// fails has so many requests answered with a status from now on.
func (p *provider) fails(n int32, status int) {
	p.status.Store(int32(status))
	p.failing.Store(n)
}

func newProvider(t *testing.T, b rig.Secured) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		answer := map[string]any{"access_token": b.UnsignedToken(t, rig.Reader, rig.Session), "token_type": "Bearer"}
		if id, secret, _ := r.BasicAuth(); id != "etl" || secret != "hunter2" {
			t.Errorf("got id %s and secret %s", id, secret)
		}
		if p.failing.Add(-1) >= 0 {
			w.WriteHeader(int(p.status.Load()))
			answer = map[string]any{"error": "invalid_client", "error_description": "hunter2 was taken away"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func byProvider(t *testing.T) (*guarded, *provider) {
	t.Helper()
	p := newProvider(t, rig.SecuredKafka(t))
	return newGuarded(t, "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url="+p.URL, "sasl.oauthbearer.client.credentials.client.id=etl",
		"sasl.oauthbearer.client.credentials.client.secret=hunter2", "sasl.login.retry.backoff.max.ms=1"), p
}

// KIP-368: a broker ends sessions after connections.max.reauth.ms, and with their token. A run of several batches goes on with a new
// token, or with the same password.
func TestARunGoesOnWhenItsSessionsEnd(t *testing.T) {
	t.Parallel()
	t.Run("a token of an endpoint that fails for a moment", func(t *testing.T) {
		t.Parallel()
		g, p := byProvider(t)
		g.wantWhole(t, func() { p.fails(3, http.StatusServiceUnavailable) })
		if asked := p.asked.Load(); asked < 5 || p.failing.Load() >= 0 || g.logins.Load() < 3 {
			t.Errorf("got %d logins after %d requests for tokens, want more of both", g.logins.Load(), asked)
		}
	})
	t.Run("a token in a file that is written anew", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "token")
		g := newGuarded(t, "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=file://"+file)
		expires := time.Now().Add(5 * time.Second) // the machine may be busy until the third batch
		g.token(t, file, time.Until(expires))
		g.hold = func() time.Duration { return time.Until(expires) }
		g.wantWhole(t, func() { g.token(t, file, time.Hour) })
	})
	t.Run("a password", func(t *testing.T) {
		t.Parallel()
		g := newGuarded(t, "SCRAM-SHA-512", "sasl.username="+rig.Reader, "sasl.password="+rig.ReaderPassword)
		g.wantWhole(t, func() {})
		if logins := g.logins.Load(); logins < 4 || logins%2 != 0 {
			t.Errorf("got %d messages of SCRAM, want two for each of several logins", logins)
		}
	})
}

// token replaces a token file as secret stores do it, by another one under its name.
func (g *guarded) token(t *testing.T, file string, lifetime time.Duration) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(g.broker.UnsignedToken(t, rig.Reader, lifetime)+"\n"), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Error(err)
	}
}

// A run that gets no new token ends with what to do, and the next one goes on exactly.
func TestARunThatGetsNoNewTokenEndsAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	t.Run("an endpoint says no", func(t *testing.T) {
		t.Parallel()
		g, p := byProvider(t)
		g.wantEnded(t, func() { p.fails(forever, http.StatusUnauthorized) }, func() { p.fails(0, 0) },
			"token endpoint "+p.URL+" answers 401 (invalid_client (redacted) was taken away) to client etl", "Mend sasl.oauthbearer.token.endpoint.url, the client's id, secret or scope")
	})
	t.Run("a token in a file stays as it is", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "token")
		g := newGuarded(t, "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=file://"+file)
		g.token(t, file, rig.Session)
		g.wantEnded(t, func() {}, func() { g.token(t, file, time.Hour) },
			"does not let in by OAUTHBEARER, with the token in "+file, "Have the token in the file replaced before it expires")
	})
}

// wantEnded lets a run go over the end of its sessions that cannot begin another one after spoil: it ends with exit code 10 and an error
// of these parts. The next one, after mend, goes on.
func (g *guarded) wantEnded(t *testing.T, spoil, mend func(), parts ...string) {
	t.Helper()
	g.outlived(spoil)
	o := g.do(t, "run").fails(10, parts...)
	if batches := len(o.objects("batch")); batches > 3 || strings.Contains(o.stdout+o.stderr, "hunter2") {
		t.Errorf("got %d batches\n%s", batches, o.stderr)
	}
	g.proxy.Follow(nil)
	mend()
	g.run(t).has("summary", "caughtUp", true)
	g.exact(t, 60)
}
