package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink"
)

// Options are what all actions on a table go by.
type Options struct {
	// DryRun finds out what would be done, and changes nothing.
	DryRun bool
	// Query is the id of the job's own query, empty if it has none yet.
	Query string
	// Now may be replaced in tests.
	Now func() time.Time
}

// Table is a table that is looked after. Its methods are the actions; each reads the table afresh.
type Table struct {
	sink    *lakesink.Iceberg
	options Options
}

// Open takes a table to look after. Requests go through the sink's catalog. Files and manifests are made anew on main, whatever
// branch the sink writes to: another keeps what it has until it is published, and nothing that it refers to is removed.
func Open(sink *lakesink.Iceberg, o Options) *Table {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Table{sink: sink.With(func(s *lakesink.Options) { s.Branch = table.MainBranch }), options: o}
}

// Name is the table's name with its namespace, whatever branch the sink writes to.
func (t *Table) Name() string { return t.sink.TableName() }

// Sink is the table as a sink: Load reads it, Change commits to it, Pinned begins a transaction.
func (t *Table) Sink() *lakesink.Iceberg { return t.sink }

// DryRun says that nothing is to be changed.
func (t *Table) DryRun() bool { return t.options.DryRun }

// catalog is the catalog that the table is in.
func (t *Table) catalog() catalog.Catalog { return t.sink.Catalog() }

// load reads the table and opens its store.
func (t *Table) load(ctx context.Context) (*table.Table, iceio.IO, error) {
	tbl, err := t.sink.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := tbl.FS(ctx)
	if err != nil {
		return nil, nil, lakesink.Explain(fmt.Sprintf("open the store of table %s", t.Name()), err)
	}
	return tbl, store, nil
}

// gcEnabled is the property by which a table forbids that its files are deleted.
const gcEnabled = "gc.enabled"

// notCollected says why nothing of the table may be deleted, empty if it may.
func notCollected(tbl *table.Table) string {
	if tbl.Properties().GetBool(gcEnabled, true) {
		return ""
	}
	return "the table forbids that its files are deleted (" + gcEnabled + "=false)"
}

// noHead is why there is nothing to make anew.
const noHead = "main has no snapshot"

// Count is a number of files and what they take together.
type Count struct {
	Files int64
	Bytes int64
}

func (c *Count) add(bytes int64) {
	c.Files++
	c.Bytes += bytes
}

func inconsistent(message, hint string, err error) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: message, Hint: hint, Err: err}
}
