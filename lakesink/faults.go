package lakesink

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"gocloud.dev/gcerrors"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sluice/batch"
	"sluice/objectstore/answer"
)

func notSetUp(message, hint string, err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: hint, Err: err}
}

// explain says what an error of a catalog or a store means to whoever started the run. doing is what was attempted.
// Errors that nothing is known about stay of the class Failed: running again may help and does no harm.
func explain(doing string, err error) error {
	var fault *batch.Fault
	if errors.As(err, &fault) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	class, hint := meaning(err)
	return &batch.Fault{Class: class, Message: doing, Hint: hint, Err: onOneLine(answer.CauseFirst(err))}
}

// late adds the bound that was reached to an error of a context that ended by it: libraries only say that it ended.
func late(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func meaning(err error) (batch.Class, string) {
	if class, hint, ok := storeMeaning(err); ok {
		return class, hint
	}
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(err, catalog.ErrNoSuchTable):
		return batch.NotSetUp, "create the table, or check catalog and table name"
	case errors.Is(err, catalog.ErrNoSuchNamespace):
		return batch.NotSetUp, "create the namespace, or check catalog and table name"
	case errors.Is(err, iceio.ErrIOSchemeNotFound):
		return batch.NotSetUp, "the table's files lie in a store of a kind that is not built in: choose a table in a local folder, in S3, Google Cloud Storage or Azure"
	case isDamage(err):
		return batch.Inconsistent, damaged
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return batch.Failed, tooFewFiles
	case errors.Is(err, fs.ErrPermission):
		return batch.NotSetUp, "give this user the right to read and write there"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return batch.Failed, "the disk is full: free some space, then run again; nothing is half-done"
	case errors.Is(err, syscall.EFBIG):
		return batch.Failed, "a limit on the size of files is in the way (ulimit -f): raise it, then run again; nothing is half-done"
	case errors.Is(err, syscall.EROFS):
		return batch.NotSetUp, "the file system is mounted read-only: mount it writable or choose another place"
	case errors.Is(err, errNoFolders):
		return batch.NotSetUp, "the file system there is none for files: choose another place"
	case errors.Is(err, syscall.ENOTDIR):
		return batch.NotSetUp, "a file is in the way of a folder: move it away, or choose another place"
	case errors.Is(err, context.DeadlineExceeded):
		return batch.Failed, "catalog or store does not answer: check the addresses and that this machine reaches them, then run again"
	case errors.As(err, &name):
		return batch.NotSetUp, "the host name does not resolve: check the address"
	case errors.As(err, &dial):
		return batch.Failed, "the server does not answer: check the address, or run again when it is up"
	}
	return batch.Failed, "run again; if it repeats, see the cause above"
}

// isDamage says whether something was read to its end and makes no sense.
func isDamage(err error) bool {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	for _, e := range []error{gzip.ErrHeader, gzip.ErrChecksum, table.ErrInvalidMetadata, table.ErrInvalidMetadataFormatVersion} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, &syntax) || errors.As(err, &value)
}

const damaged = "a file of the table's metadata is damaged or none of Iceberg's: restore it from a backup, or let the catalog name the one before it"

func isCutOff(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// storeMeaning knows the codes of databases and of object stores.
func storeMeaning(err error) (class batch.Class, hint string, ok bool) {
	var db *sqlite.Error
	if errors.As(err, &db) {
		class, hint = sqliteMeaning(db.Code())
		return class, hint, hint != ""
	}
	if class, hint, ok = postgresMeaning(err); ok {
		return class, hint, true
	}
	if class, hint, ok = glueMeaning(err); ok {
		return class, hint, true
	}
	if class, hint, ok = hiveMeaning(err); ok {
		return class, hint, true
	}
	if class, hint, ok = restMeaning(err); ok {
		return class, hint, true
	}
	if class, hint, ok = cloudMeaning(err); ok {
		return class, hint, true
	}
	if gcerrors.Code(err) == gcerrors.PermissionDenied {
		return batch.NotSetUp, forbidden, true
	}
	return 0, "", false
}

const tooFewFiles = "this process may not open enough files: raise the limit (ulimit -n, LimitNOFILE of systemd), then run again; nothing is half-done"

// filesOfDatabase is how many files SQLite opens for a database: itself, -wal, -shm, and a folder to sync.
const filesOfDatabase = 4

// outOfFiles reports whether that many files cannot be opened: SQLite says no more than that it could not open one.
func outOfFiles() bool {
	for range filesOfDatabase {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		}
		defer f.Close()
	}
	return false
}

// sqliteMeaning takes a result code; its low byte is the kind (https://www.sqlite.org/rescode.html).
func sqliteMeaning(code int) (batch.Class, string) {
	if code == sqlite3.SQLITE_IOERR_SHMSIZE { // it could not make the file that readers share beside the database
		return batch.Failed, "the disk is full, most likely: free some space, then run again; nothing is half-done"
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return batch.Failed, lockedHint
	case sqlite3.SQLITE_FULL:
		return batch.Failed, "the disk of the catalog's database is full: free some space, then run again"
	case sqlite3.SQLITE_CANTOPEN:
		if outOfFiles() {
			return batch.Failed, tooFewFiles
		}
		return batch.NotSetUp, "give this user the right to read and write the catalog's database and its folder"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return batch.NotSetUp, "give this user the right to read and write the catalog's database and its folder"
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return batch.NotSetUp, "the file is no SQLite database: check the catalog's address, or restore the file"
	}
	return batch.Failed, ""
}
