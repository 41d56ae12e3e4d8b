package rig

import (
	"context"
	"errors"
	"io"
	"testing"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // s3:// URLs
)

// Bucket is a folder of its own in the bucket of a real S3 server with atomic conditional writes.
type Bucket struct {
	// Name is the bucket and Prefix the folder in it, without a slash at either end.
	Name, Prefix string
	// Folder is s3://NAME/PREFIX: a warehouse or checkpoint for clients that take the rest from the environment.
	Folder string
	// URL is Folder with region, endpoint and path style as parameters of gocloud.dev.
	URL string
	// Endpoint is the server's address, http://host:port.
	Endpoint string

	query string
}

// S3 is a fresh folder on the shared S3 server, started on first use, and sets the environment in which AWS clients,
// iceberg-go, sluice and read_table.py find it (so the test cannot be parallel). The folder is emptied when the test ends,
// but stays for a look if the test failed.
func S3(tb testing.TB) Bucket {
	tb.Helper()
	env, err := StartS3()
	if err != nil {
		tb.Fatal(err)
	}
	for name, value := range env {
		tb.Setenv(name, value)
	}
	tb.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	b := Bucket{Name: "lake", Prefix: fresh(tb), Endpoint: env["AWS_ENDPOINT_URL_S3"]}
	b.query = "?region=" + env["AWS_REGION"] + "&endpoint=" + b.Endpoint + "&use_path_style=true"
	b.Folder = "s3://" + b.Name + "/" + b.Prefix
	b.URL = b.Folder + b.query
	tb.Cleanup(func() { b.discard(tb) })
	return b
}

// Open opens the folder as a bucket of its own; it is closed when the test ends.
func (b Bucket) Open(tb testing.TB) *blob.Bucket {
	tb.Helper()
	bucket, err := b.open()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { bucket.Close() })
	return bucket
}

func (b Bucket) open() (*blob.Bucket, error) {
	bucket, err := blob.OpenBucket(context.Background(), "s3://"+b.Name+b.query)
	if err != nil {
		return nil, err
	}
	return blob.PrefixedBucket(bucket, b.Prefix+"/"), nil
}

func (b Bucket) discard(tb testing.TB) {
	if tb.Failed() {
		tb.Logf("%s of %s is kept", b.Folder, b.Endpoint)
		return
	}
	bucket, err := b.open()
	if err == nil {
		err = errors.Join(empty(bucket), bucket.Close())
	}
	if err != nil {
		tb.Errorf("empty %s: %v", b.Folder, err)
	}
}

func empty(bucket *blob.Bucket) error {
	ctx := context.Background()
	for objects := bucket.List(nil); ; {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := bucket.Delete(ctx, object.Key); err != nil {
			return err
		}
	}
}
