package rowtest

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// FromArrow turns the rows of an Arrow record into values.
func FromArrow(record arrow.RecordBatch) [][]any {
	rows := make([][]any, record.NumRows())
	for c := range int(record.NumCols()) {
		for r := range rows {
			rows[r] = append(rows[r], arrowValue(record.Column(c), r))
		}
	}
	return rows
}

func arrowValue(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Date32:
		return int32(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return string([]byte(a.Value(i)))
	case *array.LargeString:
		return string([]byte(a.Value(i)))
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.LargeBinary:
		return append([]byte{}, a.Value(i)...)
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...)
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case array.ExtensionArray:
		return arrowValue(a.Storage(), i)
	}
	return arrowNested(a, i)
}

func arrowNested(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Map:
		entries := []Entry{}
		from, until := a.ValueOffsets(i)
		for k := from; k < until; k++ {
			entries = append(entries, Entry{arrowValue(a.Keys(), int(k)), arrowValue(a.Items(), int(k))})
		}
		return entries
	case array.ListLike:
		list := []any{}
		from, until := a.ValueOffsets(i)
		for k := from; k < until; k++ {
			list = append(list, arrowValue(a.ListValues(), int(k)))
		}
		return list
	case *array.Struct:
		var fields []any
		for f := range a.NumField() {
			fields = append(fields, arrowValue(a.Field(f), i))
		}
		return fields
	}
	panic(fmt.Sprintf("rowtest: no value of an Arrow %T", a))
}

// Text renders a value so that equal values have equal texts, also NaN and big.Int, and -0 differs from 0.
func Text(v any) string {
	switch v := v.(type) {
	case *big.Int:
		return "d" + v.String()
	case []byte:
		return fmt.Sprintf("x%x", v)
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		s := "["
		for _, e := range v {
			s += Text(e) + ","
		}
		return s + "]"
	case []Entry:
		s := "{"
		for _, e := range v {
			s += Text(e.Key) + ":" + Text(e.Value) + ","
		}
		return s + "}"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}
