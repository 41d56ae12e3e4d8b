package checkpoint

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"
)

// fakeS3 is a bucket that answers like S3, with a hook before and one after every request.
type fakeS3 struct {
	mu       sync.Mutex
	objects  map[string][]byte
	requests []string
	// before may answer in the place of the bucket; after may spoil the answer to what was done.
	before, after func(w http.ResponseWriter, r *http.Request) bool
	pageSize      int
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
	if f.before != nil && f.before(w, r) {
		return
	}
	answer := httptest.NewRecorder()
	f.serve(answer, r, body)
	if f.after != nil && f.after(w, r) {
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *fakeS3) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bkt"), "/")
	data, exists := f.objects[key]
	switch {
	case r.Method == http.MethodGet && key == "":
		f.list(w, r)
	case r.Method == http.MethodPost:
		f.deleteMany(w, body)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "" && exists:
		s3Error(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && !exists, r.Method == http.MethodGet && !exists:
		s3Error(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag(data):
		s3Error(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		f.objects[key] = body
		w.Header().Set("ETag", etag(body))
	default:
		w.Header().Set("ETag", etag(data))
		_, _ = w.Write(data)
	}
}

func (f *fakeS3) list(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Key, LastModified, ETag string
		Size                    int
	}
	var result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []object
	}
	q := r.URL.Query()
	var keys []string
	for key := range f.objects {
		if strings.HasPrefix(key, q.Get("prefix")) && key > q.Get("start-after") && key > q.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if f.pageSize > 0 && len(keys) > f.pageSize {
		keys = keys[:f.pageSize]
		result.IsTruncated, result.NextContinuationToken = true, keys[f.pageSize-1]
	}
	for _, key := range keys {
		result.Contents = append(result.Contents, object{key, "2026-11-02T03:04:05.000Z", etag(f.objects[key]), len(f.objects[key])})
	}
	_ = xml.NewEncoder(w).Encode(result)
}

func (f *fakeS3) deleteMany(w http.ResponseWriter, body []byte) {
	var request struct {
		Object []struct{ Key string }
	}
	_ = xml.Unmarshal(body, &request)
	for _, o := range request.Object {
		delete(f.objects, o.Key)
	}
	_, _ = io.WriteString(w, "<DeleteResult></DeleteResult>")
}

// etag of S3 is the content's MD5; two states with the same content are one to it.
func etag(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

func s3Error(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the test says</Message></Error>", code)
}

// openFake opens a checkpoint in a fake bucket, with retries that do not pause.
func openFake(t *testing.T, f *fakeS3) *Cloud {
	t.Helper()
	if f.objects == nil {
		f.objects = map[string][]byte{}
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return dialFake(t, server.URL)
}

func dialFake(t *testing.T, endpoint string) *Cloud {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := OpenStore(t.Context(), "s3://bkt/ck/orders?region=eu-central-1&use_path_style=true&endpoint="+endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*Cloud)
	n := c.native.(*s3Native)
	n.client = s3.New(n.client.Options(), func(o *s3.Options) { o.Retryer = retrying(time.Nanosecond) })
	if c.bucket, err = s3blob.OpenBucket(t.Context(), n.client, "bkt", nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func always(status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		s3Error(w, status, code)
		return true
	}
}
