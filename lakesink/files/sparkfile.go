package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/partition"
	"sluice/layout"
)

// footersAtOnce is how many of Spark's files are asked for their footers at a time.
const footersAtOnce = 16

// describeAll reads the footers of all files of a turn, and holds each against the folder's columns and partitions.
func (f *Folder) describeAll(ctx context.Context, s *Schema, t *turn) (*Turn, error) {
	described := &Turn{From: t.from, Until: t.until, Files: make([]batch.DataFile, len(t.files))}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(footersAtOnce)
	for i := range t.files {
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			described.Files[i], err = f.describeSparks(s, &t.files[i])
			return err
		})
	}
	return described, group.Wait()
}

// describeSparks is a file of Spark's as a manifest has it.
func (f *Folder) describeSparks(s *Schema, file *sinkFile) (batch.DataFile, error) {
	d := batch.DataFile{Path: file.Path, Bytes: file.Size}
	footer, err := f.footer(file)
	if err != nil {
		return d, err
	}
	d.Records = footer.NumRows
	if d.Partition, err = s.partitionOf(file.Path); err == nil {
		err = s.takesFile(footer)
	}
	if err != nil {
		return d, f.unlike(file, err)
	}
	return d, nil
}

// unlike is the fault of a file of Spark's that does not fit the folder.
func (f *Folder) unlike(file *sinkFile, err error) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("Spark's file %s does not fit what sluice writes to %s: %v", file.Path, f.options.Location, err),
		Hint: "make the job's rows, and sink.parquet.partitionBy, what the files have; or let sluice go on in another folder, beside this one (docs/from-spark.md, \"In a folder beside it\")"}
}

// footer reads the end of a file, which must be as long as Spark's log says.
func (f *Folder) footer(file *sinkFile) (*format.FileMetaData, error) {
	in, err := f.options.Store.Open(f.path(file.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.strange("", "it lists %s, which is gone", file.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.path(file.Path), err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, fmt.Errorf("ask for the size of %s: %w", f.path(file.Path), err)
	}
	if info.Size() != file.Size {
		return nil, f.strange("", "it says that %s has %d bytes, and it has %d", file.Path, file.Size, info.Size())
	}
	p, err := parquet.OpenFile(in, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, f.unlike(file, fmt.Errorf("it cannot be read as Parquet: %w", err))
	}
	return p.Metadata(), nil
}

// takesFile holds the columns of a file against the folder's: the same names and types, for readers of Parquet find one type for
// a column in all files. A column that the file lacks, and no partition has, is null in it.
func (s *Schema) takesFile(footer *format.FileMetaData) error {
	is, err := columnsIn(footer.Schema)
	if err != nil {
		return err
	}
	if err := alike("", s.Columns, is, func(c *Column) bool { return isLeftOut(s.Columns, s.Partitions, c.ID) }); err != nil {
		return err
	}
	for g := range footer.RowGroups {
		for i := range footer.RowGroups[g].Columns {
			m := &footer.RowGroups[g].Columns[i].MetaData
			if c := byPath(s.Columns, strings.Join(m.PathInSchema, ".")); c != nil && c.Required && m.Statistics.NullCount > 0 {
				return fmt.Errorf("column %s has nulls, and is required in the folder", c.Name)
			}
		}
	}
	return nil
}

// alike is why columns are not those of the folder; leftOut says which of these are in the names of folders.
func alike(prefix string, has []Column, is []columns.Field, leftOut func(*Column) bool) error {
	for i := range is {
		c := named(has, is[i].Name)
		switch {
		case c == nil:
			return fmt.Errorf("the folder has no column %s%s (%s)", prefix, is[i].Name, typeName(is[i].Type))
		case leftOut(c):
			return fmt.Errorf("column %s%s is in the file, and in the names of folders as well", prefix, c.Name)
		case !sameType(c, &is[i].Type):
			return fmt.Errorf("column %s%s is %s in the folder and %s in the file", prefix, c.Name, typeName(c.kind()), typeName(is[i].Type))
		}
		inner, path := is[i].Type.Fields, prefix+c.Name+"."
		if c.Kind == columns.List || c.Kind == columns.Map { // by position: the names are the format's
			inner = append([]columns.Field(nil), inner...)
			for k := range inner {
				inner[k].Name = c.Fields[k].Name
			}
		}
		if err := alike(path, c.Fields, inner, func(*Column) bool { return false }); err != nil {
			return err
		}
	}
	for i := range has {
		c := &has[i]
		if find(is, c.Name) < 0 && c.Required && !leftOut(c) {
			return fmt.Errorf("the file has no column %s%s, which is required in the folder", prefix, c.Name)
		}
	}
	return nil
}

func named(has []Column, name string) *Column {
	for i := range has {
		if has[i].Name == name {
			return &has[i]
		}
	}
	return nil
}

// sameType compares a column with a type, without what is inside.
func sameType(c *Column, t *columns.Type) bool {
	return c.Kind == t.Kind && c.Precision == t.Precision && c.Scale == t.Scale && c.Width == t.Width
}

// partitionOf reads the values of the folder's partitions from the path of a file as Spark writes it.
func (s *Schema) partitionOf(path string) (map[int]json.RawMessage, error) {
	parts := strings.Split(path, "/")
	levels := parts[:len(parts)-1]
	if len(levels) != len(s.Partitions) {
		return nil, fmt.Errorf("it is in %d folders of partitions, and the folder has %d", len(levels), len(s.Partitions))
	}
	var values map[int]json.RawMessage
	for i := range s.Partitions {
		p := &s.Partitions[i]
		name, text, err := level(levels[i])
		if err != nil || name != p.Name {
			return nil, fmt.Errorf("it is in the folder %s, where the partition %s is to be", levels[i], p.Name)
		}
		if !isTop(s.Columns, p) {
			return nil, fmt.Errorf("the partition %s is of sluice's making, which Spark does not keep", p.Name)
		}
		value, err := partitionValue(named(s.Columns, p.Name), text)
		if err != nil {
			return nil, fmt.Errorf("the value %.100q of the partition %s: %w", text, p.Name, err)
		}
		if values == nil {
			values = map[int]json.RawMessage{}
		}
		values[p.ID] = value
	}
	return values, nil
}

// level is the name and the value in the name of a folder.
func level(folder string) (name, value string, err error) {
	name, value, ok := strings.Cut(folder, "=")
	if !ok {
		return "", "", errors.New("it is no name=value")
	}
	if name, err = url.PathUnescape(name); err == nil {
		value, err = url.PathUnescape(value)
	}
	return name, value, err
}

// partitionValue is a value in the name of a folder in the JSON form of the table format (Iceberg specification, Appendix C).
func partitionValue(c *Column, text string) (json.RawMessage, error) {
	if text == partition.HiveNull {
		if c.Required {
			return nil, errors.New("the column is required in the folder")
		}
		return json.RawMessage("null"), nil
	}
	var err error
	switch c.Kind {
	case columns.String:
		return json.Marshal(text)
	case columns.Bool:
		if text != "true" && text != "false" {
			err = errors.New("it is no boolean")
		}
		return json.RawMessage(text), err
	case columns.Int32, columns.Int64:
		n, err := strconv.ParseInt(text, 10, map[columns.Kind]int{columns.Int32: 32, columns.Int64: 64}[c.Kind])
		return strconv.AppendInt(nil, n, 10), err
	case columns.Date:
		if _, err = time.Parse(time.DateOnly, text); err != nil {
			return nil, err
		}
		return json.Marshal(text)
	}
	return nil, fmt.Errorf("a partition of the type %s is not followed", typeName(c.kind()))
}

// beginWith are the columns and partitions of a folder that Spark has begun: those of the rows, and those besides that Spark's
// files have, all of them optional, as Spark's are.
func (f *Folder) beginWith(rows columns.Schema, t *turn) ([]columns.Field, []layout.Term, error) {
	all := append(columns.Schema(nil), rows...)
	by := f.options.PartitionBy
	if len(t.files) == 0 {
		return optional(all), by, nil
	}
	first := &t.files[0]
	footer, err := f.footer(first)
	if err != nil {
		return nil, nil, err
	}
	is, err := columnsIn(footer.Schema)
	if err != nil {
		return nil, nil, f.unlike(first, err)
	}
	for _, column := range is {
		if find(all, column.Name) < 0 {
			all = append(all, column)
		}
	}
	parts := strings.Split(first.Path, "/")
	var levels []layout.Term
	for _, folder := range parts[:len(parts)-1] {
		name, _, err := level(folder)
		if err == nil && find(all, name) < 0 {
			err = errors.New("the job's rows have no such column, so that its type is not known")
		}
		if err != nil {
			return nil, nil, f.unlike(first, fmt.Errorf("it is in the folder %s: %w", folder, err))
		}
		levels = append(levels, layout.Term{Transform: layout.Identity, Column: name})
	}
	if by == nil {
		by = levels
	}
	return optional(all), by, nil
}

// optional makes columns, and what is inside them, optional; but for the keys of maps.
func optional(fields []columns.Field) []columns.Field {
	all := make([]columns.Field, len(fields))
	for i, field := range fields {
		field.Required = false
		field.Type.Fields = optional(field.Type.Fields)
		if field.Type.Kind == columns.Map {
			field.Type.Fields[0].Required = fields[i].Type.Fields[0].Required
		}
		all[i] = field
	}
	return all
}
