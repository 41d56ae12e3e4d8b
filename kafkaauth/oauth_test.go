package kafkaauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/batch"
	"sluice/tlsfile"
)

var noon = time.Unix(1_800_000_000, 0)

// jwt is a token that expires then; n makes it another one.
func jwt(n int, expires time.Time) string {
	return encoded(map[string]string{"alg": "none"}) + "." + encoded(map[string]any{"exp": expires.Unix(), "n": n}) + "."
}

// provider answers the requests for tokens in turn, the last answer again and again.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	asked   int
	answers []func(w http.ResponseWriter, r *http.Request)
}

func newProvider(t *testing.T, answers ...func(w http.ResponseWriter, r *http.Request)) *provider {
	t.Helper()
	p := &provider{answers: answers}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		answer := p.answers[min(p.asked, len(p.answers)-1)]
		p.asked++
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func give(text string, more ...any) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer"`, text)
		for i := 0; i < len(more); i += 2 {
			fmt.Fprintf(w, ",%q:%v", more[i], more[i+1])
		}
		fmt.Fprint(w, "}")
	}
}

func say(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// first is what a client says first to a broker.
func first(t *testing.T, o OAuth, options string) (string, error) {
	t.Helper()
	l := Login{Mechanism: OAuthBearer, OAuth: o}
	if options != "" {
		l.JAAS = oauthLogin + options
	}
	if faults := l.Validate(); faults != nil {
		t.Fatal(faults)
	}
	m, err := l.New()
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := m.Authenticate(t.Context(), "broker:9092")
	return string(text), err
}

func TestATokenIsAskedForByClientCredentialsAndPassedOn(t *testing.T) {
	text := jwt(1, noon.Add(time.Hour))
	var secret, id, form string
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ = r.BasicAuth()
		_ = r.ParseForm()
		form = r.Form.Encode()
		give(text)(w, r)
	})
	got, err := first(t, OAuth{Endpoint: p.URL}, `clientId="e t" clientSecret="hunter 2" scope="a b" extension_logicalCluster="lkc-1" extension_identityPoolId="pool-1";`)
	if want := "n,,\x01auth=Bearer " + text + "\x01identityPoolId=pool-1\x01logicalCluster=lkc-1\x01\x01"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if id != "e t" || secret != "hunter 2" || form != "grant_type=client_credentials&scope=a+b" {
		t.Errorf("got id %s, secret %s, form %s", id, secret, form)
	}
	// KIP-1139's properties come before the options; escaped as RFC 6749 section 2.3.1 has it if that is asked for.
	_, err = first(t, OAuth{Endpoint: p.URL, ClientID: "etl", ClientSecret: "hunter+2", Scope: "c", Encode: true}, `clientId="x" clientSecret="y" scope="z";`)
	if err != nil || id != "etl" || secret != "hunter%2B2" || form != "grant_type=client_credentials&scope=c" {
		t.Errorf("got id %s, secret %s, form %s, %v", id, secret, form, err)
	}
}

// A single failure of the endpoint must not end a session for good (https://github.com/apache/iceberg/issues/17756).
func TestAnEndpointThatFailsForAMomentIsAskedAgain(t *testing.T) {
	p := newProvider(t, say(500, "no"), say(429, "slower"), give(jwt(1, noon)))
	if _, err := first(t, OAuth{Endpoint: p.URL, ClientID: "etl", ClientSecret: "hunter2", Backoff: time.Microsecond}, ""); err != nil || p.asked != 3 {
		t.Errorf("got %v after %d requests, want the third to do", err, p.asked)
	}
	always := newProvider(t, say(503, `{"error":"temporarily_unavailable"}`))
	_, err := first(t, OAuth{Endpoint: always.URL, ClientID: "etl", ClientSecret: "hunter2", Backoff: time.Microsecond, BackoffMax: time.Millisecond}, "")
	var outage *Outage
	if !errors.As(err, &outage) || outage.Hint == "" || !strings.Contains(err.Error(), "answers 503 (temporarily_unavailable)") {
		t.Errorf("got %v, want an outage", err)
	}
}

func TestANoOfAnEndpointIsFinalAndKeepsTheSecret(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("etl:hunter2"))
	for _, c := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		{say(401, `{"error":"invalid_client","error_description":"hunter2 and `+basic+` are\nwrong"}`), "answers 401 (invalid_client (redacted) and (redacted) are wrong) to client etl"},
		{say(400, "hunter2"), "answers 400 to client etl"},
		{func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere/", http.StatusFound)
		}, "answers 302"},
		{say(200, "<html>"), "something else than JSON"},
		{say(200, `{"token":"x"}`), "no access_token"},
		{give("two words"), "no access_token"},
	} {
		p := newProvider(t, c.answer)
		_, err := first(t, OAuth{Endpoint: p.URL, ClientID: "etl", ClientSecret: "hunter2"}, "")
		if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") || batch.HintOf(err) == "" || p.asked != 1 {
			t.Errorf("got %v after %d requests, want %s", err, p.asked, c.want)
		}
	}
}

func TestAnEndpointBehindAnAuthorityOfOnesOwnIsTrustedByTheTrustStore(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(give(jwt(1, noon))))
	defer server.Close()
	_, err := first(t, OAuth{Endpoint: server.URL, ClientID: "etl", ClientSecret: "hunter2"}, "")
	if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err), "ssl.truststore.location") {
		t.Errorf("got %v", err)
	}
	text := "-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(server.Certificate().Raw) + "\n-----END CERTIFICATE-----\n"
	l := Login{Mechanism: OAuthBearer, OAuth: OAuth{Endpoint: server.URL, ClientID: "etl", ClientSecret: "hunter2"}, Files: tlsfile.Files{TrustPEM: text}}
	m, err := l.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Authenticate(t.Context(), "broker:9092"); err != nil {
		t.Error(err)
	}
}

func TestATokenIsKeptUntilItIsOld(t *testing.T) {
	now := noon
	p := newProvider(t, give("opaque-1", "expires_in", 100), give("opaque-2", "expires_in", 100), give("opaque-3"))
	o := OAuth{Endpoint: p.URL, ClientID: "etl", ClientSecret: "hunter2", now: func() time.Time { return now }}.with(nil)
	kept := &tokens{oauth: o, client: p.Client()}
	var got []string
	for _, at := range []int{0, 79, 81, 100, 200, 200} {
		now = noon.Add(time.Duration(at) * time.Second)
		text, err := kept.get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	// A token whose end nobody tells is never kept.
	if want := "opaque-1 opaque-1 opaque-2 opaque-2 opaque-3 opaque-3"; strings.Join(got, " ") != want || p.asked != 4 {
		t.Errorf("got %s in %d requests, want %s in 4", got, p.asked, want)
	}
}

// The numbers of ExpiringCredentialRefreshingLogin, without its jitter.
func TestTokensAreReplacedInTime(t *testing.T) {
	period := func(seconds int) *time.Duration { d := time.Duration(seconds) * time.Second; return &d }
	for _, c := range []struct {
		refresh  Refresh
		lifetime int
		want     int
	}{
		{Refresh{0.8, period(60), period(300)}, 3600, 2880},
		{Refresh{0.8, period(60), period(300)}, 600, 300},
		{Refresh{0.8, period(60), period(300)}, 300, 240},
		{Refresh{1, period(60), period(0)}, 300, 298},
		{Refresh{0.5, period(900), period(0)}, 1000, 900},
		{Refresh{0.8, period(60), period(300)}, 5, 3},
		{Refresh{0.8, period(60), period(300)}, 2, 1},
	} {
		at := c.refresh.due(token{issued: noon, expires: noon.Add(time.Duration(c.lifetime) * time.Second)})
		if got := int(at.Sub(noon) / time.Second); got != c.want {
			t.Errorf("%v, %d s: got %d, want %d", c.refresh.Factor, c.lifetime, got, c.want)
		}
	}
}

func TestThoseWhoWantATokenAtOnceGetTheSame(t *testing.T) {
	p := newProvider(t, give(jwt(1, time.Now().Add(time.Hour))), give(jwt(2, time.Now().Add(time.Hour))))
	kept := &tokens{oauth: OAuth{Endpoint: p.URL, ClientID: "etl", ClientSecret: "hunter2"}.with(nil), client: p.Client()}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := kept.get(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if p.asked > 2 {
		t.Errorf("got %d requests", p.asked)
	}
}

func TestATokenInAFileIsReadAnewEachTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	o := OAuth{Endpoint: "file://" + file}
	if _, err := first(t, o, ""); batch.ClassOf(err) != batch.NotSetUp || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := first(t, o, ""); err != nil || !strings.Contains(got, "Bearer "+text+"\x01") {
			t.Errorf("got %q, %v, want token %s", got, err, text)
		}
	}
	if err := os.WriteFile(file, []byte("hunter2 hunter3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := first(t, o, ""); batch.ClassOf(err) != batch.NotSetUp || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v", err)
	}
}

func TestATokenWithoutASignatureHasTheClaimsOfItsOptions(t *testing.T) {
	text, err := unsecuredToken(map[string]string{"unsecuredLoginStringClaim_sub": "etl", "unsecuredLoginNumberClaim_n": "1.5", "unsecuredLoginListClaim_scope": "|a|b", "unsecuredLoginLifetimeSeconds": "60"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(text, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(parts) != 3 || parts[2] != "" {
		t.Fatalf("got %s, %v", text, err)
	}
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(claims), fmt.Sprint(map[string]any{"sub": "etl", "n": 1.5, "scope": []any{"a", "b"}, "iat": 1.8e9, "exp": 1.80000006e9}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at, ok := expiry(text); !ok || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("got expiry %v, %v", at, ok)
	}
}
