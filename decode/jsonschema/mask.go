package jsonschema

import (
	"slices"
	"strings"
)

// mask is a set of JSON types. A number is an integer or a fraction, whichever way it is written.
type mask uint8

const (
	maskNull mask = 1 << iota
	maskBool
	maskInteger
	maskFraction
	maskString
	maskArray
	maskObject
	maskAll mask = 1<<iota - 1
)

var maskOf = map[string]mask{"null": maskNull, "boolean": maskBool, "integer": maskInteger, "number": maskInteger | maskFraction, "string": maskString, "array": maskArray, "object": maskObject}

// String lists the types, but for null.
func (m mask) String() string {
	var names []string
	for _, name := range []string{"boolean", "number", "integer", "string", "array", "object"} {
		if of := maskOf[name]; m&of == of && !(name == "integer" && m&maskFraction != 0) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// mask is the set of types that a level's values can have, as far as type, const, enum and the alternatives say.
func (m *mapper) mask(l *level, path string) mask {
	all := maskAll
	if l.broken {
		return all
	}
	for _, n := range l.parts {
		all &= ownMask(n)
	}
	if l.never {
		return 0
	}
	for _, g := range l.groups {
		if g.optional {
			continue
		}
		var any mask
		for _, alternative := range g.alternatives {
			any |= m.alternativeMask(alternative, path)
		}
		all &= any
	}
	return all
}

func (m *mapper) alternativeMask(n *node, path string) mask {
	if slices.Contains(m.masking, n) {
		return maskAll
	}
	m.masking = append(m.masking, n)
	defer func() { m.masking = m.masking[:len(m.masking)-1] }()
	l := &level{}
	m.flatten(l, n, path)
	return m.mask(l, path)
}

// ownMask is what one schema says of the type itself.
func ownMask(n *node) mask {
	all := maskAll
	if t := n.get("type"); t != nil {
		all = typeMask(t)
	}
	if v := n.get("const"); v != nil {
		all &= valueMask(v)
	}
	if values := n.list("enum"); len(values) > 0 {
		var any mask
		for _, v := range values {
			any |= valueMask(v)
		}
		all &= any
	}
	if n.is("nullable") && all != maskAll { // OpenAPI 3.0
		all |= maskNull
	}
	return all
}

// noType is a word of the keyword type that is no type, nil if there is none.
func noType(n *node) *node {
	t := n.get("type")
	if t == nil {
		return nil
	}
	words := []*node{t}
	if t.kind == isArray {
		words = t.members
	}
	for _, word := range words {
		if word.kind != isString || maskOf[word.text] == 0 {
			return word
		}
	}
	return nil
}

func typeMask(t *node) mask {
	if t.kind != isArray {
		return maskOf[t.text]
	}
	var any mask
	for _, one := range t.members {
		any |= maskOf[one.text]
	}
	if any == 0 { // an empty list
		return maskAll
	}
	return any
}

func valueMask(v *node) mask {
	switch v.kind {
	case isNull:
		return maskNull
	case isBool:
		return maskBool
	case isString:
		return maskString
	case isArray:
		return maskArray
	case isObject:
		return maskObject
	}
	if exact, ok := rational(v.text); ok && exact.IsInt() {
		return maskInteger
	}
	return maskFraction
}

// implies are keywords that mean something for one type alone.
var implies = map[string]mask{
	"properties": maskObject, "patternProperties": maskObject, "additionalProperties": maskObject, "propertyNames": maskObject,
	"items": maskArray, "prefixItems": maskArray,
	"format": maskString, "pattern": maskString, "minLength": maskString, "maxLength": maskString, "contentEncoding": maskString,
	"minimum": maskInteger | maskFraction, "maximum": maskInteger | maskFraction, "multipleOf": maskInteger | maskFraction,
	"exclusiveMinimum": maskInteger | maskFraction, "exclusiveMaximum": maskInteger | maskFraction,
}

// implied is what schemas without a type are about.
func implied(parts []*node) (all mask) {
	for _, n := range parts {
		for _, name := range n.names {
			all |= implies[name]
		}
	}
	return all
}
