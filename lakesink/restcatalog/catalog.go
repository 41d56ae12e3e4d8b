// Package restcatalog is a client of Iceberg's REST catalogs: iceberg-go's, over a line to the server of our own. The line
// does what iceberg-go's does not: it asks for a fresh token when one is refused (401, 419), waits where it is told to wait
// (Retry-After), signs with AWS Signature Version 4 for any service, never takes a web server's page for an answer of a
// catalog, and renews the credentials for a table's store that a catalog lends.
//
// A request that may have changed something is sent again only where the answer says that it changed nothing: 401 and 419,
// and 429. Everything else about a commit (409, 5xx, a lost connection) is for the caller to find out by reading the table.
//
// The protocol: https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml.
package restcatalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Options are what a catalog is opened with.
type Options struct {
	// Name is what the catalog is called here; the server does not see it.
	Name string
	// URI is the server's address, to which v1/config is added.
	URI string
	// Warehouse is the name of a catalog on the server, or a location that it knows; empty for the server's own choice.
	Warehouse string
	// Properties have Iceberg's names; Keys lists those that this package reads. The others are passed on to iceberg-go and to
	// the store.
	Properties map[string]string
	// OpenStore opens the store of a table with what the catalog lends for it.
	OpenStore func(ctx context.Context, location string, loan *Loan) (iceio.IO, error)
	// Sleep and Now may be replaced in tests.
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time
}

// Catalog is an open REST catalog.
type Catalog struct {
	*rest.Catalog
	line      *line
	openStore func(context.Context, string, *Loan) (iceio.IO, error)
}

// Open asks the server for its configuration. Errors: *Misuse for options that do not go together, *Answer where the server
// refuses, *Stranger where something else than a catalog answers, *TokenError where no token is to be had.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	base, err := addressOf(o.URI)
	if err != nil {
		return nil, err
	}
	l, err := newLine(base, o)
	if err != nil {
		return nil, err
	}
	c, err := rest.NewCatalog(ctx, o.Name, base.String(), rest.WithCustomTransport(l), rest.WithWarehouseLocation(o.Warehouse),
		rest.WithPrefix(o.Properties[keyPrefix]), rest.WithAdditionalProps(passedOn(o.Properties)))
	if err != nil {
		l.base.CloseIdleConnections()
		return nil, err
	}
	return &Catalog{Catalog: c, line: l, openStore: o.OpenStore}, nil
}

// addressOf is the server's address. One that holds credentials is refused: it is printed in many places.
func addressOf(uri string) (*url.URL, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, &Misuse{"uri", "is no URL"}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, &Misuse{"uri", "is no address of a REST catalog: want https://host, with a path if there is one"}
	case u.User != nil:
		return nil, &Misuse{"uri", "holds credentials: put them into the properties (credential, token), from a variable or a file"}
	case u.RawQuery != "" || u.Fragment != "":
		return nil, &Misuse{"uri", "has more than a path"}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// Close lets go of connections.
func (c *Catalog) Close() error {
	err := c.Catalog.Close()
	c.line.base.CloseIdleConnections()
	return err
}

// LoadTable reads a table. Where the catalog lends credentials for its store, the table's file system renews them for as long
// as it is used.
func (c *Catalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if err := literal(id); err != nil {
		return nil, err
	}
	seen := &sighting{}
	t, err := c.Catalog.LoadTable(context.WithValue(ctx, sightingKey{}, seen), id)
	if err != nil {
		return nil, err
	}
	return c.withStore(t, seen, t.MetadataLocation(), t.FS), nil
}

// Stage asks where a new table would be, and for what is lent to write there. The table is not made by it: "the table is not
// created, but table metadata is initialized and returned", says the protocol of stage-create.
func (c *Catalog) Stage(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	if err := literal(id); err != nil {
		return nil, err
	}
	seen := &sighting{stage: true}
	t, err := c.Catalog.CreateTable(context.WithValue(ctx, sightingKey{}, seen), id, schema, options...)
	if err != nil {
		return nil, err
	}
	properties := map[string]string(passedOn(c.line.properties()))
	maps.Copy(properties, t.Properties())
	maps.Copy(properties, seen.Config)
	return c.withStore(t, seen, t.Location(), iceio.LoadFSFunc(properties, t.Location())), nil
}

// CreateTable makes a table.
func (c *Catalog) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	if err := literal(id); err != nil {
		return nil, err
	}
	return c.Catalog.CreateTable(ctx, id, schema, options...)
}

// withStore is a table whose file system is at the place, opened with what is lent, or else in the usual way.
func (c *Catalog) withStore(t *table.Table, seen *sighting, place string, open table.FSysF) *table.Table {
	if loan := c.line.loanOf(seen, t); loan != nil {
		open = func(ctx context.Context) (iceio.IO, error) { return c.openStore(ctx, place, loan) }
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), open, plain{c})
}

// CommitTable sends a commit, once.
func (c *Catalog) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if err := literal(id); err != nil {
		return nil, "", err
	}
	return c.Catalog.CommitTable(ctx, id, requirements, updates)
}

// literal refuses names of tables that iceberg-go would not send as they are: it takes what follows a percent sign for an
// escape, and so asks for another table.
func literal(id table.Identifier) error {
	if len(id) > 0 && strings.ContainsAny(id[len(id)-1], "%/") {
		return &Misuse{"table", fmt.Sprintf("name %q holds a character that would be read as another name: want a name without %% and /", id[len(id)-1])}
	}
	return nil
}

// plain hides what else the catalog can do: a table that finds a planner of scans in it lets the server plan them.
type plain struct{ c *Catalog }

func (p plain) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	return p.c.LoadTable(ctx, id)
}

func (p plain) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	return p.c.CommitTable(ctx, id, requirements, updates)
}

// passedOn are the properties for iceberg-go and the store: all but those that speak of the line, and one that would hide the
// table's history.
func passedOn(properties map[string]string) iceberg.Properties {
	passed := iceberg.Properties{}
	for name, value := range properties {
		if !slices.Contains(ownKeys, name) {
			passed[name] = value
		}
	}
	return passed
}

// IsRefusal says whether an answer to a commit or a creation is a no that will be the same the next time: what was asked is
// forbidden, or makes no sense to the server.
func IsRefusal(err error) bool {
	var answer *Answer
	return errors.As(err, &answer) || errors.Is(err, rest.ErrEndpointNotSupported)
}

// IsMisfit says whether the server could not do anything with what it was sent.
func IsMisfit(err error) bool {
	var answer *Answer
	return errors.As(err, &answer) && (answer.Status == http.StatusBadRequest || answer.Status == http.StatusUnprocessableEntity)
}
