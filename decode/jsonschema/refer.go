package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Keywords that hold schemas: one, a list of them, or some by name.
var (
	holdsSchema  = []string{"additionalProperties", "items", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	holdsList    = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	holdsByName  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	knownDrafts  = map[string]int{"draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": 2020}
	newestDraft  = 2020
	siblingsFrom = 2019 // $ref stands alone before
)

// library finds schemas by URI.
type library struct {
	resources map[string]*node
	anchors   map[string]*node
}

// add reads a text and indexes it under a URI and under its own.
func (l *library) add(name, uri, text string) (*document, error) {
	doc := &document{name: name, draft: newestDraft}
	root, err := tree(text, doc)
	if err != nil {
		return nil, err
	}
	doc.root = root
	if root.kind != isObject && root.kind != isBool {
		return nil, errors.New("a schema is an object, or true or false")
	}
	if doc.draft, err = draftOf(root); err != nil {
		return nil, err
	}
	l.resources[uri] = root
	return doc, l.index(root, uri)
}

func draftOf(root *node) (int, error) {
	dialect := root.str("$schema")
	if strings.Contains(dialect, "draft-03") {
		return 0, fmt.Errorf("%s: draft 3 is not read; the drafts are 4, 6, 7, 2019-09 and 2020-12", dialect)
	}
	for word, draft := range knownDrafts {
		if strings.Contains(dialect, word) {
			return draft, nil
		}
	}
	return newestDraft, nil
}

// index notes the identifiers of a schema and of those inside it.
func (l *library) index(n *node, base string) error {
	if n.indexed || n.kind != isObject && n.kind != isBool {
		return nil
	}
	n.indexed, n.base = true, base
	if n.kind == isBool {
		return nil
	}
	if err := l.identify(n); err != nil {
		return err
	}
	for i, name := range n.names {
		m := n.members[i]
		var err error
		switch {
		case slices.Contains(holdsByName, name), slices.Contains(holdsList, name) && m.kind == isArray:
			for _, inner := range m.members {
				err = errors.Join(err, l.index(inner, n.base))
			}
		case slices.Contains(holdsSchema, name):
			err = l.index(m, n.base)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// identify notes the identifiers of one schema.
func (l *library) identify(n *node) error {
	keyword := "$id"
	if n.doc.draft == 4 {
		keyword = "id"
	}
	id := n.str(keyword)
	if n.doc.draft < siblingsFrom && n.get("$ref") != nil {
		id = ""
	}
	if anchor, ok := strings.CutPrefix(id, "#"); ok && anchor != "" { // until draft 7
		l.anchors[n.base+"#"+anchor] = n
	} else if id != "" {
		uri, _, err := resolve(n.base, id)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", n.where(), keyword, err)
		}
		n.base = uri
		if l.resources[uri] == nil {
			l.resources[uri] = n
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := n.str(keyword); anchor != "" {
			l.anchors[n.base+"#"+anchor] = n
		}
	}
	if n.is("$recursiveAnchor") {
		l.anchors[n.base+"#"] = n
	}
	return nil
}

// resolve is a reference made absolute, and its fragment without percent signs.
func resolve(base, reference string) (uri, fragment string, err error) {
	r, err := url.Parse(reference)
	if err != nil {
		return "", "", fmt.Errorf("%q is no URI", reference)
	}
	fragment = r.Fragment
	r.Fragment, r.RawFragment = "", ""
	if b, err := url.Parse(base); err == nil && base != "" && r.String() != "" {
		if b.Opaque != "" { // urn:…, which nothing is relative to
			return r.String(), fragment, nil
		}
		r = b.ResolveReference(r)
	}
	if r.String() == "" {
		return base, fragment, nil
	}
	return r.String(), fragment, nil
}

// find is the schema that a reference in n leads to.
func (l *library) find(n *node, reference string) (*node, error) {
	uri, fragment, err := resolve(n.base, reference)
	if err != nil {
		return nil, err
	}
	resource := l.resources[uri]
	if resource == nil {
		plain, _, _ := strings.Cut(reference, "#")
		if resource = l.resources[plain]; resource == nil {
			return nil, fmt.Errorf("there is no schema %s: nothing is fetched; give its text as a reference of that name", uri)
		}
		uri = resource.base
	}
	switch {
	case fragment == "":
		return resource, nil
	case !strings.HasPrefix(fragment, "/"):
		if target := l.anchors[resource.base+"#"+fragment]; target != nil {
			return target, nil
		}
		return nil, fmt.Errorf("%s has no anchor %s", orThis(uri), fragment)
	}
	target, schema := resource.at(fragment)
	if target == nil || target.kind != isObject && target.kind != isBool {
		return nil, fmt.Errorf("%s has no schema at %s", orThis(uri), fragment)
	}
	return target, l.index(target, schema.base)
}

func orThis(uri string) string {
	if uri == "" {
		return "the text"
	}
	return uri
}
