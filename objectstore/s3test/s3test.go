// Package s3test is a bucket in this process that answers like S3, with hooks that spoil its answers. It is for tests alone.
package s3test

import (
	"bytes"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bucket is the bucket bkt. Its fields are for one goroutine, and no request may be under way meanwhile.
type Bucket struct {
	mu sync.Mutex
	// Objects are by key; nil is none.
	Objects map[string][]byte
	// Requests lists what was asked, in order: method, path and query.
	Requests []string
	// Before may answer in the place of the bucket; After may spoil the answer to what was done. They run one at a time.
	Before, After func(w http.ResponseWriter, r *http.Request) bool
	// PageSize cuts listings; 0 for no cut.
	PageSize int
	// Uploads are the multipart uploads that were neither completed nor aborted.
	Uploads map[string]map[int][]byte
}

// ServeHTTP answers one request.
func (f *Bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Requests = append(f.Requests, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
	if f.Before != nil && f.Before(w, r) {
		return
	}
	answer := httptest.NewRecorder()
	f.serve(answer, r, body)
	if f.After != nil && f.After(w, r) {
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *Bucket) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bkt"), "/")
	if f.Objects == nil {
		f.Objects, f.Uploads = map[string][]byte{}, map[string]map[int][]byte{}
	}
	if r.URL.Query().Has("uploads") || r.URL.Query().Has("uploadId") {
		f.multipart(w, r, key, body)
		return
	}
	data, exists := f.Objects[key]
	switch {
	case r.Method == http.MethodGet && key == "":
		f.list(w, r)
	case r.Method == http.MethodPost:
		f.deleteMany(w, body)
	case r.Method == http.MethodDelete:
		delete(f.Objects, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "" && exists:
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && !exists, r.Method == http.MethodGet && !exists:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != ETag(data):
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		f.Objects[key] = body
		w.Header().Set("ETag", ETag(body))
	case !exists: // HEAD, whose answers have no body
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("ETag", ETag(data))
		http.ServeContent(w, r, "", written, bytes.NewReader(data))
	}
}

// written is when every object was.
var written = time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)

// multipart takes an object in parts.
func (f *Bucket) multipart(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	id := r.URL.Query().Get("uploadId")
	got, exists := f.Uploads[id]
	switch {
	case r.Method == http.MethodPost && id == "":
		id = fmt.Sprint("upload-", len(f.Requests))
		f.Uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case !exists:
		Refuse(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		got[n] = body
		w.Header().Set("ETag", ETag(body))
	case r.Method == http.MethodDelete:
		delete(f.Uploads, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		var whole []byte
		for _, n := range slices.Sorted(maps.Keys(got)) {
			whole = append(whole, got[n]...)
		}
		f.Objects[key] = whole
		delete(f.Uploads, id)
		fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", "&quot;parts&quot;")
	}
}

func (f *Bucket) list(w http.ResponseWriter, r *http.Request) {
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
	for key := range f.Objects {
		if strings.HasPrefix(key, q.Get("prefix")) && key > q.Get("start-after") && key > q.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if f.PageSize > 0 && len(keys) > f.PageSize {
		keys = keys[:f.PageSize]
		result.IsTruncated, result.NextContinuationToken = true, keys[f.PageSize-1]
	}
	for _, key := range keys {
		result.Contents = append(result.Contents, object{key, written.Format("2006-01-02T15:04:05.000Z"), ETag(f.Objects[key]), len(f.Objects[key])})
	}
	_ = xml.NewEncoder(w).Encode(result)
}

func (f *Bucket) deleteMany(w http.ResponseWriter, body []byte) {
	var request struct {
		Object []struct{ Key string }
	}
	_ = xml.Unmarshal(body, &request)
	for _, o := range request.Object {
		delete(f.Objects, o.Key)
	}
	_, _ = io.WriteString(w, "<DeleteResult></DeleteResult>")
}

// ETag of S3 is the content's MD5; two states with the same content are one to it.
func ETag(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

// Refuse answers with an error of S3's.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the test says</Message></Error>", code)
}

// Always is a Before that refuses every request.
func Always(status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		Refuse(w, status, code)
		return true
	}
}
