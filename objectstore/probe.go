package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"sluice/batch"
)

const noConditionsHint = "use a store that enforces If-None-Match and If-Match on PUT (Amazon S3 and most that speak like it, in a current version; no caching proxy in between), or in a folder: file:///…"

// Probe asks a store whether it enforces conditions, by creating an object twice and by replacing it at a stale
// version. A store that answers yes to everything lets every run win every batch; it is a NotSetUp fault, and so is
// one that refuses everything. The object, whose key is the prefix and a random end, is removed again.
//
// One client that is refused does not prove that two are never both accepted
// (https://github.com/rustfs/rustfs/issues/1659): exactly-once rests on the table's own conditional commit as well.
func Probe(ctx context.Context, s Store, prefix string) error {
	key := prefix + rand.Text()
	err := probe(ctx, s, key)
	removed := s.Delete(context.WithoutCancel(ctx), key)
	if err == nil && removed != nil {
		err = fmt.Errorf("remove the probe: %w", removed)
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s, err)
	}
	return nil
}

// Try is Probe for whoever only looks: it leaves nothing that was not there before. In a folder that lacks any
// of those that a probe makes it asks the same file system, in a folder of its own inside it or, while there is none, where
// it would be made.
func Try(ctx context.Context, s Store, prefix string) error {
	l, ok := s.(*Local)
	if !ok || l.furnished(path.Dir(prefix)) {
		return Probe(ctx, s, prefix)
	}
	beside, err := l.beside()
	if err == nil {
		err = errors.Join(probe(ctx, beside, prefix+rand.Text()), os.RemoveAll(beside.dir))
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s, localError(err))
	}
	return nil
}

// furnished reports whether a probe in a folder of the store itself makes no folder and no lock.
func (l *Local) furnished(folder string) bool {
	for _, name := range []string{lockFile, tempDir, folder} {
		if _, err := os.Stat(filepath.Join(l.dir, name)); err != nil {
			return false
		}
	}
	return true
}

// beside is an empty store on the same file system. Its name begins with a dot: no store lists it.
func (l *Local) beside() (*Local, error) {
	in := l.dir
	for {
		if _, err := os.Stat(in); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err := dangling(in); err != nil {
			return nil, err
		}
		in = filepath.Dir(in)
	}
	dir, err := os.MkdirTemp(in, ".sluice-probe-*")
	if errors.Is(err, fs.ErrNotExist) && isThere(in) {
		return nil, noFolders(l.dir)
	}
	if err != nil {
		return nil, err
	}
	other := &Local{dir: dir, dirMode: l.dirMode, fileMode: l.fileMode, lockWait: l.lockWait, link: l.link, rename: l.rename}
	return other, nil
}

func probe(ctx context.Context, s Store, key string) error {
	first, second, third := []byte("1 "+key), []byte("2 "+key), []byte("3 "+key)
	version, err := PutOwned(ctx, s, key, first)
	if errors.Is(err, ErrConflict) {
		return Unsafe("it refuses to create an object that is not there", err)
	}
	if err != nil {
		return err
	}
	if err := refused(ctx, s, key, first, "it created an object that was there", func() error {
		_, err := s.PutIfAbsent(ctx, key, second)
		return err
	}); err != nil {
		return err
	}
	if _, err := ReplaceOwned(ctx, s, key, second, version); errors.Is(err, ErrConflict) {
		return Unsafe("it refuses to replace an object at its current version", err)
	} else if err != nil {
		return err
	}
	return refused(ctx, s, key, second, "it replaced an object at a version that was gone", func() error {
		_, err := s.PutIfMatch(ctx, key, third, version)
		return err
	})
}

// refused makes a write whose condition does not hold. What is there afterwards decides: an error alone may be any.
func refused(ctx context.Context, s Store, key string, want []byte, otherwise string, write func() error) error {
	err := write()
	there, _, readErr := s.Get(ctx, key)
	switch {
	case errors.Is(readErr, ErrNotFound):
		return Unsafe("it does not keep what it accepted", readErr)
	case readErr != nil:
		return readErr
	case err == nil || !bytes.Equal(there, want):
		return Unsafe(otherwise, nil)
	case !errors.Is(err, ErrConflict):
		return err
	}
	return nil
}

// Unsafe is the fault of a store that was seen to break the promises of conditional writes. what says how.
func Unsafe(what string, err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: "the store does not enforce conditional writes: " + what, Err: err, Hint: noConditionsHint}
}
