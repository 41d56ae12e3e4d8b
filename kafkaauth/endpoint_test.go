package kafkaauth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Some endpoints are told by their query who asks, and no two call it the same.
func TestTheQueryOfATokenEndpointIsNeverShown(t *testing.T) {
	const query = "/token?k=s3kr1t&flavour=vanilla"
	down := newProvider(t, say(500, "no"))
	down.Close()
	echo := func(status int) *provider {
		return newProvider(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			w.Write([]byte(`{"error":"bad ` + r.URL.RawQuery + `"}`))
		})
	}
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	defer strange.Close()
	for name, address := range map[string]string{
		"down": down.URL, "is ill": echo(503).URL, "says no": echo(401).URL, "has no token": echo(200).URL, "is not trusted": strange.URL,
	} {
		o := OAuth{Endpoint: address + query, ClientID: "etl", ClientSecret: "hunter2", Backoff: time.Microsecond, BackoffMax: time.Microsecond}
		_, err := first(t, o, "")
		if err == nil || strings.Contains(err.Error(), "s3kr1t") || strings.Contains(err.Error(), "vanilla") || !strings.Contains(err.Error(), "token endpoint "+address+"/token") {
			t.Errorf("%s: got %v, want the address without its query", name, err)
		}
	}
	l := Login{Mechanism: OAuthBearer, OAuth: OAuth{Endpoint: "https://idp" + query, ClientID: "etl", ClientSecret: "hunter2"}}
	if got := l.Describe(); !strings.HasSuffix(got, "of https://idp/token") {
		t.Errorf("got %q", got)
	}
}
