package ddl

import (
	"maps"
	"slices"

	"sluice/columns"
	"sluice/spelling"
)

// plain are the types that are a name alone. Iceberg has no integers below 32 bits: TINYINT and SMALLINT become INT.
var plain = map[string]columns.Kind{
	"BOOLEAN": columns.Bool, "BOOL": columns.Bool,
	"TINYINT": columns.Int32, "BYTE": columns.Int32, "SMALLINT": columns.Int32, "SHORT": columns.Int32,
	"INT": columns.Int32, "INTEGER": columns.Int32, "BIGINT": columns.Int64, "LONG": columns.Int64,
	"FLOAT": columns.Float32, "REAL": columns.Float32, "DOUBLE": columns.Float64,
	"STRING": columns.String, "BINARY": columns.Binary, "DATE": columns.Date, "TIME": columns.Time,
	"TIMESTAMP": columns.TimestampTZ, "TIMESTAMP_LTZ": columns.TimestampTZ, "TIMESTAMP_NTZ": columns.Timestamp,
	"UUID": columns.UUID,
}

// sized are the types with numbers in parentheses, and nested those with types in angle brackets.
var (
	sized  = []string{"DECIMAL", "DEC", "NUMERIC", "VARCHAR", "CHAR", "CHARACTER", "FIXED"}
	nested = []string{"ARRAY", "MAP", "STRUCT"}
)

// refused are Spark's other types, with why a table cannot have them.
var refused = map[string]string{
	"INTERVAL":     "Iceberg has no intervals; keep the value as STRING, or as BIGINT of a unit",
	"VOID":         "a column of nothing but nulls; leave it out, or give it the type that its values will have",
	"NULL":         "a column of nothing but nulls; leave it out, or give it the type that its values will have",
	"VARIANT":      "Iceberg has it from format version 3 on, which many readers do not read; use STRING with the format json, which keeps the text of the value",
	"OBJECT":       "it is Spark's name for objects of the JVM; use STRUCT<…>",
	"GEOMETRY":     "Iceberg has it from format version 3 on, which many readers do not read; use BINARY or STRING",
	"GEOGRAPHY":    "Iceberg has it from format version 3 on, which many readers do not read; use BINARY or STRING",
	"TEXT":         "Spark calls it STRING",
	"JSON":         "use STRING with the format json, which keeps the text of the value",
	"DATETIME":     "Spark calls it TIMESTAMP, or TIMESTAMP_NTZ without a zone",
	"TIMESTAMPTZ":  "Spark calls it TIMESTAMP",
	"TIMESTAMP_NS": "tables hold microseconds; use TIMESTAMP",
	"INT64":        "Spark calls it BIGINT",
	"INT32":        "Spark calls it INT",
	"UINT64":       "there are no unsigned types; use DECIMAL(20,0)",
	"LIST":         "Spark calls it ARRAY",
}

// nearest is the type name that text is likely meant to be, empty if none is near.
func nearest(text string) string {
	return spelling.Best(text, slices.Concat(slices.Collect(maps.Keys(plain)), sized, nested), 1+len(text)/3)
}
