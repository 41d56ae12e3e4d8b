package jsonschema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sluice/columns"
)

// mapper makes columns of places of a schema.
type mapper struct {
	library  *library
	lenient  bool
	formats  map[string]string
	problems []Problem
	// around are the schemas of the places around the one in hand: a schema that comes again is recursive.
	around []*node
	// masking are the schemas whose types are being asked for.
	masking []*node
	// uniting is the schema whose alternatives, elements or values are being united.
	uniting *node
	// work counts schemas that were looked at: a few may refer to each other in very many ways. compared counts pairs of
	// fields of alternatives.
	work, compared int
}

const (
	mostWork = 100_000
	// many is how many schemas at one place count as one more that was looked at, each time that they are gone through.
	many         = 64
	mostCompared = 50_000_000
	// mostProperties bounds the columns of one object, as other formats bound them.
	mostProperties = 10_000
	// mostAround bounds places within each other: a schema in DDL is nested no deeper than 100.
	mostAround = 95
	// mostProblems bounds an error.
	mostProblems = 100
)

func newMapper(l *library, lenient bool) *mapper {
	return &mapper{library: l, lenient: lenient, formats: map[string]string{}}
}

// result is what a place of a schema holds.
type result struct {
	t        columns.Type
	nullable bool
	// nothing says that there is never a value, or that it is always null.
	nothing bool
	// unknown is why there is no type; empty if there is one.
	unknown string
	doc     string
}

func (m *mapper) fail(n *node, path, format string, a ...any) {
	p := Problem{Pointer: n.where(), Column: path, Message: fmt.Sprintf(format, a...)}
	if len(m.problems) < mostProblems && !slices.Contains(m.problems, p) {
		m.problems = append(m.problems, p)
	}
}

// level is all that holds for one place: the schema that stands there, what it refers to, and all of allOf.
type level struct {
	parts []*node
	// visited are parts, and schemas that count for their $ref alone.
	visited []*node
	groups  []group
	// never says that nothing satisfies it, recursive that it would hold itself.
	never     bool
	recursive *node
	// broken says that a part is none, which was told.
	broken bool
	// within are the types that hold around this variant of a place; none if it is no variant.
	within mask
}

// group is schemas of which one holds, or, if it is optional, one or none.
type group struct {
	alternatives []*node
	optional     bool
}

// place makes the column for a place where all of some schemas hold. What has no type is a problem, or text if the mapper is
// lenient; at the root it is the result.
func (m *mapper) place(schemas []*node, path string) result {
	l := &level{}
	for _, n := range schemas {
		m.flatten(l, n, path)
	}
	r := result{unknown: "is nested deeper than tables go"}
	if strings.Count(path, ".") < mostAround {
		r = m.level(l, path)
	}
	r.doc = docOf(l)
	switch {
	case path == "" || r.unknown == "":
	case m.lenient && m.work <= mostWork:
		m.formats[path] = "json"
		r.t, r.unknown = columns.Type{Kind: columns.String}, ""
	default:
		m.fail(schemas[0], path, "%s%s", r.unknown, asText(path))
		r = result{t: columns.Type{Kind: columns.String}}
	}
	return r
}

func docOf(l *level) string {
	for _, n := range l.visited {
		if doc := n.str("description"); doc != "" {
			return strings.Map(shown, doc)
		}
	}
	return ""
}

// shown replaces what a terminal would obey.
func shown(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return ' '
	}
	return r
}

// flatten adds a schema to a level.
func (m *mapper) flatten(l *level, n *node, path string) {
	if m.work += 1 + len(l.visited)/many; m.work > mostWork {
		l.never = true
		return
	}
	switch {
	case n.kind == isBool:
		l.never = l.never || !n.truth
		return
	case n.kind != isObject:
		l.broken = true
		m.fail(n, path, "a schema is an object, or true or false")
		return
	case slices.Contains(l.visited, n):
		return
	case slices.Contains(m.around, n):
		l.recursive = n
		return
	}
	l.visited = append(l.visited, n)
	if wrong := noType(n); wrong != nil {
		l.broken = true
		m.fail(wrong, path, "there is no type %s: the types are null, boolean, integer, number, string, array and object", safe(wrong.text))
	}
	alone := n.doc.draft < siblingsFrom && n.get("$ref") != nil
	if !alone {
		l.parts = append(l.parts, n)
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if r := n.get(keyword); r != nil {
			m.follow(l, n, r, path)
		}
	}
	if alone {
		return
	}
	for _, inner := range n.list("allOf") {
		m.flatten(l, inner, path)
	}
	l.addGroups(n)
}

// follow adds what a reference leads to.
func (m *mapper) follow(l *level, n, reference *node, path string) {
	target, err := m.library.find(n, reference.text)
	if err != nil {
		l.broken = true
		m.fail(reference, path, "%v", err)
		return
	}
	m.flatten(l, target, path)
}

// addGroups notes where a schema has alternatives.
func (l *level) addGroups(n *node) {
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if alternatives := n.list(keyword); len(alternatives) > 0 {
			l.groups = append(l.groups, group{alternatives: alternatives})
		}
	}
	var sometimes []*node
	if n.get("if") != nil {
		sometimes = append(sometimes, n.get("then"), n.get("else"))
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		if by := n.get(keyword); by != nil {
			sometimes = append(sometimes, by.members...)
		}
	}
	sometimes = slices.DeleteFunc(sometimes, func(n *node) bool { return n == nil || n.kind != isObject })
	if len(sometimes) > 0 {
		l.groups = append(l.groups, group{sometimes, true})
	}
}

// level makes the column for a level.
func (m *mapper) level(l *level, path string) result {
	mask := m.mask(l, path)
	if l.within != 0 {
		mask &= l.within
	}
	switch {
	case l.broken:
		return result{t: columns.Type{Kind: columns.String}}
	case l.recursive != nil:
		return result{nullable: true, unknown: "is recursive, and a table is not: it holds what is at " + safe(l.recursive.where()) + " again"}
	case m.work > mostWork:
		return result{unknown: tooMuch}
	case l.never || mask&^maskNull == 0:
		return result{nothing: true, nullable: mask&maskNull != 0}
	}
	var r result
	if len(l.groups) > 0 {
		r = m.variants(l, mask, path)
	} else {
		r = m.concrete(l, mask, path)
	}
	if m.work > mostWork {
		return result{unknown: tooMuch}
	}
	r.nullable = mask&maskNull != 0
	return r
}

var tooMuch = fmt.Sprintf("is part of more than %d combinations of schemas", mostWork)

// variants unites what the alternatives of a level are. Each is what holds for all and one alternative: alternatives of
// several groups are not combined, since a column of one variant is in the union whatever the others have; but a variant
// has no type that another group rules out.
func (m *mapper) variants(l *level, mask mask, path string) result {
	united := result{nothing: true}
	for _, g := range l.groups {
		if g.optional { // and none of them
			r := m.level(&level{parts: l.parts, visited: l.visited, within: mask}, path)
			if r.unknown == "" {
				united = m.unite(l.visited[0], united, r, path)
			}
		}
		for _, alternative := range g.alternatives {
			m.work += len(l.parts) / many
			v := &level{parts: slices.Clone(l.parts), visited: slices.Clone(l.visited), within: mask}
			m.flatten(v, alternative, path)
			r := m.level(v, path)
			if r.unknown != "" {
				return r
			}
			if united = m.unite(l.visited[0], united, r, path); united.unknown != "" {
				return united
			}
		}
	}
	return united
}

// concrete makes the column for a level without alternatives.
func (m *mapper) concrete(l *level, mask mask, path string) result {
	if mask&^maskNull == maskAll&^maskNull {
		mask = implied(l.parts)
	}
	switch mask &^ maskNull {
	case 0:
		return result{unknown: "says nothing of the type of its values"}
	case maskBool:
		return result{t: columns.Type{Kind: columns.Bool}}
	case maskInteger:
		return result{t: integer(l.parts)}
	case maskFraction, maskInteger | maskFraction:
		return result{t: number(l.parts)}
	case maskString:
		return result{t: text(l.parts)}
	}
	before := len(m.around)
	m.around = append(m.around, l.visited...)
	defer func() { m.around = m.around[:before] }()
	switch mask &^ maskNull {
	case maskArray:
		return m.array(l, path)
	case maskObject:
		return m.object(l, path)
	}
	return result{unknown: "has values of several types: " + mask.String()}
}
