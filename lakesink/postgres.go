package lakesink

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// serverAnswers bounds what is asked of a catalog's server while it is opened, and each attempt to connect.
	serverAnswers = 8 * time.Second
	// driverPatience is what the driver takes where the address does not say: without bound to somebody who waits.
	driverPatience = 2 * time.Minute
	// initTables is the property, by PyIceberg's and iceberg-go's name, that keeps a catalog from making its tables.
	initTables = "init_catalog_tables"
	// initTablesOfJava is the same by that of Iceberg's own library.
	initTablesOfJava = "jdbc.init-catalog-tables"
)

// openPostgres opens a catalog in a PostgreSQL database, in the two tables that PyIceberg's SqlCatalog and JdbcCatalog of
// Iceberg's own library keep theirs in. Where they are missing they are made with the first table of Iceberg's.
func openPostgres(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	config, err := postgresConfig(o)
	if err != nil {
		return nil, err
	}
	// A connection that was idle is asked whether it still is one: who restarts a server, or moves it, ends them all.
	always := stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return true })
	p := &postgres{db: stdlib.OpenDB(*config, always), options: o, address: postgresName(o.URI)}
	p.db.SetMaxOpenConns(2)
	u := &unborn{path: p.address + " (its tables iceberg_tables and iceberg_namespace_properties)", there: p.there, open: p.open, close: p.db.Close,
		unwritable: func(ctx context.Context) error { return repeat(ctx, func() error { return p.unwritable(ctx) }) }}
	if _, err := repeated(ctx, func() (catalog.Catalog, error) { return u.get(ctx, false) }); err != nil {
		return nil, errors.Join(err, p.db.Close())
	}
	return u, nil
}

// postgres is a database on a server.
type postgres struct {
	db      *sql.DB
	options CatalogOptions
	// address is the database's, without secrets.
	address string
}

// postgresConfig is the driver's. PGPASSWORD, PGPASSFILE, PGSERVICEFILE and the other variables of libpq count where the
// address does not say.
func postgresConfig(o CatalogOptions) (*pgx.ConnConfig, error) {
	u, err := postgresURL(o.URI)
	if err != nil {
		return nil, err
	}
	if user := o.Properties["jdbc.user"]; user != "" && u.User == nil {
		u.User = userOf(user, o.Properties["jdbc.password"])
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, notSetUp(fmt.Sprintf("the address of the sql catalog, %s, cannot be used: %s", postgresName(o.URI), plainCause(err)), addressHint, nil)
	}
	if config.ConnectTimeout == driverPatience {
		config.ConnectTimeout = serverAnswers
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "sluice"
	}
	// Statements come with their values in them, each another: to prepare them helps nobody, and fails behind a pooler that
	// gives every transaction another connection.
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return told{conn}, nil
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	return config, nil
}

// told is a connection that tells its own end from that of a file: of the metadata, io.EOF says that it is damaged.
type told struct{ net.Conn }

// errHungUp is the end of a connection.
var errHungUp = errors.New("the server has closed the connection")

func (t told) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if err == io.EOF {
		err = errHungUp
	}
	return n, err
}

// there says whether the tables of the catalog are.
func (p *postgres) there(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, serverAnswers, fmt.Errorf("no answer within %s", serverAnswers))
	defer cancel()
	var there bool
	err := p.db.QueryRowContext(ctx, "SELECT to_regclass('iceberg_tables') IS NOT NULL AND to_regclass('iceberg_namespace_properties') IS NOT NULL").Scan(&there)
	if err != nil {
		return false, explain("open the catalog "+p.address, late(ctx, err))
	}
	return there, nil
}

// tableAttempts is how often tables are made that other processes make at the same moment: to PostgreSQL, IF NOT EXISTS is a look before, and
// who comes second is told of a name that is taken (https://www.postgresql.org/message-id/CA+TgmoZAdYVtwBfp1FL2sMZbiHCWT4UPrzRLNnX1Nb30Ku3-gg@mail.gmail.com).
const tableAttempts = 5

// open makes the tables if need be. A user who may not make any is not asked to: PostgreSQL wants the right to also where
// they are there.
func (p *postgres) open(ctx context.Context) (catalog.Catalog, error) {
	for attempt := 1; ; attempt++ {
		there, err := p.there(ctx)
		if err != nil {
			return nil, err
		}
		if !there && !p.mayMakeTables() {
			return nil, notSetUp(fmt.Sprintf("the catalog %s has no tables iceberg_tables and iceberg_namespace_properties, and %s is false", p.address, initTables),
				"let somebody make them who may (docs/catalogs.md has the statements), or leave the property out", nil)
		}
		c, err := p.connect(ctx, !there)
		if err == nil {
			return c, nil
		}
		if !isTaken(err) || attempt == tableAttempts {
			return nil, explain("open the catalog "+p.address, err)
		}
		if err := Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (p *postgres) mayMakeTables() bool {
	for _, key := range []string{initTables, initTablesOfJava} {
		if strings.EqualFold(p.options.Properties[key], "false") {
			return false
		}
	}
	return true
}

// connect is the library's catalog. It asks without a bound of its own, so that somebody else must give up.
func (p *postgres) connect(ctx context.Context, makeTables bool) (catalog.Catalog, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, serverAnswers, fmt.Errorf("no answer within %s", serverAnswers))
	defer cancel()
	type opened struct {
		c   *sqlcatalog.Catalog
		err error
	}
	done := make(chan opened, 1)
	go func() {
		c, err := newSQLCatalog(p.options, p.db, sqlcatalog.Postgres, iceberg.Properties{initTables: fmt.Sprint(makeTables)})
		done <- opened{c, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return &ownedSQL{o.c, p.db}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isTaken says that somebody else has just made what was to be made.
func isTaken(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == "23505" || answer.Code == "42P07" || answer.Code == "42710")
}

// unwritable is why the database takes no commits: it is a standby's, or this user may not write to the tables.
func (p *postgres) unwritable(ctx context.Context) error {
	there, err := p.there(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, serverAnswers)
	defer cancel()
	var readOnly, forbidden bool
	query := "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', NOT has_schema_privilege(current_schema(), 'CREATE')"
	if there {
		query = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', NOT (has_table_privilege('iceberg_tables', 'SELECT')
			AND has_table_privilege('iceberg_tables', 'INSERT') AND has_table_privilege('iceberg_tables', 'UPDATE')
			AND has_table_privilege('iceberg_namespace_properties', 'SELECT') AND has_table_privilege('iceberg_namespace_properties', 'INSERT'))`
	}
	if err := p.db.QueryRowContext(ctx, query).Scan(&readOnly, &forbidden); err != nil {
		return explain("see whether the catalog "+p.address+" can be written", err)
	}
	switch {
	case readOnly:
		return notSetUp("the catalog "+p.address+" can only be read", readOnlyHint, nil)
	case forbidden && there:
		return notSetUp("this user may not write to the tables of the catalog "+p.address, grantHint, nil)
	case forbidden && p.mayMakeTables():
		return notSetUp("the catalog "+p.address+" has no tables yet, and this user may not make any there", createHint, nil)
	}
	return nil
}
