package json

import (
	"errors"
	"math"
	"slices"

	"sluice/columns"
)

// Infer is the type that a column for value should have. There is none for null, [] and {}: what they will hold is not
// known until a value comes (https://github.com/databricks/iceberg-kafka-connect/pull/162), and in an object such fields
// are left out. There is none either for arrays whose elements have no type in common, for objects that have a name
// twice, and for integers of more than 38 digits.
//
//	true, false         BOOLEAN
//	5                   BIGINT; DECIMAL(38,0) where it does not fit
//	5.0, 5e0            DOUBLE
//	"…"                 STRING, also if it looks like a date or a number
//	[…]                 ARRAY of what Merge makes of its elements
//	{…}                 STRUCT, fields in their order; none is required
//
// value is one JSON text; if it is not, there is no type.
func Infer(value []byte) (columns.Type, bool) {
	t, err := InferAtMost(value, math.MaxInt)
	return t, err == nil && t.Kind != 0
}

// What InferAtMost says.
var (
	// ErrMixed: there are values without a common type, a name twice, or an integer of more than 38 digits.
	ErrMixed = errors.New("its values have no type in common, or it has a name twice, or an integer of more than 38 digits")
	// ErrTooMany: the type would have more fields than wanted.
	ErrTooMany = errors.New("it has too many names to be columns")
)

// InferAtMost is Infer for values of which nothing good can be assumed: a type of more fields than most, all levels counted,
// is ErrTooMany, and is given up before it takes much memory. Where Infer finds no type, either nothing is known yet, which
// is no error and the zero type, or what there is contradicts itself, which is ErrMixed.
func InferAtMost(value []byte, most int) (columns.Type, error) {
	i := inference{scanner: scanner{b: value, limit: maxDepth}, most: most}
	t := i.value()
	switch i.space(); {
	case i.made > most:
		return columns.Type{}, ErrTooMany
	case t == nil || i.i < len(value):
		return columns.Type{}, ErrMixed
	}
	return *t, nil
}

// inference reads a value and its type. A nil type says that the text is wrong or its values contradict each other, one of
// kind 0 that nothing is known.
type inference struct {
	scanner
	// made counts fields, most bounds them.
	made, most int
}

func (s *inference) value() *columns.Type {
	switch c := s.space(); {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || isDigit(c):
		return s.number()
	case !s.skip():
		return nil
	case c == '"':
		return &columns.Type{Kind: columns.String}
	case c == 'n':
		return &columns.Type{}
	default:
		return &columns.Type{Kind: columns.Bool}
	}
}

func (s *inference) number() *columns.Type {
	text, ok := s.numeral()
	if !ok {
		return nil
	}
	if slices.ContainsFunc(text, func(c byte) bool { return c == '.' || c|0x20 == 'e' }) {
		return &columns.Type{Kind: columns.Float64}
	}
	x := readExact(text)
	high, low, reason := x.scaled(0, maxDigits)
	if reason != "" {
		return nil
	}
	if _, ok := narrow(high, low); ok {
		return &columns.Type{Kind: columns.Int64}
	}
	return &columns.Type{Kind: columns.Decimal, Precision: maxDigits}
}

func (s *inference) array() *columns.Type {
	var element columns.Type
	before := s.made
	known := s.members(']', func() bool {
		t := s.value()
		if t == nil {
			return false
		}
		merged, ok := merge(element, *t)
		element = merged
		if s.made > before { // what elements have in common counts once
			s.made = before + fieldCount(element)
		}
		return ok && s.made <= s.most
	})
	switch {
	case !known:
		return nil
	case element.Kind == 0:
		return &columns.Type{}
	}
	return &columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: element}}}
}

func (s *inference) object() *columns.Type {
	var fields []columns.Field
	seen := map[string]bool{}
	known := s.members('}', func() bool {
		if s.space() != '"' {
			return false
		}
		text, ok := s.text()
		name := string(text)
		if !ok || !s.colon() || seen[name] {
			return false
		}
		seen[name] = true
		t := s.value()
		if t != nil && t.Kind != 0 {
			fields = append(fields, columns.Field{Name: name, Type: *t})
			s.made++
		}
		return t != nil && s.made <= s.most
	})
	switch {
	case !known:
		return nil
	case len(fields) == 0:
		return &columns.Type{}
	}
	return &columns.Type{Kind: columns.Struct, Fields: fields}
}

func fieldCount(t columns.Type) int {
	n := 0
	if t.Kind == columns.Struct {
		n = len(t.Fields)
	}
	for i := range t.Fields {
		n += fieldCount(t.Fields[i].Type)
	}
	return n
}

// Merge is the type that has room for values of both types as Infer has them: BIGINT and DECIMAL(38,0) widen to it and to
// DOUBLE; structs have the fields of both; arrays merge their elements. Other types that differ have none in common.
func Merge(a, b columns.Type) (columns.Type, bool) { return merge(a, b) }

func merge(a, b columns.Type) (columns.Type, bool) {
	switch {
	case a.Kind == 0:
		return b, true
	case b.Kind == 0:
		return a, true
	case rank(a.Kind) > 0 && rank(b.Kind) > 0:
		if rank(a.Kind) < rank(b.Kind) {
			return b, true
		}
		return a, true
	case a.Kind != b.Kind:
		return columns.Type{}, false
	case a.Kind == columns.List:
		element, ok := merge(a.Fields[0].Type, b.Fields[0].Type)
		return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: element}}}, ok
	case a.Kind == columns.Struct:
		return mergeStructs(a, b)
	}
	return a, true
}

// rank orders the numbers by what they have room for; 0 is no number.
func rank(kind columns.Kind) int {
	switch kind {
	case columns.Int64:
		return 1
	case columns.Decimal:
		return 2
	case columns.Float64:
		return 3
	}
	return 0
}

func mergeStructs(a, b columns.Type) (columns.Type, bool) {
	fields := slices.Clone(a.Fields)
	for _, f := range b.Fields {
		at := slices.IndexFunc(fields, func(g columns.Field) bool { return g.Name == f.Name })
		if at < 0 {
			fields = append(fields, f)
			continue
		}
		t, ok := merge(fields[at].Type, f.Type)
		if !ok {
			return columns.Type{}, false
		}
		fields[at].Type = t
	}
	return columns.Type{Kind: columns.Struct, Fields: fields}, true
}
