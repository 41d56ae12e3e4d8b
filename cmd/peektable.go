package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/progress"
	"sluice/verify"
)

// peekTable shows rows of the table's current snapshot, those of the newest data files first. It plans and reads no
// more than it takes to find them, so that it takes as long on a large table as on a small one.
func (l *pipeline) peekTable(ctx context.Context, want look) (*progress.Peek, error) {
	name := l.sink.TableName()
	t, err := l.sink.Load(ctx)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		return nil, l.noTable(err, "to look at", "; --topic looks at the topic")
	}
	if err != nil {
		return nil, err
	}
	var all []progress.PeekColumn
	for _, field := range t.Schema().Fields() {
		all = append(all, progress.PeekColumn{Name: field.Name, Type: field.Type.String()})
	}
	chosen, err := want.choose(all)
	if err != nil {
		return nil, err
	}
	shown := &progress.Peek{From: "table", Name: name, Columns: []progress.PeekColumn{}, Rows: [][]any{}, Malformed: []progress.PeekFault{}}
	var names []string
	for _, i := range chosen {
		shown.Columns, names = append(shown.Columns, all[i]), append(names, all[i].Name)
	}
	if t.CurrentSnapshot() == nil {
		return shown, nil
	}
	if f, ok := l.sink.(*folder); ok {
		every, err := paths(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", name, err)
		}
		shown.Read = f.statement(t.Schema(), every, "")
	}
	if shown.Rows, err = newest(ctx, t, names, want.rows); err != nil {
		return nil, fmt.Errorf("read table %s: %w", name, err)
	}
	return shown, nil
}

// newest reads the columns of some rows.
func newest(ctx context.Context, t *table.Table, names []string, rows int) (found [][]any, err error) {
	defer func() {
		if p := recover(); p != nil { // what the libraries do with some damaged files
			err = fmt.Errorf("a data file is damaged: %v", p)
		}
	}()
	scan := t.Scan(table.WithSelectedFields(names...), table.WithLimit(int64(rows)), table.WithMaxConcurrency(1), table.WithArrowBatchSize(min(rows, 1000)))
	defer scan.Close()
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tasks, func(a, b table.FileScanTask) int { return cmp.Compare(sequence(b), sequence(a)) })
	if tasks, err = shown(t, tasks, names); err != nil {
		return nil, err
	}
	_, batches, err := scan.ReadTasks(ctx, tasks)
	if err != nil {
		return nil, err
	}
	found = [][]any{}
	for rows, err := range batches {
		if err != nil {
			return nil, err
		}
		more, err := cells(rows, names)
		rows.Release()
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// shown leaves out files of Spark's where a column has timestamps, which the libraries do not read in the form that Spark writes them
// in by default (INT96).
func shown(t *table.Table, tasks []table.FileScanTask, names []string) ([]table.FileScanTask, error) {
	if t.Properties()[verify.SparkWroteHere] == "" || !slices.ContainsFunc(names, func(name string) bool {
		field, ok := t.Schema().FindFieldByName(name)
		return ok && strings.Contains(field.Type.String(), "timestamptz")
	}) {
		return tasks, nil
	}
	ours := slices.DeleteFunc(tasks, func(task table.FileScanTask) bool { return !ownName.MatchString(path.Base(task.File.FilePath())) })
	if len(ours) == 0 {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "all files here are Spark's, whose timestamps peek does not read",
			Hint: "leave columns with timestamps out with --columns, or use the statement that sluice status prints"}
	}
	return ours, nil
}

func sequence(task table.FileScanTask) int64 {
	if task.DataSequenceNumber == nil {
		return -1
	}
	return *task.DataSequenceNumber
}

func cells(rows arrow.RecordBatch, names []string) ([][]any, error) {
	found := make([][]any, rows.NumRows())
	for _, name := range names {
		at := rows.Schema().FieldIndices(name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %s is there %d times", name, len(at))
		}
		for i := range found {
			found[i] = append(found[i], arrowCell(rows.Column(at[0]), i))
		}
	}
	return found, nil
}
