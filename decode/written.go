package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/ddl"
	"sluice/decode/jsonschema"
	"sluice/decode/malformed"
	"sluice/decode/protobuf"
	"sluice/decode/registry"
)

// written is a schema that values were written with, parsed: one of the fields is set.
type written struct {
	avro    *avro.Schema
	message *protobuf.Message
	json    *jsonschema.Schema
}

// LocalProto is what errors call the .proto file of a job: a plan does not carry the file's own name.
const LocalProto = "schema.proto"

// localSchema parses a schema that a job or a plan carries.
func localSchema(format string, w batch.Written) (written, error) {
	if format == FormatJSON && !looksAvro(w.Text) {
		s, err := jsonschema.Parse(w.Text, nil)
		return written{json: s}, err
	}
	if format != FormatProtobuf {
		s, err := avro.Parse(w.Text)
		return written{avro: s}, err
	}
	const name = LocalProto
	var f *protobuf.File
	var err error
	if w.Set != nil {
		f, err = protobuf.ParseDescriptorSet(w.Set)
	} else {
		f, err = protobuf.Parse(map[string]string{name: w.Text}, name)
	}
	if err != nil {
		return written{}, err
	}
	return messageOf(f, w.Message, nil)
}

// looksAvro tells an Avro record from a JSON Schema, which has no such type.
func looksAvro(text string) bool {
	var schema struct {
		Type any `json:"type"`
	}
	return json.Unmarshal([]byte(text), &schema) == nil && schema.Type == "record"
}

// registeredSchema parses a schema of a registry. Of a Protobuf schema it is the message of that name, or else the one that
// the indexes lead to.
func registeredSchema(s *registry.Schema, format, message string, indexes []int) (written, error) {
	if want := registryTypes[format]; s.Type != want {
		return written{}, fmt.Errorf("it is of type %s, and not %s", s.Type, want)
	}
	switch format {
	case FormatAvro:
		var known []string
		for _, r := range s.References {
			known = append(known, r.Text)
		}
		parsed, err := avro.Parse(s.Text, known...)
		return written{avro: parsed}, err
	case FormatJSON:
		known := map[string]string{}
		for _, r := range s.References {
			known[r.Name] = r.Text
		}
		parsed, err := jsonschema.Parse(s.Text, known)
		return written{json: parsed}, err
	}
	const name = "sluice/registered.proto" // which no reference is called
	files := map[string]string{name: s.Text}
	for _, r := range s.References {
		files[r.Name] = r.Text
	}
	f, err := protobuf.Parse(files, name)
	if err != nil {
		return written{}, err
	}
	return messageOf(f, message, indexes)
}

// registryTypes are what registries call the formats.
var registryTypes = map[string]string{FormatAvro: "AVRO", FormatProtobuf: "PROTOBUF", FormatJSON: "JSON"}

// messageOf is the message of that name, or else the one that indexes lead to, or else the only one at the file's top.
func messageOf(f *protobuf.File, name string, indexes []int) (written, error) {
	var m *protobuf.Message
	var err error
	switch {
	case name != "":
		m, err = f.Message(name)
	case indexes != nil:
		m, err = f.MessageAt(indexes)
	default:
		m, err = f.OnlyMessage()
	}
	if err != nil {
		return written{}, &unnamed{err}
	}
	return written{message: m}, nil
}

// unnamed says that a schema does not have the message that is wanted.
type unnamed struct{ error }

// columns are those that a table for the schema has.
func (w written) columns() (columns.Schema, error) {
	switch {
	case w.avro != nil:
		return w.avro.Columns()
	case w.json != nil:
		return w.json.Columns()
	}
	return w.message.Columns()
}

// keyType is the type of kafka_key for the schema.
func (w written) keyType() (columns.Type, error) {
	switch {
	case w.avro != nil:
		t, _, err := w.avro.Type()
		return t, err
	case w.json != nil:
		t, _, err := w.json.Type()
		return t, err
	}
	fields, err := w.columns()
	return columns.Type{Kind: columns.Struct, Fields: fields}, err
}

// Columns are the columns of a table for values of a registered schema, in the form that batch.Value has them.
func Columns(s *registry.Schema, format, message string) (string, error) {
	w, err := registeredSchema(s, format, message, nil)
	if err != nil {
		return "", plainly(err)
	}
	schema, err := w.columns()
	if err != nil {
		return "", plainly(err)
	}
	return ddl.Format(w.relaxed(schema)), nil
}

// relaxed makes columns optional that follow from one of several schemas with which values are written: a field that one
// of them requires may be new in it, and not be in values of before, or be gone from the next. What the format has no
// nulls for stays required.
func (w written) relaxed(fields []columns.Field) []columns.Field {
	return relaxed(fields, w.message != nil)
}

func relaxed(fields []columns.Field, elementsStay bool) []columns.Field {
	optional := slices.Clone(fields)
	for i := range optional {
		f := &optional[i]
		inside := relaxed(f.Type.Fields, elementsStay)
		for k := range inside {
			part := f.Type.Kind == columns.List || f.Type.Kind == columns.Map
			isKey := f.Type.Kind == columns.Map && k == 0
			inside[k].Required = isKey || part && elementsStay && f.Type.Fields[k].Required
		}
		f.Required, f.Type.Fields = false, inside
	}
	return optional
}

// KeyType is the type of kafka_key for keys of a registered schema, in the form that batch.Key has it.
func KeyType(s *registry.Schema, format, message string) (string, error) {
	w, err := registeredSchema(s, format, message, nil)
	if err != nil {
		return "", plainly(err)
	}
	t, err := w.keyType()
	if err != nil {
		return "", plainly(err)
	}
	return ddl.FormatType(w.relaxed([]columns.Field{{Type: t}})[0].Type), nil
}

// Derive fills in what follows from the schemas that a job carries: columns and the type of kafka_key. A plan then holds
// both, and a schema only where records are read with it. What is wrong Problems has found; it is left as it is.
func Derive(value batch.Value) batch.Value {
	if value.Schema == "" && value.Written.Carried() {
		if schema, err := localColumns(value.Format, value.Written); err == nil {
			if value.Framing != "" && value.Format != FormatJSON {
				schema = relaxed(schema, value.Format == FormatProtobuf)
			}
			value.Schema = ddl.Format(schema)
		}
	}
	if value.Key.Type == "" && value.Key.Written.Carried() {
		if t, err := localKeyType(value.Key.Format, value.Key.Written); err == nil {
			if value.Key.Framing != "" && value.Key.Format != FormatJSON {
				t = relaxed([]columns.Field{{Type: t}}, value.Key.Format == FormatProtobuf)[0].Type
			}
			value.Key.Type = ddl.FormatType(t)
		}
	}
	if value.Framing != "" || value.Format == FormatJSON {
		value.Written = batch.Written{}
	}
	if value.Key.Framing != "" || value.Key.Format == FormatJSON {
		value.Key.Written = batch.Written{}
	}
	return value
}

// Narrow is the columns and the type of kafka_key that are among rows, in the form that batch.Value has them. The first is
// empty if no column is.
func Narrow(value batch.Value, rows columns.Schema) (schema, keyType string) {
	at := slices.IndexFunc(rows, func(f columns.Field) bool { return f.Name == kafkaKey })
	if at < 0 {
		return value.Schema, value.Key.Type
	}
	if value.Schema != "" {
		schema = ddl.Format(rows[:at])
	}
	if keyType = value.Key.Type; keyType != "" {
		keyType = ddl.FormatType(rows[at].Type)
	}
	return schema, keyType
}

// wanted is what values are read into.
type wanted struct {
	// schema is the columns of the table, or the fields of kafka_key. With single it is one column, which the whole value
	// becomes.
	schema columns.Schema
	single bool
	// strict makes records with fields that the schema does not have malformed; cut drops what is finer than a microsecond.
	strict, cut bool
	// notes keeps account of what written schemas have beyond the columns.
	notes bool
	// apart makes records malformed whose written schema has what cannot become columns, closed also what did not.
	apart, closed bool
	// wary makes records malformed that have a field which no column can take, where that is the record's own doing.
	wary bool
	// depth bounds Protobuf messages within each other; 0 is the format's own bound.
	depth int
}

// reading is a compiled reader of one written schema.
type reading interface {
	Parser
	// Unknown is what the written schema has and the wanted one lacks.
	Unknown() []columns.Field
}

// compile makes a reader of what was written with w. The error says which column cannot be filled.
func (want *wanted) compile(w written) (Parser, error) {
	var parser reading
	var err error
	switch {
	case w.avro != nil && want.single:
		parser, err = avro.CompileValue(w.avro, columns.Field{Type: want.schema[0].Type}, avro.Options{CutFractions: want.cut})
	case w.avro != nil:
		parser, err = avro.Compile(w.avro, want.schema, avro.Options{CutFractions: want.cut})
	default:
		o := protobuf.Options{CutFractions: want.cut, MaxDepth: want.depth, RefuseUnfit: want.wary}
		if want.strict { // of a message that is newer than the schema
			o.Unknown = func(string, int32, []byte) bool { return false }
		}
		parser, err = protobuf.Compile(w.message, want.schema, o)
	}
	if err != nil {
		return nil, plainly(err)
	}
	if extra := extraPaths(want.unknown(parser), want.fields(), ""); want.strict && len(extra) > 0 {
		return &refusing{schema: parser.Schema(), why: malformed.Error{Reason: malformed.Unknown, Path: extra[0],
			Detail: "the schema that the record was written with has fields that the columns have not: " + strings.Join(extra, ", ")}}, nil
	}
	if want.notes {
		return &noting{reading: parser, want: want, found: batch.Unknowns{Apart: want.apart}}, nil
	}
	return parser, nil
}

// Absent lists the columns of value.schema that the schema which all values were written with has nothing for, by their
// paths: they are null in every row, for which a mistyped name is the likeliest reason. nil where each record says what it
// was written with, and where the settings are wrong.
func Absent(value batch.Value) []string {
	if value.Schema == "" || !value.Written.Carried() || value.Framing != "" || value.Format != FormatAvro && value.Format != FormatProtobuf {
		return nil
	}
	schema, err := ddl.Parse(value.Schema)
	if err != nil {
		return nil
	}
	w, err := localSchema(value.Format, value.Written)
	if err != nil {
		return nil
	}
	parser, err := (&wanted{schema: schema}).compile(w)
	if a, ok := parser.(interface{ Absent() []string }); ok && err == nil {
		return a.Absent()
	}
	return nil
}

// fields are the columns that may lack something, unknown what they lack.
func (want *wanted) fields() []columns.Field {
	if want.single {
		return want.schema[0].Type.Fields
	}
	return want.schema
}

func (want *wanted) unknown(parser reading) []columns.Field {
	unknown := parser.Unknown()
	if want.single && len(unknown) == 1 {
		return unknown[0].Type.Fields
	}
	return unknown
}

// plainly leaves the package's name out of an error: what it is about is said around it.
func plainly(err error) error {
	text := err.Error()
	for _, prefix := range []string{"avro: ", "protobuf: ", "jsonschema: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(text)
}

// extraPaths are the paths of what is in extra and not in have. What both have is there for what is new inside of it.
func extraPaths(extra, have []columns.Field, path string) []string {
	var paths []string
	for _, f := range extra {
		name := f.Name
		if path != "" {
			name = path + "." + f.Name
		}
		at := slices.IndexFunc(have, func(h columns.Field) bool { return h.Name == f.Name })
		if at < 0 {
			paths = append(paths, name)
		} else {
			paths = append(paths, extraPaths(f.Type.Fields, have[at].Type.Fields, name)...)
		}
	}
	return paths
}

// refusing says of every value that it is malformed, since what it was written with cannot be read.
type refusing struct {
	schema columns.Schema
	why    malformed.Error
}

func (r *refusing) Schema() columns.Schema { return r.schema }

func (r *refusing) Append([]columns.Array, []byte) error {
	why := r.why
	return &why
}
