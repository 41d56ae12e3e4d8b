package spill

import (
	"errors"
	"io"
	"os"
)

// File is where a run is. What was written stays until Close.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Temporary makes a file in the folder for temporary files (TMPDIR, else /tmp) that is gone when it is closed or when the process
// ends, in whatever way.
func Temporary() (File, error) {
	dir := os.TempDir()
	if f, err := nameless(dir); err == nil {
		return f, nil
	}
	f, err := os.CreateTemp(dir, "sluice-*") // exclusively, for its owner alone
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // where open files cannot be removed
		return &named{f}, nil
	}
	return f, nil
}

// named is a file that has to be removed when it is closed.
type named struct{ *os.File }

func (n *named) Close() error { return errors.Join(n.File.Close(), os.Remove(n.Name())) }
