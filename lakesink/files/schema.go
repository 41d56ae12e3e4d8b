package files

import (
	"encoding/json"
	"fmt"
	"strings"

	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// formatVersion is the version of the JSON forms in the folder. A reader refuses any other. Columns of a folder with partitions
// have another one, so that a program which does not know of them writes nothing there.
const formatVersion, partitionedVersion = 1, 2

// begunBySparkVersion is that of a folder which Spark has begun, sparkVersion that of a manifest with batches of Spark's, and of a
// range with such a manifest: a program that does not know of them would take Spark's rows for none.
const begunBySparkVersion, sparkVersion = 3, 2

// Column is a column of the folder, or a part of one: the element of a list, the key and value of a map, a struct's field.
type Column struct {
	// ID is the field id in every data file. It is never used for another column.
	ID        int          `json:"id"`
	Name      string       `json:"name"`
	Kind      columns.Kind `json:"kind"`
	Precision int          `json:"precision,omitempty"`
	Scale     int          `json:"scale,omitempty"`
	Width     int          `json:"width,omitempty"`
	Required  bool         `json:"required,omitempty"`
	Fields    []Column     `json:"fields,omitempty"`
}

// Schema is the folder's columns after a change.
type Schema struct {
	V int `json:"v"`
	// Folder is the folder's UUID.
	Folder string `json:"folder"`
	// ID counts the changes: 0 is what the folder began with.
	ID int `json:"id"`
	// By is the program that made it.
	By      string   `json:"by,omitempty"`
	Columns []Column `json:"columns"`
	// Partitions are the levels of folders, outermost first. They are the same after every change.
	Partitions []Partition `json:"partitions,omitempty"`
	// Spark says that Spark has begun the folder, so that what its log lists counts before there is any manifest.
	Spark bool `json:"spark,omitempty"`
}

// version is the version of its form.
func (s *Schema) version() int {
	if s.Spark {
		return begunBySparkVersion
	}
	if len(s.Partitions) > 0 {
		return partitionedVersion
	}
	return formatVersion
}

func parseSchema(text []byte) (*Schema, error) {
	var s Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	switch {
	case s.V != s.version():
		return nil, fmt.Errorf("it has format version %d, this program knows %d, %d with partitions, and %d where Spark has begun", s.V, formatVersion, partitionedVersion, begunBySparkVersion)
	case s.Folder == "" || len(s.Columns) == 0:
		return nil, fmt.Errorf("it names no folder or no columns")
	}
	return &s, nil
}

// kind is the type without what is inside.
func (c *Column) kind() columns.Type {
	return columns.Type{Kind: c.Kind, Precision: c.Precision, Scale: c.Scale, Width: c.Width}
}

// newColumns gives columns the next ids, level by level as Iceberg does.
func newColumns(fields []columns.Field, last *int) []Column {
	made := make([]Column, len(fields))
	for i, f := range fields {
		*last++
		made[i] = Column{ID: *last, Name: f.Name, Required: f.Required, Kind: f.Type.Kind, Precision: f.Type.Precision, Scale: f.Type.Scale, Width: f.Type.Width}
	}
	for i, f := range fields {
		if len(f.Type.Fields) > 0 {
			made[i].Fields = newColumns(f.Type.Fields, last)
		}
	}
	return made
}

// eachColumn visits columns and what is inside them.
func eachColumn(all []Column, visit func(*Column)) {
	for i := range all {
		visit(&all[i])
		eachColumn(all[i].Fields, visit)
	}
}

func lastID(all []Column) (last int) {
	eachColumn(all, func(c *Column) { last = max(last, c.ID) })
	return last
}

// typesOf maps the id of every column to its type.
func typesOf(all []Column) map[int]columns.Type {
	types := map[int]columns.Type{}
	eachColumn(all, func(c *Column) { types[c.ID] = c.kind() })
	return types
}

// rowsOf is the columns in the words of rows.
func rowsOf(all []Column) []columns.Field {
	var fields []columns.Field
	for i := range all {
		c := &all[i]
		f := columns.Field{Name: c.Name, Type: c.kind(), Required: c.Required}
		f.Type.Fields = rowsOf(c.Fields)
		fields = append(fields, f)
	}
	return fields
}

// matching compares the folder's columns with those of rows.
type matching struct{ differences []string }

func (m *matching) differ(format string, parts ...any) {
	m.differences = append(m.differences, fmt.Sprintf(format, parts...))
}

// fit matches the columns of rows to the folder's by name. It returns what to write, in the folder's order, and everything
// that stands in the way: a column that the folder lacks would be lost, a required one that rows may leave empty could not be
// filled, and readers of Parquet find one type for a column in all files. Columns that rows lack are written as nulls.
func fit(has []Column, rows []columns.Field) ([]parquetfile.Field, []string) {
	m := &matching{}
	return m.fields("", has, rows), m.differences
}

func (m *matching) fields(prefix string, has []Column, rows []columns.Field) []parquetfile.Field {
	fields, taken := make([]parquetfile.Field, 0, len(has)), map[string]bool{}
	for i := range has {
		c := &has[i]
		at := find(rows, c.Name)
		switch {
		case at != parquetfile.Nowhere:
			taken[c.Name] = true
			fields = append(fields, m.field(prefix, c, &rows[at], at))
		case c.Required:
			m.differ("column %s%s of the folder is required and the rows do not have it", prefix, c.Name)
		default:
			fields = append(fields, c.nowhere())
		}
	}
	for _, r := range rows {
		if !taken[r.Name] {
			m.differ("the folder has no column %s%s (%s)", prefix, r.Name, typeName(r.Type))
		}
	}
	return fields
}

func find(rows []columns.Field, name string) int {
	for i := range rows {
		if rows[i].Name == name {
			return i
		}
	}
	return parquetfile.Nowhere
}

// nowhere is a column of nulls.
func (c *Column) nowhere() parquetfile.Field {
	f := parquetfile.Field{Name: c.Name, ID: c.ID, Required: c.Required, Type: c.kind(), Source: parquetfile.Nowhere}
	for i := range c.Fields {
		f.Children = append(f.Children, c.Fields[i].nowhere())
	}
	return f
}

func (m *matching) field(prefix string, c *Column, row *columns.Field, at int) parquetfile.Field {
	path := prefix + c.Name
	f := parquetfile.Field{Name: c.Name, ID: c.ID, Required: c.Required, Type: c.kind(), Source: at}
	if c.Required && !row.Required {
		m.differ("column %s is required in the folder and may be empty in the rows", path)
	}
	if !c.takes(row.Type) {
		m.differ("column %s is %s in the folder and %s in the rows", path, typeName(c.kind()), typeName(row.Type))
		return f
	}
	if widens(c.kind(), row.Type) {
		f.From = row.Type
	}
	switch c.Kind {
	case columns.Struct:
		f.Children = m.fields(path+".", c.Fields, row.Type.Fields)
	case columns.List, columns.Map:
		for i := range c.Fields { // by position: the names are the format's
			f.Children = append(f.Children, m.field(path+".", &c.Fields[i], &row.Type.Fields[i], i))
		}
	}
	return f
}

// takes says whether the column holds values of a type.
func (c *Column) takes(row columns.Type) bool {
	if c.Kind != row.Kind {
		return widens(c.kind(), row)
	}
	switch row.Kind {
	case columns.Decimal:
		return c.Scale == row.Scale && c.Precision >= row.Precision
	case columns.Fixed:
		return c.Width == row.Width
	case columns.List, columns.Map:
		return len(row.Fields) == len(c.Fields)
	}
	return true
}

// widens says whether every value of a narrower type is written as one of the wider.
func widens(to, from columns.Type) bool {
	switch {
	case from.Kind == columns.Int32 && to.Kind == columns.Int64, from.Kind == columns.Float32 && to.Kind == columns.Float64:
		return true
	case from.Kind == columns.Decimal && to.Kind == columns.Decimal:
		return to.Scale == from.Scale && to.Precision > from.Precision
	}
	return false
}

// typeName is the word for a type in messages.
func typeName(t columns.Type) string {
	switch t.Kind {
	case columns.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case columns.Fixed:
		return fmt.Sprintf("fixed[%d]", t.Width)
	}
	return t.Kind.String()
}

// evolution makes columns take rows: columns are added at the end, also inside of others, and made optional. A type is never
// changed: files that are there have the old one.
type evolution struct {
	matching
	changes []string
	last    int
}

// evolved is the folder's columns as rows need them, what is altered by that in words, and what cannot be.
func evolved(has []Column, rows []columns.Field) (wider []Column, changes, differences []string) {
	e := &evolution{last: lastID(has)}
	wider = e.fields("", has, rows)
	if len(e.differences) == 0 {
		_, e.differences = fit(wider, rows)
	}
	return wider, e.changes, e.differences
}

func (e *evolution) change(format string, parts ...any) {
	e.changes = append(e.changes, fmt.Sprintf(format, parts...))
}

func (e *evolution) fields(prefix string, has []Column, rows []columns.Field) []Column {
	all, names := make([]Column, len(has), len(has)+len(rows)), map[string]string{}
	for i := range has {
		names[strings.ToLower(has[i].Name)] = has[i].Name
		all[i] = has[i]
		if at := find(rows, has[i].Name); at != parquetfile.Nowhere {
			all[i] = e.column(prefix+has[i].Name, has[i], &rows[at])
		}
	}
	for i := range rows {
		row := &rows[i]
		twin, there := names[strings.ToLower(row.Name)]
		switch {
		case there && twin == row.Name:
		case there:
			e.differ("the folder has no column %s%s, and a column %s%s: the two would differ by case only, and Spark and Hive could read neither", prefix, row.Name, prefix, twin)
		default:
			names[strings.ToLower(row.Name)] = row.Name
			optional := *row
			optional.Required = false
			all = append(all, newColumns([]columns.Field{optional}, &e.last)...)
			e.change("add %s%s %s", prefix, row.Name, typeName(row.Type))
		}
	}
	return all
}

// column is one column as it has to be. What its type does not take is found by fit.
func (e *evolution) column(path string, c Column, row *columns.Field) Column {
	if c.Required && !row.Required {
		c.Required = false
		e.change("make %s optional", path)
	}
	switch {
	case !c.takes(row.Type):
	case c.Kind == columns.Struct:
		c.Fields = e.fields(path+".", c.Fields, row.Type.Fields)
	case c.Kind == columns.List:
		c.Fields = []Column{e.column(path+".element", c.Fields[0], &row.Type.Fields[0])}
	case c.Kind == columns.Map: // a key stays as it is
		c.Fields = []Column{c.Fields[0], e.column(path+".value", c.Fields[1], &row.Type.Fields[1])}
	}
	return c
}
