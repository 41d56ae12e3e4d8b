package objectstore

import (
	"context"
	"fmt"
	"io"
)

// Create is Files'.
func (c *Cloud) Create(ctx context.Context, key string) (Upload, error) {
	return &cloudUpload{partUpload: newPartUpload(ctx, bounding{c.native.parts(c.full(key))}), asked: ctx, cloud: c, key: key}, nil
}

// cloudUpload says of which object in which store an error is.
type cloudUpload struct {
	*partUpload
	asked context.Context // the caller's, which does not end with the upload
	cloud *Cloud
	key   string
}

func (u *cloudUpload) Write(b []byte) (int, error) {
	n, err := u.partUpload.Write(b)
	return n, u.told(err)
}

func (u *cloudUpload) Close() error { return u.told(u.partUpload.Close()) }

func (u *cloudUpload) told(err error) error {
	if err == nil {
		return nil
	}
	return storeError("upload", u.key, u.cloud, u.cloud.explain(u.asked, err, false))
}

// bounding bounds each request of an upload.
type bounding struct{ parts }

func (b bounding) whole(ctx context.Context, data []byte) error {
	return within(ctx, func(ctx context.Context) error { return b.parts.whole(ctx, data) })
}

func (b bounding) begin(ctx context.Context) error { return within(ctx, b.parts.begin) }

func (b bounding) part(ctx context.Context, n int, data []byte) error {
	return within(ctx, func(ctx context.Context) error { return b.parts.part(ctx, n, data) })
}

func (b bounding) complete(ctx context.Context, n int, last []byte) error {
	return within(ctx, func(ctx context.Context) error { return b.parts.complete(ctx, n, last) })
}

// abort is bounded tighter: whoever drops an upload is on the way out.
func (b bounding) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	b.parts.abort(ctx)
}

func (b bounding) size(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return b.parts.size(ctx)
}

// within bounds a request for a part.
func within(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := partBound(ctx)
	defer cancel()
	err := request(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return marked(cause, err)
	}
	return err
}

func partBound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, partTimeout, fmt.Errorf("no answer within %s", partTimeout))
}

// Open is Files'.
func (c *Cloud) Open(ctx context.Context, key string) (File, error) {
	bounded, cancel := c.bounded(ctx)
	defer cancel()
	entry, err := c.native.stat(bounded, c.full(key))
	if err != nil {
		return nil, storeError("open", key, c, c.explain(bounded, err, false))
	}
	entry.Key = key
	return &cloudFile{cloud: c, ctx: ctx, entry: entry}, nil
}

// cloudFile reads each part with a request of its own.
type cloudFile struct {
	cloud *Cloud
	ctx   context.Context
	entry Entry
}

func (f *cloudFile) Entry() Entry { return f.entry }
func (f *cloudFile) Close() error { return nil }

// ReadAt is io.ReaderAt's.
func (f *cloudFile) ReadAt(b []byte, at int64) (int, error) {
	if err := checkRange(at, len(b)); err != nil {
		return 0, err
	}
	want := min(int64(len(b)), f.entry.Size-at)
	if want <= 0 {
		return 0, endOf(b)
	}
	ctx, cancel := partBound(f.ctx)
	defer cancel()
	n, err := f.read(ctx, b[:want], at)
	if err != nil {
		return n, storeError("read", f.entry.Key, f.cloud, f.cloud.explain(ctx, err, false))
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *cloudFile) read(ctx context.Context, b []byte, at int64) (int, error) {
	r, _, err := f.cloud.native.open(ctx, f.cloud.full(f.entry.Key), at, int64(len(b)))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.ReadFull(r, b)
}

// checkRange refuses what no file has.
func checkRange(at int64, length int) error {
	if at < 0 || length < 0 {
		return fmt.Errorf("read %d bytes at %d: negative offset", length, at)
	}
	return nil
}

// endOf is the answer to a read beyond the end.
func endOf(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return io.EOF
}
