package jsonschema_test

import (
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

var errMisfit = errors.New("the value does not fit the column")

// rowOf is what a record has in columns, in the terms of package rowtest.
func rowOf(fields []columns.Field, record any) ([]any, error) {
	o, ok := record.(object)
	if !ok {
		return nil, errMisfit
	}
	row := make([]any, len(fields))
	for i, f := range fields {
		var err error
		if row[i], err = valueOf(f, o.get(f.Name)); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func valueOf(f columns.Field, v any) (any, error) {
	if v == nil {
		if f.Required {
			return nil, errMisfit
		}
		return nil, nil
	}
	switch v := v.(type) {
	case bool:
		if f.Type.Kind == columns.Bool {
			return v, nil
		}
	case stdjson.Number:
		return numberOf(f.Type, v)
	case string:
		return textOf(f.Type, v)
	case []any:
		if f.Type.Kind != columns.List {
			break
		}
		list := []any{}
		for _, e := range v {
			one, err := valueOf(f.Type.Fields[0], e)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	case object:
		if f.Type.Kind == columns.Map {
			return entriesOf(f.Type.Fields[1], v)
		}
		if f.Type.Kind == columns.Struct {
			row, err := rowOf(f.Type.Fields, v)
			return row, err
		}
	}
	return nil, errMisfit
}

func entriesOf(value columns.Field, o object) (any, error) {
	entries := []rowtest.Entry{}
	for _, m := range o {
		v, err := valueOf(value, m.value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, rowtest.Entry{Key: m.name, Value: v})
	}
	return entries, nil
}

func numberOf(t columns.Type, n stdjson.Number) (any, error) {
	switch t.Kind {
	case columns.Float32, columns.Float64:
		bits := map[columns.Kind]int{columns.Float32: 32, columns.Float64: 64}[t.Kind]
		v, err := strconv.ParseFloat(string(n), bits)
		if err != nil {
			return nil, errMisfit
		}
		if bits == 32 {
			return float32(v), nil
		}
		return v, nil
	case columns.Int32, columns.Int64, columns.Decimal:
	default:
		return nil, errMisfit
	}
	unscaled := new(big.Rat).Mul(exact(n), new(big.Rat).SetInt(power(10, int64(t.Scale))))
	v := unscaled.Num()
	switch {
	case !unscaled.IsInt():
	case t.Kind == columns.Decimal:
		if new(big.Int).Abs(v).Cmp(power(10, int64(t.Precision))) < 0 {
			return v, nil
		}
	case t.Kind == columns.Int64 && v.IsInt64():
		return v.Int64(), nil
	case t.Kind == columns.Int32 && v.IsInt64() && v.Int64() >= math.MinInt32 && v.Int64() <= math.MaxInt32:
		return int32(v.Int64()), nil
	}
	return nil, errMisfit
}

func textOf(t columns.Type, text string) (any, error) {
	switch t.Kind {
	case columns.String:
		return text, nil
	case columns.Binary:
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if b, err := alphabet.Strict().DecodeString(text); err == nil && !strings.ContainsAny(text, "\r\n") {
				return b, nil
			}
		}
	case columns.UUID:
		if uuids.MatchString(text) {
			return hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		}
	case columns.Date:
		if at, err := time.Parse(time.DateOnly, text); err == nil && at.Year() > 0 {
			return int32(math.Floor(float64(at.Unix()) / 86400)), nil
		}
	case columns.TimestampTZ:
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && dateTimes.MatchString(text) {
			return at.UnixMicro(), nil
		}
	}
	return nil, errMisfit
}
