// Package rowtest makes columns from plain Go values and random values for any schema, for tests that write rows and
// read them back. A value is nil, bool, int32 (also Date), int64 (also Time and both timestamps), float32, float64,
// string, []byte (Binary, Fixed, UUID), *big.Int (an unscaled Decimal), []any (the elements of a List, the fields of a
// Struct) or []Entry (a Map).
package rowtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"

	"sluice/columns"
)

// Entry is one entry of a Map.
type Entry struct{ Key, Value any }

// Build makes a batch of rows, each with a value for every field of schema.
func Build(schema columns.Schema, rows [][]any) *columns.Batch {
	b := &columns.Batch{Rows: len(rows)}
	for i, f := range schema {
		values := make([]any, len(rows))
		for r := range rows {
			values[r] = rows[r][i]
		}
		b.Columns = append(b.Columns, Array(f.Type, values))
	}
	return b
}

// Constant makes a column of n rows that stores its value once.
func Constant(t columns.Type, value any, n int) columns.Array {
	a := Array(t, []any{value})
	a.Repeat, a.Len = true, n
	if value == nil {
		a.Nulls = n
	}
	return a
}

// Array makes a column of values.
func Array(t columns.Type, values []any) columns.Array {
	a := columns.Array{Kind: t.Kind, Len: len(values)}
	for i, v := range values {
		if v == nil {
			a.Nulls++
		}
		if i&7 == 0 {
			a.Validity = append(a.Validity, 0)
		}
		if v != nil {
			a.Validity[i>>3] |= 1 << (i & 7)
		}
	}
	if a.Nulls == 0 {
		a.Validity = nil
	}
	fill(&a, t, values)
	return a
}

func fill(a *columns.Array, t columns.Type, values []any) {
	switch t.Kind {
	case columns.Bool:
		a.Data = make([]byte, (len(values)+7)/8)
		for i, v := range values {
			if v == true {
				a.Data[i>>3] |= 1 << (i & 7)
			}
		}
	case columns.Int32, columns.Date:
		a.Int32s = all[int32](values)
	case columns.Int64, columns.Time, columns.Timestamp, columns.TimestampTZ:
		a.Int64s = all[int64](values)
	case columns.Float32:
		a.Float32s = all[float32](values)
	case columns.Float64:
		a.Float64s = all[float64](values)
	case columns.Decimal:
		fillDecimal(a, t, values)
	case columns.String, columns.Binary:
		fillBytes(a, values)
	case columns.Fixed, columns.UUID:
		width := t.Width
		if t.Kind == columns.UUID {
			width = 16
		}
		a.Data = make([]byte, width*len(values))
		for i, v := range values {
			if v != nil {
				copy(a.Data[i*width:], v.([]byte))
			}
		}
	case columns.List:
		fillList(a, t, values)
	case columns.Map:
		fillMap(a, t, values)
	case columns.Struct:
		fillStruct(a, t, values)
	}
}

func all[T any](values []any) []T {
	out := make([]T, len(values))
	for i, v := range values {
		if v != nil {
			out[i] = v.(T)
		}
	}
	return out
}

func fillDecimal(a *columns.Array, t columns.Type, values []any) {
	for _, v := range values {
		d, _ := v.(*big.Int)
		if d == nil {
			d = new(big.Int)
		}
		if t.Precision <= 18 {
			a.Int64s = append(a.Int64s, d.Int64())
			continue
		}
		low := new(big.Int).And(d, new(big.Int).SetUint64(math.MaxUint64))
		high := new(big.Int).Rsh(d, 64)
		a.Data = binary.LittleEndian.AppendUint64(a.Data, low.Uint64())
		a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(high.Int64()))
	}
}

func fillBytes(a *columns.Array, values []any) {
	a.Offsets = append(a.Offsets, 0)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			a.Data = append(a.Data, v...)
		case []byte:
			a.Data = append(a.Data, v...)
		}
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
}

func fillList(a *columns.Array, t columns.Type, values []any) {
	a.Offsets = append(a.Offsets, 0)
	var elements []any
	for _, v := range values {
		if v != nil {
			elements = append(elements, v.([]any)...)
		}
		a.Offsets = append(a.Offsets, int32(len(elements)))
	}
	a.Children = []columns.Array{Array(t.Fields[0].Type, elements)}
}

func fillMap(a *columns.Array, t columns.Type, values []any) {
	a.Offsets = append(a.Offsets, 0)
	var keys, vals []any
	for _, v := range values {
		if v != nil {
			for _, e := range v.([]Entry) {
				keys, vals = append(keys, e.Key), append(vals, e.Value)
			}
		}
		a.Offsets = append(a.Offsets, int32(len(keys)))
	}
	entries := columns.Array{Kind: columns.Struct, Len: len(keys)}
	entries.Children = []columns.Array{Array(t.Fields[0].Type, keys), Array(t.Fields[1].Type, vals)}
	a.Children = []columns.Array{entries}
}

func fillStruct(a *columns.Array, t columns.Type, values []any) {
	for i, f := range t.Fields {
		inner := make([]any, len(values))
		for r, v := range values {
			if v != nil {
				inner[r] = v.([]any)[i]
			} else if f.Required {
				inner[r] = zero(f.Type) // unspecified below a null
			}
		}
		a.Children = append(a.Children, Array(f.Type, inner))
	}
}

func zero(t columns.Type) any {
	return Random(rand.New(rand.NewPCG(1, 1)), columns.Field{Type: t, Required: true})
}

// RandomRows makes n random rows.
func RandomRows(rng *rand.Rand, schema columns.Schema, n int) [][]any {
	rows := make([][]any, n)
	for r := range rows {
		for _, f := range schema {
			rows[r] = append(rows[r], Random(rng, f))
		}
	}
	return rows
}

// Random makes a value for a field: now and then null where it may be, often an extreme.
func Random(rng *rand.Rand, f columns.Field) any {
	if !f.Required && rng.IntN(5) == 0 {
		return nil
	}
	switch f.Type.Kind {
	case columns.Bool:
		return rng.IntN(2) == 0
	case columns.Int32, columns.Date:
		return pick(rng, int32(rng.Uint32()), 0, math.MinInt32, math.MaxInt32)
	case columns.Int64:
		return pick(rng, int64(rng.Uint64()), 0, math.MinInt64, math.MaxInt64, 9007199254740993)
	case columns.Time:
		return rng.Int64N(86_400_000_000)
	case columns.Timestamp, columns.TimestampTZ:
		return pick(rng, rng.Int64N(4e15)-1e15, 0, -1)
	case columns.Float32:
		return pick(rng, float32(rng.NormFloat64()), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1)))
	case columns.Float64:
		return pick(rng, rng.NormFloat64(), math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1))
	case columns.Decimal:
		return randomDecimal(rng, f.Type.Precision)
	case columns.String:
		return randomText(rng)
	case columns.Binary:
		return randomBytes(rng, rng.IntN(80))
	case columns.Fixed:
		return randomBytes(rng, f.Type.Width)
	case columns.UUID:
		return randomBytes(rng, 16)
	}
	return randomNested(rng, f.Type)
}

func randomNested(rng *rand.Rand, t columns.Type) any {
	switch t.Kind {
	case columns.List:
		list := make([]any, rng.IntN(4))
		for i := range list {
			list[i] = Random(rng, t.Fields[0])
		}
		return list
	case columns.Map:
		entries := make([]Entry, rng.IntN(4))
		for i := range entries {
			entries[i] = Entry{Random(rng, t.Fields[0]), Random(rng, t.Fields[1])}
		}
		return entries
	case columns.Struct:
		var fields []any
		for _, f := range t.Fields {
			fields = append(fields, Random(rng, f))
		}
		return fields
	}
	panic(fmt.Sprintf("rowtest: no values of %s", t.Kind))
}

// pick returns usual most of the time.
func pick[T any](rng *rand.Rand, usual T, others ...T) T {
	if n := rng.IntN(8 * len(others)); n < len(others) {
		return others[n]
	}
	return usual
}

func randomDecimal(rng *rand.Rand, precision int) *big.Int {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(1+rng.IntN(precision))), nil)
	d := new(big.Int).SetBytes(randomBytes(rng, 20))
	d.Mod(d, limit)
	if rng.IntN(2) == 0 {
		d.Neg(d)
	}
	return d
}

func randomText(rng *rand.Rand) string {
	letters := []rune("abcxyz€\u007f\u07ff\ud7ff\uffff\U0010ffff")
	text := make([]rune, rng.IntN(40))
	for i := range text {
		text[i] = letters[rng.IntN(len(letters))]
	}
	return string(text)
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = pick(rng, byte(rng.Uint32()), 0, 0xff)
	}
	return b
}

// Unscaled is the unscaled value of a Decimal, written in digits.
func Unscaled(digits string) *big.Int {
	v, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		panic("rowtest: " + digits + " is no number")
	}
	return v
}
