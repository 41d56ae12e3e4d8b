package lakesink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"gocloud.dev/blob"
)

// StoredFile is a file as a listing shows it.
type StoredFile struct {
	// Path is its address, in the form of the folder that was listed.
	Path     string
	Bytes    int64
	Modified time.Time
}

// EachFile visits all files of a folder and of those below it, in no particular order. An object store is listed flat: keys
// with empty names between slashes are objects like any other. A folder that is not there has none.
func EachFile(ctx context.Context, store iceio.IO, folder string, visit func(StoredFile) error) error {
	folder = strings.TrimRight(folder, "/")
	if bucket, ok := store.(interface {
		List(*blob.ListOptions) *blob.ListIterator
	}); ok && !isLocal(folder) {
		return eachObject(ctx, bucket.List, folder, visit)
	}
	walker, ok := store.(iceio.ListableIO)
	if !ok {
		return fmt.Errorf("the store of %s cannot be listed (%T)", folder, store)
	}
	if isLocal(folder) {
		folder = localPath(folder)
	}
	return walker.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				err = visit(StoredFile{path, info.Size(), info.ModTime()})
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // removed while it was listed
			err = nil
		}
		return errors.Join(err, context.Cause(ctx))
	})
}

// eachObject visits the objects of a bucket under an address.
func eachObject(ctx context.Context, list func(*blob.ListOptions) *blob.ListIterator, folder string, visit func(StoredFile) error) error {
	scheme, rest, _ := strings.Cut(folder, "://")
	root, prefix, _ := strings.Cut(rest, "/")
	if prefix != "" {
		prefix += "/"
	}
	objects := list(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", folder, err)
		}
		if o.IsDir || strings.HasSuffix(o.Key, "/") { // a marker of a folder
			continue
		}
		if err := visit(StoredFile{scheme + "://" + root + "/" + o.Key, o.Size, o.ModTime}); err != nil {
			return err
		}
	}
}

// RemoveFiles removes files and returns those that are gone now. One that was not there is gone.
func RemoveFiles(ctx context.Context, store iceio.IO, paths []string) ([]string, error) {
	if bulk, ok := store.(iceio.BulkRemovableIO); ok {
		return bulk.DeleteFiles(ctx, paths)
	}
	var gone []string
	var failures []error
	for _, path := range paths {
		if ctx.Err() != nil {
			return gone, errors.Join(append(failures, context.Cause(ctx))...)
		}
		if err := remove(store, path); err != nil {
			failures = append(failures, err)
			continue
		}
		gone = append(gone, path)
	}
	return gone, errors.Join(failures...)
}

// StoreClock asks a store for its time: that of a file which is written to a folder for it, and removed again.
func StoreClock(ctx context.Context, store iceio.IO, folder string) (now time.Time, err error) {
	to, ok := store.(iceio.WriteFileIO)
	if !ok {
		return now, fmt.Errorf("the store of %s cannot be written to (%T)", folder, store)
	}
	path := strings.TrimRight(folder, "/") + "/" + probeName + rand.Text()
	if err := to.WriteFile(path, []byte("sluice wrote this to learn the store's time, and removes it at once\n")); err != nil {
		return now, explain("ask the store of "+folder+" for its time", err)
	}
	defer func() {
		if removeErr := remove(store, path); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is left, remove it: %w", path, removeErr))
		}
	}()
	file, err := store.Open(path)
	if err != nil {
		return now, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return now, err
	}
	return info.ModTime(), nil
}
