package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// largestFile bounds a job file: the largest ones that people write are some hundred lines.
const largestFile = 4 << 20

// ReadFile reads a job file, or a file that one refers to: a regular file or a pipe, such as a shell makes of <(…), of at
// most 4 MiB. A device or a folder is refused before anything is read. A pipe that nobody writes to is waited for until
// ctx ends; its cause is then the error.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder: want a file")
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return nil, errors.New("it is a device or a socket: want a regular file or a pipe")
	case info.Size() > largestFile:
		return nil, errTooLarge
	}
	type result struct {
		content []byte
		err     error
	}
	read := make(chan result, 1)
	go func() { // it stays behind when ctx ends: opening a pipe cannot be called off
		content, err := readBounded(path)
		read <- result{content, err}
	}()
	select {
	case r := <-read:
		return r.content, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errTooLarge = fmt.Errorf("it is larger than %d MiB", largestFile>>20)

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(content) > largestFile {
		return nil, errTooLarge
	}
	return content, nil
}
