package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"sluice/batch"
)

// s3Native speaks to Amazon S3 and to what speaks like it.
type s3Native struct {
	client *s3.Client
	bucket string
	// encryption and key are what the address asks of every object written; empty for the bucket's default.
	encryption types.ServerSideEncryption
	key        string
}

// openS3 opens s3://bucket/folder with gocloud.dev's parameters. A folder may also be given as the parameter prefix.
func openS3(ctx context.Context, u *url.URL) (Store, error) {
	query := u.Query()
	folder := strings.Trim(strings.Trim(u.Path, "/")+"/"+strings.Trim(query.Get("prefix"), "/"), "/")
	query.Del("prefix")
	if u.Host == "" {
		return nil, badURL(u, "no bucket")
	}
	if folder == "" {
		return nil, badURL(u, "no folder: a checkpoint does not fill a bucket: s3://%s/checkpoints/NAME", u.Host)
	}
	if err := checkPath(folder); err != nil {
		return nil, badURL(u, "the folder %w", err)
	}
	custom := query.Get("endpoint") != "" || os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != ""
	if custom { // the SDK's newer checksum headers are not understood by every store that is not Amazon's
		for _, parameter := range []string{"request_checksum_calculation", "response_checksum_validation"} {
			if !query.Has(parameter) {
				query.Set(parameter, "when_required")
			}
		}
	}
	bucket, client, err := dialS3(ctx, u.Host, query)
	if err != nil {
		return nil, badURL(u, "%s", withoutValues(err, query))
	}
	if client.Options().Region == "" {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "no region for s3://" + u.Host, Hint: "add the bucket's region to the checkpoint's address (?region=…) or set AWS_REGION"}
	}
	name := "s3://" + u.Host + "/" + folder
	if endpoint := query.Get("endpoint"); endpoint != "" {
		name += " at " + withoutUser(endpoint)
	}
	return &Cloud{bucket: bucket, prefix: folder + "/", name: name, timeout: Timeout,
		native: &s3Native{client: client, bucket: u.Host, encryption: types.ServerSideEncryption(query.Get("ssetype")), key: query.Get("kmskeyid")}}, nil
}

// dialS3 lets gocloud.dev read the parameters, then makes the client anew with bounds that fit Timeout: four attempts
// with pauses of a second at most.
func dialS3(ctx context.Context, bucket string, query url.Values) (*blob.Bucket, *s3.Client, error) {
	opened, err := blob.OpenBucket(ctx, (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	var client *s3.Client
	if !opened.As(&client) {
		return nil, nil, errors.New("gocloud.dev gives no S3 client")
	}
	client = s3.New(client.Options(), func(o *s3.Options) {
		o.Retryer = retrying(time.Second)
		if o.Credentials != nil { // nil: anonymous
			o.Credentials = credentials{o.Credentials}
		}
		if o.Region == "" && query.Get("endpoint") != "" {
			o.Region = "us-east-1" // it is part of the signature; stores of one place do not care which
		}
	})
	again, err := s3blob.OpenBucket(ctx, client, bucket, nil)
	return again, client, err
}

// credentials marks the errors of a provider: the SDK gives them no type.
type credentials struct{ aws.CredentialsProvider }

type credentialsError struct{ error }

func (e credentialsError) Unwrap() error { return e.error }

// Retrieve is the provider's.
func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = credentialsError{err}
	}
	return found, err
}

// retrying repeats what a store could not answer, up to four attempts in all.
func retrying(pause time.Duration) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 4, pause })
}

// withoutValues is an error of whoever read the parameters of an address, without what they hold: a secret may be among
// them that does not belong there.
func withoutValues(err error, query url.Values) string {
	text := strings.ReplaceAll(err.Error(), "?"+query.Encode(), "")
	for name, values := range query {
		for _, value := range values {
			if name != "region" && name != "profile" && len(value) > 2 {
				text = strings.ReplaceAll(strings.ReplaceAll(text, url.QueryEscape(value), "(redacted)"), value, "(redacted)")
			}
		}
	}
	return text
}

func withoutUser(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "its endpoint"
	}
	u.User = nil
	return u.String()
}

func (n *s3Native) put(ctx context.Context, key string, data []byte, when condition) (Version, error) {
	in := &s3.PutObjectInput{Bucket: &n.bucket, Key: &key, Body: bytes.NewReader(data), ContentType: aws.String("text/plain; charset=utf-8"), ServerSideEncryption: n.encryption}
	if strings.HasSuffix(key, ".json") {
		in.ContentType = aws.String("application/json")
	}
	if n.key != "" {
		in.SSEKMSKeyId = &n.key
	}
	if when.absent {
		in.IfNoneMatch = aws.String("*")
	}
	if when.match != "" {
		in.IfMatch = aws.String(string(when.match))
	}
	out, err := n.client.PutObject(ctx, in)
	if err != nil {
		return "", err
	}
	return Version(aws.ToString(out.ETag)), nil
}

// remove uses the batch request where it saves something. Not every store has it, so its failure decides nothing.
func (n *s3Native) remove(ctx context.Context, keys []string) error {
	for chunk := range slices.Chunk(keys, 1000) {
		if len(chunk) > 1 && n.removeMany(ctx, chunk) {
			continue
		}
		for _, key := range chunk {
			if _, err := n.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &n.bucket, Key: &key}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *s3Native) removeMany(ctx context.Context, keys []string) bool {
	ids := make([]types.ObjectIdentifier, len(keys))
	for i := range keys {
		ids[i].Key = &keys[i]
	}
	out, err := n.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &n.bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	return err == nil && len(out.Errors) == 0
}

func (n *s3Native) version(r *blob.Reader) Version {
	var out s3.GetObjectOutput
	if !r.As(&out) {
		return ""
	}
	return Version(aws.ToString(out.ETag))
}

func (n *s3Native) startAfter(as func(any) bool, after string) {
	var in *s3.ListObjectsV2Input
	if as(&in) && in.ContinuationToken == nil {
		in.StartAfter = &after
	}
}
