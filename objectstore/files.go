package objectstore

import (
	"context"
	"io"
	"iter"
	"time"
)

// Files is what a folder offers for objects too large to be held in memory, beside Store. Keys are Store's, and all
// methods are safe for concurrent use.
type Files interface {
	// Create begins an object under a key that was never used before: no condition is asked for, since a condition that is
	// repeated after a lost answer would make a failure of a success. Nothing of the object is to be seen, or listed, until
	// Close has returned nil; ctx bounds the whole upload.
	Create(ctx context.Context, key string) (Upload, error)
	// Open opens an object for reading parts of it. ErrNotFound if it is not there. Reads end with ctx.
	Open(ctx context.Context, key string) (File, error)
	// Entries lists the objects with the prefix that sort after the given key, in byte order. It ends at the first error,
	// with which it hands out no entry. A listing may be far larger than what is held of it at a time.
	Entries(ctx context.Context, prefix, after string) iter.Seq2[Entry, error]
}

// Upload is an object on its way. It is used by one goroutine at a time, and ended by Close or Abort, of which only the
// first does anything.
type Upload interface {
	io.Writer
	// Close makes the object visible, whole. After an error it may be there all the same: nothing but its key being
	// written down elsewhere makes it count. ErrAmbiguous says so.
	Close() error
	// Abort drops what was written. What cannot be dropped, after a crash too, is never visible as an object; a store may
	// go on charging for it until a rule of the bucket's clears it away (on S3: AbortIncompleteMultipartUpload).
	Abort()
}

// File is an object that is read in parts, each by a request of its own. ReadAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.Closer
	// Entry is what the object was when it was opened. One that is replaced meanwhile is not noticed.
	Entry() Entry
}

// Entry is an object in a listing.
type Entry struct {
	Key string
	// Size is in bytes.
	Size int64
	// Modified is when it was written, by the store's clock.
	Modified time.Time
}

// Folder is a folder in an object store, for small objects and large ones.
type Folder interface {
	Store
	Files
}

var (
	_ Folder = (*Local)(nil)
	_ Folder = (*Memory)(nil)
	_ Folder = (*Cloud)(nil)
)
