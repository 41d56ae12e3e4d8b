package json

import (
	"fmt"
	"strings"
)

// pattern reads dates and times written in Spark's pattern letters, of which it knows these:
//
//	yyyy, uuuu     year of four digits
//	MM, M          month, of two digits or of one or two
//	MMM            month as Jan, Feb, Mar, …, whatever the case
//	dd, d          day of the month
//	HH, H          hour, 0 to 23
//	hh, h          hour, 1 to 12, beside a
//	a              AM or PM, whatever the case
//	mm, m          minute
//	ss, s          second
//	S…             fraction of the second: from one digit to as many as there are letters, 9 at most
//	X, XX, XXX     zone: Z or +01, Z or +0100, Z or +01:00
//	x, xx, xxx     the same without Z; Z alone is xx
//	'text'         text; '' is a quote
//	[…]            may be missing
//	other          characters that are no letters stand for themselves
//
// Every letter must be of the text, and nothing may be left of it. Spark's other letters, such as yy, which guesses the
// century, or VV, the name of a zone, are refused. Hours, minutes, seconds that the pattern has not are 0.
type pattern struct {
	source string
	steps  []patternStep
	// has says which parts of a time the pattern reads, whether they may be missing or not.
	has map[string]bool
	// sure says which parts cannot be missing.
	sure map[string]bool
}

// patternStep reads one piece of the text.
type patternStep struct {
	part string
	// low and high are how many digits there may be.
	low, high int
	// literal is text that must be there.
	literal string
	// colon and zulu say how an offset is written: with a colon, with Z for 0.
	colon, zulu bool
	// minutes says that an offset has them.
	minutes bool
	// optional steps may be missing together.
	optional []patternStep
}

func compilePattern(source string) (*pattern, error) {
	c := &patternCompiler{source: source, p: &pattern{source: source, has: map[string]bool{}, sure: map[string]bool{}}}
	steps, err := c.steps(0)
	if err != nil {
		return nil, err
	}
	c.p.steps = steps
	if c.p.has["half"] != c.p.has["clock"] {
		return nil, fmt.Errorf("pattern %q: hours of 1 to 12, hh, and AM or PM, a, need each other", source)
	}
	return c.p, nil
}

type patternCompiler struct {
	source string
	at     int
	p      *pattern
}

func (c *patternCompiler) fail(at int, format string, a ...any) error {
	return fmt.Errorf("pattern %q, character %d: %s", c.source, at+1, fmt.Sprintf(format, a...))
}

// steps compiles up to the end, or, within brackets, to the closing one.
func (c *patternCompiler) steps(depth int) ([]patternStep, error) {
	var steps []patternStep
	for c.at < len(c.source) {
		from, letter := c.at, c.source[c.at]
		switch {
		case letter == '[':
			c.at++
			inner, err := c.steps(depth + 1)
			if err != nil {
				return nil, err
			}
			if c.at == len(c.source) {
				return nil, c.fail(from, "this bracket is not closed")
			}
			c.at++
			steps = append(steps, patternStep{optional: inner})
		case letter == ']':
			if depth == 0 {
				return nil, c.fail(from, "this bracket was not opened")
			}
			return steps, nil
		case letter == '\'':
			literal, err := c.quoted()
			if err != nil {
				return nil, err
			}
			steps = append(steps, patternStep{literal: literal})
		case letter|0x20 >= 'a' && letter|0x20 <= 'z':
			step, err := c.letters(depth)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		default:
			c.at++
			steps = append(steps, patternStep{literal: c.source[from:c.at]})
		}
	}
	return steps, nil
}

// quoted reads text in quotes, in which two quotes stand for one. Two quotes with nothing between them are one, too.
func (c *patternCompiler) quoted() (string, error) {
	from := c.at
	literal := ""
	for c.at++; ; c.at++ {
		size := strings.IndexByte(c.source[c.at:], '\'')
		if size < 0 {
			return "", c.fail(from, "this quote is not closed")
		}
		literal += c.source[c.at : c.at+size]
		c.at += size + 1
		if !strings.HasPrefix(c.source[c.at:], "'") {
			break
		}
		literal += "'"
	}
	if literal == "" {
		return "'", nil
	}
	return literal, nil
}

// letterRuns are the runs of letters that have a meaning.
var letterRuns = map[string]patternStep{
	"yyyy": {part: "year", low: 4, high: 4}, "uuuu": {part: "year", low: 4, high: 4},
	"MM": {part: "month", low: 2, high: 2}, "M": {part: "month", low: 1, high: 2}, "MMM": {part: "monthName"},
	"dd": {part: "day", low: 2, high: 2}, "d": {part: "day", low: 1, high: 2},
	"HH": {part: "hour", low: 2, high: 2}, "H": {part: "hour", low: 1, high: 2},
	"hh": {part: "clock", low: 2, high: 2}, "h": {part: "clock", low: 1, high: 2}, "a": {part: "half"},
	"mm": {part: "minute", low: 2, high: 2}, "m": {part: "minute", low: 1, high: 2},
	"ss": {part: "second", low: 2, high: 2}, "s": {part: "second", low: 1, high: 2},
	"X": {part: "zone", zulu: true}, "XX": {part: "zone", zulu: true, minutes: true}, "XXX": {part: "zone", zulu: true, minutes: true, colon: true},
	"x": {part: "zone"}, "xx": {part: "zone", minutes: true}, "xxx": {part: "zone", minutes: true, colon: true}, "Z": {part: "zone", minutes: true},
}

// letters compiles a run of the same letter.
func (c *patternCompiler) letters(depth int) (patternStep, error) {
	from := c.at
	rest := c.source[from:]
	size := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	c.at += size
	step, ok := letterRuns[rest[:size]]
	if rest[0] == 'S' && size <= 9 {
		step, ok = patternStep{part: "fraction", low: 1, high: size}, true
	}
	if !ok {
		return step, c.fail(from, "%s is not understood; there are yyyy MM dd HH hh a mm ss S X x Z, and text goes into single quotes", rest[:size])
	}
	part := meaning(step.part)
	if c.p.has[part] || step.part == "clock" && c.p.has["clock"] {
		return step, c.fail(from, "the %s is there already", part)
	}
	c.p.has[part], c.p.has[step.part] = true, true
	if depth == 0 {
		c.p.sure[part] = true
	}
	return step, nil
}

// meaning is the part of a time that a step is about, whatever way it is written.
func meaning(part string) string {
	switch part {
	case "monthName":
		return "month"
	case "clock":
		return "hour"
	}
	return part
}

// lacks is the first of parts that a text of the pattern may be without, empty if there is none.
func (p *pattern) lacks(parts ...string) string {
	for _, part := range parts {
		if !p.sure[part] {
			return part
		}
	}
	return ""
}

// read takes text apart.
func (p *pattern) read(m *moment, text []byte) bool {
	r := patternReader{m: m, clock: -1}
	rest, ok := r.steps(p.steps, text)
	if !ok || len(rest) > 0 {
		return false
	}
	if r.clock >= 0 {
		m.hour = r.clock%12 + r.half
		return r.clock >= 1 && r.clock <= 12
	}
	return true
}

// patternReader is a text half read.
type patternReader struct {
	m *moment
	// clock is the hour of 1 to 12, -1 if there is none; half is 12 in the afternoon.
	clock, half int
}

func (r *patternReader) steps(steps []patternStep, text []byte) ([]byte, bool) {
	for i := range steps {
		s := &steps[i]
		if s.optional != nil {
			before, moment := *r, *r.m
			if rest, ok := r.steps(s.optional, text); ok {
				text = rest
			} else {
				*r, *r.m = before, moment
			}
			continue
		}
		var ok bool
		if text, ok = r.step(s, text); !ok {
			return text, false
		}
	}
	return text, true
}

func (r *patternReader) step(s *patternStep, text []byte) ([]byte, bool) {
	switch s.part {
	case "":
		if len(text) < len(s.literal) || string(text[:len(s.literal)]) != s.literal {
			return text, false
		}
		return text[len(s.literal):], true
	case "monthName":
		return r.monthName(text)
	case "half":
		return r.afternoon(text)
	case "zone":
		return r.zone(s, text)
	case "fraction":
		digits := r.m.fraction(text, s.high)
		return text[digits:], digits > 0
	}
	digits, value := 0, 0
	for digits < len(text) && digits < s.high && isDigit(text[digits]) {
		value = value*10 + int(text[digits]-'0')
		digits++
	}
	*r.field(s.part) = value
	return text[digits:], digits >= s.low
}

func (r *patternReader) field(part string) *int {
	switch part {
	case "year":
		return &r.m.year
	case "month":
		return &r.m.month
	case "day":
		return &r.m.day
	case "hour":
		return &r.m.hour
	case "clock":
		return &r.clock
	case "minute":
		return &r.m.minute
	}
	return &r.m.second
}

func (r *patternReader) monthName(text []byte) ([]byte, bool) {
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	if len(text) < 3 {
		return text, false
	}
	for month := range 12 {
		if sameLetters(text[:3], names[3*month:3*month+3]) {
			r.m.month = month + 1
			return text[3:], true
		}
	}
	return text, false
}

func (r *patternReader) afternoon(text []byte) ([]byte, bool) {
	switch {
	case len(text) < 2:
		return text, false
	case sameLetters(text[:2], "pm"):
		r.half = 12
	case !sameLetters(text[:2], "am"):
		return text, false
	}
	return text[2:], true
}

// sameLetters compares ASCII text with lower-case letters, whatever its case.
func sameLetters(text []byte, lower string) bool {
	for i := range text {
		if text[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

var noMinutes = []byte("00")

func (r *patternReader) zone(s *patternStep, text []byte) ([]byte, bool) {
	if s.zulu && len(text) > 0 && text[0] == 'Z' {
		r.m.zoned = true
		return text[1:], true
	}
	size := 3
	if s.minutes {
		size += 2
	}
	if s.colon {
		size++
	}
	if len(text) < size || s.colon && text[3] != ':' {
		return text, false
	}
	minutes := noMinutes
	if s.minutes {
		minutes = text[size-2 : size]
	}
	return text[size:], r.m.setOffset(text[0], text[1:3], minutes)
}
