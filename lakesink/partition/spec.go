// Package partition computes the partition values of rows, as the Iceberg specification defines them (Partition Transforms,
// Appendix B: 32-bit hash requirements), straight from columns: no row or boxed value is made. It also has the forms that
// partition values take outside of a manifest: JSON (Appendix C) and the names of folders, which are those of the reference
// implementation.
package partition

import (
	"fmt"
	"slices"

	"sluice/columns"
	"sluice/layout"
)

// Nowhere is the only element of a Path that leads to no column: every value is null.
const Nowhere = -1

// Field is one field of a partition spec.
type Field struct {
	// ID is the field's id in manifests, Name the name that the spec gives it.
	ID        int
	Name      string
	Transform layout.Transform
	// Width is the number of a bucket's buckets or the length of a truncate.
	Width int
	// Path leads to the values: a column of the rows, then the children of structs.
	Path []int
	// Source is the type of the table's column, From that of the rows, which may be narrower.
	Source, From columns.Type
}

// Result is the type of the field's values (specification, Partition Transforms).
func (f *Field) Result() columns.Type {
	switch f.Transform {
	case layout.Bucket, layout.Year, layout.Month, layout.Hour:
		return columns.Type{Kind: columns.Int32}
	case layout.Day:
		return columns.Type{Kind: columns.Date}
	}
	return f.Source
}

// Takes reports whether a transform can be applied to values of a type.
func Takes(t layout.Transform, source columns.Type) bool {
	switch kind := source.Kind; t {
	case layout.Void:
		return true
	case layout.Identity:
		return kind < columns.List
	case layout.Bucket:
		return kind < columns.List && kind != columns.Bool && kind != columns.Float32 && kind != columns.Float64
	case layout.Truncate:
		return kind == columns.Int32 || kind == columns.Int64 || kind == columns.Decimal || kind == columns.String || kind == columns.Binary
	case layout.Year, layout.Month, layout.Day:
		return kind == columns.Date || kind == columns.Timestamp || kind == columns.TimestampTZ
	case layout.Hour:
		return kind == columns.Timestamp || kind == columns.TimestampTZ
	}
	return false
}

// Spec computes the values of all fields of a partition spec. It is used by one goroutine.
type Spec struct {
	fields []Field
	append []appender
}

// NewSpec makes a Spec. Every field's transform must take its source.
func NewSpec(fields []Field) (*Spec, error) {
	s := &Spec{fields: fields}
	for i := range fields {
		f := &fields[i]
		if !slices.Equal(f.Path, []int{Nowhere}) && !Takes(f.Transform, f.Source) {
			return nil, fmt.Errorf("partition field %s: %s does not take %s", f.Name, f.Transform, f.Source.Kind)
		}
		s.append = append(s.append, newAppender(f))
	}
	return s, nil
}

// Fields is how many fields the spec has.
func (s *Spec) Fields() int { return len(s.fields) }

// AppendKey adds the partition of a row to dst, in a form that is the same for equal partitions and for them alone. Values
// reads it.
func (s *Spec) AppendKey(dst []byte, rows *columns.Batch, row int) []byte {
	for i := range s.fields {
		a, at := find(rows.Columns, s.fields[i].Path, row)
		if a == nil || s.append[i] == nil {
			dst = append(dst, 0)
			continue
		}
		dst = s.append[i](append(dst, 1), a, at)
	}
	return dst
}

// find follows a path to the value of a row. The array is nil where it is null.
func find(columns []columns.Array, path []int, row int) (*columns.Array, int) {
	for k, p := range path {
		if p == Nowhere {
			return nil, 0
		}
		a := &columns[p]
		if !a.Valid(row) {
			return nil, 0
		}
		if a.Repeat {
			row = 0
		}
		if k == len(path)-1 {
			return a, row
		}
		columns = a.Children
	}
	return nil, 0
}

// Single reports whether all rows are in one partition for a reason that needs no look at them: every field is constant.
func (s *Spec) Single(rows *columns.Batch) bool {
	for i := range s.fields {
		path := s.fields[i].Path
		if s.append[i] == nil || len(path) == 0 || path[0] == Nowhere {
			continue
		}
		if !rows.Columns[path[0]].Repeat {
			return false
		}
	}
	return true
}
