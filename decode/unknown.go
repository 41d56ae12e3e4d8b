package decode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/json"
	"sluice/decode/malformed"
)

// collector is a Parser that can tell what the last record has beyond the schema.
type collector interface {
	Parser
	// Collect notes it; the record is one that became a row. A field that cannot become a column is a BadRecords fault, or,
	// where the record alone is to blame and shall be no row, a *malformed.Error.
	Collect(at batch.Place) error
	// Unknown is all that was noted.
	Unknown() []batch.Unknown
	// collects says whether it is wanted at all.
	collects() bool
}

// collecting is the JSON parser that notes unknown fields. While a record is read it keeps where they are; what they are is
// looked at when the record has turned out to be a row, so that malformed ones add nothing to a table.
type collecting struct {
	*json.Parser
	levels map[string]level
	found  batch.Unknowns
	staged []sighting
	names  []byte
	// apart says that a record with a field which cannot become a column, whatever other records have, is malformed by itself.
	// own is what the record in hand has, looked at alone.
	apart bool
	own   batch.Unknowns
	// closed says that there are no more new columns.
	closed bool
}

// level is a struct of the schema in which unknown fields may be.
type level struct {
	// way are the fields that lead to it, fields those that it has.
	way, fields []columns.Field
}

// sighting is an unknown field of the record in hand.
type sighting struct {
	parent string
	// name ends here in names, and begins where the one before it ends.
	name  int
	value []byte
}

func newCollecting(schema columns.Schema, o json.Options, apart, closed bool) (*collecting, error) {
	c := &collecting{apart: apart, closed: closed, found: batch.Unknowns{Apart: apart}, levels: map[string]level{"": {fields: schema}}}
	if err := c.descend("", nil, schema); err != nil {
		return nil, err
	}
	o.Unknown = c.stage
	var err error
	c.Parser, err = json.Compile(schema, o)
	return c, err
}

// descend finds the structs below fields. With dots in names two of them may have one path.
func (c *collecting) descend(parent string, way, fields []columns.Field) error {
	for _, f := range fields {
		path := f.Name
		if parent != "" {
			path = parent + "." + f.Name
		}
		here := append(slices.Clip(way), f)
		if f.Type.Kind == columns.Struct {
			if _, twice := c.levels[path]; twice {
				return fmt.Errorf("two structs have the path %s: with unknown fields as columns they could not be told", path)
			}
			c.levels[path] = level{here, f.Type.Fields}
		}
		if err := c.descend(path, here, f.Type.Fields); err != nil {
			return err
		}
	}
	return nil
}

func (c *collecting) stage(parent string, name, value []byte) bool {
	c.names = append(c.names, name...)
	c.staged = append(c.staged, sighting{parent, len(c.names), value})
	return true
}

// Append reads a record; see json.Parser.
func (c *collecting) Append(dst []columns.Array, value []byte) error {
	c.staged, c.names = c.staged[:0], c.names[:0]
	return c.Parser.Append(dst, value)
}

// Collect notes what the last record has beyond the schema.
func (c *collecting) Collect(at batch.Place) error {
	if c.apart {
		c.own = batch.Unknowns{}
		if err := c.noteIn(&c.own, at); err != nil {
			return asMalformed(err, "")
		}
		if c.closed {
			return leftOut(c.own.Fields, "the record has")
		}
	}
	return c.noteIn(&c.found, at)
}

// asMalformed makes of the fault of one record what is said of it as a dead letter.
func asMalformed(err error, without string) error {
	var fault *batch.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return &malformed.Error{Reason: malformed.Unknown, Detail: strings.TrimPrefix(fault.Message, without)}
}

// leftOut says of a record that it has fields which became no columns, nil if there are none.
func leftOut(fields []batch.Unknown, whose string) error {
	found := batch.NewColumns(fields)
	if len(found) == 0 {
		return nil
	}
	return &malformed.Error{Reason: malformed.Unknown, Path: found[0].Name, Detail: whose + " the field, and it did not become a column: another one of the batch came first whose name differs by case only, or whose path is the same"}
}

func (c *collecting) noteIn(all *batch.Unknowns, at batch.Place) error {
	from := 0
	for _, s := range c.staged {
		name := c.names[from:s.name]
		from = s.name
		if err := c.look(all, &s, name, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *collecting) look(all *batch.Unknowns, s *sighting, name []byte, at batch.Place) error {
	switch string(s.value) {
	case "null", "[]", "{}": // most of what is never decided, record after record
		return nil
	}
	t, err := json.InferAtMost(s.value, batch.MostNewColumns)
	if err == nil && t.Kind == 0 {
		return nil
	}
	in := c.levels[s.parent]
	if err != nil {
		var path []string
		for _, f := range in.way {
			path = append(path, f.Name)
		}
		return batch.Undecided(append(path, string(name)), at, err.Error())
	}
	return all.Add(in.way, string(name), t, in.fields, at)
}

// Unknown is what was noted.
func (c *collecting) Unknown() []batch.Unknown { return c.found.Fields }

func (c *collecting) collects() bool { return true }

// noting notes what the schema that values were written with has beyond the columns: the first record brings all of it.
type noting struct {
	reading
	want  *wanted
	found batch.Unknowns
	noted bool
	// why is why no record of the schema is a row, nil if that is not so.
	why error
}

func (n *noting) Collect(at batch.Place) error { return n.note(&n.found, at) }

// note adds what there is to all. Where records of the schema are malformed by themselves, all of them are.
func (n *noting) note(all *batch.Unknowns, at batch.Place) error {
	if n.noted {
		return n.why
	}
	n.noted = true
	fields := n.reading.Unknown()
	if !n.want.apart {
		return all.Take(n.want.schema, fields, at)
	}
	var own batch.Unknowns
	if err := own.Take(n.want.schema, fields, at); err != nil {
		n.why = asMalformed(err, "record "+at.String()+" ")
	} else if n.want.closed {
		n.why = leftOut(own.Fields, "the schema that the record was written with has")
	} else {
		return all.Take(n.want.schema, fields, at)
	}
	return n.why
}

// Unknown is what was noted.
func (n *noting) Unknown() []batch.Unknown { return n.found.Fields }

func (n *noting) collects() bool { return true }

// Collect notes what the schema that the last record was written with has beyond the columns.
func (f *framed) Collect(at batch.Place) error {
	if c, ok := f.fixed.(collector); ok {
		return c.Collect(at)
	}
	n, ok := f.last.(*noting)
	if !ok {
		return nil
	}
	return n.note(&f.found, at)
}

// Unknown is what was noted.
func (f *framed) Unknown() []batch.Unknown {
	if c, ok := f.fixed.(collector); ok {
		return c.Unknown()
	}
	return f.found.Fields
}

func (f *framed) collects() bool {
	c, ok := f.fixed.(collector)
	return f.want.notes || ok && c.collects()
}

// Unknown are the fields that records which became rows have and the schema lacks, where value.onUnknownField makes columns
// of them; nil for none, and where it does not.
func (t *Typed) Unknown() []batch.Unknown {
	if t.collector == nil {
		return nil
	}
	return t.collector.Unknown()
}

// Undecided is, where the decoder is Lenient, the first reason why unknown fields cannot become columns; nil for none.
func (t *Typed) Undecided() error { return t.undecided }

// collect notes what a row's record has beyond the schema.
func (t *Typed) collect(records *columns.Records, row int) error {
	if t.collector == nil {
		return nil
	}
	err := t.collector.Collect(batch.Place{Topic: records.Topic, Partition: records.Partition, Offset: records.Offsets[row]})
	if t.options.Lenient != nil {
		if t.undecided == nil {
			t.undecided = err
		}
		return nil
	}
	return err
}
