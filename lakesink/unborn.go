package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// unborn is a sql catalog whose database, or tables in it, are made when something is first written to it: whoever only
// looks, or gives up because something else is missing, leaves nothing behind. Until then it is an empty catalog. What
// another process makes in the meantime is found.
type unborn struct {
	// path is the database's, or says what is not there instead of it.
	path string
	// there says whether it is.
	there func(context.Context) (bool, error)
	// open opens it, and makes it where it is not there.
	open func(context.Context) (catalog.Catalog, error)
	// unwritable is why it takes no commits, nil if it does.
	unwritable func(context.Context) error
	// close, if any, ends what open had opened before there was a catalog.
	close func() error

	mu   sync.Mutex
	born catalog.Catalog
}

// get is the catalog itself, nil while there is none and none is to be made.
func (u *unborn) get(ctx context.Context, make bool) (catalog.Catalog, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.born != nil {
		return u.born, nil
	}
	if !make {
		if there, err := u.there(ctx); err != nil || !there {
			return nil, err
		}
	}
	c, err := u.open(ctx)
	if err == nil {
		u.born = c
	}
	return c, err
}

// found says of a path whether anything is there.
func found(path string) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		_, err := os.Stat(path)
		return !errors.Is(err, fs.ErrNotExist), nil // another error is for whoever opens it
	}
}

// Writable finds out whether a catalog that OpenCatalog made can be written to: its database, or the folder that it will be
// made in. It leaves nothing. A catalog without a database of its own is for Iceberg.Probe.
func Writable(ctx context.Context, c catalog.Catalog) error {
	u, ok := c.(*unborn)
	if !ok {
		return nil
	}
	if u.close != nil { // on a server
		return u.unwritable(ctx)
	}
	f, err := os.OpenFile(u.path, os.O_RDWR, 0)
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrNotExist):
		p := &probe{folder: (&url.URL{Scheme: "file", Path: filepath.Dir(u.path)}).String(), answer: tidyWithin,
			open: func(context.Context) (iceio.IO, error) { return durableFS{}, nil }}
		err = p.run(ctx)
	}
	if err != nil {
		return explain(fmt.Sprintf("see whether the catalog %s can be written", u.path), err)
	}
	return nil
}

// Close closes the database if there is one.
func (u *unborn) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if closer, ok := u.born.(catalog.Closer); ok {
		return closer.Close()
	}
	if u.close != nil {
		return u.close()
	}
	return nil
}

// DatabaseMissing is why there is no table, or no namespace: the catalog's own database is not there. Until a first run
// has made it that is as it should be; afterwards the path is wrong, or a disk is not mounted. It wraps
// catalog.ErrNoSuchTable or catalog.ErrNoSuchNamespace.
type DatabaseMissing struct {
	// Path is where the database would be.
	Path string
	err  error
}

// Error says what does not exist, and what was looked for in it.
func (d *DatabaseMissing) Error() string {
	return fmt.Sprintf("the catalog's database %s does not exist: %v", d.Path, d.err)
}

// Unwrap is the catalog's error.
func (d *DatabaseMissing) Unwrap() error { return d.err }

// MissingDatabase is the path of a catalog's database that does not exist; empty if it does, or if the catalog has none.
func MissingDatabase(ctx context.Context, c catalog.Catalog) string {
	if u, ok := c.(*unborn); ok {
		if there, err := u.there(ctx); err == nil && !there {
			return u.path
		}
	}
	return ""
}

func (u *unborn) noTable(id table.Identifier) error {
	return &DatabaseMissing{u.path, fmt.Errorf("%w: %v", catalog.ErrNoSuchTable, id)}
}

func (u *unborn) noNamespace(id table.Identifier) error {
	return &DatabaseMissing{u.path, fmt.Errorf("%w: %v", catalog.ErrNoSuchNamespace, id)}
}

// CatalogType is sql, born or not.
func (u *unborn) CatalogType() catalog.Type { return catalog.SQL }

// CreateTable makes the database if need be.
func (u *unborn) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	return repeated(ctx, func() (*table.Table, error) {
		c, err := u.get(ctx, true)
		if err != nil {
			return nil, err
		}
		return c.CreateTable(ctx, id, schema, options...)
	})
}

// CreateNamespace makes the database if need be.
func (u *unborn) CreateNamespace(ctx context.Context, namespace table.Identifier, p iceberg.Properties) error {
	return repeat(ctx, func() error {
		c, err := u.get(ctx, true)
		if err != nil {
			return err
		}
		return c.CreateNamespace(ctx, namespace, p)
	})
}

// CommitTable fails without a database.
func (u *unborn) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c, err := u.get(ctx, false)
	if c == nil {
		return nil, "", errors.Join(err, u.noTable(id))
	}
	return c.CommitTable(ctx, id, reqs, updates)
}

// LoadTable finds no table without a database.
func (u *unborn) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	return repeated(ctx, func() (*table.Table, error) {
		c, err := u.get(ctx, false)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			return nil, u.noTable(id)
		}
		return c.LoadTable(ctx, id)
	})
}

// DropTable finds no table without a database.
func (u *unborn) DropTable(ctx context.Context, id table.Identifier) error {
	c, err := u.get(ctx, false)
	if c == nil {
		return errors.Join(err, u.noTable(id))
	}
	return c.DropTable(ctx, id)
}

// RenameTable finds no table without a database.
func (u *unborn) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	c, err := u.get(ctx, false)
	if c == nil {
		return nil, errors.Join(err, u.noTable(from))
	}
	return c.RenameTable(ctx, from, to)
}

// CheckTableExists is false without a database.
func (u *unborn) CheckTableExists(ctx context.Context, id table.Identifier) (bool, error) {
	return repeated(ctx, func() (bool, error) {
		c, err := u.get(ctx, false)
		if c == nil {
			return false, err
		}
		return c.CheckTableExists(ctx, id)
	})
}

// CheckNamespaceExists is false without a database.
func (u *unborn) CheckNamespaceExists(ctx context.Context, namespace table.Identifier) (bool, error) {
	return repeated(ctx, func() (bool, error) {
		c, err := u.get(ctx, false)
		if c == nil {
			return false, err
		}
		return c.CheckNamespaceExists(ctx, namespace)
	})
}

// ListTables finds no namespace without a database.
func (u *unborn) ListTables(ctx context.Context, namespace table.Identifier) iter.Seq2[table.Identifier, error] {
	c, err := u.get(ctx, false)
	if c == nil {
		return func(yield func(table.Identifier, error) bool) {
			yield(nil, errors.Join(err, u.noNamespace(namespace)))
		}
	}
	return c.ListTables(ctx, namespace)
}

// ListNamespaces is empty without a database.
func (u *unborn) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	return repeated(ctx, func() ([]table.Identifier, error) {
		c, err := u.get(ctx, false)
		if c == nil {
			return nil, err
		}
		return c.ListNamespaces(ctx, parent)
	})
}

// DropNamespace finds no namespace without a database.
func (u *unborn) DropNamespace(ctx context.Context, namespace table.Identifier) error {
	c, err := u.get(ctx, false)
	if c == nil {
		return errors.Join(err, u.noNamespace(namespace))
	}
	return c.DropNamespace(ctx, namespace)
}

// LoadNamespaceProperties finds no namespace without a database.
func (u *unborn) LoadNamespaceProperties(ctx context.Context, namespace table.Identifier) (iceberg.Properties, error) {
	return repeated(ctx, func() (iceberg.Properties, error) {
		c, err := u.get(ctx, false)
		if c == nil {
			return nil, errors.Join(err, u.noNamespace(namespace))
		}
		return c.LoadNamespaceProperties(ctx, namespace)
	})
}

// UpdateNamespaceProperties finds no namespace without a database.
func (u *unborn) UpdateNamespaceProperties(ctx context.Context, namespace table.Identifier, removals []string, updates iceberg.Properties) (catalog.PropertiesUpdateSummary, error) {
	c, err := u.get(ctx, false)
	if c == nil {
		return catalog.PropertiesUpdateSummary{}, errors.Join(err, u.noNamespace(namespace))
	}
	return c.UpdateNamespaceProperties(ctx, namespace, removals, updates)
}
