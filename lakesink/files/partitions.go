package files

import (
	"fmt"
	"slices"
	"strings"

	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
	"sluice/layout"
)

// Partition is one level of the folders that rows are sorted into, as name=value. It is the folder's own and never changes:
// readers of Hive's folders take the names for columns, and fail where files have other ones.
//
// A column that is a level as it is, and not inside of another, is not in the files: its values are in the names, where
// Spark's partitionBy leaves it as well, and some readers refuse to find it in both places. Every other level keeps its
// source in the files.
type Partition struct {
	// ID is the level's in the manifests, from 1000.
	ID        int              `json:"id"`
	Name      string           `json:"name"`
	Transform layout.Transform `json:"transform"`
	// Width is the number of a bucket's buckets or the length of a truncate.
	Width int `json:"width,omitempty"`
	// Source is the column's id.
	Source int `json:"source"`
}

// firstPartition is the id of the first level, as in an Iceberg table.
const firstPartition = 1000

// newPartitions are the levels of a new folder.
func newPartitions(terms []layout.Term, all []Column) ([]Partition, error) {
	var levels []Partition
	taken := map[string]bool{}
	for i := range all {
		taken[strings.ToLower(all[i].Name)] = true
	}
	for _, t := range terms {
		c, err := columnFor(all, t)
		if err != nil {
			return nil, fmt.Errorf("sink.parquet.partitionBy %s: %w", t, err)
		}
		level := Partition{ID: firstPartition + len(levels), Name: t.Column, Transform: t.Transform, Width: t.Width, Source: c.ID}
		if !isTop(all, &level) {
			level.Name = unused(taken, levelName(t))
		}
		if strings.HasPrefix(level.Name, ".") {
			return nil, fmt.Errorf("sink.parquet.partitionBy %s: folders whose name begins with a dot are hidden from every reader", t)
		}
		taken[strings.ToLower(level.Name)] = true
		levels = append(levels, level)
	}
	if left := slices.DeleteFunc(slices.Clone(all), func(c Column) bool { return isLeftOut(all, levels, c.ID) }); len(left) == 0 {
		return nil, fmt.Errorf("sink.parquet.partitionBy has all columns: none would be left in the files")
	}
	return levels, nil
}

// columnFor finds the column of a term, if its values can be transformed and told in the name of a folder.
func columnFor(all []Column, t layout.Term) (*Column, error) {
	c := byPath(all, t.Column)
	switch {
	case c == nil:
		return nil, fmt.Errorf("the rows have no column %s, or it is inside a list or map", t.Column)
	case t.Transform == layout.Void:
		return nil, fmt.Errorf("it would be the same folder for all rows")
	case !partition.Takes(t.Transform, c.kind()):
		return nil, fmt.Errorf("column %s is %s, which cannot be partitioned like this", t.Column, typeName(c.kind()))
	case t.Transform != layout.Bucket && (c.Kind == columns.Binary || c.Kind == columns.Fixed):
		return nil, fmt.Errorf("column %s is %s, and the name of a folder is text: bucket(16, %s) would do", t.Column, typeName(c.kind()), t.Column)
	}
	return c, nil
}

// byPath finds a column by its name, with dots between the names of structs; nil for none.
func byPath(all []Column, path string) *Column {
	for i := range all {
		c := &all[i]
		if c.Name == path {
			return c
		}
		rest, inside := strings.CutPrefix(path, c.Name+".")
		if !inside || c.Kind != columns.Struct {
			continue
		}
		if found := byPath(c.Fields, rest); found != nil {
			return found
		}
	}
	return nil
}

// pathOf is the name of a column by its id, with dots between those of structs; empty for none.
func pathOf(all []Column, id int) string {
	for i := range all {
		c := &all[i]
		if c.ID == id {
			return c.Name
		}
		if c.Kind != columns.Struct {
			continue
		}
		if rest := pathOf(c.Fields, id); rest != "" {
			return c.Name + "." + rest
		}
	}
	return ""
}

// isTop says that a level is a column as it is, which the files leave out.
func isTop(all []Column, level *Partition) bool {
	return level.Transform == layout.Identity && slices.ContainsFunc(all, func(c Column) bool { return c.ID == level.Source })
}

func isLeftOut(all []Column, levels []Partition, id int) bool {
	return slices.ContainsFunc(levels, func(p Partition) bool { return p.Source == id && isTop(all, &p) })
}

// levelName is the name that an Iceberg table's partition would have.
func levelName(t layout.Term) string {
	switch t.Transform {
	case layout.Identity:
		return t.Column
	case layout.Truncate:
		return t.Column + "_trunc"
	}
	return t.Column + "_" + string(t.Transform)
}

// unused is the name, with a number if it is taken. To Spark and Hive case makes no other name.
func unused(taken map[string]bool, name string) string {
	for n, free := 2, name; ; n++ {
		if !taken[strings.ToLower(free)] {
			return free
		}
		free = fmt.Sprintf("%s_%d", name, n)
	}
}

// clashes are columns that are to be added under the name of a level: readers would find its values in their place.
func (s *Schema) clashes(to []Column) (differences []string) {
	for _, c := range to[min(len(s.Columns), len(to)):] {
		for _, p := range s.Partitions {
			if strings.EqualFold(p.Name, c.Name) {
				differences = append(differences, fmt.Sprintf("a new column %s would be called as the folders of the partition %s", c.Name, p.Name))
			}
		}
	}
	return differences
}

// inFiles are the fields that are written: without those that are in the names of folders.
func (s *Schema) inFiles(fields []parquetfile.Field) []parquetfile.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f parquetfile.Field) bool { return isLeftOut(s.Columns, s.Partitions, f.ID) })
}

// levels are the partitions of rows that are written as the fields say, which are all of the folder's.
func (s *Schema) levels(fields []parquetfile.Field) []partition.Field {
	var out []partition.Field
	for _, p := range s.Partitions {
		out = append(out, located(partition.Field{ID: p.ID, Name: p.Name, Transform: p.Transform, Width: p.Width}, fields, p.Source))
	}
	return out
}

// located is a partition's field with where the rows have its source. A column that they do not have is null.
func located(p partition.Field, fields []parquetfile.Field, source int) partition.Field {
	p.Path = []int{partition.Nowhere}
	if at, ok := lakesink.Locate(fields, source); ok {
		p.Path, p.Source, p.From = at.Path, at.Source, at.From
	}
	return p
}

// orderOf is how rows are sorted.
func orderOf(terms []layout.Order, all []Column, fields []parquetfile.Field) ([]partition.OrderField, error) {
	var out []partition.OrderField
	for _, o := range terms {
		c := byPath(all, o.Column)
		if c == nil {
			return nil, fmt.Errorf("sink.parquet.sortBy %s: the rows have no column %s, or it is inside a list or map", o, o.Column)
		}
		if !partition.Takes(o.Transform, c.kind()) {
			return nil, fmt.Errorf("sink.parquet.sortBy %s: column %s is %s, which cannot be sorted like this", o, o.Column, typeName(c.kind()))
		}
		out = append(out, partition.OrderField{Descending: o.Descending, NullsLast: o.NullsLast,
			Field: located(partition.Field{Transform: o.Transform, Width: o.Width}, fields, c.ID)})
	}
	return out, nil
}

// laidOut is what keeps files of the folder from being laid out as the options ask.
func (f *Folder) laidOut(s *Schema) (differences []string) {
	if _, err := orderOf(f.options.SortBy, s.Columns, nil); err != nil {
		differences = append(differences, err.Error())
	}
	if f.options.PartitionBy == nil {
		return differences
	}
	var has, asked []string
	for _, p := range s.Partitions {
		has = append(has, layout.Term{Transform: p.Transform, Width: p.Width, Column: pathOf(s.Columns, p.Source)}.String())
	}
	for _, t := range f.options.PartitionBy {
		asked = append(asked, t.String())
	}
	if !slices.Equal(has, asked) {
		differences = append(differences, fmt.Sprintf("the folder is partitioned by %s, and sink.parquet.partitionBy asks for %s: leave it out to follow the folder; other partitions are another folder, and another query, for readers fail on two kinds in one", listed(has), listed(asked)))
	}
	return differences
}

func listed(terms []string) string {
	if len(terms) == 0 {
		return "nothing"
	}
	return strings.Join(terms, ", ")
}
