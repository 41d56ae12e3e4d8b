package objectstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// List is Store's. A file that another process removes meanwhile may or may not be listed.
func (l *Local) List(ctx context.Context, prefix, after string) ([]string, error) {
	var keys []string
	err := l.walk(ctx, prefix, after, func(key string, _ fs.DirEntry) error {
		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return nil, storeError("list", prefix, l, localError(err))
	}
	slices.Sort(keys) // a walk orders a/b before a.b, keys are ordered by byte
	return keys, nil
}

// Entries is Files'. They are held in memory all at once.
func (l *Local) Entries(ctx context.Context, prefix, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var entries []Entry
		err := l.walk(ctx, prefix, after, func(key string, entry fs.DirEntry) error {
			info, err := entry.Info()
			if err == nil {
				entries = append(entries, Entry{Key: key, Size: info.Size(), Modified: info.ModTime()})
			}
			return err
		})
		if err != nil {
			yield(Entry{}, storeError("list", prefix, l, localError(err)))
			return
		}
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// walk visits the files whose keys have the prefix and sort after the key.
func (l *Local) walk(ctx context.Context, prefix, after string, visit func(key string, entry fs.DirEntry) error) error {
	root := filepath.Join(l.dir, filepath.FromSlash(prefix[:strings.LastIndexByte(prefix, '/')+1]))
	start := root + string(filepath.Separator) // a walk does not follow a symbolic link that it starts with
	return filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case path == start:
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return context.Cause(ctx)
		}
		key := filepath.ToSlash(strings.TrimPrefix(path, l.dir+string(filepath.Separator)))
		if !strings.HasPrefix(key, prefix) || key <= after {
			return nil
		}
		if err := visit(key, entry); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Create is Files'. The file gets its name when it is closed, and is on disk then.
func (l *Local) Create(ctx context.Context, key string) (Upload, error) {
	path := l.path(key)
	if err := context.Cause(ctx); err != nil {
		return nil, storeError("upload", key, l, err)
	}
	f, err := l.temp()
	if err != nil {
		return nil, storeError("upload", key, l, localError(err))
	}
	return &localUpload{ctx: ctx, store: l, key: key, path: path, file: f}, nil
}

type localUpload struct {
	ctx       context.Context
	store     *Local
	key, path string
	file      *os.File // nil once it has ended
}

func (u *localUpload) Write(b []byte) (int, error) {
	if u.file == nil {
		return 0, u.told(errUploadEnded)
	}
	if err := context.Cause(u.ctx); err != nil {
		return 0, u.told(err)
	}
	n, err := u.file.Write(b)
	return n, u.told(err)
}

// Close is Upload's. A key that is taken is a conflict, as it is not on every store.
func (u *localUpload) Close() error {
	if u.file == nil {
		return u.told(errUploadEnded)
	}
	f := u.file
	u.file = nil
	defer os.Remove(f.Name())
	if err := errors.Join(context.Cause(u.ctx), f.Sync(), f.Close()); err != nil {
		return u.told(err)
	}
	return u.told(u.store.placed(f.Name(), u.path))
}

// placed gives a temporary file its name, in a folder that may have to be made.
func (l *Local) placed(temp, path string) error {
	if err := l.makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := l.linkNew(temp, path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return marked(ErrAmbiguous, err)
	}
	return nil
}

// Abort is Upload's.
func (u *localUpload) Abort() {
	if u.file == nil {
		return
	}
	_ = u.file.Close()
	_ = os.Remove(u.file.Name())
	u.file = nil
}

func (u *localUpload) told(err error) error {
	if err == nil {
		return nil
	}
	return storeError("upload", u.key, u.store, localError(err))
}

// Open is Files'.
func (l *Local) Open(ctx context.Context, key string) (File, error) {
	f, info, err := l.openFile(key)
	if err != nil {
		return nil, storeError("open", key, l, localError(err))
	}
	return &localFile{ctx: ctx, store: l, file: f, entry: Entry{Key: key, Size: info.Size(), Modified: info.ModTime()}}, nil
}

type localFile struct {
	ctx   context.Context
	store *Local
	file  *os.File
	entry Entry
}

func (f *localFile) Entry() Entry { return f.entry }
func (f *localFile) Close() error { return f.file.Close() }

// ReadAt is io.ReaderAt's.
func (f *localFile) ReadAt(b []byte, at int64) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, storeError("read", f.entry.Key, f.store, err)
	}
	n, err := f.file.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		err = storeError("read", f.entry.Key, f.store, localError(err))
	}
	return n, err
}
