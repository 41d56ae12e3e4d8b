package progress

import "io"

// Schema is what schema infer found: columns to start from, and what to know of them.
type Schema struct {
	// From is the topic or the file that was sampled, Which at which end: newest, oldest, or the first lines of a file.
	From  string `json:"from"`
	Which string `json:"which"`
	// Sampled counts the values taken: Rows have a row in the schema, Tombstones have no value, and the rest are in Misfits.
	Sampled    int64 `json:"sampled"`
	Rows       int64 `json:"rows"`
	Tombstones int64 `json:"tombstones"`
	// Schema is the columns in Spark's DDL, as value.schema takes it, and Columns are the same one by one; empty if no field
	// has a column.
	Schema  string       `json:"schema"`
	Columns []PlanColumn `json:"columns"`
	// ColumnFormats are options that the schema needs, for value.json.columnFormats, by the path of the column.
	ColumnFormats map[string]string `json:"columnFormats"`
	Remarks       []SchemaRemark    `json:"remarks"`
	// Misfits are values that are no record of JSON, or have no row in the schema all the same, by reason.
	Misfits []SchemaMisfit `json:"misfits"`
}

// SchemaRemark is something to know of a column.
type SchemaRemark struct {
	// About is one of a fixed set of words, such as "left out".
	About string `json:"about"`
	// Path is the column's; empty for the record itself.
	Path string `json:"path"`
	Text string `json:"text"`
}

// SchemaMisfit is values that are no row for one reason.
type SchemaMisfit struct {
	Reason string `json:"reason"`
	// Looks says what they may be instead of JSON; empty if they look like it.
	Looks string `json:"looks"`
	Count int64  `json:"count"`
	// Place is that of the first of them, and Error what is wrong with it.
	Place string `json:"place"`
	Error string `json:"error"`
}

// Type is "schema".
func (s *Schema) Type() string { return "schema" }

// WriteText writes the DDL alone, so that it can become a file; nothing if there is none.
func (s *Schema) WriteText(w io.Writer) error {
	if s.Schema == "" {
		return nil
	}
	_, err := io.WriteString(w, s.Schema+"\n")
	return err
}
