package jsonschema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"sluice/columns"
)

// array makes the column for arrays: of one type, whichever keywords say it.
func (m *mapper) array(l *level, path string) result {
	inner := path + ".element"
	united := result{nothing: true}
	said := false
	for _, alternatives := range elementsOf(l.parts) {
		said = true
		if united = m.unite(alternatives[0], united, m.place(alternatives, inner), inner); united.unknown != "" {
			united = m.several(alternatives[0], united, inner)
			break
		}
	}
	switch {
	case !said:
		return result{unknown: "is an array, and items does not say of what"}
	case united.nothing:
		return result{unknown: "is an array of nothing but nulls"}
	}
	return result{t: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: united.t, Required: !united.nullable}}}}
}

// elementsOf lists, for each position that has a schema of its own, all schemas that hold there.
func elementsOf(parts []*node) (all [][]*node) {
	var everywhere []*node
	for _, n := range parts {
		if items := n.get("items"); items != nil && items.kind == isObject {
			everywhere = append(everywhere, items)
		}
	}
	for _, n := range parts {
		positions := n.list("prefixItems")
		if positions == nil {
			positions = n.list("items") // until 2019-09
		}
		for _, p := range positions {
			all = append(all, []*node{p})
		}
		if rest := n.get("additionalItems"); rest != nil && rest.kind == isObject && n.list("items") != nil {
			all = append(all, []*node{rest})
		}
	}
	if len(everywhere) > 0 {
		all = append(all, everywhere)
	}
	return all
}

// property is a name with all schemas that hold for it.
type property struct {
	name    string
	schemas []*node
}

// object makes the column for objects: a struct of the properties, or a map if none have a name.
func (m *mapper) object(l *level, path string) result {
	properties, required := propertiesOf(l.parts)
	if len(properties) == 0 {
		return m.mapping(l.parts, path)
	}
	if len(properties) > mostProperties {
		return result{unknown: fmt.Sprintf("has more than %d properties", mostProperties)}
	}
	var fields []columns.Field
	seen := map[string]string{}
	for _, p := range properties {
		inner := strings.TrimPrefix(path+"."+p.name, ".")
		lower := strings.ToLower(p.name)
		if before, twice := seen[lower]; twice || p.name == "" {
			m.refuseName(p, before, inner)
			continue
		}
		seen[lower] = p.name
		r := m.place(p.schemas, inner)
		if r.nothing {
			continue
		}
		fields = append(fields, columns.Field{Name: p.name, Type: r.t, Required: required[p.name] && !r.nullable, Doc: r.doc})
	}
	if len(fields) == 0 {
		return result{nothing: true}
	}
	return result{t: columns.Type{Kind: columns.Struct, Fields: fields}}
}

func (m *mapper) refuseName(p property, before, path string) {
	if p.name == "" {
		m.fail(p.schemas[0], path, "a column has a name, and this property has none")
		return
	}
	m.fail(p.schemas[0], path, "%s", byCase(before, p.name))
}

func byCase(a, b string) string {
	return fmt.Sprintf("the properties %s and %s differ by case only, and Spark, Hive and Trino match names whatever their case: write value.schema with one of them", safe(a), safe(b))
}

// propertiesOf are the properties of schemas in the order of the text, or in that of connect.index if all have one, and
// the names that are required.
func propertiesOf(parts []*node) (properties []property, required map[string]bool) {
	required = map[string]bool{}
	known := map[string]int{}
	for _, n := range parts {
		for _, r := range n.list("required") {
			required[r.text] = true
		}
		by := n.get("properties")
		if by == nil || by.kind != isObject {
			continue
		}
		for i, name := range by.names {
			at, again := known[name]
			if !again {
				at = len(properties)
				known[name] = at
				properties = append(properties, property{name: name})
			}
			properties[at].schemas = append(properties[at].schemas, by.members[i])
		}
		if n.doc.draft == 4 {
			requiredIn(by, required)
		}
	}
	sortByIndex(properties)
	return properties, required
}

// requiredIn heeds the keyword as draft 3 had it, within the property, which many texts of draft 4 still do.
func requiredIn(by *node, required map[string]bool) {
	for i, name := range by.names {
		if by.members[i].is("required") {
			required[name] = true
		}
	}
}

// sortByIndex puts properties into the order that Kafka Connect gives them, whose texts have them in any.
func sortByIndex(properties []property) {
	index := map[string]*big.Rat{}
	for _, p := range properties {
		for _, n := range p.schemas {
			if v := n.get("connect.index"); v != nil && index[p.name] == nil {
				if exact, ok := rational(v.text); ok {
					index[p.name] = exact
				}
			}
		}
	}
	if len(index) == len(properties) {
		slices.SortStableFunc(properties, func(a, b property) int { return index[a.name].Cmp(index[b.name]) })
	}
}

// mapping makes the column for objects whose names are values.
func (m *mapper) mapping(parts []*node, path string) result {
	inner := path + ".value"
	united := result{nothing: true}
	said, closed := false, false
	var rest []*node
	add := func(schemas []*node) {
		said = true
		if united = m.unite(schemas[0], united, m.place(schemas, inner), inner); united.unknown != "" {
			united = m.several(schemas[0], united, inner)
		}
	}
	for _, n := range parts {
		if by := n.get("patternProperties"); by != nil {
			for _, p := range by.members {
				add([]*node{p})
			}
		}
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			switch more := n.get(keyword); {
			case more == nil:
			case more.kind == isObject:
				rest = append(rest, more)
			default:
				closed = closed || !more.truth
			}
		}
	}
	if len(rest) > 0 && !closed {
		add(rest)
	}
	switch {
	case path == "":
		return result{unknown: "is an object without properties"}
	case !said && closed:
		return result{nothing: true}
	case !said:
		return result{unknown: "is an object of any fields: neither properties nor additionalProperties say of which"}
	case united.nothing:
		return result{unknown: "is a map of nothing but nulls"}
	}
	key := columns.Field{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}
	return result{t: columns.Type{Kind: columns.Map, Fields: []columns.Field{key, {Name: "value", Type: united.t, Required: !united.nullable}}}}
}

// several is what holds elements or map values of several types: text, if the mapper is lenient.
func (m *mapper) several(n *node, r result, path string) result {
	if m.lenient {
		m.formats[path] = "json"
	} else {
		m.fail(n, path, "%s%s", r.unknown, asText(path))
	}
	return result{t: columns.Type{Kind: columns.String}, nullable: true}
}
