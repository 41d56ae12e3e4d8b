package parquetfile

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// Nowhere is the Source of a field that the rows do not have: all its values are null.
const Nowhere = -1

// Field is a column of the file, or a part of one.
type Field struct {
	Name string
	// ID is the field id, by which table formats find the column whatever its name.
	ID int
	// Required fields have no nulls. Writing one is an error.
	Required bool
	// Type is how the file stores the values. Its Fields are not looked at: Children replace them.
	Type columns.Type
	// From is how the rows hold the values where that is narrower than Type: an Int32 for an Int64, a Float32 for a
	// Float64, a Decimal of fewer digits. The zero value says that the rows hold Type.
	From columns.Type
	// Source is the index of the values among the columns of the rows or the children of the parent's column, or
	// Nowhere. Inside a List it is 0, inside a Map 0 for the key and 1 for the value.
	Source int
	// Children are a List's element, a Map's key and value, a Struct's fields.
	Children []Field
	// Options are how the values of a column of values are written.
	Options ColumnOptions
}

// ColumnOptions are those of one column of values. The zero value stands for the defaults.
type ColumnOptions struct {
	// BoundBytes is how much of a byte array the bounds of the Summary follow; the default is 64, which is enough for 16 code
	// points.
	BoundBytes int
	// Bloom asks for a Bloom filter, nil for none.
	Bloom *Bloom
	// NoStatistics leaves the smallest and largest values out of the footer and of the page index.
	NoStatistics bool
	// NoDictionary has the values written plainly, whatever they are.
	NoDictionary bool
}

// source is the type of the values in the rows.
func (f *Field) source() columns.Type {
	if f.From.Kind == 0 {
		return f.Type
	}
	return f.From
}

// maxInt32Digits and maxInt64Digits are how many decimal digits fit into the two integer types, as the Parquet
// specification (LogicalTypes.md, DECIMAL) has it.
const (
	maxInt32Digits = 9
	maxInt64Digits = 18
)

// physical is the Parquet type that holds the values, and the width of a value where that is fixed.
func physical(t columns.Type) (format.Type, int) {
	switch t.Kind {
	case columns.Bool:
		return format.Boolean, 0
	case columns.Int32, columns.Date:
		return format.Int32, 4
	case columns.Int64, columns.Time, columns.Timestamp, columns.TimestampTZ:
		return format.Int64, 8
	case columns.Float32:
		return format.Float, 4
	case columns.Float64:
		return format.Double, 8
	case columns.String, columns.Binary:
		return format.ByteArray, 0
	case columns.Fixed:
		return format.FixedLenByteArray, t.Width
	case columns.UUID:
		return format.FixedLenByteArray, 16
	case columns.Decimal:
		return physicalDecimal(t.Precision)
	}
	panic(fmt.Sprintf("parquetfile: %s has no physical type", t.Kind))
}

func physicalDecimal(precision int) (format.Type, int) {
	switch {
	case precision <= maxInt32Digits:
		return format.Int32, 4
	case precision <= maxInt64Digits:
		return format.Int64, 8
	}
	return format.FixedLenByteArray, decimalWidth(precision)
}

// decimalWidth is the fewest bytes that hold every value of so many digits in two's complement.
func decimalWidth(precision int) int {
	width, digits := 1, 2 // 127 has two full digits
	for digits < precision {
		width++
		digits = int(float64(8*width-1) * 0.30102999566398120) // log10(2)
	}
	return width
}

// annotate adds the logical type, and the older annotation that it replaced for older readers.
func annotate(e *format.SchemaElement, t columns.Type) {
	logical := func(v format.LogicalTypeValue) { e.LogicalType = format.LogicalType{Value: v} }
	micros := format.TimeUnit{Value: &format.MicroSeconds{}}
	switch t.Kind {
	case columns.String:
		logical(&format.StringType{})
		e.ConvertedType.Set(deprecated.UTF8)
	case columns.Decimal:
		logical(&format.DecimalType{Scale: int32(t.Scale), Precision: int32(t.Precision)})
		e.ConvertedType.Set(deprecated.Decimal)
		e.Scale.Set(int32(t.Scale))
		e.Precision.Set(int32(t.Precision))
	case columns.Date:
		logical(&format.DateType{})
		e.ConvertedType.Set(deprecated.Date)
	case columns.Time:
		logical(&format.TimeType{Unit: micros})
		e.ConvertedType.Set(deprecated.TimeMicros)
	case columns.Timestamp, columns.TimestampTZ:
		logical(&format.TimestampType{IsAdjustedToUTC: t.Kind == columns.TimestampTZ, Unit: micros})
		e.ConvertedType.Set(deprecated.TimestampMicros)
	case columns.UUID:
		logical(&format.UUIDType{})
	}
}

// layout turns fields into what the footer says of the schema and into the leaves that hold the values.
type layout struct {
	elements []format.SchemaElement
	leaves   []*leaf
}

func newLayout(fields []Field) *layout {
	l := &layout{elements: []format.SchemaElement{{Name: "table", NumChildren: thrift.New(int32(len(fields)))}}}
	for i := range fields {
		l.add(&fields[i], place{column: fields[i].Source})
	}
	return l
}

// place is where in the schema a field stands: the names and steps from the root to its parent.
type place struct {
	column int // of the rows, where the steps begin
	names  []string
	steps  []step
	def    uint8
	rep    uint8
}

// step is how to go from the values of one level of nesting to those of the next.
type step struct {
	// name is for errors.
	name string
	// optional values have definition level def where they are present.
	optional bool
	def      uint8
	// spread says that the values are lists or maps: one definition and repetition level more for their elements.
	spread bool
	rep    uint8
	// keyValue says that the elements are the struct of a map, to be entered as well.
	keyValue bool
	// child is where the next values are, Nowhere if the rows lack them. Unused at the end.
	child int
}

func (l *layout) add(f *Field, at place) {
	e := format.SchemaElement{Name: f.Name, FieldID: int32(f.ID), RepetitionType: thrift.New(format.Optional)}
	if f.Required {
		e.RepetitionType.Set(format.Required)
	} else {
		at.def++
	}
	at.names = append(slices.Clip(at.names), f.Name)
	s := step{name: f.Name, optional: !f.Required, def: at.def}
	switch f.Type.Kind {
	case columns.List:
		l.addList(f, e, at, s)
	case columns.Map:
		l.addMap(f, e, at, s)
	case columns.Struct:
		e.NumChildren.Set(int32(len(f.Children)))
		l.elements = append(l.elements, e)
		for i := range f.Children {
			s.child = f.Children[i].Source
			l.add(&f.Children[i], at.enter(s))
		}
	default:
		l.addLeaf(f, e, at, s)
	}
}

// enter is the place of what is inside a value that is reached by s.
func (at place) enter(s step) place {
	at.steps = append(slices.Clip(at.steps), s)
	return at
}

// addList writes the three levels that the specification prescribes: the list, a repeated group, the element.
func (l *layout) addList(f *Field, e format.SchemaElement, at place, s step) {
	e.NumChildren.Set(1)
	e.LogicalType = format.LogicalType{Value: &format.ListType{}}
	e.ConvertedType.Set(deprecated.List)
	l.elements = append(l.elements, e, repeatedGroup("list", 1))
	at.def, at.rep = at.def+1, at.rep+1
	at.names = append(at.names, "list")
	s.spread, s.rep = true, at.rep
	l.add(&f.Children[0], at.enter(s))
}

func (l *layout) addMap(f *Field, e format.SchemaElement, at place, s step) {
	e.NumChildren.Set(1)
	e.LogicalType = format.LogicalType{Value: &format.MapType{}}
	e.ConvertedType.Set(deprecated.Map)
	l.elements = append(l.elements, e, repeatedGroup("key_value", 2))
	at.def, at.rep = at.def+1, at.rep+1
	at.names = append(at.names, "key_value")
	s.spread, s.rep, s.keyValue = true, at.rep, true
	for i := range f.Children {
		s.child = f.Children[i].Source
		l.add(&f.Children[i], at.enter(s))
	}
}

func repeatedGroup(name string, children int32) format.SchemaElement {
	return format.SchemaElement{Name: name, NumChildren: thrift.New(children), RepetitionType: thrift.New(format.Repeated)}
}

func (l *layout) addLeaf(f *Field, e format.SchemaElement, at place, s step) {
	kind, width := physical(f.Type)
	e.Type.Set(kind)
	if kind == format.FixedLenByteArray {
		e.TypeLength.Set(int32(width))
	}
	annotate(&e, f.Type)
	l.elements = append(l.elements, e)
	l.leaves = append(l.leaves, newLeaf(f, at.enter(s), kind, width))
}
