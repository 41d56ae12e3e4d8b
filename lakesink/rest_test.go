package lakesink

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/resttest"
)

// restServer is a REST catalog whose tables are in a folder, and a connection to it.
func restServer(t testing.TB, properties map[string]string, change ...func(*resttest.Server)) (*resttest.Server, catalog.Catalog) {
	t.Helper()
	s := resttest.New(t, openSQLite(t, t.TempDir()))
	for _, f := range change {
		f(s)
	}
	return s, openRESTAt(t, s, properties)
}

func openRESTAt(t testing.TB, s *resttest.Server, properties map[string]string) catalog.Catalog {
	t.Helper()
	c, err := OpenCatalog(context.Background(), CatalogOptions{Type: "rest", URI: s.URL, Warehouse: "lake", Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.(catalog.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func commits(requests []string) (n int) {
	for _, r := range requests {
		if parts := strings.Split(r, "/"); strings.HasPrefix(r, "POST ") && parts[len(parts)-2] == "tables" {
			n++
		}
	}
	return n
}

func TestATableOfARESTCatalogTakesEachBatchOnce(t *testing.T) {
	server, c := restServer(t, nil, func(s *resttest.Server) { s.Prefix = "lakes/main" })
	o := testOptions()
	o.Table = "sales.eu-west.2026~q4.orders+all"
	s := New(c, o)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	server.Requests()
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
	}
	if a := mustApply(t, s, queryID, planN(2)); a.Batch != 2 { // a replay
		t.Errorf("got batch %d, want 2", a.Batch)
	}
	requests := server.Requests()
	if got := commits(requests); got != 3 {
		t.Errorf("got %d commits, want 3", got)
	}
	const want = "/v1/lakes/main/namespaces/sales%1Feu-west%1F2026~q4/tables/orders+all"
	for _, r := range requests {
		if !strings.HasSuffix(r, " "+want) {
			t.Errorf("got %s, want %s", r, want)
		}
	}
	loaded, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows := scan(t, loaded); len(rows) != 60 {
		t.Errorf("got %d rows, want 60", len(rows))
	}
}

// What a catalog answers to a commit, and what has become of the batch then: it is in the table once, and sent as often as the
// answer allows.
func TestWhateverARESTCatalogAnswersABatchIsThereOnce(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { return resttest.Refuse(w, code, "AsTheTestSays") }
	}
	page := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "<html>Bad Gateway</html>", code)
			return true
		}
	}
	hangUp := func(w http.ResponseWriter, _ *http.Request) bool { return resttest.HangUp(w) }
	cut := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"metadata-location":"`))
		return true
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		// applied says that the catalog did what it was asked before it answered; sent is how often the commit is sent in all.
		applied bool
		sent    int
	}{
		"409, not applied":          {status(409), false, 2},
		"409, applied":              {status(409), true, 1}, // to a copy that somebody on the way has sent
		"500, not applied":          {status(500), false, 2},
		"500, applied":              {status(500), true, 1},
		"502, not applied":          {page(502), false, 2},
		"502, applied":              {page(502), true, 1},
		"503, not applied":          {status(503), false, 2},
		"503, applied":              {status(503), true, 1},
		"504, not applied":          {page(504), false, 2},
		"504, applied":              {page(504), true, 1},
		"408, not applied":          {status(408), false, 2},
		"no answer, not applied":    {hangUp, false, 2},
		"no answer, applied":        {hangUp, true, 1},
		"an answer cut off":         {cut, true, 1},
		"429":                       {status(429), false, 2},
		"200 with nothing, applied": {func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(200); return true }, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, catalog := restServer(t, nil)
			s := newSink(catalog)
			if err := s.Create(t.Context(), rawSchema()); err != nil {
				t.Fatal(err)
			}
			mustApply(t, s, queryID, planN(0))
			once := func(w http.ResponseWriter, r *http.Request) bool {
				if !resttest.IsCommit(r) {
					return false
				}
				server.Before, server.After = nil, nil
				return c.answer(w, r)
			}
			if c.applied {
				server.After = once
			} else {
				server.Before = once
			}
			server.Requests()
			a := mustApply(t, s, queryID, planN(1))
			if got := commits(server.Requests()); a.Batch != 1 || got != c.sent {
				t.Errorf("got batch %d, sent %d times; want 1, %d", a.Batch, got, c.sent)
			}
			mustApply(t, s, queryID, planN(2))
			wantOffsets(t, catalog, 30, 0)
		})
	}
}

// A rival's commit between reading and commit, which the catalog refuses with 409.
func TestARivalInARESTCatalogKeepsItsRows(t *testing.T) {
	server, c := restServer(t, nil)
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if resttest.IsCommit(r) {
			server.Before = nil
			rival(t, server.Tables, 5)
		}
		return false
	}
	mustApply(t, s, queryID, planN(0))
	wantOffsets(t, c, 10, 5)
}

func TestACommitThatARESTCatalogRefusesIsNotOfferedAgain(t *testing.T) {
	for code, words := range map[int]string{400: "own words", 403: "privileges", 413: "proxy", 422: "own words"} {
		server, c := restServer(t, nil)
		s := newSink(c)
		if err := s.Create(t.Context(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		server.Before = func(w http.ResponseWriter, r *http.Request) bool {
			return resttest.IsCommit(r) && resttest.Refuse(w, code, "ValidationException")
		}
		server.Requests()
		_, err := apply(s, queryID, planN(0))
		wantClass(t, err, batch.NotSetUp, fmt.Sprintf("HTTP %d: ValidationException: as the test says", code), "is not in table")
		if got := commits(server.Requests()); got != 1 || !strings.Contains(batch.HintOf(err), words) {
			t.Errorf("%d: got %d commits, hint %s", code, got, batch.HintOf(err))
		}
		server.Before = nil
		mustApply(t, s, queryID, planN(0))
		wantOffsets(t, c, 10, 0)
	}
}

// Applied, the answer lost, and then nothing can be read.
func TestACommitToARESTCatalogThatIsGoneAfterwardsIsUnknown(t *testing.T) {
	server, c := restServer(t, nil)
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	server.After = func(w http.ResponseWriter, r *http.Request) bool {
		if !resttest.IsCommit(r) {
			return false
		}
		server.After = nil
		server.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			return resttest.Refuse(w, 500, "InternalServerError")
		}
		return resttest.HangUp(w)
	}
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.UnknownOutcome, "may or may not be")
	server.Before = nil
	mustApply(t, s, queryID, planN(0))
	wantOffsets(t, c, 10, 0)
}

// A token that ends while a batch is committed is renewed once, and the commit sent once more: a refused token has changed
// nothing.
func TestATokenThatEndsDuringACommitIsRenewed(t *testing.T) {
	for _, code := range []int{401, 419} {
		issued := 0
		server, c := restServer(t, map[string]string{"credential": "sluice:topsecret", "scope": "PRINCIPAL_ROLE:ALL"}, func(s *resttest.Server) {
			s.Token, s.Credential = "none yet", "sluice:topsecret"
			s.NextToken = func() (string, int) { issued++; return fmt.Sprintf("token-%d", issued), 3600 }
		})
		s := newSink(c)
		if err := s.Create(t.Context(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		server.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !resttest.IsCommit(r) {
				return false
			}
			server.Before = nil
			return resttest.Refuse(w, code, "NotAuthorizedException")
		}
		before := issued
		mustApply(t, s, queryID, planN(0))
		if issued != before+1 {
			t.Errorf("%d: got %d fresh tokens, want 1", code, issued-before)
		}
		wantOffsets(t, c, 10, 0)
	}
}

// A login page, or the way to one, is no answer of a server of tokens, and will be there the next time as well.
func TestAPageInPlaceOfATokenIsNotSetUp(t *testing.T) {
	catalog := resttest.New(t, nil)
	for name, answer := range map[string]http.HandlerFunc{
		"page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Log in</html>") },
		"redirection": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login?state=SEKRET", http.StatusFound)
		},
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok"}`) },
	} {
		tokens := httptest.NewServer(answer)
		_, err := OpenCatalog(t.Context(), CatalogOptions{Type: "rest", URI: catalog.URL, Properties: map[string]string{"credential": "id:SEKRET", "oauth2-server-uri": tokens.URL + "/auth"}})
		tokens.Close()
		wantClass(t, err, batch.NotSetUp, "from "+tokens.URL+"/auth")
		if text := err.Error() + batch.HintOf(err); strings.Contains(text, "SEKRET") || !strings.Contains(text, "check oauth2-server-uri") {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

func TestATokenThatARESTCatalogDoesNotTakeIsNotSetUp(t *testing.T) {
	server := resttest.New(t, nil)
	server.Token, server.Credential = "right", "sluice:topsecret"
	server.NextToken = func() (string, int) { return "right", 60 }
	for name, properties := range map[string]map[string]string{
		"token":      {"token": "wrong-token"},
		"credential": {"credential": "sluice:wrong-secret"},
		"neither":    nil,
		"fresh too":  {"credential": "sluice:topsecret"},
	} {
		if name == "fresh too" {
			server.Before = func(w http.ResponseWriter, r *http.Request) bool {
				return strings.HasSuffix(r.URL.Path, "/config") && resttest.Refuse(w, 401, "NotAuthorizedException "+r.Header.Get("Authorization"))
			}
		}
		_, err := OpenCatalog(t.Context(), CatalogOptions{Type: "rest", URI: server.URL, Properties: properties})
		wantClass(t, err, batch.NotSetUp, "HTTP 401")
		if text := err.Error() + batch.HintOf(err); strings.Contains(text, "secret ") && strings.Contains(text, "wrong-secret") || strings.Contains(text, "topsecret") || strings.Contains(text, "wrong-token") {
			t.Errorf("%s: a secret is in %s", name, text)
		}
		if got := strings.Contains(err.Error(), "fresh token"); got != (name == "fresh too") {
			t.Errorf("%s: got %v", name, err)
		}
		server.Before = nil
	}
}

// A catalog that leaves out properties which it does not know is found out with the first table, or the first batch.
func TestARESTCatalogThatDropsTheLedgerIsFoundOutAtOnce(t *testing.T) {
	server, c := restServer(t, nil, func(s *resttest.Server) {
		s.Created = func(properties map[string]string) { delete(properties, createdBy) }
	})
	s := newSink(c)
	wantClass(t, s.Create(t.Context(), rawSchema()), batch.NotSetUp, "dropped its property sluice.created-by", "nothing was written")

	server.Updates = func(updates table.Updates) table.Updates {
		return slices.DeleteFunc(updates, func(u table.Update) bool { return u.Action() == table.UpdateSetProperties })
	}
	_, err := apply(s, queryID, planN(0))
	wantClass(t, err, batch.Inconsistent, "batch 0", "dropped the ledger", "sluice.query."+queryID)
	wantOffsets(t, c, 10, 0)

	server.Updates = nil // the catalog was told to keep them
	mustApply(t, s, queryID, planN(0))
	mustApply(t, s, queryID, planN(1))
	wantOffsets(t, c, 20, 0)
}

// A catalog that refuses a property which only keeps commits cheap gets the table without.
func TestARESTCatalogThatReservesPropertiesGetsATableWithout(t *testing.T) {
	server, c := restServer(t, nil)
	refused := 0
	server.Created = func(properties map[string]string) {
		if properties[table.MetadataDeleteAfterCommitEnabledKey] != "" {
			refused++
		}
	}
	server.After = func(w http.ResponseWriter, r *http.Request) bool {
		return refused == 1 && strings.HasSuffix(r.URL.Path, "/tables") && r.Method == http.MethodPost && func() bool { refused++; return true }() && resttest.Refuse(w, 400, "BadRequestException")
	}
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, queryID, planN(0))
}
