package decode

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/ddl"
	"sluice/decode/jsonschema"
	"sluice/decode/protobuf"
)

// ForeignSchema is a schema of another kind than DDL: a text of JSON Schema, Avro or Protobuf, or a descriptor set.
type ForeignSchema struct {
	// Name is that of the file, whose ending tells the kind; where it does not, the content does.
	Name    string
	Content []byte
	// References are texts that it refers to: by the name of a $ref, the path of an import, or, for Avro, in an order in which
	// each needs only those before it.
	References []NamedText
	// Message is the message of a Protobuf schema; the first one if it is empty.
	Message string
	// AnyAsText makes a STRING of what has no type in a JSON Schema, instead of refusing it.
	AnyAsText bool
}

// NamedText is a text that a schema refers to.
type NamedText struct{ Name, Text string }

// Converted is the schema as value.schema takes it.
type Converted struct {
	// Kind is JSON Schema, Avro or Protobuf.
	Kind string
	DDL  string
	// Formats are value.json.columnFormats that the schema needs.
	Formats map[string]string
}

// Convert makes DDL of a schema of another kind. Its columns are those of the kind's package. The error says what no column
// can be made of.
func Convert(s ForeignSchema) (*Converted, error) {
	c := &Converted{}
	schema, err := c.columns(&s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	c.DDL = ddl.Format(schema)
	if _, err := ddl.Parse(c.DDL); err != nil {
		return nil, fmt.Errorf("%s: its columns cannot be those of a table: %w", s.Name, err)
	}
	return c, nil
}

func (c *Converted) columns(s *ForeignSchema) (columns.Schema, error) {
	switch c.Kind = kindOf(s.Name, s.Content); c.Kind {
	case "Avro":
		var known []string
		for _, r := range s.References {
			known = append(known, r.Text)
		}
		parsed, err := avro.Parse(string(s.Content), known...)
		if err != nil {
			return nil, err
		}
		return parsed.Columns()
	case "Protobuf":
		return s.message()
	}
	references := map[string]string{}
	for _, r := range s.References {
		references[r.Name] = r.Text
	}
	parsed, err := jsonschema.Parse(string(s.Content), references)
	if err != nil {
		return nil, err
	}
	if !s.AnyAsText {
		return parsed.Columns()
	}
	schema, formats, err := parsed.Lenient()
	c.Formats = formats
	return schema, err
}

func (s *ForeignSchema) message() (columns.Schema, error) {
	f, err := s.file()
	if err != nil {
		return nil, err
	}
	m, err := f.OnlyMessage()
	if s.Message != "" {
		m, err = f.Message(s.Message)
	}
	if err != nil {
		return nil, err
	}
	return m.Columns()
}

func (s *ForeignSchema) file() (*protobuf.File, error) {
	if !isText(s.Content) { // a set has control characters, which a text has not
		return protobuf.ParseDescriptorSet(s.Content)
	}
	files := map[string]string{}
	for _, r := range s.References {
		files[r.Name] = r.Text
	}
	main := path.Base(s.Name)
	if _, taken := files[main]; taken {
		return nil, errors.New("a reference has the name of the file itself")
	}
	files[main] = string(s.Content)
	return protobuf.Parse(files, main)
}

// kindOf tells what kind of schema a file holds.
func kindOf(name string, content []byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".avsc":
		return "Avro"
	case ".proto", ".desc", ".protoset", ".binpb":
		return "Protobuf"
	}
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return "Protobuf"
	}
	var avro struct {
		Type   any   `json:"type"`
		Fields []any `json:"fields"`
	}
	if stdjson.Unmarshal(trimmed, &avro) == nil && (avro.Type == "record" || avro.Fields != nil) {
		return "Avro"
	}
	return "JSON Schema"
}
