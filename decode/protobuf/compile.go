package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"sluice/columns"
	"sluice/decode/mapkeys"
)

// Options change how values are read. The zero value is the rules of the package comment.
type Options struct {
	// MaxDepth bounds messages and groups within each other, 1 to 10000; 0 is 100, as Google's libraries have it.
	MaxDepth int
	// CutFractions drops what of a Timestamp is finer than a microsecond, towards the past, where it would be malformed.
	CutFractions bool
	// Unknown, if not nil, is told of every field whose number the message does not have: the path of the struct that it
	// is in (empty at the root), its number, and its value as it stands in the record, without tag and length. All is valid
	// during the call alone. It says whether the field may be ignored; if not, the record is malformed (unknown). It is
	// called as the record is read, which may turn out to be malformed afterwards. Fields that the message has and the
	// columns lack are not told of: Parser.Unknown lists them.
	Unknown func(parent string, number int32, value []byte) bool
	// RefuseUnfit makes a record malformed (unknown) that has a field which the columns lack and no column can take, since
	// its message holds itself. Parser.Unknown does not list such fields.
	RefuseUnfit bool
}

const (
	defaultDepth = 100
	maxDepth     = 10000
)

// Compile makes a parser that reads messages m into the columns to, which are matched with the fields by name. Columns that
// m lacks are null, and an error that names the column if it is required. A column has the type that Message.Columns gives,
// or one of these:
//
//	integers, also enums    INT, BIGINT, DECIMAL(p,0): by value, what does not fit is malformed (overflow)
//	float                   DOUBLE
//	string, bytes           each other's, FIXED(n) and UUID: malformed where the bytes are not as the column wants them
//	Timestamp               TIMESTAMP_NTZ, the time in UTC
//	Duration                DECIMAL(p,9) of any p from 9 on
//	Timestamp, Duration, wrappers   STRUCT of the message's own fields
//	google.type.Date        DATE, malformed (format) if it is no day
//	google.type.TimeOfDay   TIME, malformed (format) if it is none, also 24:00
//	confluent.type.Decimal  DECIMAL(p,s) by value: malformed (lossy, overflow) what does not fit
func Compile(m *Message, to columns.Schema, o Options) (*Parser, error) {
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultDepth
	}
	if o.MaxDepth < 1 || o.MaxDepth > maxDepth {
		return nil, fmt.Errorf("protobuf: a depth of %d is not within 1 to %d", o.MaxDepth, maxDepth)
	}
	if len(to) == 0 {
		return nil, fmt.Errorf("protobuf: there are no columns for %s", m.Name())
	}
	root, err := compileMessage(m.descriptor, to, "")
	if err != nil {
		return nil, err
	}
	return &Parser{refuseUnfit: o.RefuseUnfit, schema: to, root: root, limit: o.MaxDepth, cut: o.CutFractions, unknown: o.Unknown, new: difference(m.descriptor, to)}, nil
}

// node is a message as the parser needs it, at one place in the columns. Since no message holds itself, at most one
// message of a node is open at a time, so that its state is here.
type node struct {
	// path is where it stands in the schema.
	path string
	// fields are one for each column, in their order, then those that the message has and the columns lack.
	fields []field
	// width is how many columns there are.
	width int
	// tags has the index of a field, from 1, by its tag where that is one byte, 0 where there is none.
	tags [128]int16
	// low has the same by the field's number; high has those of large numbers.
	low  []int16
	high map[uint64]int16
	// leaves is how many columns without columns inside them there are.
	leaves int
	known  known
	// document is which message of google/protobuf/struct.proto a knownJSON is.
	document document

	// open says that the message was met, and is not closed.
	open bool
	// members has the field of each oneof that is set, -1 if none is.
	members []int16
	// parts are the fields of a message that means one value: seconds and nanos of a Timestamp.
	parts [5]int64
	// pieces are where a Struct, Value or ListValue stands in the record.
	pieces []span
}

// span is a part of a record.
type span struct{ from, until int }

// shape says how often a field may come.
type shape uint8

const (
	// shapeNone is a column that the message lacks, or a field that the columns lack.
	shapeNone shape = iota
	shapeOne
	shapeList
	shapeMap
)

// absence says what a field that the record does not have becomes.
type absence uint8

const (
	absentNull absence = iota
	// absentValue is the zero, or the default that the message declares.
	absentValue
	// absentMessage is a message of which every field is absent: a map's value.
	absentMessage
	absentMalformed
)

// field is a field of a message and its column. What every value needs stands first, and together.
type field struct {
	shape  shape
	absent absence
	// wire is the wire type of one value; packable says that many may stand together.
	wire     wire
	packable bool
	reads    reads
	holds    holds
	// quick is what is read without asking reads and holds.
	quick quick
	// implicit says that a value and its absence are the same where the value is zero.
	implicit bool
	// unfit says that no column can take it, lacking that the message has no field for the column.
	unfit, lacking bool
	// oneof is the index in node.members, -1 for fields of none.
	oneof  int16
	number uint64
	// node is what is inside: a message, or a map's entry.
	node *node
	// names are an enum's.
	names *names
	// leaves is how many values a null of the column takes, at least 1.
	leaves int
	// column is the type of the column, value that of one value: the element's, the map's value's.
	column, value *columns.Type

	name string
	// zero and text are the default, as it would stand in a record.
	zero uint64
	text []byte
	// bound is 10^precision of a narrow decimal, or how many bytes a value has; beyond is that of a wide one in 128 bits.
	bound  int64
	beyond [2]uint64
	// part is which of node.parts a field of a message goes to that means one value.
	part int
	// keys and spare are for a map whose keys come again.
	keys  *mapkeys.Set
	spare *columns.Array
}

// lowNumbers is how far field numbers are looked up in a table.
const lowNumbers = 1024

func compileMessage(m protoreflect.MessageDescriptor, to []columns.Field, path string) (*node, error) {
	n := &node{path: path, width: len(to), fields: make([]field, len(to)), members: make([]int16, m.Oneofs().Len())}
	if len(to) == 0 {
		return nil, fmt.Errorf("protobuf: column %s has no fields", path)
	}
	if m.Fields().Len() > maxColumns || len(to) > maxColumns {
		return nil, fmt.Errorf("protobuf: %s has more than %d fields or columns", m.FullName(), maxColumns)
	}
	wanted := map[protoreflect.Name]bool{}
	for i := range to {
		name := protoreflect.Name(to[i].Name)
		inner := join(path, to[i].Name)
		if wanted[name] {
			return nil, fmt.Errorf("protobuf: there are two columns %s", inner)
		}
		wanted[name] = true
		if err := compileField(&n.fields[i], m.Fields().ByName(name), &to[i], inner); err != nil {
			return nil, err
		}
		n.leaves += n.fields[i].leaves
	}
	for i := range m.Fields().Len() {
		if fd := m.Fields().Get(i); !wanted[fd.Name()] {
			n.fields = append(n.fields, field{name: string(fd.Name()), number: uint64(fd.Number()), oneof: oneofOf(fd), unfit: unfit(m, fd)})
		}
	}
	n.index()
	return n, nil
}

func oneofOf(fd protoreflect.FieldDescriptor) int16 {
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return int16(o.Index())
	}
	return -1
}

// index makes the fields be found by their numbers.
func (n *node) index() {
	for i := range n.fields {
		if f := &n.fields[i]; f.number > 0 && f.number < 16 && f.shape != shapeNone {
			n.tags[f.number<<3|uint64(f.wire)] = int16(i + 1)
			if f.packable {
				n.tags[f.number<<3|uint64(wireBytes)] = int16(i + 1)
			}
		}
		switch number := n.fields[i].number; {
		case number == 0:
		case number < lowNumbers:
			for uint64(len(n.low)) <= number {
				n.low = append(n.low, 0)
			}
			n.low[number] = int16(i + 1)
		default:
			if n.high == nil {
				n.high = map[uint64]int16{}
			}
			n.high[number] = int16(i + 1)
		}
	}
}

// find is the index of the field of that number, -1 if there is none.
func (n *node) find(number uint64) int {
	if number < uint64(len(n.low)) {
		return int(n.low[number]) - 1
	}
	return int(n.high[number]) - 1
}

func compileField(f *field, fd protoreflect.FieldDescriptor, to *columns.Field, path string) error {
	f.name, f.column, f.value, f.oneof, f.leaves = to.Name, &to.Type, &to.Type, -1, 1
	if fd == nil {
		f.leaves, f.lacking = to.Type.Weight(), true
		if to.Required {
			return fmt.Errorf("protobuf: column %s is required, and the message has no field of the name", path)
		}
		return nil
	}
	f.number, f.oneof, f.shape = uint64(fd.Number()), oneofOf(fd), shapeOne
	switch {
	case fd.IsMap():
		return compileMap(f, fd, path)
	case fd.IsList():
		return compileList(f, fd, path)
	}
	if err := compileValue(f, fd, path); err != nil {
		return err
	}
	f.leaves = f.column.Weight()
	compileAbsent(f, fd, to.Required)
	return nil
}

// compileAbsent settles what the field becomes where the record does not have it.
func compileAbsent(f *field, fd protoreflect.FieldDescriptor, required bool) {
	declared := fd.HasDefault() && f.oneof < 0
	switch {
	case fd.Cardinality() == protoreflect.Required:
		f.absent = absentMalformed
	case !fd.HasPresence() || declared:
		f.absent = absentValue
		f.zero, f.text = encodedDefault(fd)
		if f.reads == readsExact && len(f.text) == 0 {
			f.absent = absentNull
		}
	}
	if f.absent == absentNull && required {
		f.absent = absentMalformed
	}
	f.implicit = !fd.HasPresence()
}

func compileList(f *field, fd protoreflect.FieldDescriptor, path string) error {
	if f.column.Kind != columns.List || len(f.column.Fields) != 1 {
		return mismatch(fd, f.column, path)
	}
	f.shape, f.value = shapeList, &f.column.Fields[0].Type
	if err := compileValue(f, fd, join(path, "element")); err != nil {
		return err
	}
	f.packable = f.wire != wireBytes && f.wire != wireGroup
	return nil
}

func compileMap(f *field, fd protoreflect.FieldDescriptor, path string) error {
	if f.column.Kind != columns.Map || len(f.column.Fields) != 2 {
		return mismatch(fd, f.column, path)
	}
	f.shape, f.wire, f.keys = shapeMap, wireBytes, mapkeys.New()
	entry := &node{path: path, width: 2, fields: make([]field, 2)}
	for i, part := range []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()} {
		e := &entry.fields[i]
		to := &f.column.Fields[i]
		*e = field{name: to.Name, number: uint64(part.Number()), shape: shapeOne, absent: absentValue, oneof: -1, column: &to.Type, value: &to.Type}
		if err := compileValue(e, part, join(path, to.Name)); err != nil {
			return err
		}
		if part.Message() != nil {
			e.absent = absentMessage
		} else {
			e.zero, e.text = encodedDefault(part)
		}
		if e.reads == readsExact {
			return fmt.Errorf("protobuf: column %s.%s cannot be %s: the text of a map's field may be empty", path, to.Name, to.Type.Kind)
		}
		e.leaves = to.Type.Weight()
		entry.leaves += e.leaves
	}
	entry.index()
	f.node = entry
	return nil
}

func mismatch(fd protoreflect.FieldDescriptor, t *columns.Type, path string) error {
	what := fd.Kind().String()
	switch {
	case fd.Message() != nil:
		what = string(fd.Message().FullName())
	case fd.Enum() != nil:
		what = "enum " + string(fd.Enum().FullName())
	}
	switch {
	case fd.IsMap():
		what = "map"
	case fd.IsList():
		what = "repeated " + what
	}
	return fmt.Errorf("protobuf: column %s is %s, which cannot hold what the field is, %s", path, typeName(t), what)
}

func typeName(t *columns.Type) string {
	switch t.Kind {
	case columns.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case columns.Fixed:
		return fmt.Sprintf("fixed(%d)", t.Width)
	}
	return t.Kind.String()
}
