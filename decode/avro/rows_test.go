package avro_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/ddl"
	"sluice/lakesink/rowtest"
)

// record is a schema of these fields.
func record(fields ...string) string {
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// field is a field of a type, which is written as JSON.
func field(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ) }

func logical(typ, name string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, typ, name) }

func mustParse(tb testing.TB, text string, known ...string) *avro.Schema {
	tb.Helper()
	s, err := avro.Parse(text, known...)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return s
}

func mustColumns(tb testing.TB, s *avro.Schema) columns.Schema {
	tb.Helper()
	schema, err := s.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func mustDDL(tb testing.TB, text string) columns.Schema {
	tb.Helper()
	schema, err := ddl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// mustCompile reads into the columns of a DDL, or into those of the schema if there is none.
func mustCompile(tb testing.TB, schema, to string, o avro.Options) *avro.Parser {
	tb.Helper()
	writer := mustParse(tb, schema)
	into := columns.Schema(nil)
	if to == "" {
		into = mustColumns(tb, writer)
	} else {
		into = mustDDL(tb, to)
	}
	p, err := avro.Compile(writer, into, o)
	if err != nil {
		tb.Fatalf("%s: %v", schema, err)
	}
	return p
}

// b is bytes in hexadecimal, with spaces.
func b(tb testing.TB, text string) []byte {
	tb.Helper()
	v, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// values renders the rows that were read.
func values(p *avro.Parser, dst []columns.Array) string {
	rows := []any{}
	for i := range dst[0].Len {
		rows = append(rows, rowtest.Row(p.Schema(), dst, i))
	}
	return rowtest.Text(rows)
}

// columnsText is a schema as DDL.
func columnsText(schema columns.Schema) string { return ddl.Format(schema) }
