package json

import (
	"sluice/decode/malformed"
)

// Sample gathers what the values of records are, so that Guess can say which columns hold them. It is used by one
// goroutine, and keeps no value: what it holds is bounded by how many different fields there are, and that by a limit.
type Sample struct {
	tree
	root  *shape
	depth int
	probe *probe
}

// How large a sample becomes. An object with more names than mostNames, or with any that is new when there are mostPlaces
// already, is taken for a map; a record or a sample with twice as many is refused.
const (
	mostNames  = 1000
	mostPlaces = 20_000
)

// typesDepth is how deep types may be nested in a schema's text.
const typesDepth = 100

// NewSample makes an empty sample. What the options say of how timestamps and dates are written decides which texts are
// taken for them; Formats and Unknown mean nothing here. The error is of the options, as Compile has it.
func NewSample(o Options) (*Sample, error) {
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultDepth
	}
	probe, err := newProbe(o)
	if err != nil {
		return nil, err
	}
	return &Sample{root: &shape{}, depth: min(o.MaxDepth, typesDepth), probe: probe}, nil
}

// Records is how many records were added.
func (s *Sample) Records() int { return s.root.seen }

// Add takes the value of a record in; place is how remarks call it. A value that is no record whatever the schema, such as
// one that is no object or has a name twice, is a *malformed.Error and changes nothing.
func (s *Sample) Add(value []byte, place string) error {
	w := walker{scanner: scanner{b: value, limit: s.depth}, probe: s.probe, place: place}
	record := &shape{}
	if s.places <= 2*mostPlaces && w.record(record) {
		s.merge(s.root, record)
		return nil
	}
	if s.places > 2*mostPlaces {
		w.fail(malformed.Size, 0, "the records before it have more different fields than %d", 2*mostPlaces)
	}
	err := w.fault
	err.Excerpt = malformed.Excerpt(value, err.Position)
	return &err
}

// walker reads the value of one record into shapes.
type walker struct {
	scanner
	tree
	probe *probe
	place string
}

func (w *walker) record(s *shape) bool {
	if len(w.b) == 0 {
		return w.fail(malformed.Empty, 0, "the value has no bytes")
	}
	if c := w.space(); c != '{' {
		return w.other(c, "an object")
	}
	if !w.value(s) {
		return false
	}
	if w.space(); w.i < len(w.b) {
		return w.fail(malformed.Syntax, w.i, "there is more after the object")
	}
	return true
}

func (w *walker) value(s *shape) bool {
	s.seen++
	switch c := w.space(); {
	case c == '{':
		s.note(anObject, w.place)
		return w.object(s)
	case c == '[':
		s.note(anArray, w.place)
		return w.array(s)
	case c == '"':
		s.note(aText, w.place)
		text, ok := w.text()
		if ok {
			s.addText(text, w.probe, w.place)
		}
		return ok
	case c == '-' || isDigit(c):
		s.note(aNumber, w.place)
		text, ok := w.numeral()
		if ok {
			s.addNumber(text, w.place)
		}
		return ok
	case c == 't' || c == 'f':
		s.note(aBool, w.place)
	case c == 'n':
		s.note(aNull, w.place)
	}
	return w.skip()
}

func (w *walker) array(s *shape) bool {
	return w.members(']', func() bool {
		if s.element == nil {
			s.element = w.newShape()
		}
		if w.places > 2*mostPlaces {
			return w.fail(malformed.Size, w.i, "the record has more different fields than %d", 2*mostPlaces)
		}
		return w.value(s.element)
	})
}

func (w *walker) object(s *shape) bool {
	seen := map[string]bool{}
	before := ""
	return w.members('}', func() bool {
		if w.space() != '"' {
			return w.unexpected("a name")
		}
		at := w.i
		text, ok := w.text()
		name := string(text)
		switch {
		case !ok || !w.colon():
			return false
		case seen[name]:
			return w.fail(malformed.Duplicate, at, "the name comes twice")
		case w.places > 2*mostPlaces:
			return w.fail(malformed.Size, at, "the record has more different fields than %d", 2*mostPlaces)
		}
		seen[name] = true
		child := w.child(s, name, before)
		before = name
		return w.value(child)
	})
}
