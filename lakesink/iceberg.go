// Package lakesink makes batches part of an Iceberg table, each exactly once: rows go into Parquet data files that are
// not yet part of the table, and one atomic commit adds the files of a whole batch together with the ledger, which is
// how the batch is found again whatever becomes of the process.
//
// What is atomic: the commit. It is conditional on the table being where it was when the ledger was read, so of any
// number of runs that try the same batch one succeeds. What may be left over: data files and manifests of attempts that
// were cut short or lost a race. Nothing refers to them, and orphan removal takes them; this package deletes no data
// file, because a commit that seemed to fail may have succeeded.
//
// An error of a commit is never believed, nor is its success: the table is read again and its ledger decides.
package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/parquetfile"
	"sluice/layout"
)

// Options are how a table is written. The zero value of a field stands for its default, unless it says otherwise.
type Options struct {
	// Table is the table's name with its namespace: db.orders.
	Table string
	// Branch is the branch that rows go to, and that is read; the default is main. One that is not there is forked from main by
	// the first commit.
	Branch string
	// DeadLetters says that the table is one of dead letters, whose columns never follow a job's: errors advise otherwise.
	DeadLetters bool
	// Catalog names the catalog to people and in the checkpoint's identity; see CatalogOptions.String.
	Catalog string

	// TargetFileBytes is the size at which a data file is finished; 0 is that of the table's write.target-file-size-bytes, and
	// DefaultTargetFileBytes if it has none.
	TargetFileBytes int64
	// RowGroupBytes and PageBytes are sizes before compression, where the table's properties give none; the defaults are 128 MiB
	// and 256 KiB.
	RowGroupBytes int64
	PageBytes     int
	// MemoryBytes bounds what one Writer holds, upload buffers included; the default is 64 MiB.
	MemoryBytes int64
	// Codec and Level compress data files. Without a codec the table's write.parquet.compression-codec and compression-level
	// hold, else zstd.
	Codec parquetfile.Codec
	Level int
	// PartitionBy is how a new table is partitioned, and what one that is there must be partitioned by; nil follows it.
	PartitionBy []layout.Term
	// SortBy is the order of rows in files, and the sort order of a new table; nil follows that of the table, an empty one
	// keeps rows as they come.
	SortBy []layout.Order
	// TableProperties are set when the table is created, over our own.
	TableProperties map[string]string
	// CreatedBy is the program and its version for data files: "sluice 1.2.0".
	CreatedBy string

	// ExpireEvery is after how many commits old snapshots are expired, 0 for never. KeepSnapshots is how many stay; the
	// default is 20. Only tables that we created are maintained, unless MaintainForeign is set.
	ExpireEvery     int
	KeepSnapshots   int
	MaintainForeign bool

	// Attempts bounds how often a batch is offered in vain to a table that stays as it is; the default is 12. Races bounds how
	// often others may commit first; the default is 200. Timeout bounds each offer and each reading of the table after it; the
	// default is 60 s.
	Attempts int
	Races    int
	Timeout  time.Duration
	// Answer bounds a question at the beginning: what the table is, and its creation; the default is 8 s.
	Answer time.Duration
	// Backoff is how long to wait before the given attempt (1, 2, …); the default doubles from 100 ms to 5 s, with
	// jitter. Sleep waits; it may be replaced together with Now in tests.
	Backoff func(attempt int) time.Duration
	Sleep   func(ctx context.Context, d time.Duration) error
	Now     func() time.Time
}

// Defaults of the numbers that a caller may want to show.
const (
	DefaultExpireEvery   = 50
	DefaultKeepSnapshots = 20
	// DefaultTargetFileBytes is the size of data files that neither the options nor the table give one.
	DefaultTargetFileBytes = 256 << 20
)

func (o Options) withDefaults() Options {
	setDefault(&o.Branch, table.MainBranch)
	setDefault(&o.MemoryBytes, 64<<20)
	setDefault(&o.KeepSnapshots, DefaultKeepSnapshots)
	setDefault(&o.Attempts, 12)
	setDefault(&o.Races, 200)
	setDefault(&o.Timeout, 60*time.Second)
	setDefault(&o.Answer, 8*time.Second)
	if o.Backoff == nil {
		o.Backoff = Backoff
	}
	if o.Sleep == nil {
		o.Sleep = Sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Backoff is how long a sink waits before the given attempt (1, 2, …) where nobody says otherwise: it doubles from 100 ms to
// 5 s, and a random part of that is taken, at least half.
func Backoff(attempt int) time.Duration {
	d := min(5*time.Second, 100*time.Millisecond<<min(attempt-1, 10))
	return d/2 + rand.N(d/2)
}

// Sleep waits; its error is why ctx ended before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Iceberg is an Iceberg table as a sink. It is safe for use by several goroutines.
type Iceberg struct {
	catalog catalog.Catalog
	table   table.Identifier
	options Options

	mu sync.Mutex
	// newest is the newest reading of the table. Writers take schema and location from it; no decision about a commit
	// is ever made from it.
	newest *table.Table

	spare spareFiles
}

// New makes a sink for a table of a catalog. Every request goes through the given value.
func New(c catalog.Catalog, options Options) *Iceberg {
	options = options.withDefaults()
	return &Iceberg{catalog: c, table: catalog.ToIdentifier(options.Table), options: options}
}

// TableName is the table's name with its namespace, and with its branch as Spark knows it: db.orders.branch_audit.
func (i *Iceberg) TableName() string {
	name := strings.Join(i.table, ".")
	if branch := i.Branch(); branch != "" {
		name += ".branch_" + branch
	}
	return name
}

// Describe says which table this is, without secrets: the same words for the same table, whatever the branch.
func (i *Iceberg) Describe() string {
	return strings.Join(strings.Fields(fmt.Sprintf("iceberg %s %s", i.options.Catalog, strings.Join(i.table, "."))), " ")
}

// Branch is the branch that is written and read, empty for main.
func (i *Iceberg) Branch() string {
	if i.options.Branch == table.MainBranch {
		return ""
	}
	return i.options.Branch
}

// Load reads the table afresh as its branch has it, for whoever looks at it by other means. A store or a catalog that does not answer soon is an
// error that says so. A table that is not there is catalog.ErrNoSuchTable or ErrNoSuchNamespace.
func (i *Iceberg) Load(ctx context.Context) (*table.Table, error) {
	ctx, cancel := i.soon(ctx)
	defer cancel()
	t, err := i.load(ctx)
	if err != nil && !isMissing(err) {
		err = explain(fmt.Sprintf("read table %s", i.TableName()), late(ctx, err))
	}
	return t, err
}

// load reads the table afresh. A table that is not there is catalog.ErrNoSuchTable.
func (i *Iceberg) load(ctx context.Context) (*table.Table, error) {
	if len(i.table) < 2 {
		return nil, notSetUp(fmt.Sprintf("table name %q has no namespace", i.options.Table), "name the table as namespace.table, for instance sales.orders", nil)
	}
	t, err := i.catalog.LoadTable(ctx, i.table)
	if errors.Is(err, fs.ErrNotExist) && !isMissing(err) {
		// Who is slow may be told of metadata that a later commit has removed meanwhile: the catalog has newer ones.
		t, err = i.catalog.LoadTable(ctx, i.table)
	}
	if isCutOff(err) { // a connection may have broken; the file itself is cut off if it is so again
		if t, err = i.catalog.LoadTable(ctx, i.table); isCutOff(err) {
			return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the metadata of table %s is cut off", i.TableName()), Hint: damaged, Err: err}
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !isMissing(err) {
		return nil, notSetUp(fmt.Sprintf("the catalog names metadata of table %s that is not there", i.TableName()),
			"check that this is the store that the catalog means (bucket, endpoint, mount); if somebody removed the table's files, restore them", err)
	}
	if err == nil {
		t, err = i.onBranch(t)
	}
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.newest = t
	i.mu.Unlock()
	return t, nil
}

// soon bounds a question that somebody may be waiting for.
func (i *Iceberg) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, i.options.Answer, fmt.Errorf("no answer within %s", i.options.Answer))
}

// shaped is a reading of the table with the given schema and spec: the newest one if it has them, else a fresh one.
func (i *Iceberg) shaped(ctx context.Context, schemaID, specID int) (*table.Table, error) {
	i.mu.Lock()
	t := i.newest
	i.mu.Unlock()
	if t != nil && t.Schema().ID == schemaID && t.Metadata().DefaultPartitionSpec() == specID {
		return t, nil
	}
	return i.load(ctx)
}

// withoutSecrets drops user, password and query from an address.
func withoutSecrets(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "(unreadable address)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
