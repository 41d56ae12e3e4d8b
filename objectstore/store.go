package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sluice/batch"
)

// What a Store answers beside success. Every error of a Store wraps at most one of these; an error that wraps none is
// a definite failure of a read, or of a write that was not applied.
var (
	// ErrNotFound: there is no object under the key. A lost permission is never ErrNotFound.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the condition of the write did not hold, and nothing was written by this request. It may still be
	// our own earlier request that made the condition false: a client library that repeats an applied but unanswered
	// write is told so (https://github.com/aws/aws-sdk-java-v2/issues/6580). PutOwned tells the two apart.
	ErrConflict = errors.New("condition failed")
	// ErrAmbiguous: the write may or may not have been applied, or may yet be.
	ErrAmbiguous = errors.New("outcome unknown")
)

// ErrURL is wrapped by errors about the address of a store, before anything was asked of it.
var ErrURL = errors.New("bad address of a store")

// Version identifies one state of an object, for compare-and-swap. It is opaque and never empty.
type Version string

// Store is the narrow view of a folder in an object store that a log needs. Keys are relative to the folder:
// segments of printable characters separated by single slashes, none beginning with a dot. Objects are small (at most a
// few hundred KiB) and every write is a single request. All methods are safe for concurrent use and safe to repeat.
type Store interface {
	// String names the store for people and never holds a secret.
	fmt.Stringer
	// Get reads an object. ErrNotFound if it is not there.
	Get(ctx context.Context, key string) ([]byte, Version, error)
	// PutIfAbsent creates an object; of any number of racing calls at most one succeeds. ErrConflict, ErrAmbiguous.
	PutIfAbsent(ctx context.Context, key string, data []byte) (Version, error)
	// PutIfMatch replaces an object that is still at the version given. ErrConflict also if it is gone; ErrAmbiguous.
	PutIfMatch(ctx context.Context, key string, data []byte, version Version) (Version, error)
	// Put writes an object whatever is there. ErrAmbiguous.
	Put(ctx context.Context, key string, data []byte) error
	// Delete removes objects; one that is not there is no error. After an error some may be left.
	Delete(ctx context.Context, keys ...string) error
	// List returns all keys with the prefix that sort after the given key, in byte order.
	List(ctx context.Context, prefix, after string) ([]string, error)
}

// maxObjectBytes bounds what is read of an object. The plan of 10,000 partitions takes about 1 MB.
const maxObjectBytes = 32 << 20

// readObject reads an object whole, if it can be a small one.
func readObject(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxObjectBytes+1))
	if err == nil && len(data) > maxObjectBytes {
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("it has more than %d MiB, and no object of this kind has", maxObjectBytes>>20),
			Hint: "something else was written there: restore the object from a backup, or delete it"}
	}
	return data, err
}

// storeError says what was asked of which store.
func storeError(verb, key string, s fmt.Stringer, err error) error {
	return fmt.Errorf("%s %s in %s: %w", verb, key, s, err)
}

// several names keys without naming them all.
func several(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return fmt.Sprintf("%d objects (%s, …)", len(keys), keys[0])
}

// marked wraps err so that errors.Is finds the sentinel too.
func marked(sentinel, err error) error { return fmt.Errorf("%w: %w", sentinel, err) }

// denied is the fault of a store that does not let us.
func denied(err error, hint string) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: "permission denied", Hint: hint, Err: err}
}

// checkKey panics on a key that no caller makes: it would be a defect, and reaching outside the folder with it would be
// worse.
func checkKey(key string) {
	if err := CheckPath(key); err != nil {
		panic(fmt.Sprintf("objectstore: key %q %v", key, err))
	}
}

// CheckPath is an error that ends a sentence about a key, unless it is one. It holds keys and prefixes to what every store stores under the same name.
func CheckPath(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "":
			return errors.New("has an empty segment")
		case segment[0] == '.', strings.HasSuffix(segment, ".."):
			return errors.New("has a segment that begins with a dot or ends with two")
		case strings.ContainsFunc(segment, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }):
			return errors.New("has a control character or a backslash")
		}
	}
	return nil
}
