package cmd

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"sluice/columns"
	"sluice/progress"
)

// nested is a list, map or struct: JSON in both forms of a result.
type nested struct{ value any }

func (n nested) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

func (n nested) String() string {
	text, err := json.Marshal(n.value)
	if err != nil {
		return fmt.Sprint(n.value)
	}
	return string(text)
}

// cellOf copies a value out of a column, in one of the types that progress.Peek shows.
func cellOf(a *columns.Array, t columns.Type, i int) any {
	if !a.Valid(i) {
		return nil
	}
	switch t.Kind {
	case columns.List:
		if isHeaders(t) {
			return headersOf(a, i)
		}
		return nested{plainOf(a, t, i)}
	case columns.Map, columns.Struct:
		return nested{plainOf(a, t, i)}
	case columns.Binary:
		return progress.Bytes(slices.Clone(a.Bytes(i)))
	}
	if a.Repeat {
		i = 0
	}
	return scalarOf(a, t, i)
}

// scalarOf is a value of fixed width or a text; i counts stored values.
func scalarOf(a *columns.Array, t columns.Type, i int) any {
	switch t.Kind {
	case columns.Bool:
		return a.Data[i>>3]&(1<<(i&7)) != 0
	case columns.Int32:
		return a.Int32s[i]
	case columns.Int64:
		return a.Int64s[i]
	case columns.Float32:
		return widened(a.Float32s[i])
	case columns.Float64:
		return a.Float64s[i]
	case columns.Decimal:
		return decimalText(unscaled(a, i), t.Scale)
	case columns.Date:
		return time.Unix(int64(a.Int32s[i])*86400, 0).UTC().Format(time.DateOnly)
	case columns.Time:
		return time.UnixMicro(a.Int64s[i]).UTC().Format("15:04:05.000000")
	case columns.Timestamp:
		return zoneless(time.UnixMicro(a.Int64s[i]))
	case columns.TimestampTZ:
		return time.UnixMicro(a.Int64s[i]).UTC()
	case columns.String:
		return string(a.Data[a.Offsets[i]:a.Offsets[i+1]])
	case columns.Fixed:
		return hex.EncodeToString(a.Data[i*t.Width : (i+1)*t.Width])
	case columns.UUID:
		text := hex.EncodeToString(a.Data[i*16 : (i+1)*16])
		return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	}
	return fmt.Sprintf("(%s)", t.Kind)
}

// plainOf is a value inside of a nested one, as encoding/json takes it.
func plainOf(a *columns.Array, t columns.Type, i int) any {
	if !a.Valid(i) {
		return nil
	}
	switch t.Kind {
	case columns.Struct:
		fields := map[string]any{}
		for f, field := range t.Fields {
			fields[field.Name] = plainOf(&a.Children[f], field.Type, i)
		}
		return fields
	case columns.List:
		items := []any{}
		for from, until := a.Span(i); from < until; from++ {
			items = append(items, plainOf(&a.Children[0], t.Fields[0].Type, from))
		}
		return items
	case columns.Map:
		entries := map[string]any{}
		for from, until := a.Span(i); from < until; from++ {
			pair := &a.Children[0]
			entries[fmt.Sprint(plainOf(&pair.Children[0], t.Fields[0].Type, from))] = plainOf(&pair.Children[1], t.Fields[1].Type, from)
		}
		return entries
	}
	return cellOf(a, t, i)
}

// isHeaders says whether the type is that of a record's headers.
func isHeaders(t columns.Type) bool {
	if len(t.Fields) != 1 || len(t.Fields[0].Type.Fields) != 2 {
		return false
	}
	key, value := t.Fields[0].Type.Fields[0], t.Fields[0].Type.Fields[1]
	return key.Name == "key" && key.Type.Kind == columns.String && value.Name == "value" && value.Type.Kind == columns.Binary
}

func headersOf(a *columns.Array, i int) []progress.PeekHeader {
	headers := []progress.PeekHeader{}
	pair := a.Children[0].Children
	for from, until := a.Span(i); from < until; from++ {
		headers = append(headers, progress.PeekHeader{Key: string(pair[0].Bytes(from)), Value: slices.Clone(pair[1].Bytes(from))})
	}
	return headers
}

// widened keeps the digits that a float32 shows: 0.1 and not 0.10000000149011612.
func widened(f float32) float64 {
	wide, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return float64(f)
	}
	return wide
}

// unscaled is a decimal without its point: 64 bits, or 128 in two's complement, little-endian.
func unscaled(a *columns.Array, i int) *big.Int {
	if len(a.Data) == 0 {
		return big.NewInt(a.Int64s[i])
	}
	bytes := slices.Clone(a.Data[i*16 : (i+1)*16])
	slices.Reverse(bytes)
	n := new(big.Int).SetBytes(bytes)
	if bytes[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return n
}

func decimalText(n *big.Int, scale int) string {
	digits := new(big.Int).Abs(n).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

// arrowCell copies a value out of a column that iceberg-go has read, as cellOf does.
func arrowCell(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return widened(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.LargeString:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return copied(a.Value(i))
	case *array.LargeBinary:
		return copied(a.Value(i))
	case *array.Decimal128:
		return decimalText(a.Value(i).BigInt(), int(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Time64:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.000000")
	case *array.FixedSizeBinary:
		return hex.EncodeToString(a.Value(i))
	case *array.Timestamp:
		kind := a.DataType().(*arrow.TimestampType)
		if kind.TimeZone == "" {
			return zoneless(a.Value(i).ToTime(kind.Unit))
		}
		return a.Value(i).ToTime(kind.Unit)
	case *array.Map:
		return nested{arrowPlain(a, i)}
	case array.ListLike:
		if isArrowHeaders(a.ListValues()) {
			return arrowHeaders(a, i)
		}
		return nested{arrowPlain(a, i)}
	case *array.Struct:
		return nested{arrowPlain(a, i)}
	}
	return a.ValueStr(i)
}

// arrowPlain is a value inside of a nested one, as plainOf has it.
func arrowPlain(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Struct:
		fields := map[string]any{}
		for f, field := range a.DataType().(*arrow.StructType).Fields() {
			fields[field.Name] = arrowPlain(a.Field(f), i)
		}
		return fields
	case *array.Map:
		entries := map[string]any{}
		for from, until := a.ValueOffsets(i); from < until; from++ {
			entries[fmt.Sprint(arrowPlain(a.Keys(), int(from)))] = arrowPlain(a.Items(), int(from))
		}
		return entries
	case array.ListLike:
		items := []any{}
		for from, until := a.ValueOffsets(i); from < until; from++ {
			items = append(items, arrowPlain(a.ListValues(), int(from)))
		}
		return items
	}
	return arrowCell(a, i)
}

// zoneless is a time that no zone is known of.
func zoneless(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

// copied is never nil, which would be null.
func copied(b []byte) progress.Bytes { return append(progress.Bytes{}, b...) }

// isArrowHeaders says whether the elements of a list are headers of a record.
func isArrowHeaders(elements arrow.Array) bool {
	pair, ok := elements.(*array.Struct)
	if !ok || pair.NumField() != 2 {
		return false
	}
	key, value := pair.DataType().(*arrow.StructType).Field(0), pair.DataType().(*arrow.StructType).Field(1)
	return key.Name == "key" && value.Name == "value" && arrow.IsBaseBinary(pair.Field(0).DataType().ID()) && isBytes(value.Type)
}

func isBytes(t arrow.DataType) bool { return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY }

func arrowHeaders(a array.ListLike, i int) any {
	pair := a.ListValues().(*array.Struct)
	headers := []progress.PeekHeader{}
	for from, until := a.ValueOffsets(i); from < until; from++ {
		h := progress.PeekHeader{}
		h.Key, _ = arrowCell(pair.Field(0), int(from)).(string)
		h.Value, _ = arrowCell(pair.Field(1), int(from)).(progress.Bytes)
		headers = append(headers, h)
	}
	return headers
}
