package jsonschema

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"sluice/columns"
)

// maxDigits is how many digits a decimal has at most.
const maxDigits = 38

// Titles that Kafka Connect gives to its logical types.
const connectDecimal = "org.apache.kafka.connect.data.Decimal"

// rational is a number's value; numbers of absurd exponents have none.
func rational(text string) (*big.Rat, bool) {
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	if len(text) > 400 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// first is what the first schema that has the keyword as text says.
func first(parts []*node, keyword string) string {
	for _, n := range parts {
		if s := n.str(keyword); s != "" {
			return s
		}
	}
	return ""
}

// bounds are the narrowest that are said; nil where none is. Those that are exclusive are those of integers.
func bounds(parts []*node) (low, high *big.Rat) {
	for _, n := range parts {
		for _, v := range limits(n, "minimum", "exclusiveMinimum", 1) {
			if low == nil || v.Cmp(low) > 0 {
				low = v
			}
		}
		for _, v := range limits(n, "maximum", "exclusiveMaximum", -1) {
			if high == nil || v.Cmp(high) < 0 {
				high = v
			}
		}
	}
	return low, high
}

// limits are what two keywords say; an integer that is excluded stands for the next one. In draft 4 the second says whether the
// first excludes.
func limits(n *node, inclusive, exclusive string, next int64) (found []*big.Rat) {
	excluded := n.is(exclusive)
	for _, keyword := range []string{inclusive, exclusive} {
		v, ok := numberAt(n, keyword)
		if !ok {
			continue
		}
		if v.IsInt() && (excluded || keyword == exclusive) {
			v.Add(v, big.NewRat(next, 1))
		}
		found = append(found, v)
	}
	return found
}

func numberAt(n *node, keyword string) (*big.Rat, bool) {
	v := n.get(keyword)
	if v == nil || v.kind != isNumber {
		return nil, false
	}
	return rational(v.text)
}

var (
	int32Low, int32High = big.NewRat(math.MinInt32, 1), big.NewRat(math.MaxInt32, 1)
	int64Low, int64High = big.NewRat(math.MinInt64, 1), big.NewRat(math.MaxInt64, 1)
)

func within(low, high, from, until *big.Rat) bool {
	return low != nil && high != nil && low.Cmp(from) >= 0 && high.Cmp(until) <= 0
}

// integer is the column of integers.
func integer(parts []*node) columns.Type {
	if t, ok := connectDecimals(parts); ok {
		return t
	}
	switch first(parts, "connect.type") {
	case "int8", "int16", "int32":
		return columns.Type{Kind: columns.Int32}
	case "int64":
		return columns.Type{Kind: columns.Int64}
	}
	switch first(parts, "format") {
	case "int8", "int16", "int32", "uint8", "uint16":
		return columns.Type{Kind: columns.Int32}
	case "int64", "uint32":
		return columns.Type{Kind: columns.Int64}
	case "uint64":
		return columns.Type{Kind: columns.Decimal, Precision: 20}
	}
	low, high := bounds(parts)
	switch {
	case within(low, high, int32Low, int32High):
		return columns.Type{Kind: columns.Int32}
	case low == nil || high == nil || within(low, high, int64Low, int64High):
		return columns.Type{Kind: columns.Int64}
	}
	return columns.Type{Kind: columns.Decimal, Precision: min(max(wholeDigits(low), wholeDigits(high)), maxDigits)}
}

// wholeDigits is how many digits stand before the point, at least 1.
func wholeDigits(r *big.Rat) int {
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	return len(whole.Abs(whole).String())
}

// number is the column of numbers that may be fractions.
func number(parts []*node) columns.Type {
	if t, ok := connectDecimals(parts); ok {
		return t
	}
	if first(parts, "connect.type") == "float32" || first(parts, "format") == "float" {
		return columns.Type{Kind: columns.Float32}
	}
	scale, ok := step(parts)
	switch {
	case !ok:
		return columns.Type{Kind: columns.Float64}
	case scale == 0:
		return integer(parts)
	}
	t := columns.Type{Kind: columns.Decimal, Precision: maxDigits, Scale: scale}
	if low, high := bounds(parts); low != nil && high != nil {
		t.Precision = min(max(wholeDigits(low), wholeDigits(high))+scale, maxDigits)
	}
	return t
}

// step is how many digits behind the point multipleOf leaves; not ok if it says nothing of that.
func step(parts []*node) (scale int, ok bool) {
	for _, n := range parts {
		v, isNumber := numberAt(n, "multipleOf")
		if !isNumber || v.Sign() <= 0 {
			continue
		}
		for own := 0; own <= maxDigits; own++ {
			if v.IsInt() {
				return own, true
			}
			v = new(big.Rat).Mul(v, big.NewRat(10, 1))
		}
	}
	return 0, false
}

// connectDecimals is what Kafka Connect's decimals become: the scale is a parameter, and seldom the precision.
func connectDecimals(parts []*node) (columns.Type, bool) {
	if first(parts, "title") != connectDecimal {
		return columns.Type{}, false
	}
	t := columns.Type{Kind: columns.Decimal, Precision: maxDigits}
	for _, n := range parts {
		if parameters := n.get("connect.parameters"); parameters != nil {
			if scale, err := strconv.Atoi(parameters.str("scale")); err == nil {
				t.Scale = scale
			}
			if precision, err := strconv.Atoi(parameters.str("connect.decimal.precision")); err == nil {
				t.Precision = precision
			}
		}
	}
	return t, t.Precision >= 1 && t.Precision <= maxDigits && t.Scale >= 0 && t.Scale <= t.Precision
}

// text is the column of strings.
func text(parts []*node) columns.Type {
	if first(parts, "connect.type") == "bytes" {
		return columns.Type{Kind: columns.Binary}
	}
	switch strings.ToLower(first(parts, "contentEncoding")) {
	case "base64", "base64url":
		return columns.Type{Kind: columns.Binary}
	}
	switch first(parts, "format") {
	case "date-time":
		return columns.Type{Kind: columns.TimestampTZ}
	case "date":
		return columns.Type{Kind: columns.Date}
	case "uuid":
		return columns.Type{Kind: columns.UUID}
	case "byte": // OpenAPI's base64
		return columns.Type{Kind: columns.Binary}
	}
	return columns.Type{Kind: columns.String}
}
