package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"syscall"

	"github.com/apache/iceberg-go/catalog"
)

// notWritable is why a database that is there cannot be written by this user; nil if it can, or if something else is wrong.
func notWritable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// Unwritable is a NotSetUp fault if a catalog that OpenCatalog made can be read and not written: its database is a file
// that this user may not write, or lies on a file system that is mounted read-only, or it is on a server that takes no
// writes, or none from this user. What only looks does without.
func Unwritable(ctx context.Context, c catalog.Catalog) error {
	if u, ok := c.(*unborn); ok {
		return u.unwritable(ctx)
	}
	return nil
}

func unwritableFile(path string) error {
	if err := notWritable(path); err != nil {
		return explain(fmt.Sprintf("write to the catalog %s", path), err)
	}
	return nil
}

// readOnlyDSN opens a database for reading alone. One in WAL mode needs its -shm file even then, and makes it in its
// folder; where that cannot be, SQLite reads it only as one that nobody changes (https://www.sqlite.org/wal.html,
// "Read-Only Databases"). That is so while neither -wal nor -shm is there: whoever writes makes them first.
func readOnlyDSN(path string) string {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=ro&_pragma=busy_timeout(5000)"
	if isWAL(path) && !exists(path+"-wal") && !exists(path+"-shm") {
		dsn += "&immutable=1"
	}
	return dsn
}

// isWAL reads the file format's version for reading and writing (https://www.sqlite.org/fileformat.html, 1.3.3).
func isWAL(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	header := make([]byte, 20)
	_, err = io.ReadFull(f, header)
	return err == nil && header[18] == 2 && header[19] == 2
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
