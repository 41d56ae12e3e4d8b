package protobuf

import (
	"math/bits"
	"time"

	"sluice/columns"
	"sluice/decode/malformed"
)

// date appends a google.type.Date, which may say of a year or a month alone; no column does.
func (p *Parser) date(n *node, a *columns.Array) bool {
	year, month, day := n.parts[0], n.parts[1], n.parts[2]
	if year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31 {
		at := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
		if at.Day() == int(day) {
			days := at.Unix() / 86400
			if at.Unix()%86400 < 0 {
				days--
			}
			a.AppendInt32(int32(days))
			return true
		}
	}
	return p.fail(malformed.Format, p.i, "year %d, month %d, day %d is no day", year, month, day)
}

// timeOfDay appends a google.type.TimeOfDay.
func (p *Parser) timeOfDay(n *node, a *columns.Array) bool {
	hours, minutes, seconds, nanos := n.parts[0], n.parts[1], n.parts[2], n.parts[3]
	switch {
	case hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59 || nanos < 0 || nanos >= perSecond:
		return p.fail(malformed.Format, p.i, "%d hours, %d minutes, %d seconds, %d nanoseconds are no time of a day", hours, minutes, seconds, nanos)
	case nanos%1000 != 0 && !p.cut:
		return p.fail(malformed.Lossy, p.i, "%d nanoseconds are finer than a microsecond", nanos)
	}
	a.AppendInt64(((hours*60+minutes)*60+seconds)*1_000_000 + nanos/1000)
	return true
}

// unscaled reads the value of a confluent.type.Decimal, big-endian two's complement.
func (p *Parser) unscaled(n *node, until int) bool {
	at := p.i
	size, ok := p.length(until)
	if !ok {
		return false
	}
	value := p.b[p.i : p.i+size]
	p.i += size
	var high, low uint64
	for i, c := range value {
		if i == 0 && c >= 0x80 {
			high, low = ^uint64(0), ^uint64(0)
		}
		if top := int64(high) >> 55; top != 0 && top != -1 {
			return p.fail(malformed.Overflow, at, "a number of more than 128 bits")
		}
		high, low = high<<8|low>>56, low<<8|uint64(c)
	}
	n.parts[highPart], n.parts[lowPart], n.parts[sizePart] = int64(high), int64(low), int64(size)
	return true
}

// decimal appends a confluent.type.Decimal, whose scale is the record's choice.
func (p *Parser) decimal(f *field, a *columns.Array) bool {
	n := f.node
	if n.parts[sizePart] == 0 {
		return p.fail(malformed.Format, p.i, "a decimal of no bytes")
	}
	high, low, negative := uint64(n.parts[highPart]), uint64(n.parts[lowPart]), n.parts[highPart] < 0
	if negative {
		high, low = negate(high, low)
	}
	for scale := n.parts[scalePart]; scale != int64(f.value.Scale) && high|low != 0; {
		if scale < int64(f.value.Scale) {
			scale++
			over, carry := bits.Mul64(low, 10)
			above, next := bits.Mul64(high, 10)
			var more uint64
			if high, more = bits.Add64(next, over, 0); above+more != 0 {
				return p.tooLarge(f, p.i)
			}
			low = carry
			continue
		}
		scale--
		var rest uint64
		high, rest = bits.Div64(0, high, 10)
		if low, rest = bits.Div64(rest, low, 10); rest != 0 {
			return p.fail(malformed.Lossy, p.i, "a decimal of more digits than %s has behind the point", typeName(f.value))
		}
	}
	if high>>63 != 0 {
		return p.tooLarge(f, p.i)
	}
	if negative {
		high, low = negate(high, low)
	}
	return p.whole128(f, a, int64(high), low)
}

func negate(high, low uint64) (uint64, uint64) {
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(0, high, borrow)
	return high, low
}
