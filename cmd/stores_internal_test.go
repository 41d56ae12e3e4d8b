package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink"
	"sluice/objectstore"
)

// The same refusal of a store means the same whether the checkpoint or the warehouse met it. The two packages know nothing of
// each other.
func TestCheckpointAndWarehouseUnderstandAStoreAlike(t *testing.T) {
	for _, said := range []struct {
		status int
		code   string
		class  batch.Class
	}{
		{403, "AccessDenied", batch.NotSetUp}, {403, "InvalidAccessKeyId", batch.NotSetUp}, {403, "SignatureDoesNotMatch", batch.NotSetUp},
		{400, "ExpiredToken", batch.NotSetUp}, {400, "InvalidToken", batch.NotSetUp}, {400, "TokenRefreshRequired", batch.NotSetUp},
		{403, "AllAccessDisabled", batch.NotSetUp}, {403, "AccountProblem", batch.NotSetUp}, {403, "NotSignedUp", batch.NotSetUp}, {403, "InvalidSecurity", batch.NotSetUp},
		{404, "XAdminUserNotFound", batch.NotSetUp}, {403, "XAdminAccessDenied", batch.NotSetUp}, {401, "Unauthorized", batch.NotSetUp}, {403, "", batch.NotSetUp},
		{403, "RequestTimeTooSkewed", batch.NotSetUp}, {403, "QuotaExceeded", batch.Failed}, {507, "XMinioStorageFull", batch.Failed},
		{404, "NoSuchBucket", batch.NotSetUp}, {400, "InvalidBucketName", batch.NotSetUp}, {400, "AuthorizationHeaderMalformed", batch.NotSetUp},
		{400, "KMS.DisabledException", batch.NotSetUp}, {400, "InvalidArgument", batch.Failed},
	} {
		t.Run(fmt.Sprintf("%d %s", said.status, said.code), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(said.status)
				if said.code != "" {
					fmt.Fprintf(w, "<Error><Code>%s</Code><Message>so it is</Message></Error>", said.code)
				}
			}))
			t.Cleanup(server.Close)
			for part, err := range map[string]error{"checkpoint": writeCheckpoint(t, server.URL), "warehouse": writeWarehouse(t, server.URL)} {
				if err == nil || batch.ClassOf(err) != said.class || batch.HintOf(err) == "" {
					t.Errorf("%s: got class %v, hint %q of %v, want %v and a hint", part, batch.ClassOf(err), batch.HintOf(err), err, said.class)
				}
				if err != nil && strings.Contains(err.Error(), "hunter") {
					t.Errorf("%s tells a secret: %v", part, err)
				}
			}
		})
	}
}

func writeCheckpoint(t *testing.T, endpoint string) error {
	s, err := objectstore.Open(t.Context(), "s3://lake/state?region=us-east-1&use_path_style=true&anonymous=true&endpoint="+endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return s.Put(t.Context(), "progress/0.json", []byte("{}"))
}

func writeWarehouse(t *testing.T, endpoint string) error {
	o := lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: "s3://lake/w", Properties: map[string]string{
		"s3.endpoint": endpoint, "s3.region": "us-east-1", "s3.access-key-id": "me", "s3.secret-access-key": "hunter2"}}
	c, err := lakesink.OpenCatalog(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.(catalog.Closer).Close()
	_, err = lakesink.New(c, lakesink.Options{Table: "db.t"}).Probe(t.Context(), o)
	return err
}
