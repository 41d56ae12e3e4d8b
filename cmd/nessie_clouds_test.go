//go:build integration && clouds && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/rig"
)

// A REST catalog of another make, which checks tokens itself. The first token that is handed out has ended already, whatever
// the token server says of its life: the catalog refuses it, and the run gets another.
func TestATableInNessieWithTokensThatEnd(t *testing.T) {
	lake := rig.InNessie(t)
	var issued atomic.Int64
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ParseForm() != nil || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("client_id") != "sluice" || r.Form.Get("client_secret") != "s3cr3t-of-nessie" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		until := time.Now().Add(time.Hour)
		if issued.Add(1)%2 == 1 {
			until = time.Now().Add(-time.Hour)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": lake.Token(t, until), "token_type": "bearer", "expires_in": 3600})
	}))
	defer tokens.Close()
	k, topic := real(t, 2)
	lake.Namespace += ".eu"
	p := reading(t, k, topic).inREST(lake.RESTCatalog)
	properties := func(credential string) []string {
		text, err := json.Marshal(map[string]string{"credential": credential, "oauth2-server-uri": tokens.URL})
		if err != nil {
			t.Fatal(err)
		}
		return []string{"SLUICE_SINK_ICEBERG_CATALOG_PROPERTIES=" + string(text)}
	}
	p.environ = properties("sluice:wrong")
	p.do(t, "validate").wants(10)
	if o := p.do(t, "run").wants(10); !strings.Contains(o.stderr, "invalid_client") || strings.Contains(o.stderr, "wrong") {
		t.Errorf("got\n%s", o.stderr)
	}
	p.environ = properties("sluice:s3cr3t-of-nessie")
	rows := 0
	for round := range 3 {
		k.fill(t, topic, 30, 0, 1)
		rows += 60
		before := issued.Load()
		p.run(t, "--max-offsets-per-trigger", "25").has("summary", "batches", 3, "caughtUp", true)
		if got := issued.Load() - before; got != 2 {
			t.Errorf("round %d: got %d tokens, want one that is refused and another", round, got)
		}
		p.exact(t, rows)
	}
	for _, verb := range []string{"validate", "plan", "status", "peek"} {
		if o := p.do(t, verb).wants(0); strings.Contains(o.stdout+o.stderr, "s3cr3t") {
			t.Errorf("%s shows the secret:\n%s%s", verb, o.stdout, o.stderr)
		}
	}
}
