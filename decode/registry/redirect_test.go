package registry

import (
	"net/http"
	"strings"
	"testing"

	"sluice/batch"
)

// moved answers with a redirect.
func moved(to string) http.HandlerFunc { return status(http.StatusFound, 0, "", "Location", to) }

func TestARedirectWithinTheServerIsFollowedWithCredentials(t *testing.T) {
	f := newFake(t)
	f.authorization = basicHeader("reader", secret)
	f.add(8, "money-value", 1, Avro, money)
	f.trouble(moved("/schemas/ids/8"))
	c := network{"r:8081": f}.client(t, at("http://r:8081", "basic.auth.user.info", "reader:"+secret))
	if s, err := c.Schema(t.Context(), Number(7)); err != nil || s.Text != money {
		t.Errorf("got %+v, %v", s, err)
	}
}

// bare is a server that notes the headers that come to it.
type bare struct {
	fake *fake
	seen []http.Header
}

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.seen = append(b.seen, r.Header.Clone())
	b.fake.ServeHTTP(w, r)
}

func TestCredentialsNeverFollowARedirectToAnotherServer(t *testing.T) {
	for _, properties := range []map[string]string{
		at("http://r:8081", "basic.auth.user.info", "reader:"+secret, "request.header.X-Api-Key", secret, "bearer.auth.identity.pool.id", "pool-1"),
		at("http://reader:S3cr3t%2Fp%40ss%3Aword@r:8081"),
		at("http://r:8081", "bearer.auth.token", secret),
		at("http://r:8081", "request.header.Authorization", secret),
	} {
		for _, to := range []string{"http://sub.r:8081/schemas/ids/7", "http://r:8082/schemas/ids/7", "http://reader:pass@evil/schemas/ids/7", "https://r:8081/schemas/ids/7"} {
			open, other := newFake(t), newFake(t)
			open.trouble(moved(to))
			other.add(7, "money-value", 1, Avro, money)
			b := &bare{fake: other}
			n := network{"r:8081": open, "sub.r:8081": b, "r:8082": b, "evil": b}
			if strings.HasPrefix(to, "https") {
				n["r:8081"] = &turn{open, b}
			}
			s, err := n.client(t, properties).Schema(t.Context(), Number(7))
			if err != nil || s.Text != money || len(b.seen) != 1 {
				t.Fatalf("%s: got %+v, %v", to, s, err)
			}
			for name, values := range b.seen[0] {
				if name != "Accept" && name != "User-Agent" {
					t.Errorf("%s: got %s: %s", to, name, values)
				}
			}
		}
	}
}

// turn answers plain requests by one, and those over TLS by another.
type turn struct{ plain, secure http.Handler }

func (u *turn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme == "https" {
		u.secure.ServeHTTP(w, r)
		return
	}
	u.plain.ServeHTTP(w, r)
}

func TestCredentialsStayAwayAfterADetour(t *testing.T) {
	f, evil := newFake(t), newFake(t)
	b := &bare{fake: f}
	f.trouble(moved("http://evil/x"))
	evil.trouble(moved("http://r:8081/schemas/ids/666"))
	_, err := network{"r:8081": b, "evil": evil}.client(t, at("http://r:8081", "bearer.auth.token", secret)).Schema(t.Context(), Number(7))
	if err == nil || len(b.seen) != 2 || b.seen[0].Get("Authorization") == "" || b.seen[1].Get("Authorization") != "" {
		t.Errorf("got %v, %v", err, b.seen)
	}
}

func TestAServerThatIsRedirectedToAndWantsCredentialsIsNamed(t *testing.T) {
	f, other := newFake(t), newFake(t)
	other.authorization = basicHeader("reader", secret)
	f.trouble(moved("http://leader:8081/schemas/ids/7"))
	_, err := network{"r:8081": f, "leader:8081": other}.client(t, at("http://r:8081", "basic.auth.user.info", "reader:"+secret)).Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "http://r:8081 answers 401", "redirected to http://leader:8081, which gets no credentials")
	withoutSecrets(t, err)
}

func TestRedirectsThatLeadNowhereAreRefused(t *testing.T) {
	f := newFake(t)
	for range 7 {
		f.trouble(moved("/schemas/ids/7"))
	}
	_, err := network{"r:8081": f}.client(t, at("http://r:8081")).Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "http://r:8081 redirects more than 5 times")
	if f.count() != 6 {
		t.Errorf("got %d requests, want 6", f.count())
	}

	f = newFake(t)
	f.trouble(moved("http://reader:pass@r:8081/schemas/ids/7?token=" + secret))
	_, err = network{"r:8443": f}.client(t, at("https://r:8443")).Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "https://r:8443 redirects from https to http://r:8081, where everybody could read along")
	withoutSecrets(t, err, "pass@")
}
