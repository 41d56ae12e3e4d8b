package lakesink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// fit matches the columns of rows to those of a table by name, down into structs, lists and maps. It returns the fields
// to write, in the table's order, and every difference that stands in the way:
//
//   - a column that the table lacks would be lost;
//   - a required column that the rows lack or may leave empty could not be filled;
//   - types must be the same, or wider in the table (int to long, float to double, more decimal digits).
//
// Columns that only the table has are written as nulls.
func fit(schema *iceberg.Schema, rows columns.Schema) (fields []parquetfile.Field, differences []string) {
	m := &matcher{}
	return m.fields("", tableFields(schema.Fields()), rows), m.differences
}

type matcher struct{ differences []string }

func (m *matcher) differ(format string, args ...any) {
	m.differences = append(m.differences, fmt.Sprintf(format, args...))
}

func (m *matcher) fields(prefix string, has []tableField, rows []columns.Field) []parquetfile.Field {
	var fields []parquetfile.Field
	taken := map[string]bool{}
	for i := range has {
		f := &has[i]
		source := find(rows, f.name)
		if source == parquetfile.Nowhere {
			fields = append(fields, m.absent(prefix, f)...)
			continue
		}
		taken[f.name] = true
		fields = append(fields, m.field(prefix, f, &rows[source], source))
	}
	for _, r := range rows {
		if !taken[r.Name] {
			m.differ("the table has no column %s%s (%s)", prefix, r.Name, typeName(r.Type))
		}
	}
	return fields
}

func find(rows []columns.Field, name string) int {
	for i, r := range rows {
		if r.Name == name {
			return i
		}
	}
	return parquetfile.Nowhere
}

// absent is a column of nulls. A type that we cannot write is left out of the file, which readers take for nulls too.
func (m *matcher) absent(prefix string, f *tableField) []parquetfile.Field {
	if f.required {
		m.differ("column %s%s of the table is required and the rows do not have it", prefix, f.name)
		return nil
	}
	if f.writable() {
		return []parquetfile.Field{f.nowhere()}
	}
	return nil
}

func (f *tableField) writable() bool {
	if f.foreign != "" {
		return false
	}
	for i := range f.children {
		if !f.children[i].writable() {
			return false
		}
	}
	return f.kind.Kind != columns.Struct || len(f.children) > 0
}

// nowhere is the field with nothing in it. Sources inside it are never followed.
func (f *tableField) nowhere() parquetfile.Field {
	p := parquetfile.Field{Name: f.name, ID: f.id, Required: f.required, Type: f.kind, Source: parquetfile.Nowhere}
	for i := range f.children {
		p.Children = append(p.Children, f.children[i].nowhere())
	}
	return p
}

func (m *matcher) field(prefix string, f *tableField, row *columns.Field, source int) parquetfile.Field {
	path := prefix + f.name
	p := parquetfile.Field{Name: f.name, ID: f.id, Required: f.required, Type: f.kind, Source: source}
	if f.required && !row.Required {
		m.differ("column %s is required in the table and may be empty in the rows", path)
	}
	if !takes(f, row.Type) {
		m.differ("column %s is %s in the table and %s in the rows", path, f.typeName(), typeName(row.Type))
		return p
	}
	if widens(f.kind, row.Type) {
		p.From = row.Type
	}
	switch f.kind.Kind {
	case columns.Struct:
		p.Children = m.fields(path+".", f.children, row.Type.Fields)
	case columns.List, columns.Map:
		for i := range f.children { // by position: the names are the format's
			p.Children = append(p.Children, m.field(path+".", &f.children[i], &row.Type.Fields[i], i))
		}
	}
	return p
}

func takes(f *tableField, row columns.Type) bool {
	if f.foreign != "" {
		return false
	}
	if f.kind.Kind != row.Kind {
		return widens(f.kind, row)
	}
	switch row.Kind {
	case columns.Decimal:
		return f.kind.Scale == row.Scale && f.kind.Precision >= row.Precision
	case columns.Fixed:
		return f.kind.Width == row.Width
	case columns.List, columns.Map:
		return len(row.Fields) == len(f.children)
	}
	return true
}

// widens reports the promotions that Iceberg allows (specification, Schema Evolution): a table that was evolved that
// way goes on taking rows of the narrower type.
func widens(to, from columns.Type) bool {
	switch {
	case from.Kind == columns.Int32 && to.Kind == columns.Int64, from.Kind == columns.Float32 && to.Kind == columns.Float64:
		return true
	case from.Kind == columns.Decimal && to.Kind == columns.Decimal:
		return to.Precision > from.Precision
	}
	return false
}

// differing is fit for one table, with what its layout has against the rows.
func (i *Iceberg) differing(t *table.Table, rows columns.Schema) (fields []parquetfile.Field, differences []string) {
	fields, differences = fit(t.Schema(), rows)
	return fields, append(differences, i.layoutDifferences(t, fields)...)
}

// layoutDifferences are what keeps us from laying out rows as the table, or the job, wants it.
func (i *Iceberg) layoutDifferences(t *table.Table, fields []parquetfile.Field) []string {
	return slices.Concat(placeDifferences(t), propertiesOf(t).faults, i.askedDifferences(t, fields))
}

// layoutHint is what can be done about partitions and an order that the table does not have, or not for these columns.
const layoutHint = "leave sink.iceberg.partitionBy and sortBy out to follow the table, or make them what the table has and its columns allow; " +
	"or write to another table, which is created, and is another query"

// askedDifferences are those of partitions and order.
func (i *Iceberg) askedDifferences(t *table.Table, fields []parquetfile.Field) []string {
	differences := i.specDifferences(t, fields)
	if _, err := i.orderOf(t, fields); err != nil {
		differences = append(differences, err.Error())
	}
	return differences
}

// fieldsFor is differing with all that stands in the way as one Inconsistent fault.
func (i *Iceberg) fieldsFor(t *table.Table, rows columns.Schema) ([]parquetfile.Field, error) {
	fields, differences := i.differing(t, rows)
	if len(differences) == 0 {
		return fields, nil
	}
	hint := i.fitting(t)
	switch {
	case i.options.DeadLetters:
	case len(i.askedDifferences(t, fields)) == len(differences):
		hint = layoutHint
	case len(propertiesOf(t).faults) == len(differences):
		hint = "correct the properties of the table, or remove them (ALTER TABLE … UNSET TBLPROPERTIES): docs/tables.md lists what they mean"
	}
	return nil, &batch.Fault{Class: batch.Inconsistent, Hint: hint,
		Message: fmt.Sprintf("table %s does not take the rows: %s", i.TableName(), strings.Join(differences, "; "))}
}

// fitting is what can be done about a table that does not take the rows.
func (i *Iceberg) fitting(t *table.Table) string {
	if i.options.DeadLetters {
		return "give the table the columns of dead letters again (docs/formats.md lists them), or go on with another deadLetter.table, which is created"
	}
	hint := "alter the table (add the columns that it lacks, as optional ones; make optional what may be empty), or let a run do so (value.onUnknownField addColumn, with value.format json, avro or protobuf), or change the job; for another table, which is created, it is another query"
	if t.CurrentSnapshot() == nil {
		hint += ". This table has no rows yet: it may also be dropped together with the checkpoint, and both are made anew"
	}
	return hint
}
