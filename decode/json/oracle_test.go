package json_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// The oracle reads records slowly and, as far as can be seen, rightly: encoding/json's tokens become a tree, and each
// value of the tree becomes what the schema says with math/big and time.Parse.

var errMalformed = errors.New("malformed")

// member is one member of an object, repeated names kept.
type member struct {
	name  string
	value any
}

// tree reads one JSON text. An object is []member, an array []any, a number stdjson.Number.
func tree(value []byte, depth int) (any, error) {
	if !stdjson.Valid(value) || !utf8.Valid(value) || loneSurrogate(value) {
		return nil, errMalformed
	}
	d := stdjson.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	v, err := subtree(d, depth)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func subtree(d *stdjson.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(stdjson.Delim)
	if !ok {
		return t, nil
	}
	if depth == 0 {
		return nil, errMalformed
	}
	array, object := []any{}, []member{}
	for d.More() {
		var m member
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.name = name.(string)
		}
		if m.value, err = subtree(d, depth-1); err != nil {
			return nil, err
		}
		array, object = append(array, m.value), append(object, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if delim == '{' {
		return object, nil
	}
	return array, nil
}

// loneSurrogate looks at the escapes of a valid JSON text.
func loneSurrogate(value []byte) bool {
	high := false
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		if value[i] != 'u' {
			if high {
				return true
			}
			continue
		}
		unit, _ := strconv.ParseUint(string(value[i+1:i+5]), 16, 16)
		low := unit >= 0xdc00 && unit <= 0xdfff
		if low != high {
			return true
		}
		high = unit >= 0xd800 && unit <= 0xdbff
		i += 4
	}
	return high
}

// oracle reads a record by the rules of the package comment, with the default options.
func oracle(schema columns.Schema, value []byte) ([]any, error) {
	v, err := tree(value, 100)
	if err != nil {
		return nil, err
	}
	object, ok := v.([]member)
	if !ok {
		return nil, errMalformed
	}
	return oracleStruct(schema, object)
}

func oracleStruct(fields []columns.Field, object []member) ([]any, error) {
	row := make([]any, len(fields))
	for i, f := range fields {
		found := 0
		for _, m := range object {
			if m.name != f.Name {
				continue
			}
			found++
			var err error
			if row[i], err = oracleValue(f, m.value); err != nil {
				return nil, err
			}
		}
		if found > 1 || found == 0 && f.Required {
			return nil, errMalformed
		}
	}
	return row, nil
}

func oracleValue(f columns.Field, v any) (any, error) {
	if v == nil {
		if f.Required {
			return nil, errMalformed
		}
		return nil, nil
	}
	switch f.Type.Kind {
	case columns.Struct:
		if object, ok := v.([]member); ok {
			return anyOf(oracleStruct(f.Type.Fields, object))
		}
	case columns.List:
		if array, ok := v.([]any); ok {
			return anyOf(oracleList(f.Type.Fields[0], array))
		}
	case columns.Map:
		if object, ok := v.([]member); ok {
			return anyOf(oracleMap(f.Type, object))
		}
	case columns.Bool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case columns.Int32, columns.Int64, columns.Float32, columns.Float64, columns.Decimal:
		if n, ok := v.(stdjson.Number); ok {
			return oracleNumber(f.Type, string(n))
		}
	default:
		if s, ok := v.(string); ok {
			return oracleText(f.Type, s)
		}
	}
	return nil, errMalformed
}

func anyOf[T any](v T, err error) (any, error) { return v, err }

func oracleList(element columns.Field, array []any) ([]any, error) {
	list := []any{}
	for _, v := range array {
		e, err := oracleValue(element, v)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func oracleMap(t columns.Type, object []member) ([]rowtest.Entry, error) {
	entries, seen := []rowtest.Entry{}, map[string]bool{}
	for _, m := range object {
		var key any = m.name
		switch t.Fields[0].Type.Kind {
		case columns.Bool:
			key = m.name == "true"
			if m.name != "true" && m.name != "false" {
				return nil, errMalformed
			}
		case columns.Int32, columns.Int64, columns.Decimal:
			if !number.MatchString(m.name) {
				return nil, errMalformed
			}
			key = stdjson.Number(m.name)
		}
		k, err := oracleValue(t.Fields[0], key)
		if err != nil || seen[rowtest.Text(k)] {
			return nil, errMalformed
		}
		seen[rowtest.Text(k)] = true
		v, err := oracleValue(t.Fields[1], m.value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, rowtest.Entry{Key: k, Value: v})
	}
	return entries, nil
}

func oracleNumber(t columns.Type, text string) (any, error) {
	if t.Kind == columns.Float32 || t.Kind == columns.Float64 {
		size := map[columns.Kind]int{columns.Float32: 32, columns.Float64: 64}[t.Kind]
		v, err := strconv.ParseFloat(text, size)
		if err != nil {
			return nil, errMalformed
		}
		if size == 32 {
			return float32(v), nil
		}
		return v, nil
	}
	v, ok := unscaled(text, t.Scale)
	if !ok {
		return nil, errMalformed
	}
	switch {
	case t.Kind == columns.Decimal:
		if new(big.Int).Abs(v).Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)) >= 0 {
			return nil, errMalformed
		}
		return v, nil
	case !v.IsInt64() || t.Kind == columns.Int32 && v.Int64() != int64(int32(v.Int64())):
		return nil, errMalformed
	case t.Kind == columns.Int32:
		return int32(v.Int64()), nil
	}
	return v.Int64(), nil
}

// unscaled is text times 10^scale if that is an integer. Exponents that math/big should not see are looked at before: a
// number of n digits with an exponent beyond n and 100 is 0, too large, or has a fraction.
func unscaled(text string, scale int) (*big.Int, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return new(big.Int), true
	}
	if exponent != "" {
		e, ok := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
		if !ok || !e.IsInt64() || e.Int64() > int64(len(text)+100) || e.Int64() < -int64(len(text)+100) {
			return nil, false
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, false
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	return r.Num(), r.IsInt()
}

var (
	timestamps = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)?$`)
	times      = regexp.MustCompile(`^(\d\d:\d\d:\d\d)(\.\d+)?$`)
	uuids      = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

func oracleText(t columns.Type, s string) (any, error) {
	switch t.Kind {
	case columns.String:
		return s, nil
	case columns.Binary, columns.Fixed:
		b, ok := oracleBase64(s)
		if !ok || t.Kind == columns.Fixed && len(b) != t.Width {
			return nil, errMalformed
		}
		return b, nil
	case columns.UUID:
		if !uuids.MatchString(s) {
			return nil, errMalformed
		}
		return hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	case columns.Date:
		at, err := time.Parse("2006-01-02", s)
		if err != nil || at.Year() < 1 {
			return nil, errMalformed
		}
		return int32(at.Unix()/86400 - map[bool]int64{true: 1}[at.Unix()%86400 < 0]), nil
	}
	return oracleTime(t, s)
}

func oracleTime(t columns.Type, s string) (any, error) {
	if t.Kind == columns.Time {
		m := times.FindStringSubmatch(s)
		if m == nil {
			return nil, errMalformed
		}
		return oracleInstant("1970-01-01T"+m[1], m[2], "Z")
	}
	m := timestamps.FindStringSubmatch(s)
	if m == nil || m[1] < "0001" || t.Kind == columns.Timestamp && m[4] != "" {
		return nil, errMalformed
	}
	v, err := oracleInstant(m[1]+"T"+m[2], m[3], strings.ToUpper(m[4]))
	if err != nil {
		return nil, err
	}
	if year := time.UnixMicro(v.(int64)).UTC().Year(); year < 1 || year > 9999 {
		return nil, errMalformed
	}
	return v, nil
}

func oracleInstant(upToSeconds, fraction, zone string) (any, error) {
	if zone == "" {
		zone = "Z"
	} else if zone != "Z" && zone[1:] > "23:59" {
		return nil, errMalformed
	}
	at, err := time.Parse(time.RFC3339, upToSeconds+zone)
	digits := strings.TrimRight(strings.TrimPrefix(fraction, "."), "0")
	if err != nil || len(digits) > 6 {
		return nil, errMalformed
	}
	micros, _ := strconv.Atoi((digits + "000000")[:6])
	return at.Unix()*1_000_000 + int64(micros), nil
}

func oracleBase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") || strings.Contains(strings.TrimRight(s, "="), "=") {
		return nil, false
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := e.Strict().DecodeString(s); err == nil {
			return b, true
		}
	}
	return nil, false
}
