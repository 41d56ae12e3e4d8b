package avro

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Parse reads a schema as the Avro specification 1.12 writes it, in JSON. known are texts that define the named types
// which text refers to, each after those that it refers to itself; a registry calls them references.
//
// Defaults and the order of records do not matter to a reader of bytes and are not looked at. Names may have any
// characters, since registries hold schemas that were never checked.
func Parse(text string, known ...string) (*Schema, error) {
	s := &scope{names: map[string]*node{}}
	for i, k := range known {
		if slices.Contains(known[:i], k) {
			continue
		}
		if _, err := s.text(k); err != nil {
			return nil, fmt.Errorf("avro: parse referenced schema %d: %w", i+1, err)
		}
	}
	root, err := s.text(text)
	if err != nil {
		return nil, fmt.Errorf("avro: parse schema: %w", err)
	}
	root.weigh()
	return &Schema{root: root}, nil
}

// scope holds the named types that were defined so far.
type scope struct{ names map[string]*node }

// deepest is how many types may be within each other: readers recurse.
const deepest = 100

func (s *scope) text(text string) (*node, error) {
	d := stdjson.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		var syntax *stdjson.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("the text is no JSON: %w, at byte %d", err, syntax.Offset)
		}
		return nil, fmt.Errorf("the text is no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more after the schema, at byte %d", d.InputOffset())
	}
	return s.node(v, place{})
}

// place is where in a schema a type stands.
type place struct {
	// space is the namespace.
	space string
	// path names the type for people.
	path  string
	depth int
}

func (at place) below(name string) place {
	if at.path != "" {
		name = at.path + "." + name
	}
	return place{space: at.space, path: name, depth: at.depth + 1}
}

func (at place) wrong(format string, values ...any) error {
	if at.path != "" {
		return fmt.Errorf("%s: %s", at.path, fmt.Sprintf(format, values...))
	}
	return fmt.Errorf(format, values...)
}

func (s *scope) node(v any, at place) (*node, error) {
	if at.depth > deepest {
		return nil, at.wrong("types are within each other more than %d times", deepest)
	}
	switch v := v.(type) {
	case string:
		return s.reference(v, at)
	case []any:
		return s.union(v, at)
	case map[string]any:
		return s.object(v, at)
	}
	return nil, at.wrong("a schema is a name, a list or an object, not %s", shorten(v))
}

// shorten is how an error shows a piece of a schema.
func shorten(v any) string {
	text, _ := stdjson.Marshal(v)
	if len(text) > 60 {
		return strings.ToValidUTF8(string(text[:60]), "") + "…"
	}
	return string(text)
}

// reference finds a type by name: in the namespace that it is used in, else, as other readers do, in none.
func (s *scope) reference(name string, at place) (*node, error) {
	if k, ok := primitives[name]; ok {
		return &node{kind: k}, nil
	}
	if n, ok := s.names[qualified(name, at.space)]; ok {
		return n, nil
	}
	if n, ok := s.names[name]; ok {
		return n, nil
	}
	return nil, at.wrong("no type %q is defined before it is used, and no reference defines it", name)
}

func qualified(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

func (s *scope) union(branches []any, at place) (*node, error) {
	n := &node{kind: kindUnion}
	seen := map[string]bool{}
	for _, v := range branches {
		b, err := s.node(v, place{space: at.space, path: at.path, depth: at.depth + 1})
		if err != nil {
			return nil, err
		}
		identity := kindNames[b.kind] + " " + b.name
		switch {
		case b.kind == kindUnion:
			return nil, at.wrong("a union has a union in it")
		case seen[identity]:
			return nil, at.wrong("a union has %s twice", b)
		}
		seen[identity] = true
		n.branches = append(n.branches, b)
	}
	if len(n.branches) == 0 {
		return nil, at.wrong("a union has no types")
	}
	return n, nil
}

func (s *scope) object(v map[string]any, at place) (*node, error) {
	word, ok := v["type"].(string)
	if !ok {
		if v["type"] == nil {
			return nil, at.wrong("there is no type in %s", shorten(v))
		}
		return s.node(v["type"], place{space: at.space, path: at.path, depth: at.depth + 1})
	}
	switch word {
	case "record", "error":
		return s.record(v, at)
	case "enum":
		return s.enum(v, at)
	case "fixed":
		return s.fixed(v, at)
	case "array":
		return s.container(kindArray, v["items"], at.below("element"))
	case "map":
		return s.container(kindMap, v["values"], at.below("value"))
	}
	n, err := s.reference(word, at)
	if err == nil && n.name == "" {
		n.annotate(v)
	}
	return n, err
}

func (s *scope) container(k kind, item any, at place) (*node, error) {
	if item == nil {
		return nil, at.wrong("%s says nothing of its items", kindNames[k])
	}
	n, err := s.node(item, at)
	if err != nil {
		return nil, err
	}
	return &node{kind: k, branches: []*node{n}}, nil
}

// define makes a named type, and gives the place inside of it.
func (s *scope) define(k kind, v map[string]any, at place) (*node, place, error) {
	name, _ := v["name"].(string)
	if strings.Trim(name, ".") == "" {
		return nil, at, at.wrong("a type %s has no name: %s", kindNames[k], shorten(v))
	}
	if space, given := v["namespace"].(string); given {
		at.space = space
	}
	n := &node{kind: k, name: qualified(name, at.space)}
	if s.names[n.name] != nil {
		return nil, at, at.wrong("the type %s is defined twice", n.name)
	}
	if _, taken := primitives[n.name]; taken {
		return nil, at, at.wrong("a type has the name %s, which means another", n.name)
	}
	at.space = ""
	if dot := strings.LastIndexByte(n.name, '.'); dot >= 0 {
		at.space = n.name[:dot]
	}
	s.names[n.name] = n
	return n, at, nil
}

func (s *scope) record(v map[string]any, at place) (*node, error) {
	n, at, err := s.define(kindRecord, v, at)
	if err != nil {
		return nil, err
	}
	fields, ok := v["fields"].([]any)
	if !ok {
		return nil, at.wrong("the record %s has no list of fields", n.name)
	}
	seen := map[string]bool{}
	for _, raw := range fields {
		attributes, _ := raw.(map[string]any)
		f := field{aliases: words(attributes["aliases"])}
		f.name, _ = attributes["name"].(string)
		f.doc, _ = attributes["doc"].(string)
		switch {
		case f.name == "":
			return nil, at.wrong("the record %s has a field without a name: %s", n.name, shorten(raw))
		case seen[f.name]:
			return nil, at.wrong("the record %s has two fields %s", n.name, f.name)
		case attributes["type"] == nil:
			return nil, at.wrong("the field %s of the record %s has no type", f.name, n.name)
		}
		seen[f.name] = true
		if f.node, err = s.node(attributes["type"], at.below(f.name)); err != nil {
			return nil, err
		}
		n.fields = append(n.fields, f)
	}
	return n, nil
}

// words are the strings of a list.
func words(v any) []string {
	list, _ := v.([]any)
	var found []string
	for _, item := range list {
		if word, ok := item.(string); ok {
			found = append(found, word)
		}
	}
	return found
}

func (s *scope) enum(v map[string]any, at place) (*node, error) {
	n, at, err := s.define(kindEnum, v, at)
	if err != nil {
		return nil, err
	}
	n.symbols = words(v["symbols"])
	if list, _ := v["symbols"].([]any); len(n.symbols) == 0 || len(list) != len(n.symbols) {
		return nil, at.wrong("the enum %s has no list of symbols", n.name)
	}
	seen := map[string]bool{}
	for _, symbol := range n.symbols {
		if seen[symbol] {
			return nil, at.wrong("the enum %s has the symbol %s twice", n.name, symbol)
		}
		seen[symbol] = true
	}
	return n, nil
}

func (s *scope) fixed(v map[string]any, at place) (*node, error) {
	n, at, err := s.define(kindFixed, v, at)
	if err != nil {
		return nil, err
	}
	width, ok := integer(v["size"])
	if !ok || width < 0 {
		return nil, at.wrong("the fixed %s has no size", n.name)
	}
	n.width = width
	n.annotate(v)
	return n, nil
}
