package lakesink

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
)

// Writer writes the data files of one attempt at a task. It is used by one goroutine.
type Writer struct {
	sink  *Iceberg
	table *table.Table
	task  *batch.Task
	// ctx is that of the attempt: when it ends, open uploads are dropped.
	ctx     context.Context
	files   *parquetfile.Writer
	fs      iceio.IO
	place   dataPlace
	attempt string
	// sortOrder is the table's order that the files have, 0 for none.
	sortOrder int
	// properties are the table's, target is the size at which a file is finished.
	properties *fileProperties
	target     int64
	// set stands for sink and table where there is no table.
	set *FileSet

	// Rows go to whole, to spread if the table has partitions, or to sorted if they are to be in order.
	whole    *outFile
	spread   *spread
	sorted   *sorted
	landing  *landing
	begun    int // files
	finished []batch.DataFile
	spilled  batch.Spilled
	done     bool
}

// safeName is what may be in a file's name without changing its place.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Write starts the data files of one attempt at a task. attempt must be new: it is in the name of every file, so files
// of two attempts never meet. The table must still have the schema and spec that the task was made for.
func (i *Iceberg) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (*Writer, error) {
	return i.write(ctx, task, attempt, func(t *table.Table) ([]parquetfile.Field, error) { return i.fieldsFor(t, schema) })
}

func (i *Iceberg) write(ctx context.Context, task *batch.Task, attempt string, fieldsFor func(*table.Table) ([]parquetfile.Field, error)) (*Writer, error) {
	if !safeName.MatchString(task.Query) || !safeName.MatchString(attempt) {
		return nil, fmt.Errorf("query %q and attempt %q must be letters, digits, - and _: they become file names", task.Query, attempt)
	}
	t, err := i.shaped(ctx, task.SchemaID, task.SpecID)
	if err != nil {
		return nil, explain(fmt.Sprintf("open table %s", i.TableName()), err)
	}
	if err := i.sameShape(t, task.SchemaID, task.SpecID); err != nil {
		return nil, err
	}
	if err := i.checkClock(t); err != nil {
		return nil, err
	}
	fields, err := fieldsFor(t)
	if err != nil {
		return nil, err
	}
	w := &Writer{sink: i, table: t, task: task, ctx: ctx, attempt: attempt, landing: newLanding()}
	w.place = placeOf(t)
	if w.fs, err = t.FS(ctx); err != nil {
		return nil, explain(fmt.Sprintf("open the store of table %s", i.TableName()), err)
	}
	if err := w.prepare(fields); err != nil {
		return nil, fmt.Errorf("data files of table %s: %w", i.TableName(), err)
	}
	return w, nil
}

// prepare makes what rows are written with.
func (w *Writer) prepare(fields []parquetfile.Field) error {
	i, spec := w.sink, w.table.Spec()
	w.properties = propertiesOf(w.table)
	w.properties.apply(fields)
	w.target = i.TargetFileBytes(w.table)
	parts, err := partitionFields(&spec, fields)
	if err != nil {
		return err
	}
	order, err := i.orderOf(w.table, fields)
	if err != nil {
		return err
	}
	w.sortOrder = order.id
	return w.lay(fields, w.fileOptions(), parts, order.by)
}

// lay makes one file at a time, or files of partitions and sorted rows.
func (w *Writer) lay(fields []parquetfile.Field, options parquetfile.Options, parts []partition.Field, order *partition.Order) (err error) {
	memory := options.MemoryBytes
	gathers := len(parts) > 0 || order != nil
	if gathers { // a row group takes no memory but that of its pages, which is bounded besides
		options.MemoryBytes = memory / 2
		if w.properties == nil || w.properties.rowGroup == 0 {
			options.RowGroupBytes = max(options.RowGroupBytes, partitionGroupBytes)
		}
	}
	if w.files, err = w.spare().take(fields, options); err != nil {
		return err
	}
	spec, err := partition.NewSpec(parts)
	if err != nil {
		return err
	}
	switch {
	case order != nil:
		w.sorted = newSorted(w, spec, order, memory)
	case gathers:
		w.spread = newSpread(w, spec, memory)
	default:
		w.whole = &outFile{w: w, files: w.files}
	}
	return nil
}

// partitionGroupBytes is the size of row groups, before compression, where there are many files at once.
const partitionGroupBytes = 128 << 20

// sameShape checks that files made for a schema and spec are what the table takes now.
func (i *Iceberg) sameShape(t *table.Table, schemaID, specID int) error {
	if t.Schema().ID == schemaID && t.Metadata().DefaultPartitionSpec() == specID {
		return nil
	}
	return &batch.Fault{Class: batch.Failed, Stale: true,
		Message: fmt.Sprintf("table %s was altered meanwhile: it has schema %d and partition spec %d, and the batch was made for %d and %d", i.TableName(), t.Schema().ID, t.Metadata().DefaultPartitionSpec(), schemaID, specID),
		Hint:    "run again: the batch is read once more and written for the table as it is now"}
}

// maxSkew is how far a snapshot may lie before the table's last change; beyond it the table format's rules forbid the
// commit. A clock that is that wrong is found before anything is read or written.
const maxSkew = time.Minute

func (i *Iceberg) checkClock(t *table.Table) error {
	last := t.Metadata().LastUpdatedMillis()
	if head := t.CurrentSnapshot(); head != nil {
		last = max(last, head.TimestampMs)
	}
	now := i.options.Now()
	ahead := time.UnixMilli(last).Sub(now)
	if ahead <= maxSkew {
		return nil
	}
	return &batch.Fault{Class: batch.Failed,
		Message: fmt.Sprintf("table %s was last changed at %s, which is %s ahead of this host's clock: a commit would be refused", i.TableName(), time.UnixMilli(last).UTC().Format(time.RFC3339), ahead.Round(time.Second)),
		Hint:    "set the clock of this host, or of the one that wrote to the table (NTP); nothing was read or written"}
}

// fileOptions shares the memory between the open row group, the encoder and the buffers of an upload. What the table asks for
// bounds row groups, pages, dictionaries and Bloom filters, which take no more than the memory all the same.
func (w *Writer) fileOptions() parquetfile.Options {
	i, p := &w.sink.options, w.properties
	memory := i.MemoryBytes - uploadMemory(w.fs)
	o := parquetfile.Options{Codec: i.Codec, Level: i.Level, PageBytes: cmp.Or(p.page, i.PageBytes), RowGroupBytes: cmp.Or(int64(p.rowGroup), i.RowGroupBytes),
		PageRows: p.pageRows, DictionaryBytes: p.dict, BloomBytes: p.bloomMost, CreatedBy: createdByForm(i.CreatedBy),
		Metadata: map[string]string{keyQuery: w.task.Query, keyBatch: fmt.Sprint(w.task.Batch), "sluice.task": fmt.Sprint(w.task.Index), "sluice.attempt": w.attempt}}
	if o.Codec == "" {
		o.Codec, o.Level = p.encoder(memory / 4)
	}
	o.MemoryBytes = max(1<<20, memory-parquetfile.EncoderBytes(o.Codec, o.Level))
	return o
}

// createdByForm puts a program's name and version into the words that Parquet readers look for: those that find others
// take the file for one of a writer with broken statistics.
func createdByForm(program string) string {
	name, version, ok := strings.Cut(program, " ")
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s version %s (build unknown)", name, version)
}

// Write adds rows to the files. It keeps nothing of rows. After an error the writer is good for Abort only.
func (w *Writer) Write(ctx context.Context, rows *columns.Batch) error {
	switch {
	case w.sorted != nil:
		return w.sorted.write(ctx, rows)
	case w.spread != nil:
		return w.spread.write(ctx, rows)
	}
	return w.whole.add(ctx, rows)
}

// Close finishes the files and describes them. They are not part of the table until a commit names them.
func (w *Writer) Close(ctx context.Context) ([]batch.DataFile, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	if err := w.landing.wait(); err != nil {
		return nil, err
	}
	if !w.done {
		w.spare().put(w.files)
	}
	w.done, w.files, w.sorted, w.spread, w.whole = true, nil, nil, nil, nil
	return w.finished, nil
}

// Spilled says what of the rows went to temporary files.
func (w *Writer) Spilled() batch.Spilled { return w.spilled }

func (w *Writer) finish(ctx context.Context) error {
	switch {
	case w.sorted != nil:
		return w.sorted.close(ctx)
	case w.spread != nil:
		return w.spread.close(ctx)
	case w.whole != nil && w.whole.open != nil:
		return w.whole.finish()
	}
	return nil
}

// Abort gives up: open files are not completed, finished ones stay for orphan removal. It does nothing after Close.
func (w *Writer) Abort() {
	if w.sorted != nil {
		w.sorted.abort()
	}
	if w.spread != nil {
		w.spread.abort()
	}
	if w.whole != nil {
		w.whole.abort()
	}
	_ = w.landing.wait() // files that are complete are no worse than those before them
	w.done, w.sorted, w.spread, w.whole = true, nil, nil, nil
}
