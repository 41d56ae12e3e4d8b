package thrift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	// longest bounds the text in a message, and all of it together: the largest that a metastore returns is a table's record,
	// of some hundreds of kilobytes.
	longest = 64 << 20
	// deepest bounds how values nest.
	deepest = 64
)

// ErrStranger says that what was read is no message of the protocol: something else answers there.
var ErrStranger = errors.New("what answers there does not speak Thrift's binary protocol")

// Read reads one message. ErrStranger is wrapped where it is none; an end before the first byte is io.EOF, a later one
// io.ErrUnexpectedEOF.
func Read(r io.Reader) (Message, error) {
	in := &reader{r: r, left: longest}
	head := in.bytes(4)
	if in.err != nil {
		return Message{}, in.err
	}
	word := binary.BigEndian.Uint32(head)
	if word&0xffffff00 != version {
		return Message{}, fmt.Errorf("%w: it begins with %q", ErrStranger, head)
	}
	m := Message{Kind: Kind(word)}
	m.Method = in.text()
	m.Seq = int32(in.uint32())
	m.Body = in.structure(0)
	if in.err == io.EOF {
		in.err = io.ErrUnexpectedEOF
	}
	return m, in.err
}

// reader reads values until the first error, which stays.
type reader struct {
	r    io.Reader
	left int
	err  error
}

func (in *reader) fail(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf("%w: "+format, append([]any{ErrStranger}, args...)...)
	}
}

// bytes is the next n, or zeros after an error. What is asked for is only made room for as it comes.
func (in *reader) bytes(n int) []byte {
	if in.err == nil {
		if in.left -= n; n < 0 || in.left < 0 {
			in.fail("a message of more than %d bytes", longest)
		}
	}
	if in.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	const step = 64 << 10
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		at := len(b)
		b = append(b, make([]byte, min(n-at, step))...)
		if _, in.err = io.ReadFull(in.r, b[at:]); in.err != nil {
			return make([]byte, min(n, 8))
		}
	}
	return b
}

func (in *reader) uint32() uint32 { return binary.BigEndian.Uint32(in.bytes(4)) }

func (in *reader) text() string {
	n := int32(in.uint32())
	if in.err != nil {
		return ""
	}
	b := in.bytes(int(n))
	if in.err != nil {
		return ""
	}
	return string(b)
}

func (in *reader) structure(depth int) Struct {
	s := Struct{}
	for in.err == nil {
		kind := Type(in.bytes(1)[0])
		if in.err != nil || kind == Stop {
			break
		}
		field := int16(binary.BigEndian.Uint16(in.bytes(2)))
		s[field] = in.value(kind, depth)
	}
	return s
}

func (in *reader) value(kind Type, depth int) any {
	if depth > deepest {
		in.fail("values nest deeper than %d", deepest)
	}
	if in.err != nil {
		return nil
	}
	switch kind {
	case Bool:
		return in.bytes(1)[0] != 0
	case Byte:
		return int8(in.bytes(1)[0])
	case Double:
		return math.Float64frombits(binary.BigEndian.Uint64(in.bytes(8)))
	case I16:
		return int16(binary.BigEndian.Uint16(in.bytes(2)))
	case I32:
		return int32(in.uint32())
	case I64:
		return int64(binary.BigEndian.Uint64(in.bytes(8)))
	case Text:
		return in.text()
	case Record:
		return in.structure(depth + 1)
	case Mapped:
		return in.mapping(depth + 1)
	case SetOf:
		return Set(in.list(depth + 1))
	case ListOf:
		return in.list(depth + 1)
	}
	in.fail("a value of type %d", kind)
	return nil
}

// size is the number of items of a container, each of which takes a byte at least.
func (in *reader) size() int {
	n := int(int32(in.uint32()))
	if in.err == nil && (n < 0 || n > in.left) {
		in.fail("a container of %d items", n)
	}
	if in.err != nil {
		return 0
	}
	return n
}

func (in *reader) list(depth int) List {
	l := List{Of: Type(in.bytes(1)[0])}
	for range in.size() {
		item := in.value(l.Of, depth)
		if in.err != nil {
			break
		}
		l.Items = append(l.Items, item)
	}
	return l
}

func (in *reader) mapping(depth int) any {
	m := Map{Key: Type(in.bytes(1)[0])}
	m.Value = Type(in.bytes(1)[0])
	for range in.size() {
		key := in.value(m.Key, depth)
		value := in.value(m.Value, depth)
		if in.err != nil {
			break
		}
		m.Pairs = append(m.Pairs, [2]any{key, value})
	}
	// An empty map of some servers has no types.
	if len(m.Pairs) > 0 && (m.Key != Text || m.Value != Text) {
		return m
	}
	if len(m.Pairs) == 0 && m.Key != Stop && m.Key != Text {
		return m
	}
	texts := make(map[string]string, len(m.Pairs))
	for _, pair := range m.Pairs {
		texts[pair[0].(string)] = pair[1].(string)
	}
	return texts
}
