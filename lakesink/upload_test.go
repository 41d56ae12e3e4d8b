package lakesink

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
)

// multipartStore is as much of S3 as a multipart upload needs. It tells the number and size of each part.
type multipartStore struct {
	parts chan [2]int
	// others are requests that have no place in a multipart upload.
	others chan string
}

func (m *multipartStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		fmt.Fprint(w, `<InitiateMultipartUploadResult><Bucket>lake</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
	case r.Method == http.MethodPut && query.Has("partNumber"):
		number, err := strconv.Atoi(query.Get("partNumber"))
		if err != nil {
			number = -1
		}
		w.Header().Set("ETag", `"e"`)
		m.parts <- [2]int{number, len(body)}
	case r.Method == http.MethodPost && query.Has("uploadId"):
		fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>lake</Bucket><Key>k</Key><ETag>"e"</ETag></CompleteMultipartUploadResult>`)
	default:
		m.others <- r.Method + " " + r.URL.String()
	}
}

// The library keeps the first 16 MiB of a file back by default, which is more than all the parts of an upload together.
func TestAnUploadSendsItsFirstPartAsSoonAsItIsFull(t *testing.T) {
	store := &multipartStore{parts: make(chan [2]int, 9), others: make(chan string, 9)}
	server := httptest.NewServer(store)
	defer server.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	ctx := context.Background()
	fs, err := iceio.LoadFS(ctx, map[string]string{"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "a", "s3.secret-access-key": "s"}, "s3://lake/t")
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{ctx: ctx, fs: fs}
	file := w.newUpload("s3://lake/t/data/x.parquet")
	write := func(n int) {
		if _, err := file.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	write(uploadPartBytes + 1)
	first := <-store.parts // comes although the file is still being written, and is far from 16 MiB
	write(uploadPartBytes)
	if err := file.close(); err != nil {
		t.Fatal(err)
	}
	got := [][2]int{first, <-store.parts, <-store.parts}
	slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
	want := [][2]int{{1, uploadPartBytes}, {2, uploadPartBytes}, {3, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got parts %v, want %v", got, want)
	}
	select {
	case other := <-store.others:
		t.Errorf("got a request beside the upload: %s", other)
	default:
	}
}
