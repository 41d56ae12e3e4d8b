package laketest

import (
	"context"
	"iter"
	"path"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Catalog is a catalog behind a script. The tables that it hands out commit through it, and their files are behind the
// script too. What the catalog itself writes in a commit is part of that one effect.
type Catalog struct {
	catalog.Catalog
	Script *Script
	// BeforeCommit, if set, is called before a commit is passed on: a rival's chance.
	BeforeCommit func(id table.Identifier)
	// FailLoad, if set, may make a reading of a table fail.
	FailLoad func() error
}

// Wrap puts a catalog behind a script.
func Wrap(c catalog.Catalog, s *Script) *Catalog { return &Catalog{Catalog: c, Script: s} }

// wrapTable rebuilds a table so that its commits and files come back here.
func (c *Catalog) wrapTable(t *table.Table) *table.Table {
	open := func(ctx context.Context) (iceio.IO, error) {
		if err := c.Script.Read("open the store"); err != nil {
			return nil, err
		}
		fs, err := t.FS(ctx)
		if err != nil {
			return nil, err
		}
		return &files{fs, c.Script}, nil
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), open, c)
}

// LoadTable reads a table.
func (c *Catalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if err := c.Script.Read("load table " + strings.Join(id, ".")); err != nil {
		return nil, err
	}
	if c.FailLoad != nil {
		if err := c.FailLoad(); err != nil {
			return nil, err
		}
	}
	t, err := c.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.wrapTable(t), nil
}

// CommitTable is the effect "commit".
func (c *Catalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (m table.Metadata, location string, err error) {
	if c.BeforeCommit != nil {
		c.BeforeCommit(id)
	}
	err = c.Script.Effect("commit "+strings.Join(id, ".")+" "+kind(updates), func() (err error) {
		m, location, err = c.Catalog.CommitTable(ctx, id, reqs, updates)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return m, location, nil
}

// kind tells an append from other commits in an effect's name.
func kind(updates []table.Update) string {
	for _, u := range updates {
		switch u.Action() {
		case table.UpdateAddSnapshot:
			return "snapshot"
		case table.UpdateRemoveSnapshots:
			return "expiry"
		case table.UpdateAddSchema:
			return "schema"
		}
	}
	return "metadata"
}

// CreateTable is the effect "create table".
func (c *Catalog) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (t *table.Table, err error) {
	err = c.Script.Effect("create table "+strings.Join(id, "."), func() (err error) {
		t, err = c.Catalog.CreateTable(ctx, id, schema, options...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.wrapTable(t), nil
}

// CreateNamespace is the effect "create namespace".
func (c *Catalog) CreateNamespace(ctx context.Context, namespace table.Identifier, p iceberg.Properties) error {
	return c.Script.Effect("create namespace "+strings.Join(namespace, "."), func() error {
		return c.Catalog.CreateNamespace(ctx, namespace, p)
	})
}

// DropTable is the effect "drop table".
func (c *Catalog) DropTable(ctx context.Context, id table.Identifier) error {
	return c.Script.Effect("drop table "+strings.Join(id, "."), func() error { return c.Catalog.DropTable(ctx, id) })
}

// DropNamespace is the effect "drop namespace".
func (c *Catalog) DropNamespace(ctx context.Context, namespace table.Identifier) error {
	return c.Script.Effect("drop namespace "+strings.Join(namespace, "."), func() error { return c.Catalog.DropNamespace(ctx, namespace) })
}

// RenameTable is the effect "rename table".
func (c *Catalog) RenameTable(ctx context.Context, from, to table.Identifier) (t *table.Table, err error) {
	err = c.Script.Effect("rename table "+strings.Join(from, "."), func() (err error) {
		t, err = c.Catalog.RenameTable(ctx, from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.wrapTable(t), nil
}

// UpdateNamespaceProperties is the effect "update namespace".
func (c *Catalog) UpdateNamespaceProperties(ctx context.Context, namespace table.Identifier, removals []string, updates iceberg.Properties) (s catalog.PropertiesUpdateSummary, err error) {
	err = c.Script.Effect("update namespace "+strings.Join(namespace, "."), func() (err error) {
		s, err = c.Catalog.UpdateNamespaceProperties(ctx, namespace, removals, updates)
		return err
	})
	return s, err
}

// CheckTableExists reads.
func (c *Catalog) CheckTableExists(ctx context.Context, id table.Identifier) (bool, error) {
	if err := c.Script.Read("check table"); err != nil {
		return false, err
	}
	return c.Catalog.CheckTableExists(ctx, id)
}

// CheckNamespaceExists reads.
func (c *Catalog) CheckNamespaceExists(ctx context.Context, namespace table.Identifier) (bool, error) {
	if err := c.Script.Read("check namespace"); err != nil {
		return false, err
	}
	return c.Catalog.CheckNamespaceExists(ctx, namespace)
}

// ListTables reads.
func (c *Catalog) ListTables(ctx context.Context, namespace table.Identifier) iter.Seq2[table.Identifier, error] {
	if err := c.Script.Read("list tables"); err != nil {
		return func(yield func(table.Identifier, error) bool) { yield(nil, err) }
	}
	return c.Catalog.ListTables(ctx, namespace)
}

// ListNamespaces reads.
func (c *Catalog) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	if err := c.Script.Read("list namespaces"); err != nil {
		return nil, err
	}
	return c.Catalog.ListNamespaces(ctx, parent)
}

// LoadNamespaceProperties reads.
func (c *Catalog) LoadNamespaceProperties(ctx context.Context, namespace table.Identifier) (iceberg.Properties, error) {
	if err := c.Script.Read("load namespace"); err != nil {
		return nil, err
	}
	return c.Catalog.LoadNamespaceProperties(ctx, namespace)
}

// FileKind tells what a file of a table is by its name: data, manifest, manifest list, metadata or file.
func FileKind(name string) string {
	base := path.Base(name)
	switch {
	case strings.HasSuffix(base, ".parquet"):
		return "data"
	case strings.HasPrefix(base, "snap-"):
		return "manifest list"
	case strings.HasSuffix(base, ".avro"):
		return "manifest"
	case strings.HasSuffix(base, "metadata.json"):
		return "metadata"
	}
	return "file"
}
