package lakesink

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/resttest"
)

func TestWhatIsNoRESTCatalogIsNamed(t *testing.T) {
	answer := func(code int, header, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", header)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	server := resttest.New(t, nil)
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		uri    string
		class  batch.Class
		words  string
	}{
		"a web server":  {answer(404, "", "<html>not found</html>"), server.URL, batch.NotSetUp, "no REST catalog"},
		"another path":  {answer(404, "", ""), server.URL + "/v1", batch.NotSetUp, "no REST catalog"},
		"moved":         {answer(301, "https://lake.example/?token=abc", ""), server.URL, batch.NotSetUp, "a redirection to https://lake.example/"},
		"no JSON":       {answer(200, "", "welcome"), server.URL, batch.NotSetUp, "no REST catalog"},
		"out of order":  {answer(503, "", "later"), server.URL, batch.Failed, "HTTP 503: later"},
		"no address":    {nil, "lake", batch.NotSetUp, "uri is no address"},
		"credentials":   {nil, "http://me:hunter2@" + strings.TrimPrefix(server.URL, "http://"), batch.NotSetUp, "holds credentials"},
		"nobody there":  {nil, "http://127.0.0.1:1", batch.Failed, "refused"},
		"not over TLS":  {nil, strings.Replace(server.URL, "http:", "https:", 1), batch.NotSetUp, ""},
		"odd auth type": {nil, server.URL, batch.NotSetUp, `"kerberos" is not known`},
	} {
		server.Before = c.before
		var properties map[string]string
		if name == "odd auth type" {
			properties = map[string]string{"rest.auth.type": "kerberos"}
		}
		_, err := OpenCatalog(t.Context(), CatalogOptions{Type: "rest", URI: c.uri, Properties: properties})
		if err == nil || batch.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.words) || batch.HintOf(err) == "" {
			t.Errorf("%s: got %v (%v), want class %v and %q", name, err, batch.ClassOf(err), c.class, c.words)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "abc")) {
			t.Errorf("%s: a secret is in %v", name, err)
		}
	}
}

// A 404 that is no catalog's must not be taken for a table that is gone.
func TestAPageOfAProxyIsNoMissingTable(t *testing.T) {
	server, c := restServer(t, nil)
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		http.Error(w, "default backend - 404", http.StatusNotFound)
		return true
	}
	_, err := s.Table(t.Context(), queryID)
	wantClass(t, err, batch.NotSetUp, "no REST catalog")
}

// Where a table would be, only the server knows; it is asked without making it.
func TestAProbeAsksARESTCatalogWhereTheTableWouldBe(t *testing.T) {
	folder := t.TempDir()
	server, c := restServer(t, nil, func(s *resttest.Server) { s.StageAt = folder })
	s := newSink(c)
	o := CatalogOptions{Type: "rest", URI: server.URL, Warehouse: "lake"}
	if place, err := s.Probe(t.Context(), o); err != nil || place != "" {
		t.Errorf("without a namespace: got %q, %v", place, err)
	}
	if err := server.Tables.CreateNamespace(t.Context(), table.Identifier{"db"}, nil); err != nil {
		t.Fatal(err)
	}
	if place, err := s.Probe(t.Context(), o); err != nil || place != filepath.Join(folder, "db", "orders") {
		t.Errorf("got %q, %v, want it in %s", place, err, folder)
	}
	if there, err := server.Tables.CheckTableExists(t.Context(), table.Identifier{"db", "orders"}); err != nil || there {
		t.Errorf("the table is there: %t, %v", there, err)
	}
}

// Nessie's catalog tells of the newest snapshot alone, without its parent: its history is in its own commits.
func TestARESTCatalogThatTellsOfOneSnapshotTakesBatchAfterBatch(t *testing.T) {
	_, c := restServer(t, nil, func(s *resttest.Server) {
		s.Metadata = func(m map[string]any) {
			snapshots, _ := m["snapshots"].([]any)
			if len(snapshots) == 0 {
				return
			}
			newest := snapshots[len(snapshots)-1].(map[string]any)
			delete(newest, "parent-snapshot-id")
			m["snapshots"], m["snapshot-log"], m["metadata-log"] = []any{newest}, nil, nil
		}
	})
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		mustApply(t, s, queryID, planN(n))
	}
	if a := mustApply(t, s, queryID, planN(2)); a.Batch != 2 || a.RolledBack {
		t.Errorf("a replay: got %+v", a)
	}
	rival(t, c, 5) // and what is under it is not seen any more
	mustApply(t, s, queryID, planN(3))
	wantOffsets(t, c, 40, 5)
}
