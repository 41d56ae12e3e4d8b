package files

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/batch"
	"sluice/lakesink"
	"sluice/lakesink/parquetfile"
	"sluice/layout"
)

// Options are how a folder is written. The zero value of a field stands for its default.
type Options struct {
	// Location is the folder's address, without parameters: an absolute path, or a URL such as s3://bucket/folder.
	Location string
	// Objects holds the bookkeeping in the folder, Store its data files.
	Objects Objects
	Store   iceio.IO
	// DeadLetters says that the folder is one of dead letters, whose columns never follow a job's: errors advise otherwise.
	DeadLetters bool
	// SparkMetadata keeps, beside the manifests, the log by which Spark reads exactly the files of a query
	// (_spark_metadata). A folder with it has one query.
	SparkMetadata bool

	// PartitionBy is how a new folder is partitioned, and what one that is there must be partitioned by; nil follows it.
	PartitionBy []layout.Term
	// SortBy is what the rows of each file are sorted by. Such a file is as large as what can be sorted in memory.
	SortBy []layout.Order
	// TargetFileBytes is the size at which a data file is finished; the default is 256 MiB.
	TargetFileBytes int64
	// RowGroupBytes and PageBytes are sizes before compression; the defaults are 128 MiB and 256 KiB.
	RowGroupBytes int64
	PageBytes     int
	// MemoryBytes bounds what one Writer holds, upload buffers included; the default is 64 MiB.
	MemoryBytes int64
	// CreatedBy is the program and its version for data files: "sluice 1.2.0".
	CreatedBy string

	// Attempts bounds how often a manifest is offered while the store fails; the default is 5. Timeout bounds each offer
	// and each reading of the folder after it; the default is 60 s. Answer bounds a question at the beginning; the default
	// is 8 s.
	Attempts int
	Timeout  time.Duration
	Answer   time.Duration
	// Backoff is how long to wait before the given attempt (1, 2, …); the default doubles from 100 ms to 5 s, with
	// jitter. Sleep waits. Now is the clock: it reaches manifests, for people, and nothing depends on it.
	Backoff func(attempt int) time.Duration
	Sleep   func(ctx context.Context, d time.Duration) error
	Now     func() time.Time
}

func (o Options) withDefaults() Options {
	o.TargetFileBytes = cmp.Or(o.TargetFileBytes, 256<<20)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 64<<20)
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.Timeout = cmp.Or(o.Timeout, 60*time.Second)
	o.Answer = cmp.Or(o.Answer, 8*time.Second)
	if o.Backoff == nil {
		o.Backoff = lakesink.Backoff
	}
	if o.Sleep == nil {
		o.Sleep = lakesink.Sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Location = strings.TrimRight(o.Location, "/")
	return o
}

// Folder is a folder of Parquet files as a sink. It is safe for use by several goroutines.
type Folder struct {
	options Options
	spare   lakesink.SpareFiles

	mu sync.Mutex
	// newest is the newest reading of the columns. Writers take them from it; no decision about a commit is made from it.
	newest *Schema
	// turn is what Spark has written to the folder beyond the manifests, by the newest reading for a query; nil for nothing.
	turn *turn
	// safe says that the store was seen to enforce conditions.
	safe bool
}

// New makes a sink for a folder. No request is made.
func New(options Options) *Folder { return &Folder{options: options.withDefaults()} }

// TableName is the folder's address.
func (f *Folder) TableName() string { return f.options.Location }

// Describe says which folder this is: the same words for the same folder.
func (f *Folder) Describe() string { return "parquet " + f.options.Location }

// path is the address of a data file.
func (f *Folder) path(name string) string { return f.options.Location + "/" + name }

// soon bounds a question that somebody may be waiting for.
func (f *Folder) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.options.Answer, fmt.Errorf("no answer within %s", f.options.Answer))
}

// damaged is the fault of bookkeeping that is there and makes no sense: never to be taken for none.
func (f *Folder) damaged(key string, err error) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s in %s cannot be read", key, f.options.Location), Err: err,
		Hint: "somebody changed it, or a newer sluice wrote it: restore it from a backup or an earlier version of the object, or use that version of sluice"}
}

// fileOptions shares a writer's memory between the open row group and the buffers of an upload.
func (f *Folder) fileOptions(task *batch.Task, attempt string) parquetfile.Options {
	o := &f.options
	return parquetfile.Options{Codec: parquetfile.Zstd, PageBytes: o.PageBytes, RowGroupBytes: o.RowGroupBytes,
		MemoryBytes: lakesink.MemoryForRows(o.MemoryBytes, o.Store), CreatedBy: lakesink.ProgramForm(o.CreatedBy),
		Metadata: map[string]string{"sluice.query-id": task.Query, "sluice.batch-id": fmt.Sprint(task.Batch), "sluice.task": fmt.Sprint(task.Index), "sluice.attempt": attempt}}
}
