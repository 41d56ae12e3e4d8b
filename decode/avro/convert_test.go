package avro_test

import (
	"encoding/hex"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/columns"
)

// convert makes a value what a column holds.
func convert(v any, kind, logical string, attributes map[string]any, to *columns.Type) (any, error) {
	switch to.Kind {
	case columns.Bool:
		if b := v.([]byte)[0]; b < 2 {
			return b == 1, nil
		}
		return nil, errMalformed
	case columns.Int32, columns.Int64, columns.Float32, columns.Float64, columns.Date, columns.Time, columns.Timestamp, columns.TimestampTZ:
		return convertNumber(v, logical, to.Kind)
	case columns.Decimal:
		return convertDecimal(v.([]byte), attributes, to)
	}
	raw, isBytes := v.([]byte)
	switch {
	case !isBytes: // a symbol
		return v, nil
	case to.Kind == columns.String && !utf8.Valid(raw):
		return nil, errMalformed
	case to.Kind == columns.String:
		return string(raw), nil
	case to.Kind == columns.UUID && kind == "string":
		return textUUID(string(raw))
	}
	return raw, nil
}

var uuids = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

func textUUID(s string) (any, error) {
	if !uuids.MatchString(s) {
		return nil, errMalformed
	}
	return hex.DecodeString(strings.ReplaceAll(s, "-", ""))
}

func convertNumber(v any, logical string, to columns.Kind) (any, error) {
	var exact big.Float
	exact.SetPrec(200)
	switch v := v.(type) {
	case float32:
		if to == columns.Float64 {
			return float64(v), nil
		}
		return v, nil
	case float64:
		return v, nil
	case int64:
		exact.SetInt64(v)
		switch to {
		case columns.Int32:
			if v != int64(int32(v)) {
				return nil, errMalformed
			}
			return int32(v), nil
		case columns.Int64:
			return v, nil
		case columns.Float32:
			if f, accuracy := exact.Float32(); accuracy == big.Exact {
				return f, nil
			}
			return nil, errMalformed
		case columns.Float64:
			if f, accuracy := exact.Float64(); accuracy == big.Exact {
				return f, nil
			}
			return nil, errMalformed
		case columns.Date:
			if year := time.Unix(v*86400, 0).UTC().Year(); year < 1 || year > 9999 {
				return nil, errMalformed
			}
			return int32(v), nil
		}
		return convertTime(v, logical, to)
	}
	panic("no number")
}

func convertTime(v int64, logical string, to columns.Kind) (any, error) {
	nanos := big.NewInt(v)
	for unit, times := range map[string]int64{"millis": 1_000_000, "micros": 1000} {
		if strings.HasSuffix(logical, unit) {
			nanos.Mul(nanos, big.NewInt(times))
		}
	}
	micros, rest := new(big.Int).QuoRem(nanos, big.NewInt(1000), new(big.Int))
	if rest.Sign() != 0 || !micros.IsInt64() {
		return nil, errMalformed
	}
	m := micros.Int64()
	year := time.UnixMicro(m).UTC().Year()
	if to == columns.Time && (m < 0 || m >= 86_400_000_000) || year < 1 || year > 9999 {
		return nil, errMalformed
	}
	return m, nil
}

func convertDecimal(raw []byte, attributes map[string]any, to *columns.Type) (any, error) {
	if len(raw) == 0 {
		return nil, errMalformed
	}
	v := new(big.Int).SetBytes(raw)
	if raw[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	scale, _ := attributes["scale"].(float64)
	ten := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
	value := new(big.Rat).SetFrac(v, ten(int(scale)))
	value.Mul(value, new(big.Rat).SetInt(ten(to.Scale)))
	if !value.IsInt() || new(big.Int).Abs(value.Num()).Cmp(ten(to.Precision)) >= 0 {
		return nil, errMalformed
	}
	return new(big.Int).Set(value.Num()), nil
}
