package json

import (
	"slices"
)

// jsonKind is one of the kinds of values that JSON has.
type jsonKind uint8

const (
	aNull jsonKind = iota
	aBool
	aNumber
	aText
	anArray
	anObject
	jsonKinds
)

var kindWords = [jsonKinds]string{aNull: "null", aBool: "boolean", aNumber: "number", aText: "text", anArray: "array", anObject: "object"}

// tally counts values, and knows where the first was.
type tally struct {
	count int
	first string
}

func (t *tally) add(other tally) {
	if t.count == 0 {
		t.first = other.first
	}
	t.count += other.count
}

// shape is what the values in one place of the records are: the records as a whole, a field, the elements of an array.
type shape struct {
	// seen counts the values, kinds says what they are.
	seen    int
	kinds   [jsonKinds]tally
	texts   *texts
	numbers *numbers
	element *shape
	// fields are those of objects, in the order of the records.
	fields []field
	index  map[string]*shape
	// value is all fields of objects that have too many names for fields; names is how many there were at least.
	value *shape
	names int
}

type field struct {
	name string
	*shape
}

func (s *shape) note(kind jsonKind, place string) { s.kinds[kind].add(tally{1, place}) }

// present lists the kinds of values but null.
func (s *shape) present() []jsonKind {
	var kinds []jsonKind
	for k := aBool; k < jsonKinds; k++ {
		if s.kinds[k].count > 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (s *shape) addText(text []byte, p *probe, place string) {
	if s.texts == nil {
		s.texts = &texts{may: everyUse}
	}
	s.texts.add(text, p, place)
}

func (s *shape) addNumber(text []byte, place string) {
	if s.numbers == nil {
		s.numbers = &numbers{}
	}
	s.numbers.add(text, place)
}

// tree makes shapes and counts them: each is a place that values have.
type tree struct{ places int }

func (t *tree) newShape() *shape {
	t.places++
	return &shape{}
}

// child is the field of that name; a new one follows the field before, or is the last. In an object of too many names it is
// the one shape of all of them.
func (t *tree) child(s *shape, name, before string) *shape {
	if s.value == nil {
		if c := s.index[name]; c != nil {
			return c
		}
		if len(s.fields) < mostNames && t.places < mostPlaces {
			return t.insert(s, name, before)
		}
		t.collapse(s)
	}
	s.names++ // perhaps one that was there before: nobody remembers
	return s.value
}

func (t *tree) insert(s *shape, name, before string) *shape {
	c := t.newShape()
	if s.index == nil {
		s.index = map[string]*shape{}
	}
	s.index[name] = c
	at := len(s.fields)
	if i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == before }); i >= 0 {
		at = i + 1
	}
	s.fields = slices.Insert(s.fields, at, field{name, c})
	return c
}

// collapse makes one shape of all fields.
func (t *tree) collapse(s *shape) {
	s.value, s.names = t.allFields(s), len(s.fields)
	s.fields, s.index = nil, nil
}

// allFields is a shape that has the values of all fields.
func (t *tree) allFields(s *shape) *shape {
	all := t.newShape()
	for _, f := range s.fields {
		t.merge(all, f.shape)
	}
	return all
}

// merge adds what is in from, which keeps its own.
func (t *tree) merge(to, from *shape) {
	to.seen += from.seen
	for k := range from.kinds {
		to.kinds[k].add(from.kinds[k])
	}
	if from.texts != nil {
		if to.texts == nil {
			to.texts = &texts{may: everyUse}
		}
		to.texts.merge(from.texts)
	}
	if from.numbers != nil {
		if to.numbers == nil {
			to.numbers = &numbers{}
		}
		to.numbers.merge(from.numbers)
	}
	if from.element != nil {
		if to.element == nil {
			to.element = t.newShape()
		}
		t.merge(to.element, from.element)
	}
	t.mergeFields(to, from)
}

func (t *tree) mergeFields(to, from *shape) {
	if from.value != nil {
		if to.value == nil {
			t.collapse(to)
		}
		to.names += from.names
		t.merge(to.value, from.value)
		return
	}
	before := ""
	for _, f := range from.fields {
		t.merge(t.child(to, f.name, before), f.shape)
		before = f.name
	}
}
