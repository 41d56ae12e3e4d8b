package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"sluice/objectstore/answer"
)

// s3Native speaks to Amazon S3 and to what speaks like it.
type s3Native struct {
	client *s3.Client
	bucket string
	// encryption and key are what the address asks of every object written; none for the bucket's default.
	encryption types.ServerSideEncryption
	key        *string
}

// contentType is for whoever looks into a bucket with a browser.
func contentType(key string) string {
	switch path.Ext(key) {
	case ".json":
		return "application/json"
	case ".parquet":
		return "application/vnd.apache.parquet"
	}
	return "text/plain; charset=utf-8"
}

func (n *s3Native) advice() advice {
	return advice{rights: "on S3: s3:GetObject, s3:PutObject, s3:DeleteObject, and s3:ListBucket, without which S3 answers 403 for what does not exist",
		credentials: "on S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role"}
}

func (n *s3Native) open(ctx context.Context, key string, from, length int64) (io.ReadCloser, Version, error) {
	out, err := n.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &n.bucket, Key: &key, Range: byteRange(from, length)})
	if err != nil {
		return nil, "", err
	}
	return out.Body, Version(aws.ToString(out.ETag)), nil
}

// byteRange is nil for a whole object.
func byteRange(from, length int64) *string {
	switch {
	case length >= 0:
		return aws.String(fmt.Sprintf("bytes=%d-%d", from, from+length-1))
	case from > 0:
		return aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	return nil
}

// stat asks with HEAD, whose answers have no body: what a 404 means is asked again with GET.
func (n *s3Native) stat(ctx context.Context, key string) (Entry, error) {
	out, err := n.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &n.bucket, Key: &key})
	if err == nil {
		return Entry{Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified)}, nil
	}
	if kind := answer.Of(err); kind != answer.NotFound && kind != answer.NoStore {
		return Entry{}, err
	}
	got, err := n.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &n.bucket, Key: &key})
	if err != nil {
		return Entry{}, err
	}
	return Entry{Key: key, Size: aws.ToInt64(got.ContentLength), Modified: aws.ToTime(got.LastModified)}, got.Body.Close()
}

func (n *s3Native) list(ctx context.Context, prefix, after, token string) (page []Entry, next string, err error) {
	in := &s3.ListObjectsV2Input{Bucket: &n.bucket, Prefix: &prefix}
	switch {
	case token != "":
		in.ContinuationToken = &token
	case after != "":
		in.StartAfter = &after
	}
	out, err := n.client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, "", err
	}
	for _, o := range out.Contents {
		page = append(page, Entry{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
	}
	return page, aws.ToString(out.NextContinuationToken), nil
}

func (n *s3Native) put(ctx context.Context, key string, data []byte, when condition) (Version, error) {
	in := &s3.PutObjectInput{Bucket: &n.bucket, Key: &key, Body: bytes.NewReader(data), ContentType: aws.String(contentType(key)), ServerSideEncryption: n.encryption, SSEKMSKeyId: n.key}
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

func (n *s3Native) parts(key string) parts { return &s3Parts{s3Native: n, object: key} }

// s3Parts is a multipart upload.
type s3Parts struct {
	*s3Native
	object string
	id     *string

	mu   sync.Mutex
	done []types.CompletedPart
}

func (p *s3Parts) whole(ctx context.Context, data []byte) error {
	_, err := p.put(ctx, p.object, data, condition{})
	return err
}

func (p *s3Parts) begin(ctx context.Context) error {
	out, err := p.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &p.bucket, Key: &p.object, ContentType: aws.String(contentType(p.object)), ServerSideEncryption: p.encryption, SSEKMSKeyId: p.key})
	if err == nil {
		p.id = out.UploadId
	}
	return err
}

func (p *s3Parts) part(ctx context.Context, n int, data []byte) error {
	number := aws.Int32(int32(n + 1))
	out, err := p.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &p.bucket, Key: &p.object, UploadId: p.id, PartNumber: number, Body: bytes.NewReader(data)})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32, ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME, ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256})
	return nil
}

func (p *s3Parts) ordered() bool { return false }

func (p *s3Parts) complete(ctx context.Context, n int, last []byte) error {
	if err := p.part(ctx, n, last); err != nil {
		return err
	}
	slices.SortFunc(p.done, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	_, err := p.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &p.bucket, Key: &p.object, UploadId: p.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: p.done}})
	return err
}

func (p *s3Parts) abort(ctx context.Context) {
	_, _ = p.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &p.bucket, Key: &p.object, UploadId: p.id})
}

func (p *s3Parts) size(ctx context.Context) (int64, error) {
	entry, err := p.stat(ctx, p.object)
	if answer.Of(err) == answer.NotFound {
		return 0, ErrNotFound
	}
	return entry.Size, err
}
