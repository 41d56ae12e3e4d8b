package restcatalog

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/resttest"
)

// clock is a time that passes when somebody waits.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.waits = c.now.Add(d), append(c.waits, d)
	return nil
}

func openAt(t *testing.T, uri string, properties map[string]string, c *clock) (*Catalog, error) {
	t.Helper()
	o := Options{Name: "test", URI: uri, Warehouse: "lake", Properties: properties}
	if c != nil {
		o.Sleep, o.Now = c.Sleep, c.Now
	}
	opened, err := Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = opened.Close() })
	}
	return opened, err
}

func exists(t *testing.T, c *Catalog) (bool, error) {
	t.Helper()
	return c.CheckNamespaceExists(t.Context(), table.Identifier{"db"})
}

// namespaces is a server that has every namespace.
func namespaces(t *testing.T, config string, before func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case before != nil && before(w, r):
		case strings.HasSuffix(r.URL.Path, "/v1/config"):
			_, _ = io.WriteString(w, config)
		default:
			_, _ = io.WriteString(w, `{"namespace":["db"],"properties":{}}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestTheQueryOfAServerOfTokensIsNeverShown(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err := openAt(t, namespaces(t, "{}", nil), map[string]string{"credential": "id:key", "oauth2-server-uri": gone.URL + "/token?k=vanilla"}, newClock())
	if err == nil || !strings.Contains(err.Error(), gone.URL+"/token") || strings.Contains(err.Error(), "vanilla") {
		t.Errorf("got %v, want the address without its query", err)
	}
}

func TestTokensAreFetchedBeforeTheyEndAndOnceForAll(t *testing.T) {
	server, c := resttest.New(t, nil), newClock()
	var mu sync.Mutex
	issued := 0
	server.Token, server.Credential = "none", "id:key"
	server.NextToken = func() (string, int) { mu.Lock(); defer mu.Unlock(); issued++; return fmt.Sprint("token-", issued), 100 }
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/namespaces/") && r.Header.Get("Authorization") == "Bearer "+server.Token {
			_, _ = io.WriteString(w, `{"namespace":["db"],"properties":{}}`)
			return true
		}
		return false
	}
	opened, err := openAt(t, server.URL, map[string]string{"credential": "id:key"}, c)
	if err != nil {
		t.Fatal(err)
	}
	for passed, want := range []int{1, 1, 2, 2} { // 0, 50, 100, 150 s; renewed a fifth of their life before the end
		if there, err := exists(t, opened); err != nil || !there {
			t.Fatalf("got %t, %v", there, err)
		}
		if issued != want {
			t.Errorf("after %d s: got %d tokens, want %d", 50*passed, issued, want)
		}
		_ = c.Sleep(t.Context(), 50*time.Second)
	}
	server.Token = "revoked" // before its end: all who find out share one renewal
	before := issued
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := exists(t, opened); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if issued != before+1 {
		t.Errorf("got %d fresh tokens for 8 requests, want 1", issued-before)
	}
}

func TestRetryAfterIsHonouredWithinBounds(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		after func(now time.Time) string
		times int
		// waits are what was waited for, nil for any.
		waits []time.Duration
		fails any
	}{
		"429 in seconds":  {429, func(time.Time) string { return "3" }, 2, []time.Duration{3 * time.Second, 3 * time.Second}, nil},
		"503 by date":     {503, func(now time.Time) string { return now.Add(5 * time.Second).UTC().Format(http.TimeFormat) }, 1, nil, nil},
		"without a word":  {503, func(time.Time) string { return "" }, 2, nil, nil},
		"nonsense":        {429, func(time.Time) string { return "soon" }, 1, nil, nil},
		"for ever":        {503, func(time.Time) string { return "1" }, 99, nil, rest.ErrServiceUnavailable},
		"for too long":    {429, func(time.Time) string { return "3600" }, 1, []time.Duration{}, rest.ErrRESTError},
		"a gateway's 502": {502, func(time.Time) string { return "" }, 1, nil, nil},
		"an error of its": {500, func(time.Time) string { return "" }, 1, []time.Duration{}, rest.ErrServerError},
	} {
		clock, left := newClock(), 0
		uri := namespaces(t, `{}`, func(w http.ResponseWriter, r *http.Request) bool {
			if left == 0 {
				return false
			}
			left--
			if text := c.after(clock.Now()); text != "" {
				w.Header().Set("Retry-After", text)
			}
			return resttest.Refuse(w, c.code, "ServiceUnavailableException")
		})
		opened, err := openAt(t, uri, nil, clock)
		if err != nil {
			t.Fatal(err)
		}
		left = c.times
		_, err = exists(t, opened)
		if c.fails == nil && err != nil || c.fails != nil && !errors.Is(err, c.fails.(error)) {
			t.Errorf("%s: got %v, want %v", name, err, c.fails)
		}
		if c.waits != nil && !slices.Equal(clock.waits, c.waits) {
			t.Errorf("%s: waited %v, want %v", name, clock.waits, c.waits)
		}
		if sent := c.times - left; c.times == 99 && sent != tries {
			t.Errorf("%s: sent %d times, want %d", name, sent, tries)
		}
	}
}

// Nothing is sent while the server wants to be left alone: also not by the next request.
func TestTheNextRequestWaitsAsTheServerAsked(t *testing.T) {
	clock, refuse := newClock(), false
	uri := namespaces(t, `{}`, func(w http.ResponseWriter, r *http.Request) bool {
		if !refuse {
			return false
		}
		refuse = false
		w.Header().Set("Retry-After", "20")
		return resttest.Refuse(w, 503, "ServiceUnavailableException")
	})
	opened, err := openAt(t, uri, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	refuse = true
	if err := opened.CreateNamespace(t.Context(), table.Identifier{"db"}, nil); !errors.Is(err, rest.ErrServiceUnavailable) || len(clock.waits) != 0 {
		t.Fatalf("got %v after %v, want the answer: a creation may have happened", err, clock.waits)
	}
	if _, err := exists(t, opened); err != nil || !slices.Equal(clock.waits, []time.Duration{20 * time.Second}) {
		t.Errorf("got %v after %v, want a wait of 20 s", err, clock.waits)
	}
	refuse = true
	_ = opened.CreateNamespace(t.Context(), table.Identifier{"db"}, nil)
	short, cancel := context.WithDeadline(t.Context(), clock.Now().Add(5*time.Second))
	defer cancel()
	var busy *Busy
	if _, err := opened.CheckNamespaceExists(short, table.Identifier{"db"}); !errors.As(err, &busy) || busy.For != 20*time.Second {
		t.Errorf("got %v, want to be told how long the catalog is busy", err)
	}
}

// The signature is computed here from Amazon's description, by other code than the SDK's:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
func TestRequestsAreSignedAsAWSWantsIt(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	var wrong []string
	seen := 0
	check := func(w http.ResponseWriter, r *http.Request) bool {
		seen++
		body, _ := io.ReadAll(r.Body)
		if got, want := r.Header.Get("Authorization"), signature(r, body, "AKIDEXAMPLE", "wJalrXUtnFEMI", "eu-west-1", "glue"); got != want {
			wrong = append(wrong, fmt.Sprintf("%s %s: got %s, want %s", r.Method, r.URL, got, want))
		}
		if r.Header.Get("X-Amz-Security-Token") != "session" {
			wrong = append(wrong, "no session token")
		}
		return false
	}
	uri := namespaces(t, `{}`, check)
	opened, err := openAt(t, uri+"/iceberg", map[string]string{"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1", "rest.signing-name": "glue",
		"rest.access-key-id": "AKIDEXAMPLE", "rest.secret-access-key": "wJalrXUtnFEMI", "rest.session-token": "session", "prefix": "catalogs/arn%3Aaws%3As3tables"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.CheckNamespaceExists(t.Context(), table.Identifier{"a b", "ü"}); err != nil {
		t.Fatal(err)
	}
	if err := opened.CreateNamespace(t.Context(), table.Identifier{"db"}, nil); err != nil {
		t.Fatal(err)
	}
	if len(wrong) > 0 || seen != 3 {
		t.Errorf("%d requests: %s", seen, strings.Join(wrong, "\n"))
	}
}

// signature is the header of AWS Signature Version 4 for a request as it arrived.
func signature(r *http.Request, body []byte, id, secret, region, service string) string {
	sum := func(text []byte) string { s := sha256.Sum256(text); return hex.EncodeToString(s[:]) }
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ := strings.Cut(rest, ",")
	var headers strings.Builder
	for _, name := range strings.Split(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	var path []string // each segment of the path as sent is escaped once more
	for _, segment := range strings.Split(r.URL.EscapedPath(), "/") {
		path = append(path, strings.ReplaceAll(url.QueryEscape(segment), "+", "%20"))
	}
	date := r.Header.Get("X-Amz-Date")
	scope := date[:8] + "/" + region + "/" + service + "/aws4_request"
	canonical := strings.Join([]string{r.Method, strings.Join(path, "/"), r.URL.Query().Encode(), headers.String(), names, sum(body)}, "\n")
	toSign := "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + sum([]byte(canonical))
	key := mac(mac(mac(mac([]byte("AWS4"+secret), date[:8]), region), service), "aws4_request")
	return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", id, scope, names, hex.EncodeToString(mac(key, toSign)))
}

// What a server says of itself: defaults count below the job, overrides above; another address is asked from then on, and only
// such addresses are told who asks.
func TestTheServersConfigurationIsFollowed(t *testing.T) {
	var asked []string
	note := func(w http.ResponseWriter, r *http.Request) bool {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant"))
		if strings.HasSuffix(r.URL.Path, "/tokens") {
			_, _ = io.WriteString(w, `{"access_token":"fresh","expires_in":"3600"}`)
			return true
		}
		return false
	}
	second := namespaces(t, "", note)
	first := namespaces(t, `{"defaults":{"token":"of the server","header.X-Tenant":"nobody"},"overrides":{"uri":"`+second+`/other","prefix":"p","oauth2-server-uri":"`+second+`/auth/tokens","snapshot-loading-mode":"refs"}}`, note)
	opened, err := openAt(t, first, map[string]string{"token": "of the job", "credential": "id:key", "header.X-Tenant": "acme", "prefix": "mine"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exists(t, opened); err != nil {
		t.Fatal(err)
	}
	want := []string{"/v1/config Bearer of the job acme", "/other/v1/p/namespaces/db Bearer of the job acme"}
	if !slices.Equal(asked, want) {
		t.Errorf("got %q, want %q", asked, want)
	}
	if got := opened.line.properties()["oauth2-server-uri"]; got != second+"/auth/tokens" {
		t.Errorf("got tokens from %s", got)
	}
}

func TestOtherProofsOfWhoAsks(t *testing.T) {
	for name, c := range map[string]struct {
		properties map[string]string
		want       string
	}{
		"user and password": {map[string]string{"rest.auth.type": "basic", "rest.auth.basic.username": "me", "rest.auth.basic.password": "pass"}, "Basic bWU6cGFzcw=="},
		"a header":          {map[string]string{"header.Authorization": "ApiKey 123"}, "ApiKey 123"},
		"none":              {map[string]string{"rest.auth.type": "none", "token": "unused"}, ""},
	} {
		got := ""
		uri := namespaces(t, `{}`, func(_ http.ResponseWriter, r *http.Request) bool { got = r.Header.Get("Authorization"); return false })
		if _, err := openAt(t, uri, c.properties, nil); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestSecretsThatAServerQuotesAreNotRepeated(t *testing.T) {
	secrets := map[string]string{"token": "tok-12345", "credential": "id:cred-67890", "header.X-Key": "head-abcde"}
	for _, code := range []int{400, 403, 409, 500} {
		uri := namespaces(t, "", func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error":{"message":"not with %s, cred-67890 or %s","type":"X","code":%d}}`, r.Header.Get("Authorization"), r.Header.Get("X-Key"), code)
			return true
		})
		_, err := openAt(t, uri, secrets, nil)
		if err == nil || !strings.Contains(err.Error(), "not with") {
			t.Errorf("%d: got %v, want the server's words", code, err)
			continue
		}
		for _, secret := range []string{"tok-12345", "cred-67890", "head-abcde"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%d: %s is in %v", code, secret, err)
			}
		}
	}
}

func TestACertificateIsTrustedByItsFile(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	bundle := t.TempDir() + "/ca.pem"
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		properties map[string]string
		words      string
	}{
		"trusted":     {map[string]string{"ssl.cabundle": bundle}, ""},
		"not checked": {map[string]string{"rest.tls.skip-verify": "true"}, ""},
		"unknown":     {nil, "certificate"},
		"no file":     {map[string]string{"ssl.cabundle": bundle + ".not"}, "ssl.cabundle cannot be read"},
		"half a pair": {map[string]string{"ssl.client.key": bundle}, "needs ssl.client.cert"},
	} {
		_, err := openAt(t, server.URL, c.properties, nil)
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: got %v, want %q", name, err, c.words)
		}
	}
}

func TestATableWhoseNameWouldBeReadAsAnotherIsRefused(t *testing.T) {
	opened, err := openAt(t, namespaces(t, `{}`, nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var misuse *Misuse
	if _, err := opened.LoadTable(t.Context(), table.Identifier{"db", "a%41"}); !errors.As(err, &misuse) {
		t.Errorf("got %v", err)
	}
}
