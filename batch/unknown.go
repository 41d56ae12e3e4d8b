package batch

import (
	"fmt"
	"slices"
	"strings"

	"sluice/columns"
)

// Bounds of what one batch may add to a table because of its records: an object that is used as a map has thousands of
// names, and whoever may produce records must not be able to blow up a table.
const (
	// MostNewColumns is how many columns, those inside of others counted, the records of one batch may add.
	MostNewColumns = 100
	// DeepestColumn is how many columns may be within each other; the element of a list is one.
	DeepestColumn = 12
	// LongestName is the length of a column's name in bytes.
	LongestName = 255
)

// Place says which record something is about.
type Place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// String is such as orders-0 at offset 7.
func (p Place) String() string {
	return fmt.Sprintf("%s-%d at offset %d", p.Topic, p.Partition, p.Offset)
}

// Unknown is a field that records have and the schema lacks, or one of the schema in which there is such a field.
type Unknown struct {
	Name string `json:"name"`
	// Kind, Precision, Scale and Width are its type, as of columns.Type.
	Kind      columns.Kind `json:"kind"`
	Precision int          `json:"precision,omitempty"`
	Scale     int          `json:"scale,omitempty"`
	Width     int          `json:"width,omitempty"`
	// Known says that the schema has it: only Fields are new then.
	Known bool `json:"known,omitempty"`
	// At is the first record that has a value of the type.
	At Place `json:"at,omitzero"`
	// Fields are a struct's fields, a list's element, a map's key and value; those alone that are new or have new ones.
	Fields []Unknown `json:"fields,omitempty"`
}

// Type is the type as the columns have it.
func (u *Unknown) Type() columns.Type {
	fields := Fields(u.Fields)
	if u.Kind == columns.Map && len(fields) == 2 {
		fields[0].Required = true // a key is never null
	}
	return columns.Type{Kind: u.Kind, Precision: u.Precision, Scale: u.Scale, Width: u.Width, Fields: fields}
}

// Fields is the columns that unknown fields become. None is required.
func Fields(unknown []Unknown) []columns.Field {
	var fields []columns.Field
	for i := range unknown {
		fields = append(fields, columns.Field{Name: unknown[i].Name, Type: unknown[i].Type()})
	}
	return fields
}

// Unknowns collects unknown fields, in the order in which they are first seen. The zero value is empty.
//
// A field that was seen with several types has the one that has room for all: integers go with wider ones, with
// decimals and with DOUBLE, structs have the fields of all, lists what their elements have in common. Types that have
// nothing in common are a BadRecords fault that names a record of each; so are names that a table cannot have, and more
// than the bounds of this package.
type Unknowns struct {
	Fields []Unknown
	// Apart keeps what has nothing in common side by side, in the order in which it was first seen: a field with several types
	// is there several times. Settle chooses one of them. So are names that differ by case only. Neither is a fault then.
	Apart bool
	// columns counts the new ones.
	columns int
}

// Add notes a field that a record has: below the fields of the schema on the way to it, outermost first, of which a list's
// is followed by its element. siblings are the names that the schema has beside it.
func (u *Unknowns) Add(way []columns.Field, name string, t columns.Type, siblings []columns.Field, at Place) error {
	in := &u.Fields
	var path []string
	for i := range way {
		in = &known(in, &way[i]).Fields
		path = append(path, way[i].Name)
	}
	seen := slices.ContainsFunc(*in, func(f Unknown) bool { return f.Name == name })
	for i := range siblings {
		if !seen && SameButCase(siblings[i].Name, name) {
			return twins(path, siblings[i].Name, name, Place{}, at)
		}
	}
	f := columns.Field{Name: name, Type: t}
	return u.merge(in, unknownOf(&f, at), path)
}

// Take notes what a writer's schema has beyond the schema of the rows, from a record that was written so: fields as
// decoders of such formats give them, in which structs, lists and maps of the schema hold only what is new.
func (u *Unknowns) Take(schema, fields []columns.Field, at Place) error {
	return u.take(nil, schema, fields, at)
}

func (u *Unknowns) take(way, schema, fields []columns.Field, at Place) error {
	for i := range fields {
		f := &fields[i]
		k := slices.IndexFunc(schema, func(g columns.Field) bool { return g.Name == f.Name })
		var err error
		if k < 0 && f.Type.Kind == 0 {
			err = shapeless(append(namesOf(way), f.Name), at)
		} else if k < 0 {
			err = u.Add(way, f.Name, f.Type, schema, at)
		} else if has := &schema[k]; has.Type.Kind == f.Type.Kind {
			err = u.take(append(slices.Clip(way), *has), has.Type.Fields, f.Type.Fields, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SameButCase says whether an engine that does not heed case takes two names for one. Engines differ in how they go about
// it, so both ways count: letters that fold to one, as ſ and s do, and letters with one lower case, as İ and i have.
func SameButCase(a, b string) bool { return strings.EqualFold(a, b) || lower(a) == lower(b) }

func lower(name string) string { return strings.ToLower(name) }

// known is the node of a field of the schema.
func known(in *[]Unknown, f *columns.Field) *Unknown {
	for i := range *in {
		if (*in)[i].Name == f.Name {
			return &(*in)[i]
		}
	}
	*in = append(*in, Unknown{Name: f.Name, Kind: f.Type.Kind, Known: true})
	return &(*in)[len(*in)-1]
}

func unknownOf(f *columns.Field, at Place) *Unknown {
	u := &Unknown{Name: f.Name, Kind: f.Type.Kind, Precision: f.Type.Precision, Scale: f.Type.Scale, Width: f.Type.Width, At: at}
	for i := range f.Type.Fields {
		u.Fields = append(u.Fields, *unknownOf(&f.Type.Fields[i], at))
	}
	return u
}

// alike says whether a column has room for both, as far as it is itself.
func alike(has, found *Unknown) bool {
	_, ok := common(has.Type(), found.Type())
	return ok
}

// MergeUnknown is what all results found together, in the order of their tasks; apart as in Unknowns. That order is the
// plan's, so that it does not depend on how the plan was cut into tasks.
func MergeUnknown(results []TaskResult, apart bool) ([]Unknown, error) {
	all := Unknowns{Apart: apart}
	for i := range results {
		for k := range results[i].UnknownFields {
			if err := all.merge(&all.Fields, &results[i].UnknownFields[k], nil); err != nil {
				return nil, err
			}
		}
	}
	return all.Fields, nil
}

// merge adds what one record or one task found to fields, which are at path.
func (u *Unknowns) merge(in *[]Unknown, found *Unknown, path []string) error {
	for i := range *in {
		has := &(*in)[i]
		switch {
		case has.Name == found.Name && (!u.Apart || alike(has, found)):
			return u.join(has, found, append(path, found.Name))
		case !u.Apart && SameButCase(has.Name, found.Name):
			return twins(path, has.Name, found.Name, has.At, found.At)
		}
	}
	if err := u.admit(found, path); err != nil {
		return err
	}
	*in = append(*in, Unknown{Name: found.Name, Kind: found.Kind, Precision: found.Precision, Scale: found.Scale, Width: found.Width, Known: found.Known, At: found.At})
	return u.mergeAll(&(*in)[len(*in)-1].Fields, found.Fields, append(path, found.Name))
}

func (u *Unknowns) mergeAll(in *[]Unknown, found []Unknown, path []string) error {
	for i := range found {
		if err := u.merge(in, &found[i], path); err != nil {
			return err
		}
	}
	return nil
}

// admit checks the bounds for one more column.
func (u *Unknowns) admit(found *Unknown, path []string) error {
	if found.Known {
		return nil
	}
	full := shown(append(path, found.Name))
	switch u.columns++; {
	case found.Name == "" || len(found.Name) > LongestName || strings.ContainsFunc(found.Name, unprintable):
		return refuse(found.At, fmt.Sprintf("has a field %s, and no column can have that name (empty, longer than %d bytes, or with control characters)", full, LongestName), "")
	case len(path) == 0 && strings.HasPrefix(strings.ToLower(found.Name), "kafka_"):
		return refuse(found.At, fmt.Sprintf("has a field %s, and the names that begin with kafka_ are those of the columns about the record", full), "")
	case len(path) >= DeepestColumn:
		return refuse(found.At, fmt.Sprintf("has a field %s, which is nested deeper than the %d levels that unknown fields may have", full, DeepestColumn), mapped)
	case u.columns > MostNewColumns && !u.Apart, u.columns > mostApart:
		return refuse(found.At, fmt.Sprintf("has a field %s, with which the batch would add more than %d columns to the table", full, MostNewColumns), mapped)
	}
	return nil
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }

// mapped is what to do about an object whose names are values.
const mapped = "declare the object whose names are no columns as a MAP in value.schema, or keep its text in a STRING column with value.json.columnFormats"

// join brings another sighting of a field into the one that is there.
func (u *Unknowns) join(has, found *Unknown, path []string) error {
	if has.Kind == found.Kind && len(found.Fields) > 0 {
		return u.mergeAll(&has.Fields, found.Fields, path)
	}
	t, ok := common(has.Type(), found.Type())
	if !ok {
		return conflict(has, found, path)
	}
	if t.Kind != has.Kind || t.Precision != has.Precision {
		has.At = found.At
	}
	has.Kind, has.Precision, has.Scale, has.Width = t.Kind, t.Precision, t.Scale, t.Width
	return nil
}

func conflict(has, found *Unknown, path []string) error {
	return &Fault{Class: BadRecords,
		Message: fmt.Sprintf("the field %s, which value.schema does not have, is %s in %s and %s in %s: no column has room for both", shown(path), has.Kind, has.At, found.Kind, found.At),
		Hint:    declare + "; " + then}
}

func twins(path []string, one, other string, oneAt, otherAt Place) error {
	where := "value.schema or the table has"
	if oneAt != (Place{}) {
		where = "record " + oneAt.String() + " has"
	}
	return &Fault{Class: BadRecords,
		Message: fmt.Sprintf("record %s has a field %s, and %s %s: the two differ by case only, and Spark, Hive and Trino could read neither", otherAt, shown(append(path, other)), where, shown(append(path, one))),
		Hint:    "make the producers agree on one spelling, or set value.onUnknownField to ignore or deadLetter; " + then}
}

// declare is what can be done about a field whose type cannot be told, then what comes after it.
const (
	declare = "declare the field in value.schema (as a STRING with value.json.columnFormats json it takes any value), or set value.onUnknownField to ignore or deadLetter"
	then    = "nothing of the batch is in the table, and the next run finishes it"
)

func refuse(at Place, what, hint string) error {
	if hint == "" {
		hint = "rename the field in the records, or set value.onUnknownField to ignore or deadLetter"
	} else {
		hint += ", or set value.onUnknownField to ignore or deadLetter"
	}
	return &Fault{Class: BadRecords, Message: "record " + at.String() + " " + what, Hint: hint + "; " + then}
}

// shapeless is the fault of a field whose written schema gives it a type that no column can have.
func shapeless(path []string, at Place) error {
	return &Fault{Class: BadRecords, Message: fmt.Sprintf("record %s was written with a schema that has a field %s, which value.schema does not have, and no column can take it: its type contains itself, or says nothing", at, shown(path)),
		Hint: "set value.onUnknownField to ignore or deadLetter, or pick the columns that are wanted in value.schema; " + then}
}

func namesOf(way []columns.Field) (names []string) {
	for i := range way {
		names = append(names, way[i].Name)
	}
	return names
}

// Undecided is the fault of a record with a field whose own values have no type in common.
func Undecided(path []string, at Place, why string) error {
	return &Fault{Class: BadRecords, Message: fmt.Sprintf("record %s has a field %s, which value.schema does not have, and no column can take it: %s", at, shown(path), why),
		Hint: declare + "; " + then}
}

// shown is a path for people, with what a terminal should not see quoted, and no longer than fits a line.
func shown(path []string) string {
	const most = 200
	parts := slices.Clone(path)
	for i, name := range parts {
		if quoted := fmt.Sprintf("%q", name); name == "" || quoted[1:len(quoted)-1] != name {
			parts[i] = quoted
		}
	}
	s := strings.Join(parts, ".")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// common is the type that has room for values of both; none inside of which there are others. Of three types each two of
// which have one, all have one, the same in whatever order.
func common(a, b columns.Type) (columns.Type, bool) {
	ra, rb := rank(a), rank(b)
	switch {
	case a.Kind == columns.Decimal && b.Kind == columns.Decimal && a.Scale == b.Scale:
		a.Precision = max(a.Precision, b.Precision)
		return a, true
	case ra < 3 && rb == 3 || ra == 3 && rb > 0 && rb < 3: // a whole decimal and an integer
		return columns.Type{Kind: columns.Decimal, Precision: 38}, min(ra, rb) > 0
	case ra > 0 && rb > 0 && (a.Kind == columns.Float32) != (b.Kind == columns.Float32):
		return columns.Type{Kind: columns.Float64}, true
	case ra > 0 && rb > ra:
		return b, true
	case ra > 0 && rb > 0:
		return a, true
	}
	return a, a.Kind == b.Kind && a.Kind != columns.Decimal && a.Width == b.Width
}

// rank orders the numbers by what they have room for; 0 is none of them.
func rank(t columns.Type) int {
	switch {
	case t.Kind == columns.Int32:
		return 1
	case t.Kind == columns.Int64:
		return 2
	case t.Kind == columns.Decimal && t.Scale == 0:
		return 3
	case t.Kind == columns.Float32, t.Kind == columns.Float64:
		return 4
	}
	return 0
}

// NewColumns lists the columns that unknown fields become, each by its path: address.zip, items.element.sku.
func NewColumns(unknown []Unknown) []columns.Field { return newColumns(nil, unknown) }

func newColumns(path []string, unknown []Unknown) (fields []columns.Field) {
	for i := range unknown {
		u, here := &unknown[i], append(slices.Clip(path), unknown[i].Name)
		if u.Known {
			fields = append(fields, newColumns(here, u.Fields)...)
		} else {
			fields = append(fields, columns.Field{Name: shown(here), Type: u.Type()})
		}
	}
	return fields
}
