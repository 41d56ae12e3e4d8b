package protobuf

import (
	"math/bits"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
	"sluice/decode/malformed"
)

// shapePart is a field of a Timestamp or Duration, which goes to the state of its node.
const shapePart = shapeMap + 1

// compileEmbedded settles how a message is read. One that means a value may also be read as the message that it is.
func compileEmbedded(f *field, fd protoreflect.FieldDescriptor, path string) error {
	m := fd.Message()
	n := &node{path: path, known: knownOf(m), leaves: 1}
	ok, kind := false, f.value.Kind
	if n.known == knownNot || kind == columns.Struct && n.known != knownEmpty && n.known != knownJSON {
		if kind != columns.Struct {
			return mismatch(fd, f.value, path)
		}
		inner, err := compileMessage(m, f.value.Fields, path)
		f.node = inner
		return err
	}
	f.node = n
	switch n.known {
	case knownTimestamp:
		ok = kind == columns.TimestampTZ || kind == columns.Timestamp
		n.parts()
	case knownDuration:
		ok = kind == columns.Decimal && f.value.Scale == durationScale && compileDecimal(f)
		n.parts()
	case knownWrapper:
		return n.wraps(f, m.Fields().ByNumber(1), path)
	case knownJSON:
		ok = kind == columns.String
		n.document = documentOf(m)
	case knownEmpty:
		ok = kind == columns.Bool
	}
	if !ok {
		return mismatch(fd, f.value, path)
	}
	return nil
}

// parts makes the fields of a Timestamp or Duration.
func (n *node) parts() {
	n.fields = []field{
		{name: "seconds", number: 1, shape: shapePart, oneof: -1, wire: wireVarint, reads: readsInt64},
		{name: "nanos", number: 2, shape: shapePart, oneof: -1, wire: wireVarint, reads: readsInt32},
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

// part reads a field of a Timestamp or Duration.
func (p *Parser) part(n *node, f *field, w wire, until int) bool {
	at := p.i
	if w != wireVarint {
		return p.mismatch(f, w, at)
	}
	v, ok := p.varint(until)
	switch {
	case !ok:
		return false
	case f.reads == readsInt64:
		n.seconds = int64(v)
	case int64(v) != int64(int32(v)):
		return p.overflow(at, "int32")
	default:
		n.nanos = int64(v)
	}
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
	switch {
	case n.seconds < firstSecond || n.seconds > lastSecond:
		return p.fail(malformed.Overflow, p.i, "%d seconds are not within the years 1 to 9999", n.seconds)
	case n.nanos < 0 || n.nanos >= perSecond:
		return p.fail(malformed.Format, p.i, "a timestamp of %d nanoseconds", n.nanos)
	case n.nanos%1000 != 0 && !p.cut:
		return p.fail(malformed.Lossy, p.i, "%d nanoseconds are finer than a microsecond", n.nanos)
	}
	a.AppendInt64(n.seconds*1_000_000 + n.nanos/1000)
	return true
}

// duration appends seconds with nine digits behind the point.
func (p *Parser) duration(f *field, a *columns.Array) bool {
	seconds, nanos := f.node.seconds, f.node.nanos
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
	switch {
	case f.holds == holdsWide:
		return p.wide(f, a, int64(high), low, p.i)
	case int64(high) != int64(low)>>63:
		return p.tooLarge(f, p.i)
	}
	return p.signed(f, a, int64(low), p.i)
}

// difference is what Parser.Unknown lists.
func difference(m protoreflect.MessageDescriptor, to []columns.Field) []columns.Field {
	have := map[string]*columns.Field{}
	for i := range to {
		have[to[i].Name] = &to[i]
	}
	var new []columns.Field
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		column := have[string(fd.Name())]
		if column == nil {
			s := shaping{inside: []protoreflect.FullName{m.FullName()}}
			if t, err := s.field(fd, string(fd.Name())); err == nil {
				new = append(new, columns.Field{Name: string(fd.Name()), Type: t, Doc: comment(fd)})
			}
			continue
		}
		if t, ok := differenceInside(fd, &column.Type); ok {
			new = append(new, columns.Field{Name: column.Name, Type: t, Required: column.Required})
		}
	}
	return new
}

// differenceInside is a type that holds what is new inside of a column.
func differenceInside(fd protoreflect.FieldDescriptor, t *columns.Type) (columns.Type, bool) {
	switch {
	case fd.IsMap():
		value, ok := differenceInside(fd.MapValue(), &t.Fields[1].Type)
		return columns.Type{Kind: columns.Map, Fields: []columns.Field{t.Fields[0], {Name: t.Fields[1].Name, Type: value, Required: t.Fields[1].Required}}}, ok
	case t.Kind == columns.List:
		element := t.Fields[0]
		inner, ok := differenceOf(fd, &element.Type)
		return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: element.Name, Type: inner, Required: element.Required}}}, ok
	}
	return differenceOf(fd, t)
}

func differenceOf(fd protoreflect.FieldDescriptor, t *columns.Type) (columns.Type, bool) {
	if t.Kind != columns.Struct || fd.Message() == nil {
		return columns.Type{}, false
	}
	new := difference(fd.Message(), t.Fields)
	return columns.Type{Kind: columns.Struct, Fields: new}, len(new) > 0
}
