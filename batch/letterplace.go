package batch

import "strings"

// LetterKind is a kind of place that dead letters go to.
type LetterKind string

// The kinds of places.
const (
	InTable LetterKind = "table"
	InTopic LetterKind = "topic"
	InPath  LetterKind = "path"
)

// LetterPlace is where dead letters go: a table in the catalog of the rows' table, a topic of the cluster that is read, or a
// folder of files. The zero value is nowhere.
type LetterPlace struct {
	Kind LetterKind
	// Name is the table with its namespace, the topic, or the URL of the folder, without secrets.
	Name string
}

// String is the place in messages and in roles of an identity: "ops.dead" for a table, as it was before there were other
// places, "topic orders-dead" or "path s3://lake/dead" otherwise; empty for nowhere. No name of a table has a space.
func (p LetterPlace) String() string {
	if p.Kind == InTable || p.Kind == "" {
		return p.Name
	}
	return string(p.Kind) + " " + p.Name
}

// ParseLetterPlace reads what String writes.
func ParseLetterPlace(text string) LetterPlace {
	for _, kind := range []LetterKind{InTopic, InPath} {
		if name, ok := strings.CutPrefix(text, string(kind)+" "); ok {
			return LetterPlace{kind, name}
		}
	}
	if text == "" {
		return LetterPlace{}
	}
	return LetterPlace{InTable, text}
}

// LetterPlace is where records go that a policy rejects; the zero value if none does.
func (v *Value) LetterPlace() LetterPlace {
	switch {
	case v.DeadLetters != "":
		return LetterPlace{InTable, v.DeadLetters}
	case v.DeadLetterTopic != "":
		return LetterPlace{InTopic, v.DeadLetterTopic}
	case v.DeadLetterPath != "":
		return LetterPlace{InPath, v.DeadLetterPath}
	}
	return LetterPlace{}
}

// SendLetters makes the place the one that rejected records go to; the zero value takes it away.
func (v *Value) SendLetters(to LetterPlace) {
	v.DeadLetters, v.DeadLetterTopic, v.DeadLetterPath = "", "", ""
	switch to.Kind {
	case InTable:
		v.DeadLetters = to.Name
	case InTopic:
		v.DeadLetterTopic = to.Name
	case InPath:
		v.DeadLetterPath = to.Name
	}
}
