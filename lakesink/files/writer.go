package files

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
)

// Writer writes the data files of one attempt at a task. It is used by one goroutine. Its files are not part of the folder until
// a manifest names them.
type Writer struct{ *lakesink.Writer }

// safeName is what may be in a file's name without changing its place.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

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
		return nil, f.misfit(differences, nil)
	}
	order, err := orderOf(f.options.SortBy, schema.Columns, fields)
	if err != nil {
		return nil, f.misfit(nil, []string{err.Error()})
	}
	types := typesOf(schema.Columns)
	set := &lakesink.FileSet{Store: f.options.Store, Spare: &f.spare, Fields: schema.inFiles(fields), Options: f.fileOptions(task, attempt), TargetBytes: f.options.TargetFileBytes,
		Partitions: schema.levels(fields), SortBy: order, Folder: (*partition.Spec).HivePath,
		Address: func(folder string, n int) string {
			return f.path(path.Join(folder, fmt.Sprintf("part-%d-%d-%d-%s.zstd.parquet", task.Batch, task.Index, n, attempt)))
		},
		Describe: func(address string, s *parquetfile.Summary) batch.DataFile {
			return lakesink.DescribeFile(strings.TrimPrefix(address, f.path("")), s, types)
		}}
	files, err := set.Write(ctx)
	if err != nil {
		return nil, fmt.Errorf("data files of %s: %w", f.options.Location, err)
	}
	return &Writer{files}, nil
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

// layoutHint is what can be done about partitions and an order that a folder does not have.
const layoutHint = "leave sink.parquet.partitionBy out to follow the folder or make it what the folder has, and sort by columns that are there; or write to another folder, which is another query"

// misfit is the fault of a folder that does not take rows, for their columns or for how they are laid out.
func (f *Folder) misfit(columns, laidOut []string) error {
	differences := slices.Concat(columns, laidOut)
	hint := "let a run add columns (value.onUnknownField addColumn, with value.format json, avro or protobuf), or change the job; types never change in a folder of files: for others it is another folder, and another query"
	switch {
	case len(columns) == 0:
		hint = layoutHint
	case len(laidOut) > 0:
		hint += "; and " + layoutHint
	}
	if f.options.DeadLetters {
		hint = "go on with another deadLetter.path, which is created"
	}
	return &batch.Fault{Class: batch.Inconsistent, Hint: hint,
		Message: fmt.Sprintf("%s does not take the rows: %s", f.options.Location, strings.Join(differences, "; "))}
}
