package objectstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sluice/batch"
)

// Local is a store in a folder of a local or shared file system. Creating is atomic between processes and, on a
// file system that keeps POSIX's promises, between machines; a reported success has reached the disk.
//
// A new object is written to a temporary file, synced, and linked to its name: link(2) fails if the name exists and
// never shows a partial file. gocloud.dev's fileblob checks and then renames under a lock of its own process: measured,
// 8 to 42 % of keys had several winners among 8 processes, and it never syncs. Where hard links are refused (some FUSE
// and SMB mounts) a rename that must not replace takes the link's place.
//
// Replacing and deleting hold an advisory lock on the file .lock; creating needs none.
type Local struct {
	dir string
	// Folders and files are made with these modes, which the umask cuts.
	dirMode, fileMode fs.FileMode
	// lockWait bounds the wait for another process that holds the lock, or was stopped while it did.
	lockWait time.Duration
	// link and rename are link(2) and a rename that does not replace; tests stand in for file systems without them.
	link, rename func(from, to string) error
	tidied       sync.Once
}

const (
	// A private folder is for its owner alone: plans name topics and tables.
	dirMode  = 0o700
	fileMode = 0o600
	// What it lies in is not: a warehouse that a checkpoint is first to make is for its readers. Nor is a shared folder.
	sharedDirMode  = 0o777
	sharedFileMode = 0o666

	// lockWait is ample for what others do under the lock, and short enough for a run that meets a lock which is not let
	// go to say so within ten seconds.
	lockWait = 4 * time.Second

	// Names that begin with a dot are ours and never listed.
	tempDir  = ".tmp"
	lockFile = ".lock"
)

// NewLocal returns the store in a folder, which is made by the first write, for its owner alone.
func NewLocal(dir string) (*Local, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, marked(ErrURL, err)
	}
	return &Local{dir: abs, dirMode: dirMode, fileMode: fileMode, lockWait: lockWait, link: os.Link, rename: renameExclusive}, nil
}

// String is file:// and the folder.
func (l *Local) String() string { return "file://" + filepath.ToSlash(l.dir) }

func (l *Local) path(key string) string {
	checkKey(key)
	return filepath.Join(l.dir, filepath.FromSlash(key))
}

// Get is Store's.
func (l *Local) Get(ctx context.Context, key string) ([]byte, Version, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", storeError("get", key, l, err)
	}
	data, version, err := l.read(key)
	if err != nil {
		return nil, "", storeError("get", key, l, localError(err))
	}
	return data, version, nil
}

// PutIfAbsent is Store's.
func (l *Local) PutIfAbsent(ctx context.Context, key string, data []byte) (Version, error) {
	if err := context.Cause(ctx); err != nil {
		return "", storeError("create", key, l, err)
	}
	version, err := l.install(key, data, l.linkNew)
	if err != nil {
		return "", storeError("create", key, l, localError(err))
	}
	return version, nil
}

// PutIfMatch is Store's.
func (l *Local) PutIfMatch(ctx context.Context, key string, data []byte, version Version) (Version, error) {
	var next Version
	err := l.locked(ctx, func() error {
		_, current, err := l.read(key)
		if errors.Is(err, fs.ErrNotExist) || err == nil && current != version {
			return ErrConflict
		}
		if err != nil {
			return err
		}
		next, err = l.install(key, data, os.Rename)
		return err
	})
	if err != nil {
		return "", storeError("replace", key, l, localError(err))
	}
	return next, nil
}

// Put is Store's.
func (l *Local) Put(ctx context.Context, key string, data []byte) error {
	err := l.locked(ctx, func() error {
		_, err := l.install(key, data, os.Rename)
		return err
	})
	if err != nil {
		return storeError("put", key, l, localError(err))
	}
	return nil
}

// Delete is Store's. It takes along the checksum file that Hadoop's local file system keeps beside what Spark wrote.
func (l *Local) Delete(ctx context.Context, keys ...string) error {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := l.locked(ctx, func() error {
		for _, key := range keys {
			path := l.path(key)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			_ = os.Remove(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".crc"))
		}
		return nil
	})
	if err != nil {
		return storeError("delete", several(keys), l, localError(err))
	}
	return nil
}

// openFile opens what is a file and nothing else.
func (l *Local) openFile(key string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(l.path(key), os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for its writer otherwise
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &batch.Fault{Class: batch.NotSetUp, Message: f.Name() + " is no file", Hint: "move it away, or choose another folder"}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func (l *Local) read(key string) ([]byte, Version, error) {
	f, _, err := l.openFile(key)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	data, err := readObject(f)
	if err != nil {
		return nil, "", err
	}
	version, err := versionOf(f, data)
	return data, version, err
}

// versionOf tells states of a file apart by content and by time: a clock that ticks every few milliseconds shows two
// quick writes at the same time, and content alone would take a state that came back for one that stayed.
func versionOf(f *os.File, data []byte) (Version, error) {
	stat, err := f.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return Version(fmt.Sprintf("%x-%d", sum[:16], stat.ModTime().UnixNano())), nil
}

// install writes data to a temporary file and gives it its name by place, which is link or rename.
func (l *Local) install(key string, data []byte, place func(from, to string) error) (Version, error) {
	path := l.path(key)
	if err := l.makeDir(filepath.Dir(path)); err != nil {
		return "", err
	}
	temp, version, err := l.writeTemp(data)
	if err != nil {
		return "", err
	}
	defer os.Remove(temp)
	if err := place(temp, path); err != nil {
		return "", err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return "", marked(ErrAmbiguous, err) // the name is there and might not survive a power failure
	}
	return version, nil
}

func (l *Local) linkNew(from, to string) error {
	err := l.link(from, to)
	if isUnsupported(err) {
		err = l.rename(from, to)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrConflict
	case isUnsupported(err):
		return &batch.Fault{Class: batch.NotSetUp, Message: "the file system can neither link nor rename without replacing", Err: err,
			Hint: "choose a folder on a file system with hard links, or an object store"}
	}
	return err
}

// isUnsupported reports whether the file system refuses a call as such. EPERM is what link(2) documents for it.
func isUnsupported(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL, syscall.EMLINK, errors.ErrUnsupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// temp makes a temporary file with a name of its own.
func (l *Local) temp() (*os.File, error) {
	dir := filepath.Join(l.dir, tempDir)
	if err := l.makeDir(dir); err != nil {
		return nil, err
	}
	l.tidied.Do(func() { removeStale(dir) })
	return os.OpenFile(filepath.Join(dir, "w-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, l.fileMode)
}

func (l *Local) writeTemp(data []byte) (path string, version Version, err error) {
	f, err := l.temp()
	if err != nil {
		return "", "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", "", err
	}
	if err := f.Sync(); err != nil {
		return "", "", err
	}
	version, err = versionOf(f, data)
	return f.Name(), version, err
}

// removeStale clears away what killed processes left. Nobody leaves a file that is being written alone for an hour.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if stat, err := entry.Info(); err == nil && time.Since(stat.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// makeDir makes a folder of the store, and the store's own first.
func (l *Local) makeDir(dir string) error {
	if err := makeDir(l.dir, l.dirMode, sharedDirMode); err != nil {
		return err
	}
	return makeDir(dir, l.dirMode, l.dirMode)
}

// makeDir makes a folder with its parents so that they survive a power failure.
func makeDir(dir string, mode, parents fs.FileMode) error {
	stat, err := os.Stat(dir)
	if err == nil && !stat.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := dangling(dir); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent, parents, parents); err != nil {
		return err
	}
	switch err := os.Mkdir(dir, mode); {
	case errors.Is(err, fs.ErrNotExist) && isThere(parent): // as in /proc, where the system alone makes folders
		return noFolders(dir)
	case err != nil && !errors.Is(err, fs.ErrExist):
		return err
	}
	return syncDir(parent)
}

// noFolders is the fault of a file system that is no place for files.
func noFolders(dir string) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("mkdir %s: no folder can be made there", dir), Hint: "the file system there is none for files: choose another place"}
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// dangling is the fault of a folder that is not there because it is a symbolic link to none.
func dangling(dir string) error {
	link, err := os.Readlink(dir)
	if err != nil {
		return nil
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s is a symbolic link to %s, which is not there", dir, link), Hint: "make the folder that the link leads to, or mount what holds it"}
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// localError turns what the system says into what a Store says.
func localError(err error) error {
	var fault *batch.Fault
	switch {
	case errors.As(err, &fault), errors.Is(err, ErrAmbiguous), errors.Is(err, ErrConflict):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return marked(ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return denied(err, "give the user that runs sluice read and write access to the folder")
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return &batch.Fault{Class: batch.NotSetUp, Message: "the path cannot be used", Err: err, Hint: "choose a shorter path, or mend the symbolic links in it"}
	case errors.Is(err, syscall.EFBIG):
		return &batch.Fault{Class: batch.Failed, Message: "a limit on the size of files is in the way", Err: err, Hint: "raise it (ulimit -f) and run again"}
	case errors.Is(err, syscall.ENOTDIR):
		return &batch.Fault{Class: batch.NotSetUp, Message: "not a folder", Err: err, Hint: "choose a folder, or a name that is free"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &batch.Fault{Class: batch.Failed, Message: "no space left on the disk", Err: err, Hint: "free some space and run again"}
	}
	return err
}
