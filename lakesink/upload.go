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
	w      *Writer
	path   string
	to     io.WriteCloser // nil before the first byte
	cancel context.CancelFunc
}

// newUpload makes a new file, which is opened with its first bytes: until then it takes neither a request nor memory. Its
// name was never used before, so overwriting is no question.
func (w *Writer) newUpload(path string) *upload { return &upload{w: w, path: path} }

func (u *upload) create() (err error) {
	ctx, cancel := context.WithCancel(u.w.ctx)
	if u.to, err = u.w.createIn(ctx, u.path); err != nil {
		cancel()
		u.to = nil
		return err
	}
	u.cancel = cancel
	return nil
}

func (w *Writer) createIn(ctx context.Context, path string) (io.WriteCloser, error) {
	if w.table == nil || uploadMemory(w.fs) > 0 {
		return createFile(ctx, w.fs, path)
	}
	fs, err := w.table.FS(ctx)
	if err != nil {
		return nil, err
	}
	return createFile(ctx, fs, path)
}

func createFile(ctx context.Context, store iceio.IO, path string) (io.WriteCloser, error) {
	switch s := store.(type) {
	case streamingFS:
		return s.NewWriter(ctx, path, true, &blob.WriterOptions{BufferSize: uploadPartBytes, MaxConcurrency: uploadParallel, BeforeWrite: sendPartsAtOnce(s)})
	case *storeFS:
		return s.upload(ctx, path)
	case iceio.WriteFileIO:
		return s.Create(path)
	}
	return nil, fmt.Errorf("the store cannot be written to (%T)", store)
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
func (u *upload) Write(b []byte) (int, error) {
	if u.to == nil {
		if err := u.create(); err != nil {
			return 0, fmt.Errorf("create it: %w", err)
		}
	}
	return u.to.Write(b)
}

func (u *upload) close() error {
	defer u.cancel()
	return u.to.Close()
}

// abort drops the upload. An object store forgets the parts when the context has ended before Close.
func (u *upload) abort() {
	if u.to == nil {
		return
	}
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
