package laketest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	iceio "github.com/apache/iceberg-go/io"
)

// files is a store behind a script. A new file is one effect, when it is closed: until then it does not exist for
// anyone, and if the effect is not applied, never.
type files struct {
	iceio.IO
	script *Script
}

// Store puts a store of data files behind a script.
func Store(store iceio.IO, s *Script) iceio.IO { return &files{IO: store, script: s} }

var (
	_ iceio.ReadFileIO      = (*files)(nil)
	_ iceio.WriteFileIO     = (*files)(nil)
	_ iceio.StatIO          = (*files)(nil)
	_ iceio.ListableIO      = (*files)(nil)
	_ iceio.BulkRemovableIO = (*files)(nil)
)

// Open reads.
func (f *files) Open(name string) (iceio.File, error) {
	if err := f.script.Read("open " + name); err != nil {
		return nil, err
	}
	return f.IO.Open(name)
}

// ReadFile reads.
func (f *files) ReadFile(name string) ([]byte, error) {
	if err := f.script.Read("read " + name); err != nil {
		return nil, err
	}
	if r, ok := f.IO.(iceio.ReadFileIO); ok {
		return r.ReadFile(name)
	}
	file, err := f.IO.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

// Stat reads.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	if err := f.script.Read("stat " + name); err != nil {
		return nil, err
	}
	if s, ok := f.IO.(iceio.StatIO); ok {
		return s.Stat(name)
	}
	file, err := f.IO.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	return info, errors.Join(err, file.Close())
}

// WalkDir reads.
func (f *files) WalkDir(root string, fn fs.WalkDirFunc) error {
	if err := f.script.Read("walk " + root); err != nil {
		return err
	}
	l, ok := f.IO.(iceio.ListableIO)
	if !ok {
		return fmt.Errorf("%T cannot list", f.IO)
	}
	return l.WalkDir(root, fn)
}

// Remove is the effect "remove".
func (f *files) Remove(name string) error {
	return f.script.Effect("remove "+FileKind(name), func() error { return f.IO.Remove(name) })
}

// DeleteFiles removes one after the other, each an effect.
func (f *files) DeleteFiles(_ context.Context, paths []string) (deleted []string, err error) {
	for _, p := range paths {
		removeErr := f.Remove(p)
		if removeErr == nil || errors.Is(removeErr, fs.ErrNotExist) {
			deleted = append(deleted, p)
			continue
		}
		err = errors.Join(err, removeErr)
	}
	return deleted, err
}

// WriteFile is the effect "create".
func (f *files) WriteFile(name string, content []byte) error {
	w, err := f.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return errors.Join(err, w.Close())
}

// Create opens a new file. Its content waits beside the store until Close.
func (f *files) Create(name string) (iceio.FileWriter, error) {
	if err := f.script.Read("create " + name); err != nil {
		return nil, err
	}
	if _, ok := f.IO.(iceio.WriteFileIO); !ok {
		return nil, fmt.Errorf("%T cannot write", f.IO)
	}
	spool, err := os.CreateTemp("", "laketest-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(spool.Name()); err != nil { // the open file goes on without its name
		return nil, errors.Join(err, spool.Close())
	}
	return &newFile{files: f, name: name, spool: spool}, nil
}

type newFile struct {
	files *files
	name  string
	spool *os.File
}

// Write adds to the content.
func (n *newFile) Write(b []byte) (int, error) {
	if err := n.files.script.Read("write " + n.name); err != nil {
		return 0, err
	}
	return n.spool.Write(b)
}

// ReadFrom adds to the content.
func (n *newFile) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{n}, r)
}

// Close is the effect "create".
func (n *newFile) Close() error {
	err := n.files.script.Effect("create "+FileKind(n.name), n.publish)
	return errors.Join(err, n.spool.Close())
}

// Abort forgets the file.
func (n *newFile) Abort() error { return n.spool.Close() }

func (n *newFile) publish() error {
	if _, err := n.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w, err := n.files.IO.(iceio.WriteFileIO).Create(n.name)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{w}, n.spool)
	return errors.Join(err, w.Close())
}
