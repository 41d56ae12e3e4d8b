package decode

import (
	"errors"
	"fmt"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/malformed"
	"sluice/decode/registry"
)

// Schemas answers for the ids of a schema registry: the same schema for the same id, whenever it is asked. An error ends
// the batch, since what it says nothing of may be right.
type Schemas func(id registry.ID) (*registry.Schema, error)

// framed reads values that say by an id what they were written with. Each schema is compiled once, against the same
// columns.
type framed struct {
	want    wanted
	format  string
	schemas Schemas
	// header is the record header that may have the id instead; carried is that of the record in hand, nil if there is none.
	header  string
	carried []byte
	// forgives says that a record with an id which the registry does not know is malformed, and does not end the batch.
	forgives bool
	// fixed reads what is behind the id whatever that is: JSON tells by itself what it is.
	fixed Parser
	// parsers are by the schema's id and, in Protobuf, where in the schema the message is.
	parsers map[writtenWith]Parser
	indexes []int
	// last read the value in hand; found is what written schemas have beyond the columns.
	last  Parser
	found batch.Unknowns
}

// writtenWith names what one value was written with.
type writtenWith struct {
	id registry.ID
	// first says that it is the schema's first message; path leads to another one.
	first bool
	path  string
}

// mostParsers bounds what a decoder keeps. Topics have a handful of schemas; more than this is an attack, or each is used
// only once.
const mostParsers = 1000

func (f *framed) Schema() columns.Schema {
	if f.fixed != nil {
		return f.fixed.Schema()
	}
	return f.want.schema
}

// Append reads the value of a record whose header was carried.
func (f *framed) Append(dst []columns.Array, value []byte) error {
	frame, err := f.split(value)
	if err != nil {
		return err
	}
	parser := f.fixed
	if parser == nil {
		if parser, err = f.parser(&frame); err != nil {
			return err
		}
	}
	f.last = parser
	err = parser.Append(dst, frame.Payload)
	if why, ok := err.(*malformed.Error); ok && why.Reason != malformed.Schema {
		why.Position += len(value) - len(frame.Payload)
	}
	return err
}

func (f *framed) split(value []byte) (frame registry.Frame, err error) {
	switch {
	case f.format != FormatProtobuf && f.carried == nil:
		return registry.Split(value)
	case f.format != FormatProtobuf:
		return registry.FromHeader(f.carried, value)
	case f.carried == nil:
		frame, err = registry.SplitProtobuf(value, f.indexes)
	default:
		frame, err = registry.FromHeaderProtobuf(f.carried, value, f.indexes)
	}
	f.indexes = frame.Indexes
	return frame, err
}

// parser is the reader of what the framing names.
func (f *framed) parser(frame *registry.Frame) (Parser, error) {
	with := writtenWith{id: frame.ID, first: len(frame.Indexes) == 1 && frame.Indexes[0] == 0}
	if !with.first && frame.Indexes != nil {
		with.path = fmt.Sprint(frame.Indexes)
	}
	if parser := f.parsers[with]; parser != nil {
		return parser, nil
	}
	schema, err := f.schemas(frame.ID)
	switch {
	case f.forgives && errors.Is(err, registry.ErrNotFound): // not kept: somebody may register it
		return &refusing{schema: f.want.schema, why: malformed.Error{Reason: malformed.Schema, Detail: fmt.Sprintf("the registry has no schema %s", frame.ID)}}, nil
	case err != nil:
		return nil, fmt.Errorf("schema %s: %w", frame.ID, err)
	}
	if len(f.parsers) >= mostParsers {
		clear(f.parsers)
	}
	parser, err := f.compile(schema, frame.Indexes)
	if err != nil {
		parser = &refusing{schema: f.want.schema, why: malformed.Error{Reason: malformed.Schema,
			Detail: fmt.Sprintf("schema %s, which the record was written with, cannot be read into the columns: %v", frame.ID, plainly(err))}}
	}
	f.parsers[with] = parser
	return parser, nil
}

func (f *framed) compile(schema *registry.Schema, indexes []int) (Parser, error) {
	w, err := registeredSchema(schema, f.format, "", indexes)
	if err != nil {
		return nil, err
	}
	return f.want.compile(w)
}

// carry takes from a record's headers what the framing needs: of several with the name the last counts, and one whose
// value is null does not.
func (f *framed) carry(records *columns.Records, row int) {
	f.carried = nil
	pair := records.Headers.Children[0].Children
	for from, k := records.Headers.Span(row); k > from; k-- {
		if string(pair[0].Bytes(k-1)) == f.header {
			if value := pair[1].Bytes(k - 1); value != nil {
				f.carried = value
				return
			}
		}
	}
}

// framedIn lists the parsers that need the headers of records, nil if none does.
func framedIn(values Parser, keys *Keys) []*framed {
	var found []*framed
	if f, ok := values.(*framed); ok {
		found = append(found, f)
	}
	if keys != nil {
		if f, ok := keys.Parser.(*framed); ok {
			found = append(found, f)
		}
	}
	return found
}
