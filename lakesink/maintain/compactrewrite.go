package maintain

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
)

// compactedQuery is what stands in the place of a query's id in the names of compacted files.
const compactedQuery = "compacted"

// rewrite reads a group's files and writes them as one, or as few. The group's state says how it went.
func (c *compactor) rewrite(ctx context.Context, g *group) {
	if err := c.rewriteRows(ctx, g); err != nil {
		if ctx.Err() == nil {
			g.state, g.err, g.why = FailedGroup, err, err.Error()
		}
		c.discard(ctx, g)
		return
	}
	for _, f := range g.made {
		g.out.add(f.Bytes)
	}
	if len(g.made) >= len(g.members) {
		g.state, g.why = Dropped, fmt.Sprintf("%d files would become %d", len(g.members), len(g.made))
		c.discard(ctx, g)
	}
}

func (c *compactor) rewriteRows(ctx context.Context, g *group) (err error) {
	defer func() {
		if p := recover(); p != nil { // what the libraries do with some damaged files
			err = fmt.Errorf("a data file is damaged: %v", p)
		}
	}()
	t := c.plan.table
	task := &batch.Task{Query: compactedQuery, SchemaID: t.Schema().ID, SpecID: t.Metadata().DefaultPartitionSpec()}
	w, err := c.sink.WriteMoved(ctx, task, uuid.NewString(), c.plan.schema)
	if err != nil {
		return err
	}
	defer w.Abort()
	read, err := c.copyRows(ctx, g, w)
	if err != nil {
		return err
	}
	if g.made, err = w.Close(ctx); err != nil {
		return err
	}
	for i := range g.made {
		forgetLineage(&g.made[i])
	}
	return c.plan.same(g, read)
}

// forgetLineage leaves out what is known of columns that are no table's.
func forgetLineage(f *batch.DataFile) {
	for _, id := range []int{iceberg.RowIDFieldID, iceberg.LastUpdatedSequenceNumberFieldID} {
		for _, of := range []map[int]int64{f.ColumnSizes, f.ValueCounts, f.NullCounts, f.NaNCounts} {
			delete(of, id)
		}
		delete(f.LowerBounds, id)
		delete(f.UpperBounds, id)
	}
}

// same checks that the new files have as many rows as were read, and these as many as the old ones have, all in the group's
// partition.
func (p *compactPlan) same(g *group, read int64) error {
	var written int64
	for i := range g.made {
		written += g.made[i].Records
		values, err := lakesink.PartitionOf(p.table, &g.made[i])
		if err != nil {
			return err
		}
		if key := partitionKey(values); key != g.partition {
			return inconsistent(fmt.Sprintf("rows of files in partition %s belong to another one by their values (%s)", g.label, key),
				"the files were put into the wrong partition, or take a column's value from it: let the engine that wrote them rewrite them", nil)
		}
	}
	if written != read || read > g.rows || read < g.rows && !g.deletes {
		return inconsistent(fmt.Sprintf("the metadata count %d rows in files of which %d could be read and %d were written", g.rows, read, written), "verify the table", nil)
	}
	g.rows = written
	return nil
}

// filesAtOnce is how many files are read by one scan: it keeps the footers of all of them, and reads a file of positions that is
// for several of them once.
const filesAtOnce = 32

// copyRows hands the rows of the files on in the order of the files.
func (c *compactor) copyRows(ctx context.Context, g *group, w *lakesink.Writer) (rows int64, err error) {
	options := []table.ScanOption{table.WithMaxConcurrency(c.readers(g)), table.WithArrowBatchSize(c.rowsAtOnce(g))}
	schema := c.plan.schema
	if c.plan.moves() {
		options, schema = append(options, table.WithRowLineage()), append(slices.Clip(schema), lineage...)
	}
	scan := c.plan.table.Scan(options...)
	into := &columns.Batch{Columns: columns.Make(schema)}
	for some := range slices.Chunk(g.members, filesAtOnce) {
		_, batches, err := scan.ReadTasks(ctx, tasksOf(some))
		if err != nil {
			return 0, lakesink.Explain(unread(some), err)
		}
		for read, err := range batches {
			if err != nil {
				return 0, lakesink.Explain(unread(some), err)
			}
			err = convert(into, schema, read)
			read.Release()
			if err != nil {
				return 0, fmt.Errorf("%s: %w", unread(some), err)
			}
			if err := w.Write(ctx, into); err != nil {
				return 0, err
			}
			rows += int64(into.Rows)
		}
	}
	return rows, nil
}

func tasksOf(members []member) (tasks []table.FileScanTask) {
	for _, m := range members {
		tasks = append(tasks, table.FileScanTask{File: m.file, DeleteFiles: m.positions, DeletionVectorFiles: m.vectors, Length: m.file.FileSizeBytes(),
			FirstRowID: m.firstRow, DataSequenceNumber: &m.sequence})
	}
	return tasks
}

func unread(members []member) string {
	if len(members) == 1 {
		return "read " + members[0].file.FilePath()
	}
	return fmt.Sprintf("read %s or one of %d more files", members[0].file.FilePath(), len(members)-1)
}

// mostReaders is how many files are read ahead at most: opening a small one in an object store takes longer than reading it.
const mostReaders = 4

// valueFactor is how much larger values are taken to be in memory than in a file.
const valueFactor = 10

// readers is how many files of a group are read side by side: each may be in memory whole.
func (c *compactor) readers(g *group) int {
	largest := int64(1)
	for _, m := range g.members {
		largest = max(largest, m.file.FileSizeBytes())
	}
	return int(min(mostReaders, max(1, c.share()/4/(valueFactor*largest))))
}

// share is a worker's memory.
func (c *compactor) share() int64 { return c.o.MemoryBytes / int64(c.o.Workers) }

// rowsAtOnce keeps what is read at a time, of which the reader has some ready, to a small part of the memory.
func (c *compactor) rowsAtOnce(g *group) int {
	widest := int64(1)
	for _, m := range g.members {
		if n := m.file.Count(); n > 0 {
			widest = max(widest, m.file.FileSizeBytes()/n)
		}
	}
	return int(min(16<<10, max(1, c.share()/32/(valueFactor*widest))))
}

// lineage are the columns of a row's id and of its last change, none of which is null in a file whose rows have ids.
var lineage = columns.Schema{{Name: iceberg.RowIDColumnName, Type: columns.Type{Kind: columns.Int64}}, {Name: iceberg.LastUpdatedSequenceNumberColumnName, Type: columns.Type{Kind: columns.Int64}}}

// convert makes a batch of what was read, in the order of the schema's columns.
func convert(into *columns.Batch, schema columns.Schema, read arrow.RecordBatch) error {
	if int(read.NumCols()) != len(schema) {
		return fmt.Errorf("%d columns are read of a table that has %d", read.NumCols(), len(schema))
	}
	into.Rows = int(read.NumRows())
	for i := range schema {
		if name := read.ColumnName(i); name != schema[i].Name {
			return fmt.Errorf("column %s is read as %s", schema[i].Name, name)
		}
		into.Columns[i].Reset()
		if err := fill(&into.Columns[i], &schema[i].Type, read.Column(i)); err != nil {
			return fmt.Errorf("column %s: %w", schema[i].Name, err)
		}
	}
	return nil
}
