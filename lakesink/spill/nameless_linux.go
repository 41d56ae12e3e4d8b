package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// nameless makes a file that never has a name; some file systems have none such.
func nameless(dir string) (File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}
