package rowtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"

	"sluice/columns"
)

// Row takes row i out of columns: a value for each of fields.
func Row(fields []columns.Field, arrays []columns.Array, i int) []any {
	row := make([]any, len(fields))
	for k := range fields {
		row[k] = Value(&fields[k].Type, &arrays[k], i)
	}
	return row
}

// Value takes row i out of one column, which stores a value for each row.
func Value(t *columns.Type, a *columns.Array, i int) any {
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
		return decimal(t, a, i)
	case columns.List:
		list := []any{}
		for k, until := a.Span(i); k < until; k++ {
			list = append(list, Value(&t.Fields[0].Type, &a.Children[0], k))
		}
		return list
	case columns.Map:
		entries := []Entry{}
		for k, until := a.Span(i); k < until; k++ {
			e := Row(t.Fields, a.Children[0].Children, k)
			entries = append(entries, Entry{Key: e[0], Value: e[1]})
		}
		return entries
	case columns.Struct:
		return Row(t.Fields, a.Children, i)
	}
	return a.Int64s[i]
}

func decimal(t *columns.Type, a *columns.Array, i int) *big.Int {
	if t.Precision <= columns.WideDecimal {
		return big.NewInt(a.Int64s[i])
	}
	v := big.NewInt(int64(binary.LittleEndian.Uint64(a.Data[16*i+8:])))
	v.Lsh(v, 64)
	return v.Add(v, new(big.Int).SetUint64(binary.LittleEndian.Uint64(a.Data[16*i:])))
}

// Sound says what is wrong with the layout of a column of so many rows, whatever is in it; nil if nothing is. path is its
// name, for the error.
func Sound(a *columns.Array, t *columns.Type, rows int, path string) error {
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
		if a.Children[0].Len != inner {
			return fmt.Errorf("%s: %d entries, want %d", path, a.Children[0].Len, inner)
		}
		children = a.Children[0].Children
	}
	for i := range t.Fields {
		if err := Sound(&children[i], &t.Fields[i].Type, inner, path+"."+t.Fields[i].Name); err != nil {
			return err
		}
		if t.Fields[i].Required && children[i].Nulls > 0 {
			return fmt.Errorf("%s.%s is required and has nulls", path, t.Fields[i].Name)
		}
	}
	return nil
}
