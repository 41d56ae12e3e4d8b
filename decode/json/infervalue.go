package json

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sluice/columns"
)

// number is the column of numbers.
func (g *guesser) number(n *numbers, path string) columns.Type {
	switch {
	case n.fractions.count > 0 && n.beyond.count > 0:
		return g.asJSON(path, fmt.Sprintf("a number beyond what a DOUBLE holds (first in %s)", n.beyond.first))
	case n.fractions.count > 0:
		g.aboutFractions(n, path)
		return columns.Type{Kind: columns.Float64}
	case n.huge.count > 0 && n.before > maxDigits:
		return g.asJSON(path, fmt.Sprintf("integers of up to %d digits, where a DECIMAL has %d (first beyond 64 bits in %s)", n.before, maxDigits, n.huge.first))
	case n.huge.count > 0:
		g.remark(Taken, path, "DECIMAL(38,0), for integers beyond 64 bits (first in %s)", n.huge.first)
		return columns.Type{Kind: columns.Decimal, Precision: maxDigits}
	}
	if unit := n.epoch(); unit != 0 {
		g.remark(Might, path, "TIMESTAMP with value.json.columnFormats.%s=%s: each number is in the range of %s since 1970", safe(path), unit.option(), unit)
	} else if n.wide.count > 0 {
		g.remark(Rounding, path, "%s beyond 32 bits (first in %s), so no INT", plural(n.wide.count, "integer"), n.wide.first)
	}
	return columns.Type{Kind: columns.Int64}
}

// exactDouble is how many digits a DOUBLE always gives back.
const exactDouble = 15

func (g *guesser) aboutFractions(n *numbers, path string) {
	decimal := n.decimal()
	switch {
	case n.epoch() == seconds:
		g.remark(Might, path, "TIMESTAMP with value.json.columnFormats.%s=epochSeconds: each number is in the range of seconds since 1970", safe(path))
	case n.digits > exactDouble && decimal != "":
		g.remark(Rounding, path, "up to %d digits, which DOUBLE rounds and %s would not", n.digits, decimal)
	case n.digits > exactDouble:
		g.remark(Rounding, path, "up to %d digits, which DOUBLE rounds", n.digits)
	case decimal != "":
		g.remark(Might, path, "%s, which is exact: no number has more than %s behind the point", decimal, plural(n.behind, "digit"))
	}
}

// mostBehind is how many digits behind the point speak for amounts rather than measurements.
const mostBehind = 6

// decimal is the type that holds the numbers exactly; empty if none does, or none is likely to.
func (n *numbers) decimal() string {
	switch all := n.before + n.behind; {
	case (n.behind == 0 || n.behind > mostBehind) && n.digits <= exactDouble, all > maxDigits:
		return ""
	case all <= columns.WideDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", columns.WideDecimal, n.behind)
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", maxDigits, n.behind)
}

// epoch is the unit in which all numbers are times between September 2001 and 2096, 0 if there is none. Fractions are of
// seconds alone.
func (n *numbers) epoch() unit {
	for _, u := range []unit{seconds, millis, micros, nanos} {
		second := math.Pow10(6 - u.scale())
		if n.least >= 1e9*second && n.most < 4e9*second && (u == seconds || n.fractions.count == 0) {
			return u
		}
	}
	return 0
}

// option is the name of the format.
func (u unit) option() string {
	for name, other := range units {
		if other == u {
			return name
		}
	}
	return ""
}

// text is the column of texts.
func (g *guesser) text(s *shape, path string) columns.Type {
	x, plain := s.texts, columns.Type{Kind: columns.String}
	count := s.kinds[aText].count
	if x.empty.count == count {
		return plain
	}
	kind := x.temporal(g.options.Zone)
	switch {
	case kind == 0:
		g.mayBe(x, path)
		return plain
	case x.empty.count > 0:
		g.remark(Might, path, "%s, but for %s without a character (first in %s)", sqlNames[kind], plural(x.empty.count, "text"), x.empty.first)
		return plain
	case g.options.Plain:
		g.remark(Might, path, "%s: %s", sqlNames[kind], eachIs(count))
		return plain
	}
	g.remark(Taken, path, "%s: %s", sqlNames[kind], eachIs(count))
	return columns.Type{Kind: kind}
}

// eachIs says that all texts are what was named.
func eachIs(count int) string {
	if count == 1 {
		return "the only text is one"
	}
	return fmt.Sprintf("each of %s is one", plural(count, "text"))
}

var sqlNames = map[columns.Kind]string{columns.TimestampTZ: "TIMESTAMP", columns.Timestamp: "TIMESTAMP_NTZ", columns.Date: "DATE"}

// temporal is the kind of date or time that all texts are; 0 if they are none, or if it is not clear which.
func (x *texts) temporal(zone bool) columns.Kind {
	switch {
	case x.may&asTimestamp != 0 && (zone || x.may&zoned != 0):
		return columns.TimestampTZ
	case x.may&asLocal != 0:
		return columns.Timestamp
	case x.may&asDate != 0:
		return columns.Date
	}
	return 0
}

// mayBe remarks on what the texts of a STRING column may be.
func (g *guesser) mayBe(x *texts, path string) {
	switch decimal := x.numbers.decimal(); {
	case x.may&asTimestamp != 0:
		g.remark(Might, path, "TIMESTAMP with value.json.timeZone: each text is one, and some have no zone")
	case x.may&cut != 0:
		g.remark(Might, path, "TIMESTAMP with value.json.cutFractions=true: each text is one, and some are finer than a microsecond")
	case x.may&asTime != 0:
		g.remark(Might, path, "TIME: each text is one; Spark reads it from 4.1 on")
	case x.may&asUUID != 0:
		g.remark(Might, path, "UUID: each text is one; Spark has no such type")
	case x.may&asNumber != 0 && x.numbers.fractions.count == 0 && x.numbers.huge.count == 0:
		g.remark(Might, path, "BIGINT with value.json.numbersInText=true: each text is an integer")
	case x.may&asNumber != 0 && decimal != "":
		g.remark(Might, path, "%s with value.json.numbersInText=true: each text is a number", decimal)
	case x.may&asNumber != 0:
		g.remark(Might, path, "DOUBLE with value.json.numbersInText=true: each text is a number")
	case x.may&asJSON != 0:
		g.remark(Might, path, "JSON within JSON: each text is an array or an object of its own, and stays text")
	}
}

// How names tell that an object is a map: see Guess.
const (
	fewNames  = 3
	manyNames = 20
)

func looksLikeMap(s *shape) bool {
	if len(s.fields) < fewNames {
		return false
	}
	there, like := 0, true
	for _, f := range s.fields {
		there += f.seen
		like = like && looksLikeValue(f.name)
	}
	if !like && (len(s.fields) <= manyNames || 3*there >= len(s.fields)*s.kinds[anObject].count) {
		return false
	}
	return len(new(tree).allFields(s).present()) <= 1
}

// looksLikeValue reports whether a name is rather a value: a number, a date or time, a UUID or another hexadecimal text
// of 16 digits or more, an address.
func looksLikeValue(name string) bool {
	if _, err := strconv.ParseFloat(name, 64); err == nil && strings.ContainsAny(name, "0123456789") {
		return true
	}
	var id [16]byte
	var m moment
	text := []byte(name)
	if readUUID(&id, text) || readDate(&m, text) || readTimestamp(&m, text) {
		return true
	}
	hex := strings.Trim(name, "0123456789abcdefABCDEF") == "" && strings.ContainsAny(name, "0123456789")
	return hex && len(name) >= 16 || strings.Contains(name, "@") && strings.Contains(name, ".")
}

// thousands writes a number with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + strings.Replace(one+"s", "ys", "ies", 1)
}

// inAll names all of a number of things.
func inAll(n int, one string) string {
	if n == 1 {
		return "in the only " + one
	}
	return "in all " + plural(n, one)
}

// safe is a name or path as a terminal may show it.
func safe(name string) string {
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}
