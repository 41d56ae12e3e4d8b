// Package hivecatalog is a catalog of Iceberg tables in a Hive metastore, over the metastore's Thrift protocol.
//
// A commit is conditional: the table's record is altered only while its metadata_location is the one that the commit was made
// on (https://issues.apache.org/jira/browse/HIVE-26882), which the server checks in its database. Servers that do not know this
// carry the alteration out whatever is there; they are found out before the first commit, by an alteration that either kind
// refuses, each for a reason of its own, and are never committed to.
//
// Around the alteration the table is locked, as Iceberg's own library does it unless told otherwise (engine.hive.lock-enabled):
// its writers under the lock alter a record unconditionally, so that a commit between their look and theirs would be lost. A lock
// that has ended before the alteration was answered leaves that open; the table is then read again under a new one.
//
// An alteration without an answer may have been carried out, or may be yet. Nothing that a commit has written is removed.
package hivecatalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"os/user"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/hivecatalog/thrift"
)

// Options are what a catalog is opened with.
type Options struct {
	// URI is thrift://host:9083, or several of them with commas between: servers of one metastore, which are tried in turn.
	URI string
	// Warehouse is where databases are put that are made here.
	Warehouse string
	// Properties have Iceberg's names; docs/catalogs.md lists those that this package reads. The others go to the store.
	Properties map[string]string
	// Answer bounds each call and each attempt to connect; the default is 30 s.
	Answer time.Duration
	// Dial, Sleep and Now may be replaced in tests.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time
}

// Catalog is a metastore's. It connects anew for each operation, so that it may be used by several goroutines, and needs not be
// closed.
type Catalog struct {
	options Options
	servers []string
	// last is the server that could be connected to last.
	last atomic.Int32
	user string
	ugi  []string
	// longest is the length of the longest parameter that shows something of the metadata.
	longest int
	hive2   bool
	waits   waits
}

// Misuse is an option that makes no sense.
type Misuse struct{ Option, Reason string }

// Error says which and why.
func (m *Misuse) Error() string { return m.Option + " " + m.Reason }

// Open takes the options; nothing is asked yet. Errors: *Misuse.
func Open(o Options) (*Catalog, error) {
	servers, err := serversOf(o.URI)
	if err != nil {
		return nil, err
	}
	c := &Catalog{options: o, servers: servers, user: "sluice", longest: 32672}
	if me, err := user.Current(); err == nil && me.Username != "" {
		c.user = me.Username
	}
	if c.options.Answer == 0 {
		c.options.Answer = 30 * time.Second
	}
	if c.options.Dial == nil {
		c.options.Dial = (&net.Dialer{}).DialContext
	}
	if c.options.Sleep == nil {
		c.options.Sleep = sleep
	}
	if c.options.Now == nil {
		c.options.Now = time.Now
	}
	return c, c.configure(o.Properties)
}

// configure reads the properties.
func (c *Catalog) configure(p map[string]string) (err error) {
	for _, key := range []string{"hive.metastore.sasl.enabled", "hive.metastore.use.SSL", "hive.kerberos-authentication"} {
		if strings.EqualFold(p[key], "true") {
			return &Misuse{key, "asks for what is not built in: metastores are spoken to over plain TCP, without TLS, SASL and Kerberos"}
		}
	}
	if text := p["iceberg.hive.table-property-max-size"]; text != "" {
		if c.longest, err = strconv.Atoi(text); err != nil || c.longest < 0 {
			return &Misuse{"iceberg.hive.table-property-max-size", fmt.Sprintf("is %q, no number of characters", text)}
		}
	}
	c.hive2 = strings.EqualFold(p["hive.hive2-compatible"], "true")
	if text := p["ugi"]; text != "" {
		c.ugi = strings.Split(text, ":")
		c.user = c.ugi[0]
	}
	c.waits, err = waitsOf(p)
	return err
}

// serversOf are the addresses, host:port, of a metastore.
func serversOf(uri string) (all []string, err error) {
	for _, one := range strings.Split(uri, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Scheme != "thrift" || u.Hostname() == "" {
			return nil, &Misuse{"uri", "is no address of a Hive metastore: want thrift://host:9083, or several of them with commas between"}
		}
		if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return nil, &Misuse{"uri", "has more than a host and a port: want thrift://host:9083"}
		}
		port := u.Port()
		if port == "" {
			port = "9083"
		}
		all = append(all, net.JoinHostPort(u.Hostname(), port))
	}
	return all, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CatalogType is hive.
func (c *Catalog) CatalogType() catalog.Type { return catalog.Hive }

// Close has nothing to do.
func (c *Catalog) Close() error { return nil }

// ask carries out what only reads, over a fresh connection, and over another where that one breaks.
func (c *Catalog) ask(ctx context.Context, do func(*conn) error) error {
	var failed error
	for range max(2, len(c.servers)) {
		k, err := c.dial(ctx)
		if err != nil {
			return errors.Join(failed, err)
		}
		err = errors.Join(do(k), k.Close())
		var broken *Broken
		if !errors.As(err, &broken) {
			return err
		}
		failed = err
		if ctx.Err() != nil || broken.HungUp() {
			break
		}
		c.last.Add(1)
	}
	return failed
}

// tell carries out what changes something, over a fresh connection, once.
func (c *Catalog) tell(ctx context.Context, do func(*conn) error) error {
	k, err := c.dial(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(k), k.Close())
}

// nameOf is a table's name: databases have none below them.
func nameOf(id table.Identifier) (name, error) {
	if len(id) != 2 || id[0] == "" || id[1] == "" {
		return name{}, &Misuse{"table " + strings.Join(id, "."), "is no name in a Hive metastore: want database.table"}
	}
	return name{id[0], id[1]}, nil
}

// LoadTable reads a table. One that is not of Iceberg's is an error of its own.
func (c *Catalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	n, err := nameOf(id)
	if err != nil {
		return nil, err
	}
	var record thrift.Struct
	err = c.ask(ctx, func(k *conn) (err error) {
		record, err = c.lookUp(ctx, k, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.read(ctx, id, record)
}

// lookUp is the record of a table of Iceberg's.
func (c *Catalog) lookUp(ctx context.Context, k *conn, n name) (thrift.Struct, error) {
	record, err := k.table(ctx, n)
	switch {
	case isRefusal(err, noSuchObject):
		return nil, fmt.Errorf("%w: %s", catalog.ErrNoSuchTable, n)
	case err != nil:
		return nil, err
	case !isIceberg(record):
		return nil, &Foreign{Table: n.String(), Kind: record.Text(tableKind)}
	case record.Texts(tableParameters)[metadataLocation] == "":
		return nil, &Foreign{Table: n.String(), Kind: record.Text(tableKind), Bare: true}
	}
	return record, nil
}

// Foreign is what has a table's name and is no table of Iceberg's.
type Foreign struct {
	Table string
	// Kind is Hive's: MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW.
	Kind string
	// Bare says that it is one of Iceberg's without metadata.
	Bare bool
}

// Error says what it is.
func (f *Foreign) Error() string {
	if f.Bare {
		return fmt.Sprintf("%s is a table of Iceberg's, but the metastore knows no %s of it", f.Table, metadataLocation)
	}
	return fmt.Sprintf("%s is there and is no table of Iceberg's, but a %s of Hive's", f.Table, f.Kind)
}

// read is the table of a record.
func (c *Catalog) read(ctx context.Context, id table.Identifier, record thrift.Struct) (*table.Table, error) {
	at := record.Texts(tableParameters)[metadataLocation]
	return table.NewFromLocation(ctx, id, at, iceio.LoadFSFunc(c.options.Properties, at), c)
}

// CheckTableExists says whether there is a table of Iceberg's.
func (c *Catalog) CheckTableExists(ctx context.Context, id table.Identifier) (bool, error) {
	n, err := nameOf(id)
	if err != nil {
		return false, err
	}
	err = c.ask(ctx, func(k *conn) error {
		_, err := c.lookUp(ctx, k, n)
		return err
	})
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return false, nil
	}
	return err == nil, err
}

// ListTables are the tables of Iceberg's in a database.
func (c *Catalog) ListTables(ctx context.Context, namespace table.Identifier) iter.Seq2[table.Identifier, error] {
	return func(yield func(table.Identifier, error) bool) {
		all, err := c.list(ctx, namespace)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range all {
			if !yield(id, nil) {
				return
			}
		}
	}
}

func (c *Catalog) list(ctx context.Context, namespace table.Identifier) (all []table.Identifier, err error) {
	database, err := databaseOf(namespace)
	if err != nil {
		return nil, err
	}
	return all, c.ask(ctx, func(k *conn) error {
		all = nil
		if _, err := k.database(ctx, database); err != nil {
			return missing(err, database)
		}
		names, err := k.tables(ctx, database)
		if err != nil {
			return err
		}
		for _, t := range names {
			record, err := k.table(ctx, name{database, t})
			switch {
			case isRefusal(err, noSuchObject): // dropped meanwhile
			case err != nil:
				return err
			case isIceberg(record):
				all = append(all, table.Identifier{database, t})
			}
		}
		return nil
	})
}

// DropTable makes the metastore forget a table. Its files stay.
func (c *Catalog) DropTable(ctx context.Context, id table.Identifier) error {
	n, err := nameOf(id)
	if err != nil {
		return err
	}
	return c.tell(ctx, func(k *conn) error {
		if _, err := c.lookUp(ctx, k, n); err != nil {
			return err
		}
		return k.dropTable(ctx, n)
	})
}

// RenameTable is not offered: nothing here renames tables, and a metastore moves files with some.
func (c *Catalog) RenameTable(context.Context, table.Identifier, table.Identifier) (*table.Table, error) {
	return nil, errors.ErrUnsupported
}

// CreateTable makes a table of its metadata, which is written first. Where the name is taken the error wraps
// catalog.ErrTableAlreadyExists; a server that has tried twice also says so of what it has just made itself. After any error but
// that of the options the table may be there.
func (c *Catalog) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	n, err := nameOf(id)
	if err != nil {
		return nil, err
	}
	var cfg catalog.CreateTableCfg
	for _, option := range options {
		option(&cfg)
	}
	var t *table.Table
	err = c.tell(ctx, func(k *conn) error {
		location, err := c.locationOf(ctx, k, n, cfg.Location)
		if err != nil {
			return err
		}
		metadata, err := table.NewMetadata(schema, cfg.PartitionSpec, cfg.SortOrder, location, cfg.Properties)
		if err != nil {
			return err
		}
		if t, err = c.write(ctx, id, metadata, 0); err != nil {
			return err
		}
		record, err := c.newRecord(n, t)
		if err != nil {
			return err
		}
		if err = k.createTable(ctx, record); isRefusal(err, alreadyExists) {
			err = fmt.Errorf("%w: %w", catalog.ErrTableAlreadyExists, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// locationOf is where a new table goes: what was asked for, or a folder of the database's.
func (c *Catalog) locationOf(ctx context.Context, k *conn, n name, asked string) (string, error) {
	record, err := k.database(ctx, n.database)
	if err != nil {
		return "", missing(err, n.database)
	}
	switch at := record.Text(databaseLocation); {
	case asked != "":
		return strings.TrimSuffix(asked, "/"), nil
	case at != "":
		return url.JoinPath(at, n.table)
	}
	return url.JoinPath(c.placeOf(n.database), n.table)
}
