package json

import (
	"time"

	"sluice/columns"
	"sluice/decode/malformed"
)

// moment is a date and a time of day as text has them, before anything is checked that needs a calendar.
type moment struct {
	year, month, day     int
	hour, minute, second int
	micros               int
	// finer says that digits beyond the microsecond are not all zero.
	finer bool
	zoned bool
	// offset of the zone in seconds, east is positive.
	offset int
}

const (
	daySeconds = 86400
	second     = 1_000_000 // in microseconds
)

// The first and the last microsecond of the years 1 to 9999.
var (
	minMicros = daysSince1970(1, 1, 1) * daySeconds * second
	maxMicros = daysSince1970(10000, 1, 1)*daySeconds*second - 1
)

// daysSince1970 counts days in the proleptic Gregorian calendar, for years from 1 on. It counts years from March, so that a leap day ends
// one, and in cycles of 400 years, which are all as long.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	cycle, ofCycle := year/400, year%400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return int64(cycle)*146097 + int64(ofCycle*365+ofCycle/4-ofCycle/100+ofYear) - 719468
}

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

func (m *moment) isDate() bool {
	return m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= daysIn(m.year, m.month)
}

func (m *moment) isTime() bool {
	return m.hour <= 23 && m.minute <= 59 && m.second <= 59
}

// ofDay is the time of day in microseconds.
func (m *moment) ofDay() int64 {
	return int64(m.hour*3600+m.minute*60+m.second)*second + int64(m.micros)
}

// temporal reads the text of a date or a time.
func (p *Parser) temporal(n *node, a *columns.Array, text []byte, at int) bool {
	m := &p.moment
	*m = moment{}
	if !n.format.read(n.kind, m, text) || n.kind != columns.Time && !m.isDate() || !m.isTime() {
		return p.fail(malformed.Format, at, "%q is not written as %s", clip(text), n.format.name(n.kind))
	}
	switch {
	case m.finer && !p.cut:
		return p.lossy(text, at, "the column holds microseconds")
	case n.kind == columns.Time:
		a.AppendInt64(m.ofDay())
		return true
	case m.year < 1:
		return p.beyond(n, text, at)
	case n.kind == columns.Date:
		a.AppendInt32(int32(daysSince1970(m.year, m.month, m.day)))
		return true
	}
	return p.timestamp(n, a, text, at)
}

// timestamp finishes a date with a time and perhaps a zone.
func (p *Parser) timestamp(n *node, a *columns.Array, text []byte, at int) bool {
	m := &p.moment
	v := daysSince1970(m.year, m.month, m.day)*daySeconds*second + m.ofDay()
	switch {
	case n.kind == columns.Timestamp:
		if m.zoned {
			return p.fail(malformed.Zone, at, "%q has a zone, and the column holds local times", clip(text))
		}
	case m.zoned:
		v -= int64(m.offset) * second
	case p.zone != nil:
		offset, count := offsetOf(p.zone, v/second)
		if count != 1 {
			return p.fail(malformed.Zone, at, "%q is a time that %s has %s", clip(text), p.zone, [...]string{"not", "once", "twice"}[count])
		}
		v -= offset * second
	}
	if v < minMicros || v > maxMicros {
		return p.beyond(n, text, at)
	}
	a.AppendInt64(v)
	return true
}

// offsetOf is the offset that the zone has at a local time, in seconds since 1970 as the local clock counts them, and how
// many times there are that this clock shows: none when it is put forward, two when it is put back.
func offsetOf(zone *time.Location, local int64) (offset int64, count int) {
	before, after := offsetAt(zone, local-daySeconds), offsetAt(zone, local+daySeconds)
	if offsetAt(zone, local-before) == before {
		offset, count = before, 1
	}
	if after != before && offsetAt(zone, local-after) == after {
		offset, count = after, count+1
	}
	return offset, count
}

func offsetAt(zone *time.Location, unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return int64(offset)
}

// epoch reads a number of units since 1970.
func (p *Parser) epoch(n *node, a *columns.Array, text []byte, at int) bool {
	x := readExact(text)
	scaled := x.scaled
	if p.cut && n.kind != columns.Date {
		scaled = x.floored
	}
	high, low, reason := scaled(n.format.unit.scale(), 19)
	if reason == malformed.Lossy {
		if n.kind == columns.Date {
			return p.lossy(text, at, "the column holds whole days")
		}
		return p.lossy(text, at, "the column holds microseconds")
	}
	v, ok := narrow(high, low)
	days := int64(1)
	if n.kind == columns.Date {
		days = daySeconds * second
	}
	if reason != "" || !ok || v < minMicros/days || v > maxMicros/days {
		return p.fail(malformed.Overflow, at, "%s %s are not within the years 1 to 9999; is the unit right?", clip(text), n.format.unit)
	}
	if n.kind == columns.Date {
		a.AppendInt32(int32(v))
	} else {
		a.AppendInt64(v)
	}
	return true
}

// The forms of RFC 3339.

// readTimestamp reads 2026-01-02T03:04:05.678901+01:00; the zone may be missing.
func readTimestamp(m *moment, b []byte) bool {
	if len(b) < 19 || b[10]|0x20 != 't' && b[10] != ' ' || !readDate(m, b[:10]) {
		return false
	}
	rest, ok := readTime(m, b[11:])
	return ok && (len(rest) == 0 || readZone(m, rest))
}

// readDate reads 2026-01-02.
func readDate(m *moment, b []byte) bool {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return false
	}
	century, ok1 := two(b)
	year, ok2 := two(b[2:])
	month, ok3 := two(b[5:])
	day, ok4 := two(b[8:])
	m.year, m.month, m.day = century*100+year, month, day
	return ok1 && ok2 && ok3 && ok4
}

// readTime reads 03:04:05 and a fraction if there is one, and returns what follows.
func readTime(m *moment, b []byte) ([]byte, bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return b, false
	}
	hour, ok1 := two(b)
	minute, ok2 := two(b[3:])
	seconds, ok3 := two(b[6:])
	m.hour, m.minute, m.second = hour, minute, seconds
	rest, ok := b[8:], ok1 && ok2 && ok3
	if len(rest) == 0 || rest[0] != '.' {
		return rest, ok
	}
	digits := m.fraction(rest[1:], len(rest))
	return rest[1+digits:], ok && digits > 0
}

// fraction reads up to most digits behind the point and returns how many there are.
func (m *moment) fraction(b []byte, most int) int {
	digits, unit := 0, second/10
	for digits < len(b) && digits < most && isDigit(b[digits]) {
		m.micros += int(b[digits]-'0') * unit
		m.finer = m.finer || unit == 0 && b[digits] != '0'
		unit /= 10
		digits++
	}
	return digits
}

// readZone reads Z or +01:00.
func readZone(m *moment, b []byte) bool {
	m.zoned = true
	if len(b) == 1 {
		return b[0]|0x20 == 'z'
	}
	if len(b) != 6 || b[3] != ':' {
		return false
	}
	return m.setOffset(b[0], b[1:3], b[4:6])
}

func (m *moment) setOffset(sign byte, hours, minutes []byte) bool {
	h, ok1 := two(hours)
	mins, ok2 := two(minutes)
	m.zoned, m.offset = true, h*3600+mins*60
	if sign == '-' {
		m.offset = -m.offset
	}
	return ok1 && ok2 && h <= 23 && mins <= 59 && (sign == '+' || sign == '-')
}

// two reads two digits.
func two(b []byte) (int, bool) {
	tens, ones := b[0]-'0', b[1]-'0'
	return int(tens)*10 + int(ones), tens <= 9 && ones <= 9
}
