package lakesink

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"modernc.org/sqlite" // also the driver behind sql catalogs
	sqlite3 "modernc.org/sqlite/lib"
)

// CatalogOptions say where tables are registered and where new ones live.
type CatalogOptions struct {
	// Type is "sql" (an SQLite file, or a PostgreSQL database), "hadoop" (a local folder that is its own catalog), "rest" (a
	// server of Iceberg's REST protocol), "glue" (AWS Glue) or "hive" (a Hive metastore).
	Type string
	// URI is the catalog's address: for sql the path of the database, plain or with sqlite: or file: before it, or
	// postgresql://host/database. If they are missing, the file and its folder, or the tables in the database, are made with
	// the first table. A hadoop or glue catalog has none. For rest https://host/path,
	// for hive thrift://host:9083.
	URI string
	// Warehouse is the folder or bucket that new tables are put into: a path, file:// or s3://bucket/prefix. For rest it is a
	// name or a location that the server knows, or empty.
	Warehouse string
	// Name is stored with every table of a sql catalog; other engines must use the same. The default is "default".
	Name string
	// Properties go to the catalog and to the store, under Iceberg's names: s3.endpoint, s3.region, s3.access-key-id, …
	// Without them the AWS environment (AWS_*, shared files, instance roles) counts.
	Properties map[string]string
}

// String names the catalog without secrets: type and address.
func (o CatalogOptions) String() string {
	address := o.URI
	if address == "" {
		address = o.Warehouse
	}
	if _, ok := postgresForm(address); ok && o.Type == "sql" {
		return o.Type + " " + postgresName(address)
	}
	return o.Type + " " + withoutSecrets(address)
}

// openers make the catalogs by their type. A type is a line here and a function.
var openers = map[string]func(context.Context, CatalogOptions) (catalog.Catalog, error){
	"sql":    openSQL,
	"hadoop": openHadoop,
	"rest":   openREST,
	"glue":   openGlue,
	"hive":   openHive,
}

// byName are the types whose warehouse may be a name that the server knows, or none.
var byName = map[string]bool{"rest": true}

// CatalogTypes lists the types that OpenCatalog knows.
func CatalogTypes() []string { return slices.Sorted(maps.Keys(openers)) }

// OpenCatalog connects to a catalog. What is missing or forbidden is a NotSetUp fault. Close the result, which is a
// catalog.Closer, when done.
func OpenCatalog(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	open, ok := openers[o.Type]
	if !ok {
		return nil, notSetUp(fmt.Sprintf("there is no catalog of type %q", o.Type),
			"choose one of: "+strings.Join(CatalogTypes(), ", "), nil)
	}
	if o.Name == "" {
		o.Name = "default"
	}
	if byName[o.Type] {
		return open(ctx, o)
	}
	if o.Warehouse == "" {
		return nil, notSetUp("the catalog has no warehouse", "say where new tables are to live: a folder, or s3://bucket/prefix", nil)
	}
	if err := Readable(o.Warehouse); err != nil {
		return nil, notSetUp("the warehouse cannot be there", "choose another folder for the warehouse", err)
	}
	var err error
	if o.Warehouse, err = o.address(); err != nil {
		return nil, err
	}
	return open(ctx, o)
}

// address is the warehouse's, with a scheme.
func (o CatalogOptions) address() (string, error) {
	if !isLocal(o.Warehouse) {
		return o.Warehouse, nil
	}
	address, err := localAddress(o.Warehouse)
	if err != nil {
		return "", notSetUp(fmt.Sprintf("warehouse %q is no path", o.Warehouse), "give a folder, or s3://bucket/prefix", err)
	}
	return address, nil
}

// openHadoop serves local folders only. The catalog's commit is a rename that must fail if the name is taken; object
// stores have no such rename, so two writers would overwrite each other's commits.
func openHadoop(_ context.Context, o CatalogOptions) (catalog.Catalog, error) {
	if !isLocal(o.Warehouse) {
		return nil, notSetUp(fmt.Sprintf("a hadoop catalog cannot be on %s: it commits by renaming, which object stores do not do atomically, so that commits would be lost", withoutSecrets(o.Warehouse)),
			"use a catalog of type sql with this warehouse, or a local folder", nil)
	}
	path := localPath(o.Warehouse)
	if escaped := (&url.URL{Path: path}).EscapedPath(); escaped != path {
		return nil, notSetUp(fmt.Sprintf("a hadoop catalog cannot be in %s: its tables' files would go to %s, for it takes paths for URIs", path, escaped),
			"choose a folder without spaces and special characters in its path, or a catalog of type sql", nil)
	}
	properties := iceberg.Properties(maps.Clone(o.Properties))
	c, err := hadoop.NewCatalog(o.Name, path, properties)
	if err != nil {
		return nil, explain(fmt.Sprintf("open the catalog in %s", path), err)
	}
	return c, nil
}

func openSQL(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	if _, ok := postgresForm(o.URI); ok {
		return openPostgres(ctx, o)
	}
	path, err := sqlitePath(o.URI)
	if err != nil {
		return nil, err
	}
	u := &unborn{path: path, there: found(path), open: func(ctx context.Context) (catalog.Catalog, error) { return openDatabase(ctx, path, o) },
		unwritable: func(context.Context) error { return unwritableFile(path) }}
	if _, err := u.get(ctx, false); err != nil { // what is wrong with a database that is there is said at once
		return nil, err
	}
	return u, nil
}

func openDatabase(ctx context.Context, path string, o CatalogOptions) (catalog.Catalog, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, explain(fmt.Sprintf("make the folder of the catalog %s", path), err)
	}
	if file, err := os.Stat(path); err == nil && file.IsDir() {
		return nil, notSetUp(fmt.Sprintf("the address of the sql catalog, %s, is a folder", path), "give the path of its SQLite file, such as "+filepath.Join(path, "catalog.db"), nil)
	}
	dsn := sqliteDSN(path)
	if notWritable(path) != nil {
		dsn = readOnlyDSN(path)
	}
	return openDSN(ctx, path, dsn, o)
}

func openDSN(ctx context.Context, path, dsn string, o CatalogOptions) (catalog.Catalog, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, explain(fmt.Sprintf("open the catalog %s", path), err)
	}
	if err := connect(ctx, db); err != nil {
		return nil, errors.Join(explain(fmt.Sprintf("open the catalog %s", path), err), db.Close())
	}
	c, err := newSQLCatalog(o, db, sqlcatalog.SQLite, nil)
	if err != nil {
		return nil, errors.Join(explain(fmt.Sprintf("open the catalog %s", path), err), db.Close())
	}
	return &ownedSQL{c, db}, nil
}

// newSQLCatalog is the library's, with properties over those of the options. What the library says to the standard log, that
// the tables are of the form that Iceberg's own library makes unless it is told otherwise, is nothing to act upon.
func newSQLCatalog(o CatalogOptions, db *sql.DB, dialect sqlcatalog.SupportedDialect, over iceberg.Properties) (*sqlcatalog.Catalog, error) {
	properties := iceberg.Properties{}
	maps.Copy(properties, o.Properties)
	maps.Copy(properties, over)
	properties["warehouse"] = o.Warehouse
	defer log.SetOutput(log.Writer())
	log.SetOutput(io.Discard)
	return sqlcatalog.NewCatalog(o.Name, db, dialect, properties)
}

// connect makes the first connection. The first one ever switches the database to WAL, and for that SQLite does not wait
// whatever its busy_timeout: processes that come at the same moment are told at once that it is locked.
func connect(ctx context.Context, db *sql.DB) error {
	for patience := time.Now().Add(2 * time.Second); ; {
		err := db.PingContext(ctx)
		var busy *sqlite.Error
		if !errors.As(err, &busy) || busy.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(patience) {
			return err
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// ownedSQL closes the database with the catalog.
type ownedSQL struct {
	*sqlcatalog.Catalog
	db *sql.DB
}

// CreateTable leaves the metadata that it wrote where the answer is an error. The library removes it then, also if the
// database had taken the table and only the answer was lost: the table's row would name a file that is gone.
func (o *ownedSQL) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	return o.Catalog.CreateTable(context.WithValue(ctx, keepFiles{}, true), id, schema, options...)
}

// Close ends all connections.
func (o *ownedSQL) Close() error { return errors.Join(o.Catalog.Close(), o.db.Close()) }

func sqlitePath(uri string) (string, error) {
	scheme, rest, ok := strings.Cut(uri, ":")
	switch {
	case uri == "":
		return "", notSetUp("the sql catalog has no address", "give the path of its SQLite file as uri, or postgresql://host/database", nil)
	case ok && scheme == "sqlite":
		uri = "file:" + strings.TrimPrefix(rest, "//")
	case ok && scheme != "file" && strings.HasPrefix(rest, "//"):
		return "", notSetUp(fmt.Sprintf("a sql catalog at %s: only SQLite and PostgreSQL are built in", withoutSecrets(uri)), "give the path of an SQLite file as uri, or postgresql://host/database", nil)
	}
	path, err := filepath.Abs(localPath(uri))
	if err != nil {
		return "", notSetUp(fmt.Sprintf("catalog address %q is no path", uri), "give the path of an SQLite file as uri", err)
	}
	return path, nil
}

// sqliteDSN lets several processes share the file: writers queue for up to 5 s, and what was committed is on disk. A file
// that we begin also lets readers go on while one writes (WAL); how another program keeps its file is not changed.
func sqliteDSN(path string) string {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)&_txlock=immediate"
	if file, err := os.Stat(path); err != nil || file.Size() == 0 {
		dsn += "&_pragma=journal_mode(WAL)"
	}
	return dsn
}
