package registry

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
)

const secret = "S3cr3t/p@ss:word"

func basicHeader(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// withoutSecrets fails where an error has the secret in it, in any form.
func withoutSecrets(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, s := range append(secrets, secret, "S3cr3t", base64.StdEncoding.EncodeToString([]byte("reader:"+secret))) {
		if text := fmt.Sprintf("%v %+v %s", err, err, batch.HintOf(err)); strings.Contains(text, s) {
			t.Errorf("got the secret %q in %s", s, text)
		}
	}
}

func TestCredentialsAreSentAsTheyAreConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		url           string
		more          []string
		authorization string
	}{
		"nothing":          {"http://r:8081", nil, ""},
		"user info":        {"http://r:8081", []string{"basic.auth.user.info", "reader:" + secret, "basic.auth.credentials.source", "USER_INFO"}, basicHeader("reader", secret)},
		"without source":   {"http://r:8081", []string{"schema.registry.basic.auth.user.info", "reader:" + secret}, basicHeader("reader", secret)},
		"no password":      {"http://r:8081", []string{"basic.auth.user.info", "key:"}, basicHeader("key", "")},
		"URL":              {"http://reader:S3cr3t%2Fp%40ss%3Aword@r:8081", []string{"basic.auth.credentials.source", "url"}, basicHeader("reader", secret)},
		"URL, no source":   {"http://reader:S3cr3t%2Fp%40ss%3Aword@r:8081", nil, basicHeader("reader", secret)},
		"token":            {"http://r:8081", []string{"bearer.auth.token", secret, "bearer.auth.credentials.source", "STATIC_TOKEN"}, "Bearer " + secret},
		"token, no source": {"http://r:8081", []string{"bearer.auth.token", secret}, "Bearer " + secret},
		"own header":       {"http://r:8081", []string{"request.header.authorization", "Token " + secret}, "Token " + secret},
	} {
		f := newFake(t)
		f.add(7, "money-value", 1, Avro, money)
		f.authorization = c.authorization
		client := network{"r:8081": f}.client(t, at(c.url, c.more...))
		if _, err := client.Schema(t.Context(), Number(7)); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRefusedCredentialsAreNamedWithoutTheSecret(t *testing.T) {
	for _, c := range []struct {
		url  string
		more []string
		want string
	}{
		{"http://r:8081", nil, "answers 401 \"Unauthorized: \" to a client without credentials"},
		{"http://r:8081", []string{"basic.auth.user.info", "reader:" + secret}, "Unauthorized: Basic (redacted)\" to user reader of basic.auth.user.info"},
		{"http://reader:S3cr3t%2Fp%40ss%3Aword@r:8081", nil, "to user reader of the URL"},
		{"http://r:8081", []string{"bearer.auth.token", secret}, "Unauthorized: Bearer (redacted)\" to the bearer of bearer.auth.token"},
		{"http://r:8081", []string{"request.header.Authorization", secret}, "to the bearer of request.header.Authorization"},
	} {
		f := newFake(t)
		f.authorization = "Basic other"
		client := network{"r:8081": f}.client(t, at(c.url, c.more...))
		_, err := client.Schema(t.Context(), Number(7))
		wantFault(t, err, batch.NotSetUp, "http://r:8081 answers 401", c.want, "Correct the credentials")
		withoutSecrets(t, err)
		f.trouble(status(http.StatusForbidden, 40301, "User is denied operation READ on "+secret))
		_, err = client.Schema(t.Context(), Number(7))
		wantFault(t, err, batch.NotSetUp, "answers 403", c.want[strings.LastIndex(c.want, "to "):], "Give read access")
		if len(c.more)+strings.Count(c.url, "@") > 0 {
			withoutSecrets(t, err)
		}
		if f.count() != 2 {
			t.Errorf("got %d requests, want one for each question", f.count())
		}
	}
}

func TestHeadersForConfluentCloudAndProxiesGoAlong(t *testing.T) {
	f := newFake(t)
	f.authorization = "Bearer token"
	f.trouble(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("target-sr-cluster") != "lsrc-123" || r.Header.Get("Confluent-Identity-Pool-Id") != "pool-9" || r.Header.Get("X-Api-Key") != "abcd" {
			t.Errorf("got %v", r.Header)
		}
		status(http.StatusNotFound, 40403, "no schema for lsrc-123 and abcd")(w, r)
	})
	c := network{"r:8081": f}.client(t, at("http://r:8081", "bearer.auth.token", "token", "bearer.auth.logical.cluster", "lsrc-123",
		"bearer.auth.identity.pool.id", "pool-9", "schema.registry.request.header.x-api-key", "abcd"))
	_, err := c.Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, `"no schema for lsrc-123 and (redacted)"`)
}

// issuer gives tokens that are numbered, each for an hour.
type issuer struct {
	t        *testing.T
	mu       sync.Mutex
	given    int
	troubles []http.HandlerFunc
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.troubles) > 0 {
		i.troubles[0](w, r)
		i.troubles = i.troubles[1:]
		return
	}
	name, password, ok := r.BasicAuth()
	if !ok { // the other form that RFC 6749 section 2.3.1 has
		name, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if r.Method != http.MethodPost || r.URL.Path != "/token" || r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") != "registry openid" {
		i.t.Errorf("got %s %s with %v", r.Method, r.URL, r.PostForm)
	}
	w.Header().Set("Content-Type", "application/json")
	if name != "reader" || password != "S3cr3t" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is not known"}`, password)
		return
	}
	i.given++
	fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, i.given)
}

func oauth(secret string) map[string]string {
	return at("http://r:8081", "bearer.auth.credentials.source", "OAUTHBEARER", "bearer.auth.issuer.endpoint.url", "http://issuer/token",
		"bearer.auth.client.id", "reader", "bearer.auth.client.secret", secret, "bearer.auth.scope", "registry openid")
}

func TestATokenIsGotOnceAndAgainWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, i := newFake(t), &issuer{t: t}
		f.authorization = "Bearer token-1"
		c := network{"r:8081": f, "issuer": i}.client(t, oauth("S3cr3t"))
		ask := func(id int, want int) {
			t.Helper()
			f.add(id, "money-value", id, Avro, money)
			if _, err := c.Schema(t.Context(), Number(int32(id))); err != nil || i.given != want {
				t.Errorf("got %v with %d tokens, want %d", err, i.given, want)
			}
		}
		ask(1, 1)
		ask(2, 1)
		time.Sleep(time.Hour) // of the bubble's clock
		f.authorization = "Bearer token-2"
		ask(3, 2)
		if f.count() != 3 {
			t.Errorf("got %d requests, want one for each schema: an expired token is not tried", f.count())
		}
		f.authorization = "Bearer token-3" // the registry takes it back before its time
		ask(4, 3)
	})
}

func TestTheQueryOfAnIssuerIsNeverShown(t *testing.T) {
	config := oauth("wrong")
	config["bearer.auth.issuer.endpoint.url"] = "http://issuer/token?k=vanilla"
	down := network{"r:8081": newFake(t)}
	for name, n := range map[string]network{"says no": {"r:8081": newFake(t), "issuer": say401{}}, "down": down} {
		synctest.Test(t, func(t *testing.T) {
			_, err := n.client(t, config).Schema(t.Context(), Number(7))
			if err == nil || !strings.Contains(err.Error(), "http://issuer/token ") && !strings.Contains(err.Error(), "http://issuer/token:") {
				t.Errorf("%s: got %v, want the issuer's address", name, err)
			}
			withoutSecrets(t, err, "vanilla")
		})
	}
}

// say401 is an issuer that takes nobody.
type say401 struct{}

func (say401) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUnauthorized)
}

func TestATokenThatIsNeverTakenEndsTheRetries(t *testing.T) {
	f, i := newFake(t), &issuer{t: t}
	f.authorization = "Bearer other"
	c := network{"r:8081": f, "issuer": i}.client(t, oauth("S3cr3t"))
	_, err := c.Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "answers 401", "to client reader of bearer.auth.client.id")
	withoutSecrets(t, err, "token-1")
	if f.count() != 1 || i.given != 1 {
		t.Errorf("got %d requests, %d tokens", f.count(), i.given)
	}
	_, err = c.Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "answers 401")
	if f.count() != 3 || i.given != 2 {
		t.Errorf("got %d requests, %d tokens", f.count(), i.given)
	}
}

// https://github.com/apache/iceberg/pull/17756: one failed request for a token must not be the end.
func TestAnIssuerThatIsBusyIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, i := newFake(t), &issuer{t: t, troubles: []http.HandlerFunc{status(500, 0, ""), status(429, 0, "", "Retry-After", "9"), status(500, 0, ""), status(429, 0, "", "Retry-After", "9")}}
		f.add(7, "money-value", 1, Avro, money)
		f.authorization = "Bearer token-1"
		_, err := network{"r:8081": f, "issuer": i}.client(t, oauth("S3cr3t")).Schema(t.Context(), Number(7))
		if err != nil {
			t.Errorf("got %v", err)
		}
		i.troubles = nil
		for range 20 {
			i.troubles = append(i.troubles, status(503, 0, ""))
		}
		_, err = network{"r:8081": f, "issuer": i}.client(t, oauth("S3cr3t")).Schema(t.Context(), Number(7))
		wantFault(t, err, batch.Failed, "http://issuer/token answers 503", "client reader")
	})
}

func TestAnIssuerThatIsGoneIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := network{"r:8081": newFake(t)}.client(t, oauth("S3cr3t")).Schema(t.Context(), Number(7))
		wantFault(t, err, batch.Failed, "http://issuer/token", "connection refused")
		withoutSecrets(t, err)
	})
}

func TestAClientThatTheIssuerRefusesIsToldWithoutItsSecret(t *testing.T) {
	f, i := newFake(t), &issuer{t: t}
	_, err := network{"r:8081": f, "issuer": i}.client(t, oauth(secret)).Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "http://issuer/token answers 401", `"(redacted) is not known" to client reader`, "Correct the credentials")
	withoutSecrets(t, err)
	if f.count() != 0 || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v after %d requests", err, f.count())
	}
}
