package decode

import (
	"sluice/batch"
	"sluice/columns"
)

// noting is a parser of values that were written with a schema which has more than the columns. That is the same for all of
// them, so that the first that becomes a row notes it.
type noting struct {
	Parser
	schema columns.Schema
	extra  []columns.Field
	noted  bool
	found  *batch.Unknowns
}

// Collect notes what the written schema has beyond the columns.
func (n *noting) Collect(at batch.Place) error {
	if n.noted {
		return nil
	}
	n.noted = true
	return n.found.Take(n.schema, n.extra, at)
}

// Unknown is what was noted.
func (n *noting) Unknown() []batch.Unknown { return n.found.Fields }

// fitting leaves out what no column can hold, such as a record that holds itself.
func fitting(fields []columns.Field) []columns.Field {
	var fit []columns.Field
	for _, f := range fields {
		inside := fitting(f.Type.Fields)
		if f.Type.Kind == 0 || len(inside) == 0 && len(f.Type.Fields) > 0 {
			continue
		}
		f.Type.Fields = inside
		fit = append(fit, f)
	}
	return fit
}

// Collect notes what the last record has beyond the columns.
func (f *framed) Collect(at batch.Place) error {
	if c, ok := f.last.(collector); ok {
		return c.Collect(at)
	}
	return nil
}

// Unknown is what was noted.
func (f *framed) Unknown() []batch.Unknown {
	if c, ok := f.fixed.(collector); ok {
		return c.Unknown()
	}
	return f.want.found.Fields
}

// collectorOf is the parser, if it notes unknown fields.
func collectorOf(parser Parser) collector {
	if f, ok := parser.(*framed); ok && f.want.found == nil {
		if _, ok := f.fixed.(collector); !ok {
			return nil
		}
	}
	c, _ := parser.(collector)
	return c
}
