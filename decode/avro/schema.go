package avro

import "fmt"

// Schema is a parsed Avro schema. It does not change, and may be used by many goroutines.
type Schema struct{ root *node }

// kind is a type of the specification.
type kind uint8

const (
	kindNull kind = iota + 1
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindRecord
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindFixed
)

var kindNames = [...]string{
	kindNull: "null", kindBoolean: "boolean", kindInt: "int", kindLong: "long", kindFloat: "float", kindDouble: "double", kindBytes: "bytes",
	kindString: "string", kindRecord: "record", kindEnum: "enum", kindArray: "array", kindMap: "map", kindUnion: "union", kindFixed: "fixed",
}

// primitives are the names that need no definition.
var primitives = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong, "float": kindFloat, "double": kindDouble,
	"bytes": kindBytes, "string": kindString,
}

// node is one type of a schema. A named type is one node, wherever it is referred to, so that nodes may form circles.
type node struct {
	kind kind
	// name is the full name of a record, an enum or a fixed.
	name string
	// logical is one that is valid for the type, or empty.
	logical string
	// precision and scale are a decimal's.
	precision, scale int
	// width is the bytes of a fixed.
	width   int
	symbols []string
	fields  []field
	// branches are a union's, or the single type of an array's elements or a map's values.
	branches []*node

	measure measure
}

// field is a field of a record.
type field struct {
	name, doc string
	aliases   []string
	node      *node
}

// measure is what is known of the bytes of a type's values.
type measure struct {
	begun bool
	// size is how many bytes every value takes, -1 if they differ.
	size int
	// least is how many every value takes at least; it may be less than the truth.
	least int
	// void types have values that say nothing: null, a record without fields, and what is made of these alone.
	void bool
}

// largest bounds sizes, so that sums of them cannot overflow.
const largest = 1 << 30

func (n *node) item() *node { return n.branches[0] }

// values are a union's branches other than null.
func (n *node) values() []*node {
	var values []*node
	for _, b := range n.branches {
		if b.kind != kindNull {
			values = append(values, b)
		}
	}
	return values
}

// String names the type for people.
func (n *node) String() string {
	text := kindNames[n.kind]
	switch {
	case n.logical == decimal:
		return fmt.Sprintf("decimal(%d,%d)", n.precision, n.scale)
	case n.logical != "":
		return n.logical
	case n.name != "":
		return text + " " + n.name
	}
	return text
}

// weigh fills in the measure of n and of what is in it. A type that contains itself has no size, and what is met inside
// of itself takes nothing at least.
func (n *node) weigh() measure {
	m := &n.measure
	if m.begun {
		return *m
	}
	*m = measure{begun: true, size: -1}
	size, least, void := n.sum()
	*m = measure{begun: true, size: min(size, largest), least: min(least, largest), void: void}
	if size > largest {
		m.size = -1
	}
	return *m
}

// sizes of the types whose values are all as long.
var sizes = map[kind]int{kindNull: 0, kindBoolean: 1, kindFloat: 4, kindDouble: 8}

func (n *node) sum() (size, least int, void bool) {
	switch n.kind {
	case kindNull, kindBoolean, kindFloat, kindDouble:
		return sizes[n.kind], sizes[n.kind], n.kind == kindNull
	case kindFixed:
		return n.width, n.width, n.width == 0
	case kindRecord:
		return n.sumFields()
	case kindUnion:
		least, void = largest, true
		for _, b := range n.branches {
			m := b.weigh()
			least, void = min(least, m.least), void && m.void
		}
		return -1, 1 + least, void
	case kindArray, kindMap:
		n.item().weigh()
	}
	return -1, 1, false
}

func (n *node) sumFields() (size, least int, void bool) {
	void = true
	for _, f := range n.fields {
		m := f.node.weigh()
		if size >= 0 && m.size >= 0 && size+m.size <= largest {
			size += m.size
		} else {
			size = -1
		}
		least, void = min(least+m.least, largest), void && m.void
	}
	return size, least, void
}
