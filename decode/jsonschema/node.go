package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a text, which may come from a registry.
const (
	maxText  = 4 << 20
	maxDepth = 200
)

// kind is a kind of JSON value.
type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isArray
	isObject
)

// node is a JSON value with its members in the order of the text.
type node struct {
	kind kind
	// text is a string, or a number as it was written; truth is a boolean.
	text  string
	truth bool
	// members are an array's elements or an object's values, names the latter's names.
	members []*node
	names   []string
	// pointer is where the node is in its document, in the form of RFC 6901.
	pointer string
	doc     *document
	// base is the URI of the schema resource that the node belongs to; it is set once the node is known to be a schema.
	base    string
	indexed bool
}

// document is one text.
type document struct {
	// name is how errors call it, empty for the main text.
	name string
	root *node
	// draft is 4, 6, 7, 2019 or 2020.
	draft int
}

// get is a member of an object, nil if there is none.
func (n *node) get(name string) *node {
	if n.kind != isObject {
		return nil
	}
	for i, other := range n.names {
		if other == name {
			return n.members[i]
		}
	}
	return nil
}

// str is a member that is a string, empty if there is none.
func (n *node) str(name string) string {
	if m := n.get(name); m != nil && m.kind == isString {
		return m.text
	}
	return ""
}

// is reports whether a member is true.
func (n *node) is(name string) bool {
	m := n.get(name)
	return m != nil && m.kind == isBool && m.truth
}

// list is a member that is an array.
func (n *node) list(name string) []*node {
	if m := n.get(name); m != nil && m.kind == isArray {
		return m.members
	}
	return nil
}

// where is how errors call the place of a node.
func (n *node) where() string { return n.doc.name + "#" + n.pointer }

// tree reads a text.
func tree(text string, doc *document) (*node, error) {
	switch {
	case len(text) > maxText:
		return nil, fmt.Errorf("the text has %d bytes, more than %d", len(text), maxText)
	case !utf8.ValidString(text):
		return nil, errors.New("the text is not UTF-8")
	}
	b := builder{decoder: json.NewDecoder(strings.NewReader(text)), doc: doc}
	b.decoder.UseNumber()
	n, err := b.value("", 0)
	if err == nil {
		if _, more := b.decoder.Token(); more == nil {
			err = errors.New("there is more after the schema")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	if err != nil {
		return nil, placed(text, b.decoder.InputOffset(), err)
	}
	return n, nil
}

// placed adds line and column to what is wrong with a text.
func placed(text string, at int64, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, at = errors.New("the text ends too early"), int64(len(text))
	}
	before := text[:min(at, int64(len(text)))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Errorf("line %d, column %d: %w", strings.Count(before, "\n")+1, max(1, utf8.RuneCountInString(line)), err)
}

// builder makes nodes of tokens.
type builder struct {
	decoder *json.Decoder
	doc     *document
}

func (b *builder) value(pointer string, depth int) (*node, error) {
	token, err := b.decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is nested deeper than %d", maxDepth)
	}
	n := &node{pointer: pointer, doc: b.doc}
	switch v := token.(type) {
	case nil:
		n.kind = isNull
	case bool:
		n.kind, n.truth = isBool, v
	case json.Number:
		n.kind, n.text = isNumber, v.String()
	case string:
		n.kind, n.text = isString, v
	case json.Delim:
		if v == '[' {
			n.kind = isArray
			return n, b.elements(n, depth)
		}
		n.kind = isObject
		return n, b.fields(n, depth)
	}
	return n, nil
}

func (b *builder) elements(n *node, depth int) error {
	for b.decoder.More() {
		m, err := b.value(n.pointer+"/"+strconv.Itoa(len(n.members)), depth+1)
		if err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := b.decoder.Token()
	return err
}

func (b *builder) fields(n *node, depth int) error {
	seen := map[string]bool{}
	for b.decoder.More() {
		token, err := b.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return fmt.Errorf("the name %q comes twice", name)
		}
		seen[name] = true
		m, err := b.value(n.pointer+"/"+escape.Replace(name), depth+1)
		if err != nil {
			return err
		}
		n.names, n.members = append(n.names, name), append(n.members, m)
	}
	_, err := b.decoder.Token()
	return err
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// at is the node that a JSON pointer leads to, nil if there is none, and the last schema on the way to it.
func (n *node) at(pointer string) (found, schema *node) {
	schema = n
	for _, step := range strings.Split(pointer, "/")[1:] {
		next := n.get(unescape.Replace(step))
		if i, err := strconv.Atoi(step); n.kind == isArray && err == nil && i >= 0 && i < len(n.members) {
			next = n.members[i]
		}
		if next == nil {
			return nil, nil
		}
		if n = next; n.indexed {
			schema = n
		}
	}
	return n, schema
}
