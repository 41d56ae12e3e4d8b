package avro

import (
	"math"

	"sluice/columns"
)

// The first and last day that SQL and Python have, 0001-01-01 and 9999-12-31, since 1970-01-01.
const (
	firstDay = -719_162
	lastDay  = 2_932_896

	microsPerDay = 86_400_000_000
)

// unit is how a logical type counts time.
type unit struct {
	// perDay is how many there are.
	perDay int64
	kind   columns.Kind
}

var units = map[string]unit{
	timeMillis: {86_400_000, columns.Time}, timeMicros: {microsPerDay, columns.Time},
	timestampMillis: {86_400_000, columns.TimestampTZ}, timestampMicros: {microsPerDay, columns.TimestampTZ},
	timestampNanos:       {1000 * microsPerDay, columns.TimestampTZ},
	localTimestampMillis: {86_400_000, columns.Timestamp}, localTimestampMicros: {microsPerDay, columns.Timestamp},
	localTimestampNanos: {1000 * microsPerDay, columns.Timestamp},
}

// scalar compiles a type that has no others in it.
func (r *resolver) scalar(n *node, f *columns.Field, path string) (step, error) {
	s := step{most: 10, low: math.MinInt64, high: math.MaxInt64, factor: 1}
	if n.kind == kindInt {
		s.most, s.low, s.high = 5, math.MinInt32, math.MaxInt32
	}
	var ok bool
	switch f.Type.Kind {
	case columns.Bool:
		s.op, ok = opBool, n.kind == kindBoolean
	case columns.Int32, columns.Int64, columns.Float32, columns.Float64:
		ok = s.number(n, f.Type.Kind)
	case columns.Decimal:
		s.op, ok = opDecimal, n.logical == decimal
		s.fixed, s.size, s.from = n.kind == kindFixed, n.width, n.scale
	case columns.Date:
		s.op, ok = opInt32, n.logical == date
		s.low, s.high = firstDay, lastDay
	case columns.Time, columns.Timestamp, columns.TimestampTZ:
		return r.time(s, n, f, path)
	default:
		ok = s.bytes(n, &f.Type)
	}
	if !ok {
		return s, unfit(n, f, path, "")
	}
	return s, nil
}

// number chooses how an int, a long, a float or a double becomes a number. A long for an INT column is read by value;
// anything else that would round is refused, and so is a number that has a meaning of its own, unless the column is as
// wide as the number.
func (s *step) number(n *node, to columns.Kind) bool {
	whole := n.kind == kindInt || n.kind == kindLong
	plain := n.logical == ""
	switch to {
	case columns.Int32:
		s.op = opInt32
		s.low, s.high = math.MinInt32, math.MaxInt32
		return n.kind == kindInt || n.kind == kindLong && plain
	case columns.Int64:
		s.op = opInt64
		return whole
	case columns.Float32:
		if s.op = opFloat; whole {
			s.op = opIntFloat
		}
		return n.kind == kindFloat || whole && plain
	}
	switch s.op = opDouble; {
	case whole:
		s.op = opIntDouble
	case n.kind == kindFloat:
		s.op = opFloatDouble
	}
	return n.kind == kindDouble || n.kind == kindFloat || whole && plain
}

// time chooses how a logical type becomes a time or a timestamp.
func (r *resolver) time(s step, n *node, f *columns.Field, path string) (step, error) {
	u, counts := units[n.logical]
	switch {
	case !counts && (n.kind == kindInt || n.kind == kindLong):
		return s, unfit(n, f, path, "without a logical type it has no unit")
	case !counts || u.kind != f.Type.Kind:
		return s, unfit(n, f, path, "")
	}
	s.op, s.factor = opInt64, microsPerDay/max(u.perDay, 1)
	if u.kind == columns.Time {
		s.low, s.high = 0, u.perDay-1
		return s, nil
	}
	if u.perDay > microsPerDay { // every long of nanoseconds is a date that there is
		s.op, s.cut = opNanos, r.cut
		return s, nil
	}
	s.low, s.high = firstDay*u.perDay, (lastDay+1)*u.perDay-1
	return s, nil
}

// bytes chooses how bytes and text become a column of bytes.
func (s *step) bytes(n *node, to *columns.Type) bool {
	s.fixed, s.size = n.kind == kindFixed, n.width
	switch to.Kind {
	case columns.String:
		if s.op = opString; n.kind == kindEnum {
			s.op = opEnum
			for _, symbol := range n.symbols {
				s.symbols = append(s.symbols, []byte(symbol))
			}
		}
		return n.kind == kindString || n.kind == kindEnum || n.kind == kindBytes && n.logical == ""
	case columns.Binary:
		s.op = opBinary
		return n.kind == kindBytes || n.kind == kindString || n.kind == kindFixed && n.width > 0
	case columns.Fixed:
		s.op = opFixed
		return n.kind == kindFixed && n.width == to.Width && n.width > 0
	case columns.UUID:
		if s.op = opFixed; n.kind == kindString {
			s.op = opUUID
		}
		return n.kind == kindString || n.kind == kindFixed && n.width == 16
	}
	return false
}
