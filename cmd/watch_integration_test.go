//go:build integration && linux

package cmd_test

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// changes are what counts as a change of a file: made, written to, finished, named, removed.
const changes = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_DELETE

// watch counts changes of files below a folder, also in folders that are made meanwhile, until stop is called.
func (c *toll) watch(t *testing.T, dir string) (stop func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{toll: c, file: os.NewFile(uintptr(fd), "inotify"), fd: fd, folders: map[int32]string{}}
	if err := w.add(dir); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- w.follow() }()
	return func() {
		w.file.Close()
		<-done
	}
}

type watcher struct {
	toll *toll
	file *os.File
	fd   int
	// folders is where each watch is.
	folders map[int32]string
}

// add watches a folder and those in it. One that goes away meanwhile is none.
func (w *watcher) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if id, err := unix.InotifyAddWatch(w.fd, path, changes); err == nil {
			w.folders[int32(id)] = path
		}
		return nil
	})
}

// follow reads events until the file is closed.
func (w *watcher) follow() error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			return err
		}
		for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			id, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			length := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length]), "\x00")
			b = b[unix.SizeofInotifyEvent+length:]
			if mask&(unix.IN_CREATE|unix.IN_ISDIR) == unix.IN_CREATE|unix.IN_ISDIR {
				_ = w.add(filepath.Join(w.folders[id], name)) // gone again: nothing to watch
			}
			if mask&changes != 0 {
				w.toll.pay()
			}
		}
	}
}
