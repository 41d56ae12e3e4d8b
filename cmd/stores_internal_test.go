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
	return probeWarehouse(t, "s3://lake/w", map[string]string{"s3.endpoint": endpoint, "s3.region": "us-east-1", "s3.access-key-id": "me", "s3.secret-access-key": "hunter2"})
}

func probeWarehouse(t *testing.T, warehouse string, properties map[string]string) error {
	t.Helper()
	o := lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: warehouse, Properties: properties}
	c, err := lakesink.OpenCatalog(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.(catalog.Closer).Close()
	_, err = lakesink.New(c, lakesink.Options{Table: "db.t"}).Probe(t.Context(), o)
	return err
}

func TestCheckpointAndWarehouseUnderstandTheOtherCloudsAlike(t *testing.T) {
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	for _, said := range []struct {
		status        int
		google, azure string
		message       string
		class         batch.Class
	}{
		{403, "forbidden", "AuthorizationPermissionMismatch", "or it may not exist", batch.NotSetUp},
		{401, "required", "NoAuthenticationInformation", "", batch.NotSetUp},
		{404, "notFound", "ContainerNotFound", "The specified bucket does not exist.", batch.NotSetUp},
		{400, "invalid", "InvalidHeaderValue", "", batch.Failed},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/acc/") {
				w.Header().Set("x-ms-error-code", said.azure)
				w.WriteHeader(said.status)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(said.status)
			fmt.Fprintf(w, `{"error":{"message":%q,"errors":[{"reason":%q}]}}`, said.message, said.google)
		}))
		host := strings.TrimPrefix(server.URL, "http://")
		for cloud, at := range map[string]struct {
			checkpoint, warehouse string
			properties            map[string]string
		}{
			"GCS": {"gs://lake/state?anonymous=true&endpoint=" + server.URL, "gs://lake/w", map[string]string{"gcs.service.host": server.URL, "gcs.no-auth": "true"}},
			"Azure": {"azblob://lake/state?storage_account=acc&protocol=http&domain=" + host, "abfss://lake@acc.dfs.core.windows.net/w",
				map[string]string{"adls.endpoint": host, "adls.protocol": "http", "adls.auth.shared-key.account.name": "acc", "adls.auth.shared-key.account.key": "a2V5"}},
		} {
			s, err := objectstore.Open(t.Context(), at.checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			for part, err := range map[string]error{"checkpoint": s.Put(t.Context(), "progress/0.json", []byte("{}")), "warehouse": probeWarehouse(t, at.warehouse, at.properties)} {
				if err == nil || batch.ClassOf(err) != said.class || batch.HintOf(err) == "" || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s, %d %s, %s: got class %v, hint %q of %v, want %v and a hint", cloud, said.status, said.azure, part, batch.ClassOf(err), batch.HintOf(err), err, said.class)
				}
			}
		}
		server.Close()
	}
}
