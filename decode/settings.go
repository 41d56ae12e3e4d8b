package decode

import (
	"errors"
	"fmt"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/registry"
)

// What settings say of schemas: where columns come from, and what reads values and keys into them.

// columns are those that values are read into; false if they are wrong, or follow from a registry which was not asked yet.
func (s *settings) columns() (columns.Schema, bool) {
	v := &s.value
	switch {
	case !s.knowsFraming("value", v.Framing):
		return nil, false
	case v.Schema == "" && v.Written.Carried():
		schema, err := localColumns(v.Format, v.Written)
		if err != nil {
			s.writtenProblem("value", err)
		}
		return schema, err == nil
	case v.Schema == "" && v.Framing != "":
		return nil, false
	}
	schema, err := ddl.Parse(v.Schema)
	if err != nil {
		s.problem("schema", err)
	}
	return schema, err == nil
}

// keyType is what kafka_key is; false as with columns.
func (s *settings) keyType() (columns.Type, bool) {
	k := &s.value.Key
	switch {
	case !s.knowsFraming("key", k.Framing):
		return columns.Type{}, false
	case k.Type == "" && k.Written.Carried():
		t, err := localKeyType(k.Format, k.Written)
		if err != nil {
			s.writtenProblem("key", err)
		}
		return t, err == nil
	case k.Type == "" && k.Framing != "":
		return columns.Type{}, false
	}
	t, err := ddl.ParseType(k.Type)
	if err == nil && k.Format == FormatProtobuf && t.Kind != columns.Struct {
		err = errors.New("a Protobuf message has fields: want columns, such as id BIGINT")
	}
	if err != nil {
		s.keyProblem("schema", err)
	}
	return t, err == nil
}

func localColumns(format string, w batch.Written) (columns.Schema, error) {
	parsed, err := localSchema(format, w)
	if err != nil {
		return nil, err
	}
	return parsed.columns()
}

func localKeyType(format string, w batch.Written) (columns.Type, error) {
	parsed, err := localSchema(format, w)
	if err != nil {
		return columns.Type{}, err
	}
	return parsed.keyType()
}

// checkWritten makes the reader of values in a format whose bytes tell nothing without the schema that they were written
// with.
func (s *settings) checkWritten() {
	v := &s.value
	schema, ok := s.columns()
	if !ok {
		return
	}
	want := wanted{schema: schema, strict: v.OnUnknownField != "ignore" && v.OnUnknownField != AddColumn, cut: v.CutFractions, depth: v.MaxDepth,
		notes: v.OnUnknownField == AddColumn || s.lenient && v.OnUnknownField == "ignore", apart: s.apart(), closed: v.Closed, wary: v.OnUnknownField != "ignore"}
	if v.Framing != "" {
		s.parser = s.framed(nil, want, v.Format, registry.ValueHeader)
		return
	}
	s.parser = s.local("value", v.Format, v.Written, want)
}

// checkKey makes the reader of keys.
func (s *settings) checkKey() {
	k := &s.value.Key
	switch k.Format {
	case "":
		return
	case FormatString:
		s.keys = &Keys{Parser: text{}}
		return
	case FormatJSON, FormatAvro, FormatProtobuf:
	default:
		s.keyProblem("format", fmt.Errorf("this version of sluice has no format %q for keys", k.Format))
		return
	}
	t, ok := s.keyType()
	if !ok {
		return
	}
	want := wanted{schema: columns.Schema{{Name: kafkaKey, Type: t}}, single: true}
	if k.Format == FormatProtobuf {
		want = wanted{schema: t.Fields}
	}
	if parser := s.keyParser(k, want); parser != nil {
		s.keys = &Keys{Parser: parser, Record: k.Format == FormatProtobuf}
	}
}

func (s *settings) keyParser(k *batch.Key, want wanted) Parser {
	var fixed Parser
	if k.Format == FormatJSON {
		parser, err := json.CompileValue(want.schema[0], json.Options{})
		if err != nil {
			s.keyProblem("schema", plainly(err))
			return nil
		}
		fixed = parser
	}
	switch {
	case k.Framing != "":
		return s.framed(fixed, want, k.Format, registry.KeyHeader)
	case fixed != nil:
		return fixed
	}
	return s.local("key", k.Format, k.Written, want)
}

// local makes the reader of what was all written with one schema, nil if there is a problem.
func (s *settings) local(side, format string, w batch.Written, want wanted) Parser {
	parsed, err := localSchema(format, w)
	if err != nil {
		s.writtenProblem(side, err)
		return nil
	}
	parser, err := want.compile(parsed)
	if err != nil {
		s.problems = append(s.problems, Problem{Setting: side + ".schema", Err: err})
		return nil
	}
	if never, ok := parser.(*refusing); ok { // no record would ever be read
		s.problem("onUnknownField", errors.New(never.why.Detail))
		return nil
	}
	return parser
}

// framed puts the framing around fixed; without that, schemas of the registry make what reads values.
func (s *settings) framed(fixed Parser, want wanted, format, header string) Parser {
	schemas := s.schemas
	if schemas == nil {
		schemas = noSchemas
	}
	return &framed{want: want, found: batch.Unknowns{Apart: want.apart}, format: format, schemas: schemas, header: header, fixed: fixed, parsers: map[writtenWith]Parser{}, missing: map[writtenWith]Parser{},
		forgives: s.value.OnMalformed == batch.DeadLetterPolicy}
}

func noSchemas(registry.ID) (*registry.Schema, error) {
	return nil, &batch.Fault{Class: batch.NotSetUp, Message: "records carry ids of a schema registry, and the job names none", Hint: "set schemaRegistry.url"}
}

// checkSettled finds that a registry was not asked for what follows from its newest schemas.
func (s *settings) checkSettled() {
	if s.parser == nil {
		s.problem("schema", errUnsettled)
	}
	if s.value.Key.Format != "" && s.keys == nil {
		s.keyProblem("schema", errUnsettled)
	}
}

var errUnsettled = errors.New("it follows from the newest schema in the registry, which was not asked for it")

func (s *settings) knowsFraming(side, framing string) bool {
	if framing == "" || framing == batch.ConfluentFraming {
		return true
	}
	s.problems = append(s.problems, Problem{Setting: side + ".framing", Err: fmt.Errorf("this version of sluice has no framing %q", framing)})
	return false
}

// writtenProblem is about the schema that values or keys were written with.
func (s *settings) writtenProblem(side string, err error) {
	setting := side + ".schemaFile"
	var name *unnamed
	if errors.As(err, &name) {
		setting = side + ".message"
	}
	s.problems = append(s.problems, Problem{Setting: setting, Err: plainly(err)})
}

func (s *settings) keyProblem(setting string, err error) {
	s.problems = append(s.problems, Problem{Setting: "key." + setting, Err: err})
}
