package json_test

import (
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// oracleEpoch is a number of units as microseconds.
func oracleEpoch(text string, scale int, cut bool) (int64, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || e > 300 || e < -300) {
		zero := strings.Trim(mantissa, "-0.") == ""
		tiny := strings.HasPrefix(exponent, "-")
		switch {
		case zero, cut && tiny && mantissa[0] != '-':
			return 0, true
		case cut && tiny:
			return -1, true
		}
		return 0, false
	}
	r, _ := new(big.Rat).SetString(text)
	ten := new(big.Rat).SetInt64(1)
	for range max(scale, -scale) {
		ten.Mul(ten, big.NewRat(10, 1))
	}
	if scale < 0 {
		ten.Inv(ten)
	}
	r.Mul(r, ten)
	if !r.IsInt() && !cut {
		return 0, false
	}
	v := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: downward for a positive denominator
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()-1
	if !v.IsInt64() || v.Int64() < first || v.Int64() > last {
		return 0, false
	}
	return v.Int64(), true
}

func randomSchema(rng *rand.Rand, depth int) columns.Schema {
	schema := make(columns.Schema, 1+rng.IntN(12))
	for i := range schema {
		schema[i] = columns.Field{Name: randomName(rng, i), Type: randomType(rng, depth), Required: rng.IntN(3) == 0}
	}
	return schema
}

func randomName(rng *rand.Rand, i int) string {
	return []string{"", "a", "é", `q"`, `\`, "\t", "a.b", "\u2028"}[rng.IntN(8)] + strconv.Itoa(i)
}

func randomType(rng *rand.Rand, depth int) columns.Type {
	t := columns.Type{Kind: columns.Bool + columns.Kind(rng.IntN(17))}
	if depth == 0 && t.Kind >= columns.List {
		t.Kind = columns.String
	}
	part := func(name string) columns.Field {
		return columns.Field{Name: name, Type: randomType(rng, depth-1), Required: rng.IntN(3) == 0}
	}
	switch t.Kind {
	case columns.Decimal:
		t.Precision = 1 + rng.IntN(38)
		t.Scale = rng.IntN(t.Precision + 1)
	case columns.Fixed:
		t.Width = 1 + rng.IntN(9)
	case columns.List:
		t.Fields = []columns.Field{part("element")}
	case columns.Map:
		key := randomType(rng, 0)
		for key.Kind == columns.Float32 || key.Kind == columns.Float64 {
			key = randomType(rng, 0)
		}
		t.Fields = []columns.Field{{Name: "key", Type: key, Required: true}, part("value")}
	case columns.Struct:
		t.Fields = randomSchema(rng, depth-1)
	}
	return t
}

// randomRow makes values that JSON can have: finite numbers, dates of four digits, maps whose keys differ.
func randomRow(rng *rand.Rand, fields []columns.Field) []any {
	row := make([]any, len(fields))
	for i, f := range fields {
		row[i] = randomValue(rng, f)
	}
	return row
}

func randomValue(rng *rand.Rand, f columns.Field) any {
	if !f.Required && rng.IntN(5) == 0 {
		return nil
	}
	switch f.Type.Kind {
	case columns.Float32:
		return float32(rng.NormFloat64()) * float32(math.Pow10(rng.IntN(60)-30))
	case columns.Float64:
		return rng.NormFloat64() * math.Pow10(rng.IntN(500)-250)
	case columns.Date:
		return int32(rng.IntN(3652059) - 719162)
	case columns.List:
		list := make([]any, rng.IntN(4))
		for i := range list {
			list[i] = randomValue(rng, f.Type.Fields[0])
		}
		return list
	case columns.Struct:
		return randomRow(rng, f.Type.Fields)
	case columns.Map:
		entries, seen := []rowtest.Entry{}, map[string]bool{}
		for range rng.IntN(30) {
			key := randomValue(rng, f.Type.Fields[0])
			if !seen[rowtest.Text(key)] {
				entries = append(entries, rowtest.Entry{Key: key, Value: randomValue(rng, f.Type.Fields[1])})
			}
			seen[rowtest.Text(key)] = true
		}
		return entries
	}
	return rowtest.Random(rng, columns.Field{Type: f.Type, Required: true})
}

// appendObject writes a struct with its fields in any order, nulls now and then left out, and fields that nobody knows.
func appendObject(out []byte, rng *rand.Rand, fields []columns.Field, row []any) []byte {
	var members []string
	for i, f := range fields {
		if row[i] == nil && rng.IntN(2) == 0 {
			continue
		}
		members = append(members, quoteJSON(rng, f.Name)+space(rng)+":"+space(rng)+string(appendValue(nil, rng, &f.Type, row[i])))
	}
	if rng.IntN(3) == 0 {
		members = append(members, `"unknown":[{"a":null},"b\u0000",1e5,true]`, `"unknown":{}`)
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return append(append(append(out, '{'), space(rng)+strings.Join(members, space(rng)+","+space(rng))+space(rng)...), '}')
}

func space(rng *rand.Rand) string { return []string{"", "", "", " ", "\n\t"}[rng.IntN(5)] }

func quoteJSON(rng *rand.Rand, s string) string {
	if rng.IntN(4) == 0 {
		var b strings.Builder
		for _, r := range s {
			if r > 0xffff {
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
		return `"` + b.String() + `"`
	}
	out, _ := stdjson.Marshal(s)
	return string(out)
}

func appendValue(out []byte, rng *rand.Rand, t *columns.Type, v any) []byte {
	if v == nil {
		return append(out, "null"...)
	}
	switch t.Kind {
	case columns.Struct:
		return appendObject(out, rng, t.Fields, v.([]any))
	case columns.List:
		var elements []string
		for _, e := range v.([]any) {
			elements = append(elements, string(appendValue(nil, rng, &t.Fields[0].Type, e)))
		}
		return append(out, "["+space(rng)+strings.Join(elements, space(rng)+",")+"]"...)
	case columns.Map:
		var members []string
		for _, e := range v.([]rowtest.Entry) {
			members = append(members, quoteJSON(rng, scalarText(rng, &t.Fields[0].Type, e.Key))+":"+string(appendValue(nil, rng, &t.Fields[1].Type, e.Value)))
		}
		return append(out, "{"+strings.Join(members, ",")+"}"...)
	case columns.Bool, columns.Int32, columns.Int64, columns.Float32, columns.Float64, columns.Decimal:
		return append(out, scalarText(rng, t, v)...)
	}
	return append(out, quoteJSON(rng, scalarText(rng, t, v))...)
}

func scalarText(rng *rand.Rand, t *columns.Type, v any) string {
	switch t.Kind {
	case columns.Decimal:
		return decimalText(rng, v.(*big.Int), t.Scale)
	case columns.Date:
		return time.Unix(int64(v.(int32))*86400, 0).UTC().Format("2006-01-02")
	case columns.Time:
		return time.UnixMicro(v.(int64)).UTC().Format("15:04:05.000000")
	case columns.Timestamp:
		return time.UnixMicro(v.(int64)).UTC().Format("2006-01-02T15:04:05.999999")
	case columns.TimestampTZ:
		zone := time.FixedZone("", 900*(rng.IntN(100)-50))
		return time.UnixMicro(v.(int64)).In(zone).Format("2006-01-02T15:04:05.999999Z07:00")
	case columns.Binary, columns.Fixed:
		return []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}[rng.IntN(4)].EncodeToString(v.([]byte))
	case columns.UUID:
		b := v.([]byte)
		return fmt.Sprintf("%x-%x-%x-%X-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case columns.Float32:
		return strconv.FormatFloat(float64(v.(float32)), 'g', -1, 32)
	}
	return fmt.Sprint(v)
}

// decimalText writes an unscaled value with a point or with an exponent.
func decimalText(rng *rand.Rand, v *big.Int, scale int) string {
	if rng.IntN(3) == 0 {
		return fmt.Sprintf("%se-%d", v, scale)
	}
	text := new(big.Rat).SetFrac(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
	if rng.IntN(3) == 0 && scale > 0 {
		text += "000"
	}
	return text
}
