package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// RESTCatalog is a namespace of its own in a real Iceberg REST catalog, that of Apache Iceberg's compatibility kit. The
// tables of the catalog are in the bucket of the S3 server.
type RESTCatalog struct {
	// URI is the catalog's address.
	URI string
	// Warehouse is where the catalog puts its tables: NAMESPACE/TABLE below it.
	Warehouse string
	// Namespace is one that no other test, process or run has. It is not made yet.
	Namespace string
	// Bucket is a folder of the test in the same bucket, outside of the warehouse, for a checkpoint.
	Bucket Bucket
}

// REST is a fresh namespace in the shared REST catalog, started on first use, and sets the environment for its S3 server as
// S3 does (so the test cannot be parallel). The namespace is emptied and dropped when the test ends, with its files, but
// stays for a look if the test failed.
func REST(tb testing.TB) RESTCatalog {
	tb.Helper()
	uri, err := StartREST()
	if err != nil {
		tb.Fatal(err)
	}
	c := RESTCatalog{URI: uri, Warehouse: "s3://lake/rest", Namespace: strings.ReplaceAll(fresh(tb), "-", "_"), Bucket: S3(tb)}
	tb.Cleanup(func() { c.discard(tb) })
	return c
}

var rest = sync.OnceValues(func() (string, error) {
	out, err := command("rest", "start")
	return strings.TrimSpace(out), err
})

// StartREST starts the shared REST catalog and the S3 server, or finds them running, and returns the catalog's URI. It is
// REST for callers that are no tests.
func StartREST() (string, error) { return rest() }

// Table is the name of a table in the namespace.
func (c RESTCatalog) Table(name string) string { return c.Namespace + "." + name }

func (c RESTCatalog) discard(tb testing.TB) {
	if tb.Failed() {
		tb.Logf("namespace %s of %s is kept", c.Namespace, c.URI)
		return
	}
	if err := c.drop(); err != nil {
		tb.Errorf("drop namespace %s: %v", c.Namespace, err)
	}
	c.discardFiles(tb)
}

// discardFiles empties the namespace's folder in the warehouse.
func (c RESTCatalog) discardFiles(tb testing.TB) {
	files := c.Bucket
	files.Prefix = strings.TrimPrefix(c.Warehouse, "s3://"+files.Name+"/") + "/" + c.Namespace
	files.discard(tb)
}

// drop removes the tables and the namespace. One that was never made is no error.
func (c RESTCatalog) drop() error {
	at := c.URI + "/v1/namespaces/" + url.PathEscape(c.Namespace)
	var listed struct {
		Identifiers []struct{ Name string } `json:"identifiers"`
	}
	if code, err := ask(http.MethodGet, at+"/tables", &listed); err != nil || code == http.StatusNotFound {
		return err
	}
	for _, table := range listed.Identifiers {
		if _, err := ask(http.MethodDelete, at+"/tables/"+url.PathEscape(table.Name), nil); err != nil {
			return err
		}
	}
	_, err := ask(http.MethodDelete, at, nil)
	return err
}

// ask sends one request; answers other than success and not found are errors.
func ask(method, address string, into any) (code int, err error) {
	request, err := http.NewRequest(method, address, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
	case response.StatusCode >= 300:
		return response.StatusCode, fmt.Errorf("%s %s: %s", method, address, response.Status)
	case into != nil:
		err = json.NewDecoder(response.Body).Decode(into)
	}
	return response.StatusCode, err
}
