package ddl

import (
	"fmt"
	"strings"

	"sluice/columns"
)

// Format writes a schema so that Parse reads the same back, one column a line. It writes each type under the name that
// Spark prints.
func Format(schema columns.Schema) string {
	lines := make([]string, len(schema))
	for i, f := range schema {
		lines[i] = formatField(f, " ")
	}
	return strings.Join(lines, ",\n")
}

func formatField(f columns.Field, colon string) string {
	s := quoteName(f.Name) + colon + FormatType(f.Type)
	if f.Required {
		s += " NOT NULL"
	}
	if f.Doc != "" {
		s += " COMMENT '" + docs.Replace(f.Doc) + "'"
	}
	return s
}

var docs = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quoteName puts a name into backticks where it needs them.
func quoteName(name string) string {
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return r > 127 || !isWord(r) }) < 0 {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

var names = map[columns.Kind]string{
	columns.Bool: "BOOLEAN", columns.Int32: "INT", columns.Int64: "BIGINT", columns.Float32: "FLOAT", columns.Float64: "DOUBLE",
	columns.Date: "DATE", columns.Time: "TIME", columns.Timestamp: "TIMESTAMP_NTZ", columns.TimestampTZ: "TIMESTAMP",
	columns.String: "STRING", columns.Binary: "BINARY", columns.UUID: "UUID",
}

// FormatType writes one type.
func FormatType(t columns.Type) string {
	switch t.Kind {
	case columns.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case columns.Fixed:
		return fmt.Sprintf("FIXED(%d)", t.Width)
	case columns.List:
		return "ARRAY<" + formatPart(t.Fields[0]) + ">"
	case columns.Map:
		return "MAP<" + FormatType(t.Fields[0].Type) + ", " + formatPart(t.Fields[1]) + ">"
	case columns.Struct:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = formatField(f, ": ")
		}
		return "STRUCT<" + strings.Join(fields, ", ") + ">"
	}
	return names[t.Kind]
}

func formatPart(f columns.Field) string {
	if f.Required {
		return FormatType(f.Type) + " NOT NULL"
	}
	return FormatType(f.Type)
}
