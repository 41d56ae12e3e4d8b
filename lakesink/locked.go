package lakesink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sluice/batch"
)

// lockedAnswers is how many offers in a row may be told that the catalog's database is locked. It was waited for each
// time, for as long as sqliteDSN or the bound of an offer says: whoever still holds it does not only commit.
const lockedAnswers = 2

// isLocked says whether another connection kept us out of the database, or of the table's row in it.
func isLocked(err error) bool {
	var db *sqlite.Error
	if errors.As(err, &db) {
		return db.Code()&0xff == sqlite3.SQLITE_BUSY || db.Code()&0xff == sqlite3.SQLITE_LOCKED
	}
	return isRowLocked(err) || isHiveLocked(err)
}

// isRowLocked says that PostgreSQL did not answer in time, or cut a statement off that waited.
func isRowLocked(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code == "55P03" || answer.Code == "57014"
	}
	return isOfServer(err) && pgconn.Timeout(err)
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
	return !isHiveLocked(d.answer) || d.refusals >= lockedAnswers // writers who queue for a lock and commit are only in a race
}

func (d *deal) lockedFault() error {
	if isHiveLocked(d.answer) {
		return &batch.Fault{Class: batch.Failed, Err: d.answer, Hint: hiveLocked,
			Message: fmt.Sprintf("batch %d is not in table %s: another writer kept the table locked in the metastore over %d attempts", d.commit.Plan.Batch, d.sink.TableName(), len(d.offers))}
	}
	if isRowLocked(d.answer) {
		return &batch.Fault{Class: batch.Failed, Err: d.answer, Hint: rowLockedHint,
			Message: fmt.Sprintf("batch %d is not in table %s: the catalog's server, %s, did not answer over %d attempts, as when another program holds a lock on the table's row",
				d.commit.Plan.Batch, d.sink.TableName(), strings.TrimPrefix(d.sink.options.Catalog, "sql "), len(d.offers))}
	}
	return &batch.Fault{Class: batch.Failed, Err: d.answer, Hint: lockedHint,
		Message: fmt.Sprintf("batch %d is not in table %s: another process has locked the catalog's database file, %s, and kept the lock over %d attempts",
			d.commit.Plan.Batch, d.sink.TableName(), strings.TrimPrefix(d.sink.options.Catalog, "sql "), len(d.offers))}
}

const rowLockedHint = "look in pg_stat_activity for an open transaction on iceberg_tables (pg_blocking_pids tells who blocks), end it, then run again"

// lockedHint says what to look for: SQLite does not tell who holds a lock.
const lockedHint = "another process holds the catalog's database: look for a program with an open transaction on the file (fuser or lsof shows who has it open; " +
	"an SQLite shell, a backup, a stopped process) and end it, then run again"
