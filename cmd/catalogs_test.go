package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/lakesink"
	"sluice/lakesink/restcatalog"
	"sluice/lakesink/resttest"
)

// jobOf is the job file in docs/catalogs.md for a type of catalog.
func jobOf(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/catalogs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range jobInDocs.FindAllSubmatch(text, -1) {
		if strings.Contains(string(m[1]), "type: "+kind+"\n") {
			return string(m[1])
		}
	}
	t.Fatalf("there is no job with a catalog of type %s in docs/catalogs.md", kind)
	return ""
}

// The job for a REST catalog in docs/catalogs.md runs as it stands, but for its addresses, and shows no secret.
func TestTheJobOfARESTCatalogRuns(t *testing.T) {
	t.Parallel()
	const credential = "sluice:s3cr3t-of-the-catalog"
	k, dir := embedded(t, "orders"), t.TempDir()
	k.fill(t, "orders", 30, 0, 1)
	tables, err := lakesink.OpenCatalog(t.Context(), lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "lake")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tables.(catalog.Closer).Close() }()
	server, issued := resttest.New(t, tables), 0
	server.StageAt, server.Token, server.Credential = filepath.Join(dir, "staged"), "none yet", credential
	server.NextToken = func() (string, int) { issued++; return fmt.Sprint("t0ken-", issued), 3600 }
	file := filepath.Join(dir, "job.yaml")
	text := strings.NewReplacer("broker:9092", k.addr, "https://catalog.example.com/api/catalog", server.URL,
		"s3://lake/checkpoints/orders?region=eu-central-1", filepath.Join(dir, "state")).Replace(jobOf(t, "rest"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice := func(code int, args ...string) *outcome {
		o := call(t, []string{"CATALOG_CREDENTIAL=" + credential}, slices.Concat([]string{"sluice"}, args, []string{"--job", file})...).wants(code)
		if shown := o.stdout + o.stderr; strings.Contains(shown, "s3cr3t") || strings.Contains(shown, "t0ken") {
			t.Errorf("sluice %v shows a secret:\n%s", args, shown)
		}
		return o
	}
	for _, verb := range [][]string{{"validate"}, {"plan"}, {"run", "--print-config"}, {"run"}, {"status"}, {"verify", "--source"}, {"peek"}} {
		sluice(0, verb...)
	}
	server.Token, server.Credential = "another", "sluice:another" // the secret was changed
	if o := sluice(10, "run"); !strings.Contains(o.stderr, "invalid_client") || !strings.Contains(o.stderr, "check token or credential") {
		t.Errorf("got\n%s", o.stderr)
	}
}

// Each property that is read is in the table, and no other name is taken for one.
func TestThePropertiesOfARESTCatalogAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/catalogs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range restcatalog.Keys() {
		name := strings.Replace(key, "*", "NAME", 1)
		if key != "rest.authorization-url" && !strings.Contains(string(text), "`"+name+"`") { // another name for oauth2-server-uri
			t.Errorf("%s is not in docs/catalogs.md", key)
		}
	}
}
