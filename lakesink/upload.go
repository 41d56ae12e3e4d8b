package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"sluice/objectstore"
)

// An upload to an object store buffers parts: uploadBuffers of uploadPartBytes each, those on their way, the one that is
// being filled, and the first, which is kept longest. The library's own default is five at a time; two keep a line busy
// and a worker's memory small.
const (
	uploadPartBytes = 5 << 20
	uploadParallel  = 2
	uploadBuffers   = uploadParallel + 2
)

// streamingFS is an object store that takes a file as a stream whose buffers we may size.
type streamingFS interface {
	NewWriter(ctx context.Context, path string, overwrite bool, options *blob.WriterOptions) (*blobfs.Writer, error)
	// As gives the store's own client away, if it is of the type asked for.
	As(client any) bool
}

// uploadMemory is what an upload to a store holds at most; 0 for a local file.
func uploadMemory(fs iceio.IO) int64 {
	switch fs.(type) {
	case streamingFS:
		return uploadBuffers * uploadPartBytes
	case *storeFS:
		return objectstore.UploadMemory
	}
	return 0
}

// upload is a file on its way to the store. It becomes visible, whole, when it is closed; where the store is a local
// folder it is there from the start, and abort removes it.
type upload struct {
	path   string
	to     io.WriteCloser
	cancel context.CancelFunc
}

// create opens a new file. Its name was never used before, so overwriting is no question.
func (w *Writer) create(path string) (*upload, error) {
	ctx, cancel := context.WithCancel(w.ctx)
	to, err := w.createIn(ctx, path)
	if err != nil {
		cancel()
		return nil, err
	}
	return &upload{path: path, to: to, cancel: cancel}, nil
}

func (w *Writer) createIn(ctx context.Context, path string) (io.WriteCloser, error) {
	if s, ok := w.fs.(streamingFS); ok {
		return s.NewWriter(ctx, path, true, &blob.WriterOptions{BufferSize: uploadPartBytes, MaxConcurrency: uploadParallel, BeforeWrite: sendPartsAtOnce(s)})
	}
	if s, ok := w.fs.(*storeFS); ok {
		return s.upload(ctx, path)
	}
	fs, err := w.table.FS(ctx)
	if err != nil {
		return nil, err
	}
	out, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("the store cannot be written to (%T)", fs)
	}
	return out.Create(path)
}

// sendPartsAtOnce makes an upload to S3 send the first part when it is full. The library keeps 16 MiB back otherwise, in a
// buffer that it lets double several times, to find out whether the file is larger.
func sendPartsAtOnce(s streamingFS) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var manager *transfermanager.Client
		var client *awss3.Client
		if as(&manager) && s.As(&client) {
			*manager = *transfermanager.New(client, func(o *transfermanager.Options) {
				o.PartSizeBytes, o.Concurrency, o.MultipartUploadThreshold = uploadPartBytes, uploadParallel, uploadPartBytes
			})
		}
		return nil
	}
}

// Write passes bytes on.
func (u *upload) Write(b []byte) (int, error) { return u.to.Write(b) }

func (u *upload) close() error {
	defer u.cancel()
	return u.to.Close()
}

// abort drops the upload. An object store forgets the parts when the context has ended before Close.
func (u *upload) abort() {
	u.cancel()
	if a, ok := u.to.(interface{ Abort() error }); ok {
		_ = a.Abort() // what is left is an orphan, no worse than after a crash
		return
	}
	_ = u.to.Close()
}

// storedSize asks the store how large a file is.
func storedSize(fs iceio.IO, path string) (int64, error) {
	if s, ok := fs.(iceio.StatIO); ok {
		info, err := s.Stat(path)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	f, err := fs.Open(path)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}
