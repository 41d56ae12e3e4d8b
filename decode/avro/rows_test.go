package avro_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
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

// rowAt takes a row out of columns.
func rowAt(schema []columns.Field, arrays []columns.Array, i int) []any {
	row := make([]any, len(schema))
	for k := range schema {
		row[k] = valueAt(&schema[k].Type, &arrays[k], i)
	}
	return row
}

func valueAt(t *columns.Type, a *columns.Array, i int) any {
	if !a.Valid(i) {
		return nil
	}
	switch t.Kind {
	case columns.Bool:
		return a.Data[i>>3]>>(i&7)&1 == 1
	case columns.Int32, columns.Date:
		return a.Int32s[i]
	case columns.Float32:
		return a.Float32s[i]
	case columns.Float64:
		return a.Float64s[i]
	case columns.String:
		return string(a.Bytes(i))
	case columns.Binary:
		return bytes.Clone(a.Bytes(i))
	case columns.Fixed:
		return bytes.Clone(a.Data[i*t.Width : (i+1)*t.Width])
	case columns.UUID:
		return bytes.Clone(a.Data[i*16 : (i+1)*16])
	case columns.Decimal:
		return decimalAt(t, a, i)
	case columns.List:
		list := []any{}
		for k, until := a.Span(i); k < until; k++ {
			list = append(list, valueAt(&t.Fields[0].Type, &a.Children[0], k))
		}
		return list
	case columns.Map:
		entries := []rowtest.Entry{}
		for k, until := a.Span(i); k < until; k++ {
			e := rowAt(t.Fields, a.Children[0].Children, k)
			entries = append(entries, rowtest.Entry{Key: e[0], Value: e[1]})
		}
		return entries
	case columns.Struct:
		return rowAt(t.Fields, a.Children, i)
	}
	return a.Int64s[i]
}

func decimalAt(t *columns.Type, a *columns.Array, i int) any {
	if t.Precision <= columns.WideDecimal {
		return big.NewInt(a.Int64s[i])
	}
	v := big.NewInt(int64(binary.LittleEndian.Uint64(a.Data[16*i+8:])))
	v.Lsh(v, 64)
	return v.Add(v, new(big.Int).SetUint64(binary.LittleEndian.Uint64(a.Data[16*i:])))
}

// sound checks what must hold of columns whatever is in them.
func sound(a *columns.Array, t *columns.Type, rows int, path string) error {
	values := map[columns.Kind]int{columns.Int32: len(a.Int32s), columns.Date: len(a.Int32s), columns.Int64: len(a.Int64s), columns.Time: len(a.Int64s),
		columns.Timestamp: len(a.Int64s), columns.TimestampTZ: len(a.Int64s), columns.Float32: len(a.Float32s), columns.Float64: len(a.Float64s),
		columns.Fixed: len(a.Data) / max(t.Width, 1), columns.UUID: len(a.Data) / 16}
	nulls := 0
	for i := range a.Len {
		if !a.Valid(i) {
			nulls++
		}
	}
	if got, ok := values[t.Kind]; ok && got != rows || a.Len != rows || nulls != a.Nulls || nulls == 0 != (len(a.Validity) == 0) {
		return fmt.Errorf("%s: %d values, %d rows, %d of %d nulls, want %d rows", path, got, a.Len, a.Nulls, nulls, rows)
	}
	inner, children := rows, a.Children
	if t.Kind == columns.List || t.Kind == columns.Map {
		if inner = 0; rows > 0 {
			_, inner = a.Span(rows - 1)
		}
	}
	if t.Kind == columns.Map {
		children = a.Children[0].Children
	}
	for i := range t.Fields {
		if err := sound(&children[i], &t.Fields[i].Type, inner, path+"."+t.Fields[i].Name); err != nil {
			return err
		}
		if t.Fields[i].Required && children[i].Nulls > 0 {
			return fmt.Errorf("%s.%s is required and has nulls", path, t.Fields[i].Name)
		}
	}
	return nil
}

// values renders the rows that were read.
func values(p *avro.Parser, dst []columns.Array) string {
	rows := []any{}
	for i := range dst[0].Len {
		rows = append(rows, rowAt(p.Schema(), dst, i))
	}
	return rowtest.Text(rows)
}

// columnsText is a schema as DDL.
func columnsText(schema columns.Schema) string { return ddl.Format(schema) }
