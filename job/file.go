package job

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile reads the job file into the Job, collecting problems.
func (l *loading) readFile() {
	name := l.in.File
	content, err := l.in.ReadFile(name)
	if err != nil {
		l.report(Origin{Layer: File, Name: name}, "", "cannot read the job file: "+reason(err))
		l.broken = true
		return
	}
	l.text = strings.Split(string(content), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file is a job of defaults
			l.syntax(err)
		}
		return
	}
	if root := document.Content[0]; root.Kind == yaml.MappingNode {
		l.sections[""] = l.place(root)
		l.section(root, "")
	} else if !isNull(root) {
		l.report(l.place(root), "", "the file is "+formOf(root).String()+": want keys and values, such as name: orders")
		l.broken = true
	}
	if err := decoder.Decode(&second); err == nil {
		l.report(l.place(&second), "", "a second document begins here: a job file holds one")
	} else if !errors.Is(err, io.EOF) {
		l.syntax(err)
	}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)`)

func (l *loading) syntax(err error) {
	at, message := Origin{Layer: File, Name: l.in.File}, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		at.Line, _ = strconv.Atoi(m[1]) // no line: 0, as it should be
		at.Line, message = l.mistake(at.Line, m[2])
	}
	l.broken = true
	l.report(at, "", "not YAML: "+clip(message))
}

var (
	tabbed   = regexp.MustCompile(`^ *\t`)
	unclosed = regexp.MustCompile(`^did not find expected ',' or '([]}])'$`)
)

// mistake says more exactly than the library what is wrong, and in which line, 0 if that is not known. It gives a bracket's line
// counted from 0, or that of where it was missed if that is 0.
func (l *loading) mistake(line int, message string) (int, string) {
	if message == "found character that cannot start any token" || message == "found a tab character that violates indentation" {
		for i := max(line-1, 0); i < len(l.text); i++ {
			if tabbed.MatchString(l.text[i]) {
				return i + 1, "a tab: YAML indents with blanks"
			}
		}
	}
	if m := unclosed.FindStringSubmatch(message); m != nil {
		bracket, at := map[string]string{"]": "[", "}": "{"}[m[1]], 1
		if line < len(l.text) && strings.Contains(l.text[line], bracket) {
			at = line + 1
		}
		return at, message + " in the " + bracket + " that begins in this line"
	}
	return line, message
}

func (l *loading) place(n *yaml.Node) Origin {
	return Origin{Layer: File, Name: l.in.File, Line: n.Line, Column: n.Column}
}

// section reads the mapping at path, whose keys are sections, keys, or mistakes.
func (l *loading) section(n *yaml.Node, path string) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := l.place(name)
		if !l.plainKey(name, path, seen) {
			continue
		}
		full := join(path, name.Value)
		switch {
		case isSection(full):
			l.subsection(at, value, full)
		case find(full) != nil:
			l.fileKey(find(full), value)
		default:
			l.unknown(at, full)
		}
	}
}

// plainKey reports keys that are no text or are there twice.
func (l *loading) plainKey(name *yaml.Node, path string, seen map[string]int) bool {
	at := l.place(name)
	switch {
	case name.Kind == yaml.ScalarNode && name.ShortTag() == "!!merge":
		l.report(at, path, "merge keys (<<) are not supported: write the keys out")
	case name.Kind != yaml.ScalarNode:
		l.report(at, path, "a key is "+formOf(name).String()+": want text")
	case seen[name.Value] > 0:
		l.report(at, join(path, name.Value), "is there twice: first in line "+strconv.Itoa(seen[name.Value]))
	default:
		seen[name.Value] = name.Line
		return true
	}
	return false
}

func (l *loading) subsection(at Origin, value *yaml.Node, path string) {
	switch {
	case value.Kind == yaml.MappingNode:
		l.sections[path] = at
		l.section(value, path)
	case isNull(value): // all of its keys are commented out
		l.sections[path] = at
	case value.Kind == yaml.AliasNode:
		l.report(l.place(value), path, aliasMessage)
	default:
		l.report(l.place(value), path, "is "+formOf(value).String()+": want the keys "+strings.Join(children(path), ", "))
	}
}

func (l *loading) fileKey(k *Key, value *yaml.Node) {
	if k.put != nil && value.Kind == yaml.MappingNode {
		l.sections[k.Path] = l.place(value)
	}
	l.assign(k, l.term(value, k.Path, k.put != nil))
}

const aliasMessage = "aliases (*name) are not supported: write the value out"

// term turns a node into a term, interpolated. secretNames says that the names of entries tell which are secret.
func (l *loading) term(n *yaml.Node, path string, secretNames bool) term {
	t := term{at: l.place(n), form: formOf(n), below: n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0}
	if t.form == emptyForm {
		t.text = n.Value
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if t.form == scalarForm {
			l.scalar(&t, n, path)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			t.items = append(t.items, l.term(item, path, false))
		}
	case yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i], n.Content[i+1]
			if !l.plainKey(name, path, seen) {
				continue
			}
			v := l.term(value, join(path, name.Value), false)
			v.secret = v.secret || secretNames && SecretName(name.Value)
			t.fields = append(t.fields, field{at: l.place(name), name: name.Value, value: v})
		}
	default:
		l.report(t.at, path, aliasMessage)
		l.touched[path] = t.at
	}
	return t
}

// scalar fills in the text of a single value.
func (l *loading) scalar(t *term, n *yaml.Node, path string) {
	switch n.ShortTag() {
	case "!!str":
		t.word = true
	case "!!int", "!!float", "!!bool", "!!timestamp":
	default:
		l.report(t.at, path, "the tag "+clip(n.Tag)+" is not supported: write the value without it")
		l.touched[path], t.form = t.at, badForm
		return
	}
	filled, err := l.expand.expand(n.Value)
	if err != nil {
		l.report(t.at, path, err.Error())
		l.touched[path], t.form = t.at, badForm
		return
	}
	t.text, t.secret, t.word = filled.text, filled.secret, t.word || filled.any
}

func formOf(n *yaml.Node) form {
	switch {
	case isNull(n):
		return emptyForm
	case n.Kind == yaml.ScalarNode:
		return scalarForm
	case n.Kind == yaml.SequenceNode:
		return listForm
	case n.Kind == yaml.MappingNode:
		return mapForm
	}
	return badForm
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
