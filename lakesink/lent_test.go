package lakesink

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink/resttest"
	"sluice/objectstore/s3test"
)

// lender is a REST catalog that lends keys for a bucket, and the bucket, which takes no others but the catalog's own.
type lender struct {
	server *resttest.Server
	bucket *s3test.Bucket
	store  string

	mu       sync.Mutex
	keys     int  // how many were lent
	ended    int  // keys up to this one are no longer taken
	ends     bool // keys are lent with the time of their end
	inConfig bool
}

const lendersOwn = "root-key"

func newLender(t *testing.T) (*lender, catalog.Catalog) {
	t.Helper()
	l := &lender{bucket: &s3test.Bucket{}}
	store := httptest.NewServer(l.bucket)
	t.Cleanup(store.Close)
	l.store = store.URL
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "none", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "", "AWS_S3_ENDPOINT": "", "AWS_ENDPOINT_URL_S3": ""} {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_PROFILE", "")
	l.bucket.Before = l.admit
	tables, err := OpenCatalog(t.Context(), CatalogOptions{Type: "sql", URI: t.TempDir() + "/catalog.db", Warehouse: "s3://bkt/lake",
		Properties: map[string]string{"s3.endpoint": l.store, "s3.region": "us-east-1", "s3.access-key-id": lendersOwn, "s3.secret-access-key": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tables.(catalog.Closer).Close() })
	l.server = resttest.New(t, tables)
	l.server.Lend = l.lend
	return l, openRESTAt(t, l.server, nil)
}

// admit refuses keys that have ended, as S3 does.
func (l *lender) admit(w http.ResponseWriter, r *http.Request) bool {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(rest, "/")
	if key == lendersOwn {
		return false
	}
	number, err := strconv.Atoi(strings.TrimPrefix(key, "lent-"))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil || r.Header.Get("X-Amz-Security-Token") != "session of "+key:
		s3test.Refuse(w, http.StatusForbidden, "InvalidAccessKeyId")
	case number <= l.ended:
		s3test.Refuse(w, http.StatusBadRequest, "ExpiredToken")
	default:
		return false
	}
	return true
}

func (l *lender) lend() (map[string]string, []resttest.Credential) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys++
	key := fmt.Sprintf("lent-%d", l.keys)
	lent := map[string]string{"s3.access-key-id": key, "s3.secret-access-key": "secret of " + key, "s3.session-token": "session of " + key}
	if l.ends {
		lent["s3.session-token-expires-at-ms"] = strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	}
	config := map[string]string{"s3.endpoint": l.store, "s3.region": "us-east-1"}
	if l.inConfig {
		for name, value := range lent {
			config[name] = value
		}
		return config, nil
	}
	return config, []resttest.Credential{{Prefix: "s3://other", Config: map[string]string{"s3.access-key-id": "of another bucket", "s3.secret-access-key": "x"}}, {Prefix: "s3://bkt/", Config: lent}}
}

// end ends all keys that were lent so far.
func (l *lender) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.keys
}

// Credentials that a catalog lends end while a batch is written and while it is committed; whoever holds the file system
// then goes on (https://github.com/apache/iceberg-go/issues/792).
func TestCredentialsThatEndDuringARunAreRenewed(t *testing.T) {
	for _, inConfig := range []bool{false, true} {
		l, c := newLender(t)
		l.inConfig = inConfig
		s := newSink(c)
		if err := s.Create(t.Context(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, queryID, planN(0))

		results, err := execute(t.Context(), s, queryID, planN(1))
		if err != nil {
			t.Fatal(err)
		}
		lastTask := planN(1).Ranges()[0]
		task := &batch.Task{Version: batch.FormatVersion, Query: queryID, Batch: 1, Plan: planN(1).Hash, SchemaID: results[0].SchemaID, SpecID: results[0].SpecID,
			Pieces: []batch.Piece{{Topic: lastTask.Topic, Partition: lastTask.Partition, From: lastTask.From, Until: lastTask.Until, LeaderEpoch: -1}}}
		w, err := s.Write(t.Context(), task, "during", rawSchema())
		if err != nil {
			t.Fatal(err)
		}
		l.end() // of what the writer holds
		if err := w.Write(t.Context(), rawRows(lastTask.Partition, lastTask.From, lastTask.Until)); err != nil {
			t.Fatal(err)
		}
		files, err := w.Close(t.Context())
		if err != nil {
			t.Fatalf("credentials in the table's config: %t: %v", inConfig, err)
		}
		results[0].Files = files

		ended := false
		l.bucket.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !ended && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/metadata/") { // the commit's first file
				ended = true
				l.end()
			}
			return l.admit(w, r)
		}
		if _, err := s.Commit(t.Context(), commitOf(s, queryID, planN(1), results)); err != nil {
			t.Fatalf("credentials in the table's config: %t: %v", inConfig, err)
		}
		if !ended {
			t.Error("the commit wrote nothing")
		}
		wantOffsets(t, c, 20, 0)
	}
}

// A catalog that lends no more is an error that says so, and what it lent is not taken for the machine's own credentials.
func TestACatalogThatNoLongerLendsIsNamed(t *testing.T) {
	l, c := newLender(t)
	s := newSink(c)
	if err := s.Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	results, err := execute(t.Context(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	commit := commitOf(s, queryID, planN(0), results)
	l.server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.RawQuery, "snapshots=refs") && resttest.Refuse(w, http.StatusForbidden, "ForbiddenException")
	}
	l.bucket.Before = func(w http.ResponseWriter, r *http.Request) bool {
		l.end()
		return l.admit(w, r)
	}
	_, err = s.Commit(t.Context(), commit)
	wantClass(t, err, batch.NotSetUp, "renew the credentials that the catalog lends for s3://bkt/lake", "HTTP 403: ForbiddenException")
}
