package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"sluice/batch"
	"sluice/objectstore/answer"
)

const (
	// Timeout bounds each request for a small object, repetitions by the client library included: what is wrong at the
	// start is to be told within ten seconds.
	Timeout = 8 * time.Second
	// partTimeout bounds each request for a part of a large one.
	partTimeout = 2 * time.Minute
)

// Cloud is a store in a folder of a bucket, by the cloud's own client: gocloud.dev has no compare-and-swap, drops the
// version of what it wrote, deletes with two requests, and its uploads to Azure can end the process.
type Cloud struct {
	native native
	// prefix is the folder with a slash at its end, or empty.
	prefix string
	name   string
	// timeout is Timeout, but for tests.
	timeout time.Duration
	// anyKey takes keys as they come: other programs made them up.
	anyKey bool
}

// native is a cloud's own client. A cloud is added by implementing it and a case in Open. Keys are those of the bucket;
// errors are as the client gave them.
type native interface {
	// open begins to read an object at an offset; a length below 0 stands for its end.
	open(ctx context.Context, key string, from, length int64) (io.ReadCloser, Version, error)
	// stat is what a listing says of an object.
	stat(ctx context.Context, key string) (Entry, error)
	// advice is what to do where somebody must act.
	advice() advice
	// put writes an object in one request, never in parts: conditions are often lost on multipart uploads
	// (https://github.com/getmoto/moto/issues/9209).
	put(ctx context.Context, key string, data []byte, when condition) (Version, error)
	// parts begins an object that comes in parts. No request is made yet.
	parts(key string) parts
	// remove deletes objects, absent ones too, in as few requests as the cloud allows.
	remove(ctx context.Context, keys []string) error
	// list is a page of a listing, and what the next one begins with; empty for the last. Where a cloud can begin after a
	// key it does, and may include it.
	list(ctx context.Context, prefix, after, token string) (page []Entry, next string, err error)
}

// advice names what differs from cloud to cloud.
type advice struct {
	// rights are the permissions that are needed, and credentials where they are looked for.
	rights, credentials string
}

// condition is what has to hold for a put: nothing, absent, or a version.
type condition struct {
	absent bool
	match  Version
}

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
	r, version, err := c.native.open(ctx, key, 0, -1)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	data, err := readObject(r)
	if err != nil {
		return nil, "", err
	}
	return data, version, nil
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
	case when.match != "" && answer.Of(err) == answer.NotFound: // measured: S3 answers so where GCS and Azure say 412
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
	var keys []string
	for entry, err := range c.Entries(ctx, prefix, after) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, entry.Key)
	}
	return keys, nil
}

// Entries is Files'.
func (c *Cloud) Entries(ctx context.Context, prefix, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for token := ""; ; {
			page, next, err := c.page(ctx, prefix, after, token)
			if err != nil {
				yield(Entry{}, storeError("list", prefix, c, err))
				return
			}
			for _, entry := range page {
				entry.Key = strings.TrimPrefix(entry.Key, c.prefix)
				if entry.Key > after && !strings.HasSuffix(entry.Key, "/") && !yield(entry, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

func (c *Cloud) page(ctx context.Context, prefix, after, token string) (page []Entry, next string, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if after != "" {
		after = c.prefix + after
	}
	if page, next, err = c.native.list(ctx, c.prefix+prefix, after, token); err != nil {
		return nil, "", c.explain(ctx, err, false)
	}
	return page, next, nil
}

func (c *Cloud) full(key string) string {
	if !c.anyKey {
		checkKey(key)
	}
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
	err = answer.CauseFirst(err)
	if fault := c.fault(err); fault != nil {
		return fault
	}
	switch kind := answer.Of(err); {
	case kind == answer.NotFound && !write:
		return marked(ErrNotFound, err)
	case kind == answer.Conflict:
		return marked(ErrConflict, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = marked(cause, err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		err = &batch.Fault{Class: batch.Failed, Err: err, Hint: "check the address, endpoint and region and that this machine reaches it, then run again"}
	}
	if write {
		return marked(ErrAmbiguous, err)
	}
	return err
}

// fault is what somebody has to set up first; nil if it is none of that.
func (c *Cloud) fault(err error) error {
	switch answer.Of(err) {
	case answer.Forbidden:
		return denied(err, "let these credentials read, write, delete and list in the folder ("+c.native.advice().rights+")")
	case answer.NoBucket:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the bucket does not exist", Err: err, Hint: "create the bucket, or correct its name in the address"}
	case answer.NoCredentials:
		return &batch.Fault{Class: batch.NotSetUp, Message: "no credentials", Err: err, Hint: "give credentials by environment, profile or instance role (" + c.native.advice().credentials + ")"}
	case answer.WrongPlace:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the bucket is in another region", Err: err, Hint: "add the bucket's region to the address: ?region=…"}
	case answer.NoStore:
		return &batch.Fault{Class: batch.NotSetUp, Message: "what answers there is no object store", Err: err, Hint: "correct the endpoint in the address, or the proxy settings of this machine"}
	case answer.WrongClock:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the store's clock and this machine's are too far apart", Err: err, Hint: "set the clock of this machine (NTP), then run again"}
	case answer.Full:
		return &batch.Fault{Class: batch.Failed, Message: "no space left in the store", Err: err, Hint: "free some space in the bucket or raise its quota, then run again"}
	case answer.NoConditions:
		return &batch.Fault{Class: batch.NotSetUp, Message: "the store has no conditional writes", Err: err, Hint: noConditionsHint}
	}
	return nil
}
