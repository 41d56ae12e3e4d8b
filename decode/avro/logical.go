package avro

import (
	stdjson "encoding/json"
	"math/big"
)

// The logical types.
const (
	decimal              = "decimal"
	uuid                 = "uuid"
	date                 = "date"
	timeMillis           = "time-millis"
	timeMicros           = "time-micros"
	timestampMillis      = "timestamp-millis"
	timestampMicros      = "timestamp-micros"
	timestampNanos       = "timestamp-nanos"
	localTimestampMillis = "local-timestamp-millis"
	localTimestampMicros = "local-timestamp-micros"
	localTimestampNanos  = "local-timestamp-nanos"
	duration             = "duration"
)

// underlying is the type that a logical type of fixed form annotates.
var underlying = map[string]kind{
	date: kindInt, timeMillis: kindInt, timeMicros: kindLong,
	timestampMillis: kindLong, timestampMicros: kindLong, timestampNanos: kindLong,
	localTimestampMillis: kindLong, localTimestampMicros: kindLong, localTimestampNanos: kindLong,
}

// annotate takes over the logical type of attributes, if it is one that n can have. The specification has it that any
// other is ignored.
func (n *node) annotate(attributes map[string]any) {
	logical, _ := attributes["logicalType"].(string)
	switch logical {
	case decimal:
		n.annotateDecimal(attributes)
	case uuid:
		if n.kind == kindString || n.kind == kindFixed && n.width == 16 {
			n.logical = uuid
		}
	case duration:
		if n.kind == kindFixed && n.width == 12 {
			n.logical = duration
		}
	default:
		if of, known := underlying[logical]; known && of == n.kind {
			n.logical = logical
		}
	}
}

func (n *node) annotateDecimal(attributes map[string]any) {
	precision, ok := integer(attributes["precision"])
	scale, scaled := 0, true
	if given, any := attributes["scale"]; any {
		scale, scaled = integer(given)
	}
	switch {
	case n.kind != kindBytes && n.kind != kindFixed:
	case !ok || !scaled || precision < 1 || scale < 0 || scale > precision:
	case n.kind == kindFixed && precision > digitsIn(n.width):
	default:
		n.logical, n.precision, n.scale = decimal, precision, scale
	}
}

// integer is a JSON number that is an int of a reasonable size.
func integer(v any) (int, bool) {
	number, ok := v.(stdjson.Number)
	if !ok {
		return 0, false
	}
	i, err := number.Int64()
	return int(i), err == nil && i >= -largest && i <= largest
}

// digitsIn is how many decimal digits every value of as many bytes, two's complement, has room for.
func digitsIn(width int) int {
	if width == 0 || width > 1000 {
		return width * 2
	}
	most := new(big.Int).Lsh(big.NewInt(1), uint(8*width-1))
	return len(most.Sub(most, big.NewInt(1)).String()) - 1
}
