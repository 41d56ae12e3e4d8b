package jsonschema_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sluice/columns"
)

// The oracle says by the rules of the package comment which columns a schema has. It is slow: a place is written out as
// all the alternatives that it has, each a list of schemas without any, and each of those has one type.

var errRefused = errors.New("refused")

type oracle struct {
	validator
	// several says that somewhere independent alternatives meet at one place, or two formats or steps, or keywords about
	// different types without a type. Which of them count is not promised, so that columns are not compared then.
	several bool
	// ordered says that no alternatives are there: the order of columns is that of the text.
	ordered bool
}

// place is what one place holds.
type place struct {
	t        columns.Type
	nullable bool
	nothing  bool
}

// columns are those of the whole schema.
func (o *oracle) columns() (columns.Schema, error) {
	o.ordered = true
	p, err := o.place(o.root)
	if err != nil || p.nothing || p.t.Kind != columns.Struct {
		return nil, errRefused
	}
	return p.t.Fields, nil
}

// alternatives are the lists of schemas of which one holds where the schema stands.
func (o *oracle) alternatives(schema any) [][]object {
	if always, ok := schema.(bool); ok {
		if always {
			return [][]object{{}}
		}
		return nil
	}
	s := schema.(object)
	all := [][]object{{s}}
	if s.has("$ref") {
		all = o.each(all, o.alternatives(o.target(s.str("$ref"))))
	}
	for _, other := range s.list("allOf") {
		all = o.each(all, o.alternatives(other))
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if s.has(keyword) {
			all = o.each(all, o.any(s.list(keyword)))
		}
	}
	if s.has("if") {
		branches := []any{true}
		for _, keyword := range []string{"then", "else"} {
			if s.has(keyword) {
				branches = append(branches, s.get(keyword))
			}
		}
		all = o.each(all, o.any(branches))
	}
	return all
}

func (o *oracle) any(schemas []any) (all [][]object) {
	o.ordered = false
	for _, s := range schemas {
		all = append(all, o.alternatives(s)...)
	}
	return all
}

// each is every one of a together with every one of b.
func (o *oracle) each(a, b [][]object) (all [][]object) {
	o.several = o.several || len(a) > 1 && len(b) > 1
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// place is what a place holds where all of some schemas stand.
func (o *oracle) place(schemas ...any) (place, error) {
	all := [][]object{{}}
	for _, s := range schemas {
		all = o.each(all, o.alternatives(s))
	}
	united := place{nothing: true}
	for _, parts := range all {
		types := allowed(parts)
		united.nullable = united.nullable || types["null"]
		if delete(types, "null"); len(types) == 0 {
			continue
		}
		one, err := o.one(parts, types)
		if err != nil {
			return place{}, err
		}
		if one.nothing {
			continue
		}
		if united.nothing {
			united.t, united.nothing = one.t, false
			continue
		}
		if united.t, err = unite(united.t, one.t); err != nil {
			return place{}, err
		}
	}
	return united, nil
}

var allTypes = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

// allowed are the types of values that all of parts allow. A number here is one that is no integer.
func allowed(parts []object) map[string]bool {
	types := map[string]bool{}
	for _, t := range allTypes {
		types[t] = true
	}
	keep := func(only map[string]bool) {
		maps.DeleteFunc(types, func(t string, _ bool) bool { return !only[t] })
	}
	for _, s := range parts {
		words, isList := s.get("type").([]any)
		if word := s.str("type"); word != "" {
			words, isList = []any{word}, true
		}
		if isList {
			only := map[string]bool{}
			for _, w := range words {
				only[w.(string)] = true
				only["integer"] = only["integer"] || w == "number"
			}
			keep(only)
		}
		values := s.list("enum")
		if s.has("const") {
			keep(map[string]bool{typesOf(s.get("const"))[0]: true})
		}
		if s.has("enum") {
			only := map[string]bool{}
			for _, v := range values {
				only[typesOf(v)[0]] = true
			}
			keep(only)
		}
	}
	return types
}

// implied are the types that keywords are about, for where no type is said.
func implied(parts []object) map[string]bool {
	types := map[string]bool{}
	for _, s := range parts {
		for _, m := range s {
			switch m.name {
			case "properties", "additionalProperties":
				types["object"] = true
			case "items", "prefixItems":
				types["array"] = true
			case "format", "contentEncoding":
				types["string"] = true
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
				types["integer"], types["number"] = true, true
			}
		}
	}
	return types
}

// one is what values hold that keep to all of parts and are of one of types, null left aside.
func (o *oracle) one(parts []object, types map[string]bool) (place, error) {
	untyped := len(types) == len(allTypes)-1
	if untyped {
		types = implied(parts)
	}
	for _, keyword := range []string{"format", "multipleOf"} {
		words := map[any]bool{}
		for _, s := range parts {
			words[s.get(keyword)] = true
		}
		delete(words, nil)
		o.several = o.several || len(words) > 1
	}
	names := slices.Sorted(maps.Keys(types))
	if slices.Equal(names, []string{"integer", "number"}) {
		names = names[1:]
	}
	if len(names) != 1 {
		o.several = o.several || untyped && len(names) > 1
		return place{}, errRefused
	}
	switch names[0] {
	case "boolean":
		return place{t: columns.Type{Kind: columns.Bool}}, nil
	case "integer":
		return place{t: integer(parts)}, nil
	case "number":
		return place{t: number(parts)}, nil
	case "string":
		return place{t: textual(parts)}, nil
	case "array":
		return o.array(parts)
	}
	return o.object(parts)
}

func (o *oracle) array(parts []object) (place, error) {
	var positions [][]any
	var everywhere []any
	for _, s := range parts {
		for _, p := range s.list("prefixItems") {
			positions = append(positions, []any{p})
		}
		if items, ok := s.get("items").(object); ok {
			everywhere = append(everywhere, items)
		}
	}
	if len(everywhere) > 0 {
		positions = append(positions, everywhere)
	}
	element, err := o.union(positions)
	if err != nil || element.nothing {
		return place{}, errRefused
	}
	field := columns.Field{Name: "element", Type: element.t, Required: !element.nullable}
	return place{t: columns.Type{Kind: columns.List, Fields: []columns.Field{field}}}, nil
}

// union holds what any of several places hold.
func (o *oracle) union(places [][]any) (place, error) {
	united := place{nothing: true}
	for _, schemas := range places {
		p, err := o.place(schemas...)
		if err != nil {
			return place{}, err
		}
		united.nullable = united.nullable || p.nullable
		switch {
		case p.nothing:
		case united.nothing:
			united.t, united.nothing = p.t, false
		default:
			if united.t, err = unite(united.t, p.t); err != nil {
				return place{}, err
			}
		}
	}
	return united, nil
}

func (o *oracle) object(parts []object) (place, error) {
	var names []string
	schemas, required := map[string][]any{}, map[string]bool{}
	var rest []any
	closed := false
	for _, s := range parts {
		for _, name := range s.list("required") {
			required[name.(string)] = true
		}
		properties, _ := s.get("properties").(object)
		for _, p := range properties {
			if schemas[p.name] == nil {
				names = append(names, p.name)
			}
			schemas[p.name] = append(schemas[p.name], p.value)
		}
		if more := s.get("additionalProperties"); more == false {
			closed = true
		} else if more, ok := more.(object); ok {
			rest = append(rest, more)
		}
	}
	if len(names) == 0 && closed {
		return place{nothing: true}, nil
	}
	if len(names) == 0 {
		return o.mapping(rest)
	}
	var fields []columns.Field
	for _, name := range names {
		p, err := o.place(schemas[name]...)
		if err != nil {
			return place{}, err
		}
		if !p.nothing {
			fields = append(fields, columns.Field{Name: name, Type: p.t, Required: required[name] && !p.nullable})
		}
	}
	return place{t: columns.Type{Kind: columns.Struct, Fields: fields}, nothing: len(fields) == 0}, nil
}

func (o *oracle) mapping(rest []any) (place, error) {
	v, err := o.place(rest...)
	if err != nil || len(rest) == 0 || v.nothing {
		return place{}, errRefused
	}
	key := columns.Field{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}
	value := columns.Field{Name: "value", Type: v.t, Required: !v.nullable}
	return place{t: columns.Type{Kind: columns.Map, Fields: []columns.Field{key, value}}}, nil
}

// unite is the type that holds values of both.
func unite(a, b columns.Type) (columns.Type, error) {
	texts := []columns.Kind{columns.String, columns.Binary, columns.Date, columns.TimestampTZ, columns.UUID}
	switch {
	case isNumber(a) && isNumber(b):
		return uniteNumbers(a, b)
	case slices.Contains(texts, a.Kind) && slices.Contains(texts, b.Kind) && a.Kind != b.Kind:
		return columns.Type{Kind: columns.String}, nil
	case a.Kind != b.Kind:
		return a, fmt.Errorf("%w: %s and %s", errRefused, a.Kind, b.Kind)
	case len(a.Fields) == 0:
		return a, nil
	}
	var fields []columns.Field
	for _, f := range slices.Concat(a.Fields, b.Fields) {
		named := func(g columns.Field) bool { return g.Name == f.Name }
		if slices.ContainsFunc(fields, named) {
			continue
		}
		x, y := slices.IndexFunc(a.Fields, named), slices.IndexFunc(b.Fields, named)
		if x < 0 || y < 0 {
			f.Required = false
		} else {
			t, err := unite(a.Fields[x].Type, b.Fields[y].Type)
			if err != nil {
				return a, err
			}
			f.Type, f.Required = t, a.Fields[x].Required && b.Fields[y].Required
		}
		fields = append(fields, f)
	}
	return columns.Type{Kind: a.Kind, Fields: fields}, nil
}
