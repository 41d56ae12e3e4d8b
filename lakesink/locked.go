package lakesink

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sluice/batch"
)

// lockedAnswers is how many offers in a row may be told that the catalog's database is locked. SQLite has waited for the
// lock each time, for as long as sqliteDSN says: whoever still holds it does not only commit.
const lockedAnswers = 2

// isLocked says whether SQLite was kept out of the database by another connection.
func isLocked(err error) bool {
	var db *sqlite.Error
	return errors.As(err, &db) && (db.Code()&0xff == sqlite3.SQLITE_BUSY || db.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// lockedOut reports whether further offers would only wait for the same lock.
func (d *deal) lockedOut() bool {
	n := len(d.offers)
	if n < lockedAnswers {
		return false
	}
	for _, o := range d.offers[n-lockedAnswers:] {
		if !isLocked(o.fence.refused) {
			return false
		}
	}
	return true
}

func (d *deal) lockedFault() error {
	return &batch.Fault{Class: batch.Failed, Err: d.answer, Hint: lockedHint,
		Message: fmt.Sprintf("batch %d is not in table %s: another process has locked the catalog's database file, %s, and kept the lock over %d attempts",
			d.commit.Plan.Batch, d.sink.TableName(), strings.TrimPrefix(d.sink.options.Catalog, "sql "), len(d.offers))}
}

// lockedHint says what to look for: SQLite does not tell who holds a lock.
const lockedHint = "another process holds the catalog's database: look for a program with an open transaction on the file (fuser or lsof shows who has it open; " +
	"an SQLite shell, a backup, a stopped process) and end it, then run again"
