package json

import (
	"fmt"

	"sluice/columns"
)

// unit is what a number counts since 1970-01-01T00:00:00Z.
type unit uint8

const (
	seconds unit = iota + 1
	millis
	micros
	nanos
	days
)

var units = map[string]unit{"epochSeconds": seconds, "epochMillis": millis, "epochMicros": micros, "epochNanos": nanos, "epochDays": days}

// String is the plural in words.
func (u unit) String() string {
	return [...]string{seconds: "seconds", millis: "milliseconds", micros: "microseconds", nanos: "nanoseconds", days: "days"}[u]
}

// scale is the power of ten that makes microseconds, or days, of the unit.
func (u unit) scale() int {
	return [...]int{seconds: 6, millis: 3, micros: 0, nanos: -3, days: 0}[u]
}

// format is how a date or time is written: the form of RFC 3339 if it is zero.
type format struct {
	unit    unit
	pattern *pattern
}

func timestampFormat(name string, kind columns.Kind) (format, error) {
	switch u := units[name]; {
	case name == "" || name == "rfc3339":
		return format{}, nil
	case u == days:
		return format{}, fmt.Errorf("epochDays is for DATE")
	case u != 0:
		return format{unit: u}, nil
	}
	p, err := compilePattern(name)
	if err != nil {
		return format{}, err
	}
	if missing := p.lacks("year", "month", "day"); missing != "" {
		return format{}, fmt.Errorf("pattern %q has no %s", name, missing)
	}
	if kind == columns.Timestamp && p.has["zone"] {
		return format{}, fmt.Errorf("pattern %q has a zone, and TIMESTAMP_NTZ holds none: use TIMESTAMP", name)
	}
	return format{pattern: p}, nil
}

func dateFormat(name string) (format, error) {
	switch u := units[name]; {
	case name == "" || name == "iso":
		return format{}, nil
	case u == days:
		return format{unit: u}, nil
	case u != 0:
		return format{}, fmt.Errorf("a DATE is counted in epochDays, not %s", name)
	}
	p, err := compilePattern(name)
	if err != nil {
		return format{}, err
	}
	if missing := p.lacks("year", "month", "day"); missing != "" {
		return format{}, fmt.Errorf("pattern %q has no %s", name, missing)
	}
	for _, part := range []string{"hour", "minute", "second", "fraction", "zone"} {
		if p.has[part] {
			return format{}, fmt.Errorf("pattern %q has the %s, which a DATE would lose: use TIMESTAMP", name, part)
		}
	}
	return format{pattern: p}, nil
}

// read takes text apart. What it finds may still be no date, such as 31 February.
func (f *format) read(kind columns.Kind, m *moment, text []byte) bool {
	switch {
	case f.pattern != nil:
		return f.pattern.read(m, text)
	case kind == columns.Date:
		return readDate(m, text)
	case kind == columns.Time:
		rest, ok := readTime(m, text)
		return ok && len(rest) == 0
	}
	return readTimestamp(m, text)
}

// name is how an error calls the format.
func (f *format) name(kind columns.Kind) string {
	switch {
	case f.pattern != nil:
		return f.pattern.source
	case kind == columns.Date:
		return "a date such as 2026-01-02"
	case kind == columns.Time:
		return "a time such as 03:04:05.678901"
	case kind == columns.Timestamp:
		return "a timestamp such as 2026-01-02T03:04:05.678901"
	}
	return "a timestamp such as 2026-01-02T03:04:05.678901Z"
}
