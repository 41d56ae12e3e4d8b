package protobuf

import (
	"math"
	"math/bits"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
	"sluice/decode/malformed"
)

// shapePart is a field of a message that means one value, which goes to the state of its node.
const shapePart = shapeMap + 1

// compileEmbedded settles how a message is read. One that means a value may also be read as the message that it is.
func compileEmbedded(f *field, fd protoreflect.FieldDescriptor, path string) error {
	m := fd.Message()
	n := &node{path: path, known: knownAs(m, f.value.Kind), leaves: 1}
	if n.known == knownNot {
		if f.value.Kind != columns.Struct {
			return mismatch(fd, f.value, path)
		}
		inner, err := compileMessage(m, f.value.Fields, path)
		f.node = inner
		return err
	}
	f.node = n
	if n.known == knownWrapper {
		return n.wraps(f, m.Fields().ByNumber(1), path)
	}
	if !n.means(f, m) {
		return mismatch(fd, f.value, path)
	}
	return nil
}

// knownAs says what a message means in a column of a kind.
func knownAs(m protoreflect.MessageDescriptor, k columns.Kind) known {
	meaning := knownOf(m)
	switch {
	case meaning == knownTimestamp, meaning == knownDuration, meaning == knownWrapper:
		if k == columns.Struct {
			return knownNot
		}
	case k == columns.Date && m.FullName() == "google.type.Date":
		return knownDate
	case k == columns.Time && m.FullName() == "google.type.TimeOfDay":
		return knownTimeOfDay
	case k == columns.Decimal && m.FullName() == "confluent.type.Decimal":
		return knownDecimal
	}
	return meaning
}

// means settles how a message that means a value is read, and reports whether the column can hold it.
func (n *node) means(f *field, m protoreflect.MessageDescriptor) bool {
	switch t := f.value; n.known {
	case knownTimestamp:
		n.has("seconds", "nanos")
		n.fields[0].reads = readsInt64
		return t.Kind == columns.TimestampTZ || t.Kind == columns.Timestamp
	case knownDuration:
		n.has("seconds", "nanos")
		n.fields[0].reads = readsInt64
		return t.Kind == columns.Decimal && t.Scale == durationScale && compileDecimal(f)
	case knownDate:
		n.has("year", "month", "day")
	case knownTimeOfDay:
		n.has("hours", "minutes", "seconds", "nanos")
	case knownDecimal:
		n.has("value", "precision", "scale")
		n.fields[0].wire, n.fields[1].reads, n.fields[1].part = wireBytes, readsUint32, precisionPart
		n.index()
		return t.Scale <= t.Precision && compileDecimal(f)
	case knownJSON:
		n.document = documentOf(m)
		return t.Kind == columns.String
	case knownEmpty:
		return t.Kind == columns.Bool
	}
	return true
}

// What is in the parts of a decimal: 128 bits in two halves, the scale, whether there are bytes, and what nobody needs.
const (
	highPart = iota
	lowPart
	scalePart
	sizePart
	precisionPart
)

// has makes fields of the numbers from 1 on, int32 at first.
func (n *node) has(names ...string) {
	for i, name := range names {
		n.fields = append(n.fields, field{name: name, number: uint64(i + 1), shape: shapePart, part: i, oneof: -1, wire: wireVarint, reads: readsInt32})
	}
	n.index()
}

// wraps makes the field of a wrapper, whose column is the wrapper's own.
func (n *node) wraps(outer *field, fd protoreflect.FieldDescriptor, path string) error {
	inner := field{name: "value", number: 1, shape: shapeOne, oneof: -1, column: outer.value, value: outer.value, leaves: 1}
	if err := compileValue(&inner, fd, path); err != nil {
		return err
	}
	compileAbsent(&inner, fd, outer.shape != shapeOne)
	n.fields, n.width = []field{inner}, 1
	n.index()
	return nil
}

// part reads a field of a message that means one value.
func (p *Parser) part(n *node, f *field, w wire, until int) bool {
	at := p.i
	if w != f.wire {
		return p.mismatch(f, w, at)
	}
	if w == wireBytes {
		return p.unscaled(n, until)
	}
	v, ok := p.varint(until)
	switch {
	case !ok:
		return false
	case f.reads == readsInt32 && int64(v) != int64(int32(v)):
		return p.overflow(at, "int32")
	case f.reads == readsUint32 && v > math.MaxUint32:
		return p.overflow(at, "uint32")
	}
	n.parts[f.part] = int64(v)
	return true
}

// The times of years 1 to 9999, and the range of a Duration, in seconds.
const (
	firstSecond  = -62135596800
	lastSecond   = 253402300799
	mostDuration = 315576000000
	perSecond    = 1_000_000_000
)

func (p *Parser) timestamp(n *node, a *columns.Array) bool {
	seconds, nanos := n.parts[0], n.parts[1]
	switch {
	case seconds < firstSecond || seconds > lastSecond:
		return p.fail(malformed.Overflow, p.i, "%d seconds are not within the years 1 to 9999", seconds)
	case nanos < 0 || nanos >= perSecond:
		return p.fail(malformed.Format, p.i, "a timestamp of %d nanoseconds", nanos)
	case nanos%1000 != 0 && !p.cut:
		return p.fail(malformed.Lossy, p.i, "%d nanoseconds are finer than a microsecond", nanos)
	}
	a.AppendInt64(seconds*1_000_000 + nanos/1000)
	return true
}

// duration appends seconds with nine digits behind the point.
func (p *Parser) duration(f *field, a *columns.Array) bool {
	seconds, nanos := f.node.parts[0], f.node.parts[1]
	switch {
	case seconds < -mostDuration || seconds > mostDuration:
		return p.fail(malformed.Overflow, p.i, "%d seconds are more than 10000 years", seconds)
	case nanos <= -perSecond || nanos >= perSecond || seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0:
		return p.fail(malformed.Format, p.i, "a duration of %d seconds and %d nanoseconds", seconds, nanos)
	}
	high, low := bits.Mul64(uint64(seconds), perSecond)
	if seconds < 0 {
		high -= perSecond
	}
	low, carry := bits.Add64(low, uint64(nanos), 0)
	high += uint64(nanos>>63) + carry
	return p.whole128(f, a, int64(high), low)
}

// whole128 appends an integer of 128 bits to a decimal.
func (p *Parser) whole128(f *field, a *columns.Array, high int64, low uint64) bool {
	switch {
	case f.holds == holdsWide:
		return p.wide(f, a, high, low, p.i)
	case high != int64(low)>>63:
		return p.tooLarge(f, p.i)
	}
	return p.signed(f, a, int64(low), p.i)
}
