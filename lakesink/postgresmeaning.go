package lakesink

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/batch"
)

// postgresMeaning knows the answers of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func postgresMeaning(err error) (batch.Class, string, bool) {
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &answer):
		class, hint := sqlStateMeaning(answer.Code)
		return class, hint, hint != ""
	case errors.Is(err, errHungUp), errors.Is(err, driver.ErrBadConn):
		return batch.Failed, restarting, true
	}
	if !isOfServer(err) {
		return 0, "", false
	}
	switch text := err.Error(); {
	case strings.Contains(text, "server refused TLS"):
		return batch.NotSetUp, "the server has no TLS: leave sslmode to prefer, or have TLS turned on there", true
	case strings.Contains(text, "tls: ") || strings.Contains(text, "x509: "):
		return batch.NotSetUp, "the server's certificate is not accepted: give the authority's as sslrootcert in the catalog's address, and the name that the certificate is for as its host", true
	case strings.Contains(text, "read only connection") || strings.Contains(text, "server is in hot standby mode") || strings.Contains(text, "server is not in hot standby mode"):
		return batch.NotSetUp, readOnlyHint, true
	}
	return 0, "", false
}

const (
	addressHint  = "give postgresql://user@host:5432/database; characters such as @, / and # of a password are written as %40, %2F and %23, or leave the password to PGPASSWORD, PGPASSFILE or a ${file:…}"
	readOnlyHint = "the server is a read-only standby, or set to be: give the primary's address, or all servers' with target_session_attrs=read-write"
	grantHint    = "let the tables' owner GRANT SELECT, INSERT, UPDATE, DELETE ON iceberg_tables, iceberg_namespace_properties TO this user"
	createHint   = "GRANT CREATE ON its SCHEMA to this user for the first run, or let somebody else make the tables (docs/catalogs.md has the statements)"
	busyServer   = "the server has no connection left, or no memory or disk: end what is idle there, raise its limit or put a pooler in front, then run again"
	restarting   = "the server is being restarted, or an administrator has ended the connection: run again when it is up"
)

// sqlStateMeaning takes a code; its first two characters are the kind.
func sqlStateMeaning(code string) (batch.Class, string) {
	switch code {
	case "28P01", "28000":
		return batch.NotSetUp, "the server does not let this user in: check user and password of the catalog's address (or PGPASSWORD, PGPASSFILE), and the server's pg_hba.conf"
	case "3D000":
		return batch.NotSetUp, "create the database, or check the catalog's address"
	case "3F000":
		return batch.NotSetUp, "create the schema, or check search_path (currentSchema) of the catalog's address"
	case "42501":
		return batch.NotSetUp, grantHint + "; where the tables are still to be made, " + createHint
	case "42P01":
		return batch.NotSetUp, "the catalog's tables are gone, or in another schema: check search_path (currentSchema) of the catalog's address"
	case "42703":
		return batch.NotSetUp, "the table iceberg_tables has other columns than Iceberg's catalogs give it: check search_path (currentSchema) of the catalog's address"
	case "42704", "22023":
		return batch.NotSetUp, "the catalog's address has a parameter that the server does not know: check it"
	case "22001":
		return batch.NotSetUp, "a name or address is longer than the catalog's column takes: widen it (ALTER TABLE iceberg_tables ALTER COLUMN metadata_location TYPE varchar), or choose a shorter warehouse"
	case "25006":
		return batch.NotSetUp, readOnlyHint
	case "40001", "40P01":
		return batch.Failed, "another program changed the catalog at the same moment: run again"
	case "55P03":
		return batch.Failed, "another program holds a lock on the catalog's tables: look for an open transaction in pg_stat_activity, end it, then run again"
	case "57014":
		return batch.Failed, "the server cut the statement off: look at statement_timeout there, and for who holds a lock in pg_stat_activity, then run again"
	case "57P01", "57P02", "57P03", "57P05", "25P03", "25P04":
		return batch.Failed, restarting
	}
	switch code[:min(2, len(code))] {
	case "53":
		return batch.Failed, busyServer
	case "08":
		return batch.Failed, restarting
	}
	return batch.Failed, ""
}

// isOfServer says that an error is one of a connection to PostgreSQL, not of a file.
func isOfServer(err error) bool {
	var sent interface{ SafeToRetry() bool } // each error of the driver's connections has it
	var connecting *pgconn.ConnectError
	var answer *pgconn.PgError
	return errors.As(err, &sent) || errors.As(err, &connecting) || errors.As(err, &answer)
}

// onOneLine is an error as it is, but for those of attempts to connect, which have a line for each, with and without TLS.
func onOneLine(err error) error {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) || !strings.Contains(err.Error(), "\n") {
		return err
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return &oneLine{err, strings.Replace(strings.Join(lines, "; "), ":; ", ": ", 1)}
}

type oneLine struct {
	error
	text string
}

// Error is the text on one line.
func (o *oneLine) Error() string { return o.text }

// Unwrap is the error as it was.
func (o *oneLine) Unwrap() error { return o.error }
