package objectstore

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/objectstore/s3test"
)

// openFake opens a folder in a fake bucket, with retries that do not pause.
func openFake(t *testing.T, f *s3test.Bucket) *Cloud {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return dialFake(t, server.URL)
}

func dialFake(t *testing.T, endpoint string) *Cloud {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := Open(t.Context(), "s3://bkt/ck/orders?region=eu-central-1&use_path_style=true&endpoint="+endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*Cloud)
	n := c.native.(*s3Native)
	n.client = s3.New(n.client.Options(), func(o *s3.Options) { o.Retryer = retrying(time.Nanosecond) })
	return c
}
