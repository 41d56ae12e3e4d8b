package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gocloud.dev/blob"

	"sluice/batch"
	"sluice/s3answer"
)

// Timeout bounds each request to a cloud store, repetitions by the client library included: what is wrong at the start
// is to be told within ten seconds.
const Timeout = 8 * time.Second

// Cloud is a checkpoint in a folder of a bucket. Reading and listing go through gocloud.dev; writing goes through the
// cloud's own client, because gocloud.dev has no compare-and-swap, drops the version of what it wrote, and deletes with
// two requests.
type Cloud struct {
	bucket *blob.Bucket
	native native
	// prefix is the folder with a slash at its end, or empty. gocloud.dev's own prefix parameter is not used: hooks and
	// native clients do not see it (measured: a StartAfter without the prefix lists nothing).
	prefix string
	name   string
	// timeout is Timeout, but for tests.
	timeout time.Duration
}

// native is what gocloud.dev has no portable form for. A cloud is added by implementing it and a case in OpenStore.
type native interface {
	// put writes an object in one request, never in parts: conditions are often lost on multipart uploads
	// (https://github.com/getmoto/moto/issues/9209). Errors are as the client gave them.
	put(ctx context.Context, key string, data []byte, when condition) (Version, error)
	// remove deletes objects, absent ones too, in as few requests as the cloud allows.
	remove(ctx context.Context, keys []string) error
	// version is the version of what a reader reads.
	version(r *blob.Reader) Version
	// startAfter makes a listing begin after a key, if the request that as gives access to can; it may be inclusive.
	startAfter(as func(any) bool, after string)
	// judge says what an error means.
	judge(err error) verdict
}

// condition is what has to hold for a put: nothing, absent, or a version.
type condition struct {
	absent bool
	match  Version
}

// verdict is what an error of a cloud's client means.
type verdict int

const (
	// unknown is any other error: of a write, it may have been applied.
	unknown verdict = iota
	notFound
	conflict
	forbidden
	noBucket
	noCredentials
	wrongPlace
	noStore
	noConditions
	wrongClock
	full
)

// String is the address of the folder and, if it is not the cloud's own, the endpoint.
func (c *Cloud) String() string { return c.name }

// Get is Store's.
func (c *Cloud) Get(ctx context.Context, key string) ([]byte, Version, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	data, version, err := c.get(ctx, c.full(key))
	if err != nil {
		return nil, "", storeError("get", key, c, c.explain(ctx, err, false))
	}
	return data, version, nil
}

func (c *Cloud) get(ctx context.Context, key string) ([]byte, Version, error) {
	r, err := c.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	data, err := readObject(r)
	if err != nil {
		return nil, "", err
	}
	return data, c.native.version(r), nil
}

// PutIfAbsent is Store's.
func (c *Cloud) PutIfAbsent(ctx context.Context, key string, data []byte) (Version, error) {
	return c.put(ctx, "create", key, data, condition{absent: true})
}

// PutIfMatch is Store's.
func (c *Cloud) PutIfMatch(ctx context.Context, key string, data []byte, version Version) (Version, error) {
	if version == "" { // which would be no condition at all
		return "", storeError("replace", key, c, ErrConflict)
	}
	return c.put(ctx, "replace", key, data, condition{match: version})
}

// Put is Store's.
func (c *Cloud) Put(ctx context.Context, key string, data []byte) error {
	_, err := c.put(ctx, "put", key, data, condition{})
	return err
}

func (c *Cloud) put(ctx context.Context, verb, key string, data []byte, when condition) (Version, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	version, err := c.native.put(ctx, c.full(key), data, when)
	switch {
	case err == nil:
		return version, nil
	case when.match != "" && c.native.judge(err) == notFound: // measured: S3 answers so where GCS and Azure say 412
		err = marked(ErrConflict, err)
	default:
		err = c.explain(ctx, err, true)
	}
	return "", storeError(verb, key, c, err)
}

// Delete is Store's.
func (c *Cloud) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	full := make([]string, len(keys))
	for i, key := range keys {
		full[i] = c.full(key)
	}
	if err := c.native.remove(ctx, full); err != nil {
		return storeError("delete", several(keys), c, c.explain(ctx, err, false))
	}
	return nil
}

// List is Store's.
func (c *Cloud) List(ctx context.Context, prefix, after string) ([]string, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var keys []string
	list := c.bucket.List(&blob.ListOptions{Prefix: c.prefix + prefix, BeforeList: func(as func(any) bool) error {
		if after != "" {
			c.native.startAfter(as, c.prefix+after)
		}
		return nil
	}})
	for {
		object, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, storeError("list", prefix, c, c.explain(ctx, err, false))
		}
		if key := strings.TrimPrefix(object.Key, c.prefix); key > after && !strings.HasSuffix(key, "/") {
			keys = append(keys, key)
		}
	}
}

func (c *Cloud) full(key string) string {
	checkKey(key)
	return c.prefix + key
}

func (c *Cloud) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %s", c.timeout))
}

// explain turns a client's error into a Store's.
func (c *Cloud) explain(ctx context.Context, err error, write bool) error {
	var fault *batch.Fault
	if errors.As(err, &fault) {
		return err
	}
	err = s3answer.CauseFirst(err)
	if fault := c.fault(err); fault != nil {
		return fault
	}
	switch v := c.native.judge(err); {
	case v == notFound && !write:
		return marked(ErrNotFound, err)
	case v == conflict:
		return marked(ErrConflict, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = marked(cause, err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		err = &batch.Fault{Class: batch.Failed, Err: err, Hint: "check the checkpoint's address, endpoint and region and that this machine reaches it, then run again"}
	}
	if write {
		return marked(ErrAmbiguous, err)
	}
	return err
}

// fault is what somebody has to set up first; nil if it is none of that.
func (c *Cloud) fault(err error) error {
	switch c.native.judge(err) {
	case forbidden:
		return denied(err, "let these credentials read, write, delete and list in the checkpoint's folder (on S3: s3:GetObject, s3:PutObject, s3:DeleteObject, and s3:ListBucket, without which S3 answers 403 for what does not exist)")
	case noBucket:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the bucket does not exist", Err: err, Hint: "create the bucket, or correct its name in the checkpoint's address"}
	case noCredentials:
		return &batch.Fault{Class: batch.NotSetUp, Message: "no credentials", Err: err, Hint: "give credentials by environment, profile or instance role (on S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role)"}
	case wrongPlace:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the bucket is in another region", Err: err, Hint: "add the bucket's region to the checkpoint's address: ?region=…"}
	case noStore:
		return &batch.Fault{Class: batch.NotSetUp, Message: "what answers there is no object store", Err: err, Hint: "correct the endpoint in the checkpoint's address, or the proxy settings of this machine"}
	case wrongClock:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the store's clock and this machine's are too far apart", Err: err, Hint: "set the clock of this machine (NTP), then run again"}
	case full:
		return &batch.Fault{Class: batch.Failed, Message: "no space left for the checkpoint", Err: err, Hint: "free some space in the bucket or raise its quota, then run again"}
	case noConditions:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the store has no conditional writes", Err: err, Hint: noConditionsHint}
	}
	return nil
}
