package maintain

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"sluice/columns"
)

// fill makes an empty column those values of an Arrow array that is of the same type. It copies: the two differ in where values
// begin, and the copy is a hundredth of what compressing the values takes.
func fill(to *columns.Array, t *columns.Type, from arrow.Array) error {
	if e, ok := from.(array.ExtensionArray); ok {
		from = e.Storage()
	}
	ok, err := true, error(nil)
	switch t.Kind {
	case columns.List, columns.Map:
		ok, err = fillSpans(to, t, from)
	case columns.Struct:
		ok, err = fillStruct(to, t, from)
	case columns.String, columns.Binary:
		ok, err = fillTexts(to, from)
	default:
		ok = fillFixed(to, t, from)
	}
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("a column of %s is read as %s", t.Kind, from.DataType())
	}
	to.Len, to.Nulls = from.Len(), from.NullN()
	if to.Nulls > 0 {
		to.Validity = bits(to.Validity, from.NullBitmapBytes(), from.Data().Offset(), from.Len())
	}
	return nil
}

// bits copies n bits from an offset on to the beginning of a bitmap.
func bits(to, from []byte, offset, n int) []byte {
	size := (n + 7) / 8
	if cap(to) < size {
		to = make([]byte, size)
	}
	to = to[:size]
	clear(to)
	bitutil.CopyBitmap(from, offset, n, to, 0)
	return to
}

func fillFixed(to *columns.Array, t *columns.Type, from arrow.Array) bool {
	switch a := from.(type) {
	case *array.Boolean:
		to.Data = bits(to.Data, a.Data().Buffers()[1].Bytes(), a.Data().Offset(), a.Len())
		return t.Kind == columns.Bool
	case *array.Int32:
		to.Int32s = append(to.Int32s, a.Int32Values()...)
		return t.Kind == columns.Int32
	case *array.Date32:
		for _, v := range a.Date32Values() {
			to.Int32s = append(to.Int32s, int32(v))
		}
		return t.Kind == columns.Date
	case *array.Int64:
		to.Int64s = append(to.Int64s, a.Int64Values()...)
		return t.Kind == columns.Int64
	case *array.Float32:
		to.Float32s = append(to.Float32s, a.Float32Values()...)
		return t.Kind == columns.Float32
	case *array.Float64:
		to.Float64s = append(to.Float64s, a.Float64Values()...)
		return t.Kind == columns.Float64
	}
	return fillTimes(to, t, from) || fillWide(to, t, from)
}

func fillTimes(to *columns.Array, t *columns.Type, from arrow.Array) bool {
	switch a := from.(type) {
	case *array.Time64:
		for _, v := range a.Time64Values() {
			to.Int64s = append(to.Int64s, int64(v))
		}
		return t.Kind == columns.Time && a.DataType().(*arrow.Time64Type).Unit == arrow.Microsecond
	case *array.Timestamp:
		for _, v := range a.TimestampValues() {
			to.Int64s = append(to.Int64s, int64(v))
		}
		dt := a.DataType().(*arrow.TimestampType)
		return dt.Unit == arrow.Microsecond && (t.Kind == columns.Timestamp && dt.TimeZone == "" || t.Kind == columns.TimestampTZ && dt.TimeZone != "")
	}
	return false
}

func fillWide(to *columns.Array, t *columns.Type, from arrow.Array) bool {
	switch a := from.(type) {
	case *array.Decimal128:
		for _, v := range a.Values() {
			if t.Precision <= columns.WideDecimal {
				to.Int64s = append(to.Int64s, int64(v.LowBits()))
				continue
			}
			to.Data = binary.LittleEndian.AppendUint64(to.Data, v.LowBits())
			to.Data = binary.LittleEndian.AppendUint64(to.Data, uint64(v.HighBits()))
		}
		dt := a.DataType().(*arrow.Decimal128Type)
		return t.Kind == columns.Decimal && int(dt.Scale) == t.Scale && int(dt.Precision) <= t.Precision
	case *array.FixedSizeBinary:
		width := a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
		for i := range a.Len() {
			if a.IsNull(i) {
				to.Data = append(to.Data, make([]byte, width)...)
			} else {
				to.Data = append(to.Data, a.Value(i)...)
			}
		}
		return t.Kind == columns.UUID && width == 16 || t.Kind == columns.Fixed && width == t.Width
	}
	return false
}

// fillTexts copies texts and bytes. A null has no bytes, which Arrow leaves open.
func fillTexts(to *columns.Array, from arrow.Array) (ok bool, err error) {
	var value func(int) []byte
	switch a := from.(type) {
	case *array.String, *array.Binary:
		fillOffsets(to, a)
		return true, nil
	case *array.LargeString:
		value = func(i int) []byte { return []byte(a.Value(i)) }
	case *array.LargeBinary:
		value = a.Value
	default:
		return false, nil
	}
	to.Offsets = append(to.Offsets, 0)
	for i := range from.Len() {
		if from.IsValid(i) {
			to.Data = append(to.Data, value(i)...)
		}
		if len(to.Data) > math.MaxInt32 {
			return true, fmt.Errorf("the values of a column take more than 2 GiB at once")
		}
		to.Offsets = append(to.Offsets, int32(len(to.Data)))
	}
	return true, nil
}

// fillOffsets copies values that lie one behind the other, as they do but for nulls that have some.
func fillOffsets(to *columns.Array, a arrow.Array) {
	to.Offsets = append(to.Offsets, 0)
	if a.Len() == 0 {
		return
	}
	buffers, at := a.Data().Buffers(), a.Data().Offset()
	offsets := arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())[at : at+a.Len()+1]
	var data []byte
	if buffers[2] != nil {
		data = buffers[2].Bytes()
	}
	if holes(a, func(i int) int { return int(offsets[i]) }) {
		for i := range a.Len() {
			if a.IsValid(i) {
				to.Data = append(to.Data, data[offsets[i]:offsets[i+1]]...)
			}
			to.Offsets = append(to.Offsets, int32(len(to.Data)))
		}
		return
	}
	to.Data = append(to.Data, data[offsets[0]:offsets[a.Len()]]...)
	for _, o := range offsets[1:] {
		to.Offsets = append(to.Offsets, o-offsets[0])
	}
}

// holes reports whether a null has values.
func holes(a arrow.Array, offset func(int) int) bool {
	if a.NullN() == 0 {
		return false
	}
	for i := range a.Len() {
		if a.IsNull(i) && offset(i) != offset(i+1) {
			return true
		}
	}
	return false
}

func fillStruct(to *columns.Array, t *columns.Type, from arrow.Array) (ok bool, err error) {
	a, ok := from.(*array.Struct)
	if !ok || a.NumField() != len(t.Fields) {
		return false, nil
	}
	for i := range t.Fields {
		if err := fill(&to.Children[i], &t.Fields[i].Type, a.Field(i)); err != nil {
			return true, fmt.Errorf("%s: %w", t.Fields[i].Name, err)
		}
	}
	return true, nil
}

// fillSpans copies lists and maps.
func fillSpans(to *columns.Array, t *columns.Type, from arrow.Array) (ok bool, err error) {
	a, ok := from.(array.ListLike)
	if _, isMap := from.(*array.Map); !ok || isMap != (t.Kind == columns.Map) {
		return false, nil
	}
	inner := &t.Fields[0].Type
	if t.Kind == columns.Map {
		inner = &columns.Type{Kind: columns.Struct, Fields: t.Fields}
	}
	to.Offsets = append(to.Offsets, 0)
	if a.Len() == 0 {
		return true, nil
	}
	offset := func(i int) int {
		if i < a.Len() {
			begin, _ := a.ValueOffsets(i)
			return int(begin)
		}
		_, end := a.ValueOffsets(i - 1)
		return int(end)
	}
	begin := offset(0)
	elements := array.NewSlice(a.ListValues(), int64(begin), int64(offset(a.Len())))
	defer elements.Release()
	if !holes(a, offset) {
		for i := 1; i <= a.Len(); i++ {
			to.Offsets = append(to.Offsets, int32(offset(i)-begin))
		}
		return true, fill(&to.Children[0], inner, elements)
	}
	all := inner.Array()
	if err := fill(&all, inner, elements); err != nil {
		return true, err
	}
	for i := range a.Len() {
		if a.IsValid(i) {
			to.Children[0].AppendRange(&all, offset(i)-begin, offset(i+1)-begin)
		}
		to.Offsets = append(to.Offsets, int32(to.Children[0].Len))
	}
	return true, nil
}
