package files

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/parquetfile"
)

// Writer writes the data files of one attempt at a task. It is used by one goroutine.
type Writer struct {
	folder  *Folder
	task    *batch.Task
	attempt string
	types   map[int]columns.Type
	// ctx is that of the attempt: when it ends, the open file is dropped.
	ctx   context.Context
	files *parquetfile.Writer

	open     *lakesink.NewFile
	name     string
	finished []batch.DataFile
	done     bool
}

// safeName is what may be in a file's name without changing its place.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// maxGroups bounds the footer of a file whose row groups are kept small by a small memory.
const maxGroups = 4096

// Write starts the data files of one attempt at a task. attempt must be new: it is in the name of every file, so files
// of two attempts never meet. The folder must still have the columns that the task was made for.
func (f *Folder) Write(ctx context.Context, task *batch.Task, attempt string, rows columns.Schema) (*Writer, error) {
	if !safeName.MatchString(task.Query) || !safeName.MatchString(attempt) {
		return nil, fmt.Errorf("query %q and attempt %q must be letters, digits, - and _: they become file names", task.Query, attempt)
	}
	schema, err := f.shaped(ctx, task.SchemaID)
	if err != nil {
		return nil, err
	}
	fields, differences := fit(schema.Columns, rows)
	if len(differences) > 0 {
		return nil, f.misfit(differences)
	}
	files, err := f.spare.Take(fields, f.fileOptions(task, attempt))
	if err != nil {
		return nil, fmt.Errorf("data files of %s: %w", f.options.Location, err)
	}
	return &Writer{folder: f, task: task, attempt: attempt, types: typesOf(schema.Columns), ctx: ctx, files: files}, nil
}

// shaped is the folder's columns of the given number, if they are the ones in force.
func (f *Folder) shaped(ctx context.Context, id int) (*Schema, error) {
	f.mu.Lock()
	schema := f.newest
	f.mu.Unlock()
	if schema != nil && schema.ID == id {
		return schema, nil
	}
	s, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	return s.schema, f.sameColumns(s.schema, id)
}

// sameColumns checks that files made for some columns are what the folder takes now.
func (f *Folder) sameColumns(now *Schema, id int) error {
	switch {
	case now == nil:
		return f.gone()
	case now.ID == id:
		return nil
	}
	return &batch.Fault{Class: batch.Failed,
		Message: fmt.Sprintf("the columns of %s were altered meanwhile: they are number %d, and the batch was made for %d", f.options.Location, now.ID, id),
		Hint:    "run again: the batch is read once more and written for the folder as it is now"}
}

func (f *Folder) gone() error {
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("there is no %s in %s", folderKey, f.options.Location),
		Hint: "check the address of the folder, and that its disk is mounted; sluice run makes a folder that is not there"}
}

// Write adds rows to the files. It keeps nothing of rows. After an error the writer is good for Abort only.
func (w *Writer) Write(ctx context.Context, rows *columns.Batch) error {
	for from := 0; from < rows.Rows; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if w.open == nil {
			if err := w.begin(); err != nil {
				return err
			}
		}
		next, err := w.files.Append(rows, from)
		if err != nil {
			return w.explain("write", err)
		}
		from = next
		if w.files.Size() >= w.folder.options.TargetFileBytes || w.files.Groups() >= maxGroups {
			if err := w.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) explain(verb string, err error) error {
	return lakesink.Explain(fmt.Sprintf("%s %s", verb, w.folder.path(w.name)), err)
}

func (w *Writer) begin() error {
	w.name = fmt.Sprintf("part-%d-%d-%d-%s.zstd.parquet", w.task.Batch, w.task.Index, len(w.finished), w.attempt)
	open, err := lakesink.CreateFile(w.ctx, w.folder.options.Store, w.folder.path(w.name))
	if err != nil {
		return w.explain("create", err)
	}
	w.open = &open
	if err := w.files.Begin(open); err != nil {
		return w.explain("write", err)
	}
	return nil
}

// finish ends the open file and checks that the store has all of it.
func (w *Writer) finish() error {
	summary, err := w.files.Close()
	if err != nil {
		return w.explain("write", err)
	}
	if err := w.open.Close(); err != nil {
		return w.explain("finish", err)
	}
	w.open = nil
	size, err := lakesink.StoredSize(w.folder.options.Store, w.folder.path(w.name))
	if err != nil {
		return w.explain("ask for the size of", err)
	}
	if size != summary.Bytes {
		return fmt.Errorf("%s has %d bytes in the store, %d were written: the store lost some", w.folder.path(w.name), size, summary.Bytes)
	}
	w.finished = append(w.finished, lakesink.DescribeFile(w.name, summary, w.types))
	return nil
}

// Close finishes the files and describes them. They are not part of the folder until a manifest names them.
func (w *Writer) Close(ctx context.Context) ([]batch.DataFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if w.open != nil {
		if err := w.finish(); err != nil {
			return nil, err
		}
	}
	if !w.done {
		w.folder.spare.Put(w.files)
	}
	w.done, w.files = true, nil
	return w.finished, nil
}

// Abort gives up: the open file is not completed, finished ones stay. It does nothing after Close.
func (w *Writer) Abort() {
	if !w.done && w.open != nil {
		w.open.Abort()
	}
	w.done, w.open = true, nil
}

// misfit is the fault of a folder that does not take rows.
func (f *Folder) misfit(differences []string) error {
	hint := "let a run add columns (value.onUnknownField addColumn, with value.format json, avro or protobuf), or change the job; types never change in a folder of files: for others it is another folder, and another query"
	if f.options.DeadLetters {
		hint = "go on with another deadLetter.path, which is created"
	}
	return &batch.Fault{Class: batch.Inconsistent, Hint: hint,
		Message: fmt.Sprintf("%s does not take the rows: %s", f.options.Location, strings.Join(differences, "; "))}
}
