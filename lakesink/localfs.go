package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	iceio "github.com/apache/iceberg-go/io"
)

// Local files are made durable. iceberg-go's own file system never syncs: after a power cut the catalog may point to a
// metadata file that is empty, and the table is gone. So the scheme is taken over, for every catalog of this process.
func init() {
	for _, scheme := range []string{"file", ""} {
		register(scheme, func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return durableFS{}, nil })
	}
}

// durableFS is the local file system with every new file and its name on disk before Close, WriteFile or a rename
// returns.
type durableFS struct{ iceio.LocalFS }

// Create makes the file and, where they are missing, the folders above it. Names that a table refers to are used once: a
// file that is there already is an error, fs.ErrExist, and stays as it is.
func (d durableFS) Create(name string) (iceio.FileWriter, error) {
	f, err := d.open(name, os.O_EXCL)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// WriteFile writes a whole file. One that is there already is replaced.
func (d durableFS) WriteFile(name string, content []byte) error {
	f, err := d.open(name, os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

func (d durableFS) open(name string, flag int) (*durableFile, error) {
	for attempt := 1; ; attempt++ {
		f, err := openDurable(localPath(name), flag)
		if !errors.Is(err, fs.ErrNotExist) || attempt == makeAttempts {
			return f, err
		}
	}
}

// makeAttempts is how often a folder is made that is gone before anything was put into it: a probe of another process
// made it, and has removed it while it was empty.
const makeAttempts = 4

func openDurable(path string, flag int) (*durableFile, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|flag, 0o666)
	if err != nil {
		return nil, err
	}
	return &durableFile{File: f}, nil
}

// Rename replaces what has the new name.
func (d durableFS) Rename(from, to string) error {
	if err := d.LocalFS.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(localPath(to)))
}

// RenameNoReplace fails with fs.ErrExist if the new name is taken. The Hadoop catalog commits by it. A claim that a
// killed process left behind makes way.
func (d durableFS) RenameNoReplace(from, to string) error {
	err := d.LocalFS.RenameNoReplace(from, to)
	if errors.Is(err, fs.ErrExist) && abandoned(localPath(to)) {
		if err := os.Remove(localPath(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = d.LocalFS.RenameNoReplace(from, to)
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(localPath(to)))
}

// claimLives is how long a Hadoop catalog's claim on the next version counts. A writer renames its metadata to the claim
// and, when nobody was faster, on to its name; killed in between it leaves the claim, and iceberg-go would let all others
// fail for a minute. To take it from a writer that is merely slow does no harm: its last rename then fails, or publishes
// what the claim's new owner wrote, and both read the table again.
const claimLives = 5 * time.Second

func abandoned(path string) bool {
	if !strings.HasSuffix(path, ".metadata.json.claim") {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > claimLives
}

// durableFile syncs when it is closed.
type durableFile struct{ *os.File }

// Close makes content and name durable.
func (f *durableFile) Close() error {
	if err := errors.Join(f.File.Sync(), f.File.Close()); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.Name()))
}

// Abort closes the file and removes it.
func (f *durableFile) Abort() error {
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// errNoFolders is the answer of a file system that is no place for files.
var errNoFolders = errors.New("no folder can be made there")

// makeFolder makes a folder and those above it, each durable before anything is put into it.
func makeFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: fmt.Errorf("a file is in the way: %w", syscall.ENOTDIR)}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	switch err := os.Mkdir(path, 0o755); {
	case errors.Is(err, fs.ErrNotExist) && exists(filepath.Dir(path)): // as in /proc, where the system alone makes folders
		return fmt.Errorf("mkdir %s: %w", path, errNoFolders)
	case err != nil && !errors.Is(err, fs.ErrExist):
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open opens a file for reading.
func (d durableFS) Open(name string) (iceio.File, error) { return d.LocalFS.Open(localPath(name)) }

// ReadFile reads a whole file.
func (d durableFS) ReadFile(name string) ([]byte, error) { return d.LocalFS.ReadFile(localPath(name)) }

// Remove removes a file.
func (d durableFS) Remove(name string) error { return d.LocalFS.Remove(localPath(name)) }

// Stat describes a file.
func (d durableFS) Stat(name string) (fs.FileInfo, error) { return d.LocalFS.Stat(localPath(name)) }

// localPath is the path that a file: address or a plain name stands for. An escape in an address may be one of a URI, as
// iceberg-go writes the place of a table, or part of a name, as all engines take it: of each folder, what is there decides. Of
// what is not there, a folder of a partition, name=value, is named as it stands, since its value was escaped when it was named.
// Those right before a data file always are: of the partitions " " and "+" one is s=+, and the other s=%2B.
func localPath(name string) string {
	rest, ok := strings.CutPrefix(name, "file://")
	if !ok {
		return strings.TrimPrefix(name, "file:")
	}
	u, err := url.Parse(name)
	switch {
	case err != nil || u.Path == "":
		return rest
	case u.Host != "" || u.Path == rest:
		return u.Path
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	first := firstPartition(parts)
	path := ""
	for _, part := range parts[:first] {
		path += "/" + localName(path, part)
	}
	return strings.Join(append([]string{path}, parts[first:]...), "/")
}

// firstPartition is where the folders of a partition begin in the address of a data file, and all of parts in any other.
func firstPartition(parts []string) int {
	first := len(parts) - 1
	if !strings.HasSuffix(parts[first], ".parquet") {
		return len(parts)
	}
	for first > 0 && strings.Contains(parts[first-1], "=") {
		first--
	}
	return first
}

// localName is a name in a folder, of which an address has part.
func localName(folder, part string) string {
	plain, err := url.PathUnescape(part)
	if err != nil || plain == part || isThere(folder+"/"+part) {
		return part
	}
	if strings.Contains(part, "=") && !isThere(folder+"/"+plain) {
		return part
	}
	return plain
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isLocal reports whether an address is one of the local file system. A path may hold anything, a % that begins no escape too.
func isLocal(address string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	return !ok || strings.Contains(scheme, "/") || strings.EqualFold(scheme, "file")
}

// localAddress is the file: address of a local path, absolute. It is the path as it stands, if that can be: other engines take
// the addresses in a table's metadata for paths.
func localAddress(path string) (string, error) {
	absolute, err := filepath.Abs(localPath(path))
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: absolute, RawPath: absolute}).String(), nil
}
