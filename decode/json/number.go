package json

import (
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"sluice/columns"
	"sluice/decode/malformed"
)

// number reads the text of a number into a numeric column, or one that counts from an epoch.
func (p *Parser) number(n *node, a *columns.Array, text []byte, at int) bool {
	switch n.kind {
	case columns.Int32:
		return p.int32(n, a, text, at)
	case columns.Int64:
		v, ok := p.int64(n, text, at)
		if ok {
			a.AppendInt64(v)
		}
		return ok
	case columns.Decimal:
		return p.decimal(n, a, text, at)
	case columns.Float32, columns.Float64:
		return p.float(n, a, text, at)
	}
	return p.epoch(n, a, text, at)
}

func (p *Parser) int32(n *node, a *columns.Array, text []byte, at int) bool {
	v, ok := p.int64(n, text, at)
	switch {
	case !ok:
		return false
	case v < math.MinInt32 || v > math.MaxInt32:
		return p.beyond(n, text, at)
	}
	a.AppendInt32(int32(v))
	return true
}

func (p *Parser) beyond(n *node, text []byte, at int) bool {
	return p.fail(malformed.Overflow, at, "%s is beyond what %s can hold", clip(text), typeName(n.typ))
}

func (p *Parser) lossy(text []byte, at int, has string) bool {
	return p.fail(malformed.Lossy, at, "%s does not fit without rounding: %s", clip(text), has)
}

// int64 reads an integer of whatever spelling.
func (p *Parser) int64(n *node, text []byte, at int) (int64, bool) {
	if v, ok := plainInt(text); ok {
		return v, true
	}
	x := readExact(text)
	high, low, reason := x.scaled(0, 19)
	switch reason {
	case malformed.Overflow:
		return 0, p.beyond(n, text, at)
	case malformed.Lossy:
		return 0, p.lossy(text, at, "the column holds integers")
	}
	if v, ok := narrow(high, low); ok {
		return v, true
	}
	return 0, p.beyond(n, text, at)
}

// plainInt reads a number of up to 18 digits and nothing else, as nearly all are.
func plainInt(text []byte) (int64, bool) {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var v int64
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

func narrow(high int64, low uint64) (int64, bool) {
	v := int64(low)
	return v, v>>63 == high
}

func (p *Parser) decimal(n *node, a *columns.Array, text []byte, at int) bool {
	t := n.typ
	if v, ok := plainDecimal(text, t.Scale); !ok {
	} else if t.Precision > columns.WideDecimal {
		a.AppendInt128(v>>63, uint64(v))
		return true
	} else if limit := int64(pow10[t.Precision]); v < limit && -v < limit {
		a.AppendInt64(v)
		return true
	}
	x := readExact(text)
	high, low, reason := x.scaled(t.Scale, t.Precision)
	switch {
	case reason == malformed.Overflow:
		return p.beyond(n, text, at)
	case reason == malformed.Lossy:
		return p.lossy(text, at, "the column has "+strconv.Itoa(t.Scale)+" digits behind the point")
	case t.Precision <= columns.WideDecimal:
		a.AppendInt64(int64(low))
	default:
		a.AppendInt128(high, low)
	}
	return true
}

// plainDecimal reads a number of few digits without exponent, and with no more digits behind the point than scale, as an
// unscaled value; others are not ok.
func plainDecimal(text []byte, scale int) (int64, bool) {
	if len(text) > 18 || scale > 18 {
		return 0, false
	}
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	var v int64
	count, behind := 0, -1
	for i, c := range digits {
		if c == '.' {
			behind = i + 1
			continue
		}
		if !isDigit(c) {
			return 0, false
		}
		v = v*10 + int64(c-'0')
		count++
	}
	missing := scale
	if behind >= 0 {
		missing -= len(digits) - behind
	}
	if missing < 0 || count+missing > 18 {
		return 0, false
	}
	v *= int64(pow10[missing])
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

func (p *Parser) float(n *node, a *columns.Array, text []byte, at int) bool {
	size := 64
	if n.kind == columns.Float32 {
		size = 32
	}
	v, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), size) // nothing of the text is kept
	if err != nil {
		return p.beyond(n, text, at)
	}
	if size == 32 {
		a.AppendFloat32(float32(v))
	} else {
		a.AppendFloat64(v)
	}
	return true
}

// maxDigits is how many digits the widest decimal has.
const maxDigits = 38

var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// exact is a number of any length: its first 38 significant digits and how many there are. Nothing is ever expanded, so
// that 1e1000000000 costs no more than 1e1 (https://issues.apache.org/jira/browse/KAFKA-17792).
type exact struct {
	negative bool
	// high and low are the digits, up to 38, from the first to the last that is not 0.
	high, low uint64
	// digits counts all of them, of which kept are in high and low; 0 for zero.
	digits, kept int64
	// exponent is the power of ten of the last of all digits.
	exponent int64
}

// readExact reads the text of a number.
func readExact(text []byte) exact {
	var x exact
	i := 0
	if text[0] == '-' {
		x.negative = true
		i++
	}
	var zeros, behind int64
	point := false
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' {
			point = true
			continue
		}
		if !isDigit(c) {
			break
		}
		if point {
			behind++
		}
		switch {
		case c != '0':
			x.push(zeros, c-'0')
			zeros = 0
		case x.digits > 0:
			zeros++
		}
	}
	x.exponent = zeros - behind
	if i < len(text) {
		x.exponent += readExponent(text[i+1:])
	}
	return x
}

// push adds zeros and then a digit.
func (x *exact) push(zeros int64, digit byte) {
	x.digits += zeros + 1
	if x.kept != x.digits-zeros-1 {
		return
	}
	if x.digits > maxDigits { // not one digit more is kept, or those behind would be in the wrong place
		return
	}
	x.kept = x.digits
	x.high, x.low = mul128(x.high, x.low, int(zeros)+1)
	var carry uint64
	x.low, carry = bits.Add64(x.low, uint64(digit), 0)
	x.high += carry
}

// mul128 multiplies by a power of ten.
func mul128(high, low uint64, power int) (uint64, uint64) {
	for power > 0 {
		step := min(power, len(pow10)-1)
		carry, l := bits.Mul64(low, pow10[step])
		high, low = high*pow10[step]+carry, l
		power -= step
	}
	return high, low
}

// div128 divides by a power of ten.
func div128(high, low uint64, power int) (uint64, uint64) {
	for power > 0 {
		step := min(power, len(pow10)-1)
		var r uint64
		high, r = high/pow10[step], high%pow10[step]
		low, _ = bits.Div64(r, low, pow10[step])
		power -= step
	}
	return high, low
}

// farExponent stands for every exponent that is out of all ranges; the digits of a record are fewer.
const farExponent = 1 << 40

func readExponent(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	var v int64
	for _, c := range text {
		if v = v*10 + int64(c-'0'); v > farExponent {
			v = farExponent
		}
	}
	if negative {
		return -v
	}
	return v
}

// scaled is the number times 10^scale, an integer of up to precision digits, 38 at most, in two's complement. The reason
// is empty if it is one, or why it is none.
func (x *exact) scaled(scale, precision int) (high int64, low uint64, reason malformed.Reason) {
	power := x.exponent + int64(scale)
	switch {
	case x.digits == 0:
		return 0, 0, ""
	case x.digits+power > int64(precision):
		return 0, 0, malformed.Overflow
	case power < 0:
		return 0, 0, malformed.Lossy
	}
	h, l := mul128(x.high, x.low, int(power))
	high, low = x.signed(h, l)
	return high, low, ""
}

// floored is like scaled but cuts what is behind the point, downward.
func (x *exact) floored(scale, precision int) (high int64, low uint64, reason malformed.Reason) {
	high, low, reason = x.scaled(scale, precision)
	if reason != malformed.Lossy {
		return high, low, reason
	}
	power := x.exponent + int64(scale) + x.digits - x.kept
	var h, l uint64
	switch {
	case power >= 0: // what is cut begins behind the digits that were kept
		h, l = mul128(x.high, x.low, int(power))
	case x.kept+power > 0:
		h, l = div128(x.high, x.low, int(-power))
	}
	if x.negative { // the last digit is not 0, so that something was cut
		var carry uint64
		l, carry = bits.Add64(l, 1, 0)
		h += carry
	}
	high, low = x.signed(h, l)
	return high, low, ""
}

func (x *exact) signed(high, low uint64) (int64, uint64) {
	if !x.negative {
		return int64(high), low
	}
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(0, high, borrow)
	return int64(high), low
}
