package json

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/columns"
	"sluice/decode/mapkeys"
)

// Options change how values are read. The zero value is the rules of the package comment.
type Options struct {
	// MaxDepth bounds arrays and objects within each other, 1 to 10000; 0 is 100.
	MaxDepth int
	// Zone is where local times of TIMESTAMP columns are; nil is UTC.
	Zone *time.Location
	// NumbersInText takes "5" for 5: a string that is a JSON number to the letter, in numeric and epoch columns.
	NumbersInText bool
	// CutFractions drops what is finer than a microsecond, towards the past, where it would be malformed.
	CutFractions bool
	// Timestamps says how TIMESTAMP and TIMESTAMP_NTZ columns are written: rfc3339 (and "") as in the package comment;
	// epochSeconds, epochMillis, epochMicros or epochNanos, numbers with or without fraction; or a pattern of Spark's
	// letters, see Pattern.
	Timestamps string
	// Dates says how DATE columns are written: iso (and "") for 2026-01-02, epochDays, or a pattern.
	Dates string
	// Formats overrides the two for columns, by path as Iceberg has it: created, address.since, items.element.at,
	// prices.key, prices.value. For a STRING column, json keeps the text of any value as it stands.
	Formats map[string]string
	// Unknown, if not nil, is told of every field that the schema does not have: the path of the struct that it is in
	// (empty at the root), its name, and the text of its value, whose syntax was checked; see Infer. All is valid during
	// the call alone. It says whether the field may be ignored; if not, the record is malformed (unknown). It is called as
	// the record is read, which may turn out to be malformed afterwards.
	Unknown func(parent string, name, value []byte) bool
}

// defaultDepth and maxDepth: a parser that recurses needs a limit, and Go's stack takes 10000 levels easily.
const (
	defaultDepth = 100
	maxDepth     = 10000
)

// Compile makes a parser for a schema. Its errors name the column.
func Compile(schema columns.Schema, o Options) (*Parser, error) {
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultDepth
	}
	if o.MaxDepth < 1 || o.MaxDepth > maxDepth {
		return nil, fmt.Errorf("json: a depth of %d is not within 1 to %d", o.MaxDepth, maxDepth)
	}
	if o.Zone == time.UTC {
		o.Zone = nil
	}
	c := &compiler{options: &o, used: map[string]bool{}}
	root := &node{reads: readsStruct}
	if err := c.fields(root, schema); err != nil {
		return nil, err
	}
	for _, path := range sorted(o.Formats) {
		if !c.used[path] {
			return nil, fmt.Errorf("json: a format is given for column %s, which the schema does not have", path)
		}
	}
	return &Parser{schema: schema, root: root, leaves: root.count(), unknown: o.Unknown, zone: o.Zone, numbersInText: o.NumbersInText, cut: o.CutFractions,
		scanner: scanner{limit: o.MaxDepth}}, nil
}

// CompileValue makes a parser of values that need not be objects, such as the keys of records: each is one JSON text, and
// becomes the value of the only column, f. Paths of formats begin with its name; those of faults leave it out.
func CompileValue(f columns.Field, o Options) (*Parser, error) {
	p, err := Compile(columns.Schema{f}, o)
	if err == nil {
		p.single = true
	}
	return p, err
}

func sorted(formats map[string]string) []string {
	var paths []string
	for path := range formats {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// count fills in leaves, and returns how many columns without columns inside them there are, wide ones as often as they are
// wide.
func (n *node) count() int {
	below := 0
	for i := range n.children {
		below += n.children[i].count()
	}
	below = max(1, below)
	if n.typ == nil { // the record itself
		return below
	}
	n.leaves = n.typ.Weight()
	return max(below, n.leaves)
}

// reads says what in a record becomes a value of a node.
type reads uint8

const (
	readsText reads = iota
	readsNumber
	readsBool
	readsAny
	readsList
	readsMap
	readsStruct
)

// node is a column, or a column inside one, as the parser needs it.
type node struct {
	// head and mask are the first bytes of quick, up to eight, for one comparison.
	head, mask uint64
	// quick is the name with the quote that ends it and a colon, empty for a name that JSON may have to escape.
	quick    string
	typ      *columns.Type
	reads    reads
	required bool
	kind     columns.Kind
	// children are the fields, the element, or key and value.
	children []node
	// index finds children by name where there are many.
	index map[string]int32
	// keys finds a map's keys again.
	keys *mapkeys.Set
	// format is how dates and timestamps are written.
	format format
	name   string
	// leaves is how many values a null of the column takes, at least 1.
	leaves int
	// path is where it stands in the schema.
	path string
}

type compiler struct {
	options *Options
	used    map[string]bool
}

// many is how many fields are searched one after the other at most.
const many = 8

func (c *compiler) fields(parent *node, fields []columns.Field) error {
	if len(fields) == 0 {
		return fmt.Errorf("json: %s has no fields", orRoot(parent.path))
	}
	parent.children = make([]node, len(fields))
	parent.index = make(map[string]int32, len(fields))
	for i := range fields {
		f := &fields[i]
		if _, twice := parent.index[f.Name]; twice {
			return fmt.Errorf("json: %s has two fields %s", orRoot(parent.path), f.Name)
		}
		parent.index[f.Name] = int32(i)
		if err := c.node(&parent.children[i], f, join(parent.path, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

func orRoot(path string) string {
	if path == "" {
		return "the schema"
	}
	return "column " + path
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func (c *compiler) node(n *node, f *columns.Field, path string) error {
	*n = node{name: f.Name, path: path, kind: f.Type.Kind, typ: &f.Type, required: f.Required}
	if strings.IndexFunc(f.Name, mayBeEscaped) < 0 {
		n.quick = f.Name + `":`
		var head, mask [8]byte
		for i := range copy(head[:], n.quick) {
			mask[i] = 0xff
		}
		n.head, n.mask = binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(mask[:])
	}
	switch n.kind {
	case columns.Struct:
		n.reads = readsStruct
		return c.fields(n, f.Type.Fields)
	case columns.List:
		n.reads = readsList
		return c.parts(n, 1)
	case columns.Map:
		n.reads = readsMap
		return c.mapping(n)
	}
	return c.scalar(n)
}

// mayBeEscaped: such a name is looked up after unescaping. U+FFFD is what Go has for bytes that are no UTF-8.
func mayBeEscaped(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == '\ufffd' }

func (c *compiler) parts(n *node, want int) error {
	if len(n.typ.Fields) != want {
		return fmt.Errorf("json: column %s is a %s of %d types, not %d", n.path, n.kind, len(n.typ.Fields), want)
	}
	n.children = make([]node, want)
	for i := range n.children {
		if err := c.node(&n.children[i], &n.typ.Fields[i], join(n.path, n.typ.Fields[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) mapping(n *node) error {
	if err := c.parts(n, 2); err != nil {
		return err
	}
	n.keys = mapkeys.New()
	switch key := &n.children[0]; {
	case !key.required:
		return fmt.Errorf("json: the key of column %s must be required: names are never null", n.path)
	case key.reads > readsBool, key.kind == columns.Float32, key.kind == columns.Float64:
		return fmt.Errorf("json: the key of column %s cannot be %s: a name is text, and equal keys must be told", n.path, key.kind)
	}
	return nil
}

func (c *compiler) scalar(n *node) error {
	switch n.kind {
	case columns.Bool:
		n.reads = readsBool
	case columns.Int32, columns.Int64, columns.Float32, columns.Float64:
		n.reads = readsNumber
	case columns.Decimal:
		n.reads = readsNumber
		if p, s := n.typ.Precision, n.typ.Scale; p < 1 || p > maxDigits || s < 0 || s > p {
			return fmt.Errorf("json: column %s cannot be decimal(%d,%d)", n.path, p, s)
		}
	case columns.Fixed:
		if n.typ.Width < 1 {
			return fmt.Errorf("json: column %s has a width of %d bytes", n.path, n.typ.Width)
		}
	case columns.String, columns.Binary, columns.UUID, columns.Date, columns.Time, columns.Timestamp, columns.TimestampTZ:
	default:
		return fmt.Errorf("json: column %s: there are no values of %s", n.path, n.kind)
	}
	return c.format(n)
}

// format settles how the column is written.
func (c *compiler) format(n *node) error {
	name, given := c.options.Formats[n.path]
	c.used[n.path] = c.used[n.path] || given
	var err error
	switch n.kind {
	case columns.Timestamp, columns.TimestampTZ:
		if !given {
			name = c.options.Timestamps
		}
		n.format, err = timestampFormat(name, n.kind)
	case columns.Date:
		if !given {
			name = c.options.Dates
		}
		n.format, err = dateFormat(name)
	default:
		if given && name == "json" && n.kind == columns.String {
			n.reads = readsAny
		} else if given {
			err = fmt.Errorf("there is no format %q for %s", name, n.kind)
		}
	}
	if n.format.unit != 0 {
		n.reads = readsNumber
	}
	if err != nil {
		return fmt.Errorf("json: column %s: %w", n.path, err)
	}
	return nil
}
