package lakesink

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// Replacement is data files that take the place of others, with the same rows: maintenance, which changes what a table is made
// of and not what is in it.
type Replacement struct {
	// Removed are live data files; their paths alone count. Deletes are delete files that are for these and no others, and go with
	// them.
	Removed, Deletes []iceberg.DataFile
	// Added are what a Writer made for the table's current schema and spec.
	Added []batch.DataFile
	// Sequence is the data sequence number of the added files, 0 for that of the new snapshot. Deletes by equality apply to
	// files of lower numbers, so that files which take over old rows must not be younger than these were when they were read.
	Sequence int64
	// Summary goes into the snapshot's.
	Summary iceberg.Properties
}

// StageReplacement prepares a replacement on one reading of the table, as one snapshot of the operation "replace" that holds
// only while head, schema and spec are those that were read. Before it returns it has compared the new snapshot with its parent,
// file by file: the one has what the other has, but for what was removed and added. No property of the table changes.
func (i *Iceberg) StageReplacement(ctx context.Context, t *table.Table, r *Replacement) (*Staged, error) {
	pinned, tx, err := i.Pinned(t)
	if err != nil {
		return nil, err
	}
	added, err := icebergFiles(pinned, []batch.TaskResult{{Files: r.Added}})
	if err != nil {
		return nil, err
	}
	if err := rewrite(ctx, tx, pinned, r, added); err != nil {
		return nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	o := &offer{tx: tx, parent: t.CurrentSnapshot(), snapshot: staged.CurrentSnapshot()}
	if err := o.boundEmptyText(ctx, pinned); err != nil {
		return nil, err
	}
	if err := o.checkReplaced(ctx, pinned, r, added); err != nil {
		return nil, err
	}
	return StagedBy(t, tx)
}

// TargetFileBytes is the size at which a data file is finished.
func (i *Iceberg) TargetFileBytes() int64 { return i.options.TargetFileBytes }

// With is the same table under other options.
func (i *Iceberg) With(change func(*Options)) *Iceberg {
	o := i.options
	change(&o)
	return New(i.catalog, o)
}

// rewrite hands the files to the library. That gives every table a name mapping that has none, and would so freeze the names
// of the schema of the day for files without field ids: ours have these, and the table is to stay as it is.
func rewrite(ctx context.Context, tx *table.Transaction, t *table.Table, r *Replacement, added []iceberg.DataFile) error {
	b := tx.NewRewrite(r.Summary)
	of := table.CompactionGroupResult{OldDataFiles: r.Removed, NewDataFiles: added}
	for _, f := range r.Deletes {
		if table.IsDeletionVector(f) {
			of.SafeDeletionVectors = append(of.SafeDeletionVectors, f)
		} else {
			of.SafePosDeletes = append(of.SafePosDeletes, f)
		}
	}
	b.ApplyResult(of)
	if r.Sequence > 0 {
		b.DataSequenceNumber(r.Sequence)
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	if _, ok := t.Properties()[table.DefaultNameMappingKey]; ok {
		return nil
	}
	return tx.RemoveProperties([]string{table.DefaultNameMappingKey})
}

// listing is what manifests say of a live file, as far as a replacement must leave it alone.
type listing struct {
	content  iceberg.ManifestEntryContent
	spec     int32
	sequence int64
	rows     int64
	firstRow int64
}

// checkReplaced proves, before anything is sent, that the snapshot has every live file of its parent but those that are to be
// replaced, under the same sequence number and first row id, and the new ones besides. Manifests that both have need no look
// inside.
func (o *offer) checkReplaced(ctx context.Context, t *table.Table, r *Replacement, added []iceberg.DataFile) error {
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	before, err := o.parent.Manifests(fs)
	if err != nil {
		return fmt.Errorf("read the manifest list of snapshot %d: %w", o.parent.SnapshotID, err)
	}
	after, err := o.snapshot.Manifests(fs)
	if err != nil {
		return fmt.Errorf("read the manifest list that was just written: %w", err)
	}
	want, err := listings(fs, difference(before, after))
	if err != nil {
		return err
	}
	has, err := listings(fs, difference(after, before))
	if err != nil {
		return err
	}
	if wrong := differing(want, has, r, added); wrong != "" {
		return &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("the commit would leave the table with the wrong files: %s; nothing was committed", wrong),
			Hint:    "this is a defect of the table library or a damaged table: look at the table's manifests before anything else writes to it"}
	}
	return nil
}

// differing says what keeps has from being want with a replacement made; empty if nothing does.
func differing(want, has map[string]listing, r *Replacement, added []iceberg.DataFile) string {
	for _, f := range slices.Concat(r.Removed, r.Deletes) {
		if _, ok := want[listingKey(f)]; !ok {
			return fmt.Sprintf("%s is to be replaced and was not there", listingKey(f))
		}
		delete(want, listingKey(f))
	}
	for _, f := range added {
		l, ok := has[f.FilePath()]
		if !ok || l.content != iceberg.EntryContentData || l.spec != f.SpecID() || l.rows != f.Count() || r.Sequence > 0 && l.sequence != r.Sequence {
			return fmt.Sprintf("%s was added and is there as %+v", f.FilePath(), l)
		}
		delete(has, f.FilePath())
	}
	for path, l := range want {
		if got, ok := has[path]; !ok || got != l {
			return fmt.Sprintf("%s was %+v and is %+v", path, l, got)
		}
	}
	if len(has) != len(want) {
		return fmt.Sprintf("%d files are there that were not, beside those that were added", len(has)-len(want))
	}
	return ""
}

// listings reads manifests. A deletion vector shares its path with others, and is told by the file that it is for.
func listings(fs iceio.IO, manifests []iceberg.ManifestFile) (map[string]listing, error) {
	all := map[string]listing{}
	for _, m := range manifests {
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			f := e.DataFile()
			l := listing{content: f.ContentType(), spec: f.SpecID(), sequence: e.SequenceNum(), rows: f.Count()}
			if first := f.FirstRowID(); first != nil {
				l.firstRow = 1 + *first
			}
			all[listingKey(f)] = l
		}
	}
	return all, nil
}

func listingKey(f iceberg.DataFile) string {
	if of := f.ReferencedDataFile(); of != nil {
		return f.FilePath() + " for " + *of
	}
	return f.FilePath()
}

// WholeColumns are the columns of a table. A type that there is no word for here is an error: rows that are written without
// such a column would have lost it.
func WholeColumns(t *table.Table) (columns.Schema, error) {
	fields := tableFields(t.Schema().Fields())
	for i := range fields {
		if !fields[i].writable() {
			return nil, &batch.Fault{Class: batch.NotSetUp,
				Message: fmt.Sprintf("column %s of the table is of a type that sluice cannot write (%s)", fields[i].name, t.Schema().Field(i).Type),
				Hint:    "let the engine that made the column rewrite this table's files"}
		}
	}
	return columnsOf(fields), nil
}

// WriteMoved is Write for rows of the table that move from one file to another. Where the table gives rows ids (format version 3)
// they keep them, and the sequence number of their last change: both come as two more columns, long, behind those of schema.
func (i *Iceberg) WriteMoved(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (*Writer, error) {
	return i.write(ctx, task, attempt, func(t *table.Table) ([]parquetfile.Field, error) {
		fields, err := i.fieldsFor(t, schema)
		if err != nil || t.Metadata().Version() < 3 {
			return fields, err
		}
		long := columns.Type{Kind: columns.Int64}
		return append(fields, parquetfile.Field{Name: iceberg.RowIDColumnName, ID: iceberg.RowIDFieldID, Type: long, Source: len(schema)},
			parquetfile.Field{Name: iceberg.LastUpdatedSequenceNumberColumnName, ID: iceberg.LastUpdatedSequenceNumberFieldID, Type: long, Source: len(schema) + 1}), nil
	})
}

// PartitionOf is the partition of a file that a Writer made, as manifests have it: values by field id.
func PartitionOf(t *table.Table, f *batch.DataFile) (map[int]any, error) {
	files, err := icebergFiles(t, []batch.TaskResult{{Files: []batch.DataFile{*f}}})
	if err != nil {
		return nil, err
	}
	return files[0].Partition(), nil
}
