package jsonschema_test

import (
	"cmp"
	stdjson "encoding/json"
	"math/big"
	"slices"

	"sluice/columns"
)

// said is what the first of parts says by a keyword.
func said(parts []object, keyword string) string {
	for _, s := range parts {
		if word := s.str(keyword); word != "" {
			return word
		}
	}
	return ""
}

// extremes are the smallest and the largest integer that bounds allow, nil where there is none.
func extremes(parts []object) (low, high *big.Int) {
	for _, s := range parts {
		for _, m := range s {
			n, ok := m.value.(stdjson.Number)
			if !ok {
				continue
			}
			floor := new(big.Int).Div(exact(n).Num(), exact(n).Denom()) // Euclidean: rounds down
			ceiling := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(exact(n).Num()), exact(n).Denom()))
			switch m.name {
			case "exclusiveMinimum":
				ceiling = floor.Add(floor, big.NewInt(1))
				fallthrough
			case "minimum":
				if low == nil || ceiling.Cmp(low) > 0 {
					low = ceiling
				}
			case "exclusiveMaximum":
				floor = ceiling.Sub(ceiling, big.NewInt(1))
				fallthrough
			case "maximum":
				if high == nil || floor.Cmp(high) < 0 {
					high = floor
				}
			}
		}
	}
	return low, high
}

func power(base, exponent int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
}

// within reports whether integers from low to high have no more than so many bits, with the sign.
func within(low, high *big.Int, bits int64) bool {
	limit := power(2, bits-1)
	return low.Cmp(new(big.Int).Neg(limit)) >= 0 && high.Cmp(limit) < 0
}

func integer(parts []object) columns.Type {
	if said(parts, "format") == "int32" {
		return columns.Type{Kind: columns.Int32}
	}
	low, high := extremes(parts)
	switch {
	case low == nil || high == nil:
		return columns.Type{Kind: columns.Int64}
	case within(low, high, 32):
		return columns.Type{Kind: columns.Int32}
	case within(low, high, 64):
		return columns.Type{Kind: columns.Int64}
	}
	return columns.Type{Kind: columns.Decimal, Precision: min(38, max(len(new(big.Int).Abs(low).String()), len(new(big.Int).Abs(high).String())))}
}

func number(parts []object) columns.Type {
	if said(parts, "format") == "float" {
		return columns.Type{Kind: columns.Float32}
	}
	for _, s := range parts {
		step, ok := s.get("multipleOf").(stdjson.Number)
		if !ok {
			continue
		}
		scale := int64(0)
		for !new(big.Rat).Mul(exact(step), new(big.Rat).SetInt(power(10, scale))).IsInt() {
			scale++
		}
		if scale == 0 {
			return integer(parts)
		}
		t := columns.Type{Kind: columns.Decimal, Precision: 38, Scale: int(scale)}
		if low, high := extremes(parts); low != nil && high != nil {
			whole := max(len(new(big.Int).Abs(low).String()), len(new(big.Int).Abs(high).String()))
			t.Precision = min(38, whole+int(scale))
		}
		return t
	}
	return columns.Type{Kind: columns.Float64}
}

func textual(parts []object) columns.Type {
	if said(parts, "contentEncoding") == "base64" {
		return columns.Type{Kind: columns.Binary}
	}
	kinds := map[string]columns.Kind{"date-time": columns.TimestampTZ, "date": columns.Date, "uuid": columns.UUID}
	return columns.Type{Kind: cmp.Or(kinds[said(parts, "format")], columns.String)}
}

func isNumber(t columns.Type) bool {
	return slices.Contains([]columns.Kind{columns.Int32, columns.Int64, columns.Float32, columns.Float64, columns.Decimal}, t.Kind)
}

func uniteNumbers(a, b columns.Type) (columns.Type, error) {
	is := func(kind columns.Kind) bool { return a.Kind == kind || b.Kind == kind }
	floating := is(columns.Float32) || is(columns.Float64)
	switch {
	case floating && is(columns.Decimal):
		return a, errRefused
	case floating && a.Kind == b.Kind:
		return a, nil
	case floating:
		return columns.Type{Kind: columns.Float64}, nil
	case !is(columns.Decimal) && is(columns.Int64):
		return columns.Type{Kind: columns.Int64}, nil
	case !is(columns.Decimal):
		return a, nil
	}
	digits := func(t columns.Type) (whole, scale int) {
		switch t.Kind {
		case columns.Int32:
			return 10, 0
		case columns.Int64:
			return 19, 0
		}
		return t.Precision - t.Scale, t.Scale
	}
	wholeA, scaleA := digits(a)
	wholeB, scaleB := digits(b)
	t := columns.Type{Kind: columns.Decimal, Scale: max(scaleA, scaleB)}
	if t.Precision = max(wholeA, wholeB) + t.Scale; t.Precision > 38 {
		return t, errRefused
	}
	return t, nil
}
