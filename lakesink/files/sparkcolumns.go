package files

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// columnsIn are the columns of a Parquet file of Spark's. Whatever says a timestamp of the old form (INT96), which Spark writes by
// default, is one with a zone: Spark has no other in that form.
func columnsIn(elements []format.SchemaElement) ([]columns.Field, error) {
	if len(elements) == 0 || !elements[0].NumChildren.Valid {
		return nil, errors.New("its footer has no columns")
	}
	r := &elementReader{rest: elements[1:]}
	return r.fields("", int(elements[0].NumChildren.V))
}

// elementReader reads the elements of a schema, which are in the order of a depth-first walk.
type elementReader struct{ rest []format.SchemaElement }

func (r *elementReader) next() (*format.SchemaElement, error) {
	if len(r.rest) == 0 {
		return nil, errors.New("its footer ends among its columns")
	}
	e := &r.rest[0]
	r.rest = r.rest[1:]
	return e, nil
}

func (r *elementReader) fields(prefix string, n int) ([]columns.Field, error) {
	if n < 0 || n > len(r.rest) {
		return nil, errors.New("its footer ends among its columns")
	}
	all := make([]columns.Field, n)
	for i := range all {
		e, err := r.next()
		if err != nil {
			return nil, err
		}
		all[i] = columns.Field{Name: e.Name, Required: e.RepetitionType.V == format.Required}
		if e.RepetitionType.V == format.Repeated {
			return nil, fmt.Errorf("column %s%s is repeated without being a list", prefix, e.Name)
		}
		if all[i].Type, err = r.kind(prefix+e.Name, e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// kind is the type of an element; what is inside is read on.
func (r *elementReader) kind(path string, e *format.SchemaElement) (columns.Type, error) {
	if e.Type.Valid {
		t, ok := leafType(e)
		if !ok {
			return t, fmt.Errorf("column %s is %s (%s), for which sluice has no word", path, e.Type.V, e.LogicalType.String())
		}
		return t, nil
	}
	_, isList := e.LogicalType.Value.(*format.ListType)
	_, isMap := e.LogicalType.Value.(*format.MapType)
	isList = isList || e.ConvertedType.Valid && e.ConvertedType.V == deprecated.List
	isMap = isMap || e.ConvertedType.Valid && (e.ConvertedType.V == deprecated.Map || e.ConvertedType.V == deprecated.MapKeyValue)
	t, n := columns.Type{Kind: columns.Struct}, int(e.NumChildren.V)
	if isList || isMap {
		t.Kind = map[bool]columns.Kind{true: columns.List, false: columns.Map}[isList]
		repeated, err := r.next()
		want := map[bool]int32{true: 1, false: 2}[isList]
		if err != nil || n != 1 || repeated.Type.Valid || repeated.RepetitionType.V != format.Repeated || repeated.NumChildren.V != want {
			return t, fmt.Errorf("column %s is a %s in an old form", path, t.Kind)
		}
		n = int(want)
	}
	var err error
	t.Fields, err = r.fields(path+".", n)
	return t, err
}

// leafType is the type of values. Where a file has both, the logical type says what the converted one does.
func leafType(e *format.SchemaElement) (t columns.Type, ok bool) {
	switch logical := e.LogicalType.Value.(type) {
	case *format.StringType:
		return columns.Type{Kind: columns.String}, e.Type.V == format.ByteArray
	case *format.DateType:
		return columns.Type{Kind: columns.Date}, e.Type.V == format.Int32
	case *format.TimestampType:
		_, micros := logical.Unit.Value.(*format.MicroSeconds)
		kind := map[bool]columns.Kind{true: columns.TimestampTZ, false: columns.Timestamp}[logical.IsAdjustedToUTC]
		return columns.Type{Kind: kind}, micros && e.Type.V == format.Int64
	case *format.DecimalType:
		return columns.Type{Kind: columns.Decimal, Precision: int(logical.Precision), Scale: int(logical.Scale)}, true
	case *format.UUIDType:
		return columns.Type{Kind: columns.UUID}, e.Type.V == format.FixedLenByteArray
	case *format.IntType:
		kind := map[int8]columns.Kind{32: columns.Int32, 64: columns.Int64}[logical.BitWidth]
		return columns.Type{Kind: kind}, kind != 0 && logical.IsSigned
	case nil:
	default:
		return t, false
	}
	if e.ConvertedType.Valid {
		return convertedType(e)
	}
	t.Kind, ok = map[format.Type]columns.Kind{format.Boolean: columns.Bool, format.Int32: columns.Int32, format.Int64: columns.Int64, format.Int96: columns.TimestampTZ,
		format.Float: columns.Float32, format.Double: columns.Float64, format.ByteArray: columns.Binary}[e.Type.V]
	return t, ok
}

// convertedType is the type of values of a file that says it in the older form alone.
func convertedType(e *format.SchemaElement) (t columns.Type, ok bool) {
	switch e.ConvertedType.V {
	case deprecated.UTF8:
		return columns.Type{Kind: columns.String}, true
	case deprecated.Date:
		return columns.Type{Kind: columns.Date}, true
	case deprecated.TimestampMicros:
		return columns.Type{Kind: columns.TimestampTZ}, true
	case deprecated.Decimal:
		return columns.Type{Kind: columns.Decimal, Precision: int(e.Precision.V), Scale: int(e.Scale.V)}, true
	}
	return t, false
}
