package decode

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/json"
	"sluice/decode/malformed"
	"sluice/decode/registry"
)

// The formats.
const (
	FormatRaw      = "raw"
	FormatString   = "string"
	FormatJSON     = "json"
	FormatAvro     = "avro"
	FormatProtobuf = "protobuf"
)

// Decoder turns records into rows: Raw or Typed.
type Decoder interface {
	// Schema is what Decode returns, the same on every call.
	Schema() columns.Schema
	// Decode returns the rows of records, or of the first of them, valid until the next call; Batch.Rest has the others.
	Decode(records *columns.Records) (*columns.Batch, error)
}

// New makes the decoder that a plan or a job asks for, of values that say by themselves what they are. The error is the
// first of Problems; a job was checked before, so that it then is of a plan which another version of sluice has made.
func New(value batch.Value, includeHeaders bool) (Decoder, error) {
	return Maker{}.New(value, includeHeaders)
}

// Lenient is New for whoever only looks: records that are no rows become rows of nulls whatever the policies say, and told
// hears which and why.
func Lenient(value batch.Value, includeHeaders bool, told func(records *columns.Records, row int, why *malformed.Error)) (Decoder, error) {
	return Maker{}.Lenient(value, includeHeaders, told)
}

// Maker makes decoders.
type Maker struct {
	// Schemas answers for the ids that values carry; nil where none do.
	Schemas Schemas
}

// New is the function New.
func (m Maker) New(value batch.Value, includeHeaders bool) (Decoder, error) {
	return m.newDecoder(value, TypedOptions{Headers: includeHeaders})
}

// Lenient is the function Lenient.
func (m Maker) Lenient(value batch.Value, includeHeaders bool, told func(records *columns.Records, row int, why *malformed.Error)) (Decoder, error) {
	return m.newDecoder(value, TypedOptions{Headers: includeHeaders, Lenient: told})
}

func (m Maker) newDecoder(value batch.Value, o TypedOptions) (Decoder, error) {
	if value.Format == FormatRaw && value.Key.Format == "" {
		return NewRaw(o.Headers), nil
	}
	s := settings{value: value, schemas: m.Schemas, lenient: o.Lenient != nil}
	if s.check(); len(s.problems) == 0 {
		s.checkSettled()
	}
	if len(s.problems) > 0 {
		return nil, &s.problems[0]
	}
	o.RawValue, o.Key = value.IncludeRawValue, s.keys
	o.OnMalformed, o.OnTombstone, o.OnUnknown = policies[value.OnMalformed], policies[value.OnTombstone], policies[value.OnUnknownField]
	if !value.Rejects() || o.Lenient != nil {
		t, err := NewTyped(s.parser, o)
		if err != nil {
			return nil, err
		}
		t.format = value.Format
		return t, nil
	}
	d, err := lettersOf(s.parser, o)
	if err != nil {
		return nil, err
	}
	d.format = value.Format
	return d, nil
}

// policies are the words for what becomes of records that are no row.
var policies = map[string]Policy{"fail": Fail, "null": AsNull, "keep": AsNull, "drop": Drop, batch.DeadLetterPolicy: Reject}

// Problem is a setting that cannot be used.
type Problem struct {
	// Setting is its path, such as value.schema or value.json.timeZone.
	Setting string
	// Err says why; a *ddl.Error where the text of a schema is wrong.
	Err error
}

// Error is setting and reason.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %v", p.Setting, p.Err) }

// Unwrap is the reason.
func (p *Problem) Unwrap() error { return p.Err }

// Problems lists what is wrong with settings, nothing if New takes them.
func Problems(value batch.Value) []Problem {
	if value.Format == FormatRaw && value.Key.Format == "" {
		return nil
	}
	s := settings{value: value}
	s.check()
	return s.problems
}

// settings are checked one after the other, so that each fault stands where it was made.
type settings struct {
	value    batch.Value
	parser   Parser
	keys     *Keys
	schemas  Schemas
	problems []Problem
	// lenient is for whoever looks: unknown fields are noted unless they make a record malformed.
	lenient bool
}

func (s *settings) problem(setting string, err error) {
	s.problems = append(s.problems, Problem{Setting: "value." + setting, Err: err})
}

func (s *settings) check() {
	if s.value.Format == FormatRaw {
		s.keyProblem("format", errors.New("keys are bytes where value.format is raw: the columns are then exactly those of Spark's Kafka source"))
		return
	}
	s.word("onMalformed", s.value.OnMalformed, "fail", "null", batch.DeadLetterPolicy)
	s.word("onTombstone", s.value.OnTombstone, "keep", "drop", batch.DeadLetterPolicy)
	switch s.value.Format {
	case FormatString:
		s.parser = text{path: textSchema[0].Name}
	case FormatJSON:
		s.word("onUnknownField", s.value.OnUnknownField, "ignore", "fail", batch.DeadLetterPolicy, AddColumn)
		s.checkJSON()
	case FormatAvro, FormatProtobuf:
		s.word("onUnknownField", s.value.OnUnknownField, "ignore", "fail", batch.DeadLetterPolicy, AddColumn)
		s.checkWritten()
	default:
		s.problem("format", fmt.Errorf("this version of sluice has no format %q", s.value.Format))
	}
	s.checkDeadLetters()
	s.checkKey()
	if len(s.problems) == 0 && s.parser != nil {
		s.checkRows()
	}
}

func (s *settings) word(setting, word string, known ...string) {
	for _, k := range known {
		if word == k {
			return
		}
	}
	s.problem(setting, fmt.Errorf("%q is not known: want %s", word, strings.Join(known, " or ")))
}

// checkDeadLetters wants a place for the records that a policy sends to the dead letters.
func (s *settings) checkDeadLetters() {
	if s.value.LetterPlace() != (batch.LetterPlace{}) {
		return
	}
	for _, policy := range []struct{ setting, word string }{{"onMalformed", s.value.OnMalformed}, {"onTombstone", s.value.OnTombstone}, {"onUnknownField", s.value.OnUnknownField}} {
		if policy.word == batch.DeadLetterPolicy {
			s.problem(policy.setting, errors.New("deadLetter needs deadLetter.table, deadLetter.path or deadLetter.topic, the table, folder or topic that dead letters go to"))
		}
	}
}

func (s *settings) checkJSON() {
	zone, err := zoneOf(s.value.JSON.TimeZone)
	if err != nil {
		s.problem("json.timeZone", err)
	}
	schema, ok := s.columns()
	if !ok {
		return
	}
	j, o := &s.value.JSON, json.Options{Zone: zone}
	if s.value.OnUnknownField == "fail" || s.value.OnUnknownField == batch.DeadLetterPolicy {
		o.Unknown = func(string, []byte, []byte) bool { return false }
	}
	if !s.compile("schema", schema, o) {
		return
	}
	// Each is checked alone, so that another's fault does not stand in for its own.
	s.compile("json.maxDepth", schema, json.Options{MaxDepth: j.MaxDepth})
	s.compile("json.timestampFormat", schema, json.Options{Timestamps: j.TimestampFormat})
	s.compile("json.dateFormat", schema, json.Options{Dates: j.DateFormat})
	s.compile("json.columnFormats", schema, json.Options{Formats: j.ColumnFormats})
	o.MaxDepth, o.Timestamps, o.Dates, o.Formats = j.MaxDepth, j.TimestampFormat, j.DateFormat, j.ColumnFormats
	o.NumbersInText, o.CutFractions = j.NumbersInText, j.CutFractions
	if len(s.problems) == 0 && s.compile("json", schema, o) && s.value.Framing != "" {
		s.parser = s.framed(s.parser, wanted{schema: schema}, FormatJSON, registry.ValueHeader)
	}
}

func (s *settings) compile(setting string, schema columns.Schema, o json.Options) bool {
	parser, err := s.compiled(schema, o)
	if err != nil {
		s.problem(setting, errors.New(strings.TrimPrefix(err.Error(), "json: ")))
		return false
	}
	s.parser = parser
	return true
}

func (s *settings) compiled(schema columns.Schema, o json.Options) (Parser, error) {
	if s.value.OnUnknownField == AddColumn || s.lenient && o.Unknown == nil {
		return newCollecting(schema, o, s.apart(), s.value.Closed)
	}
	return json.Compile(schema, o)
}

// apart says that a record which brings what cannot become a column is no row by itself, and holds nothing up.
func (s *settings) apart() bool {
	return s.value.OnUnknownField == AddColumn && s.value.OnMalformed == batch.DeadLetterPolicy && !s.lenient
}

// zoneOf is a zone of the IANA database; UTC if name is empty. The host's own zone has no name that means the same on
// another host.
func zoneOf(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("a local zone is another one on another host: name one, such as Europe/Berlin")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q: want a name of the IANA database, such as Europe/Berlin", name)
	}
	return zone, nil
}

// checkRows tries the columns together with those about the record, then with the policy.
func (s *settings) checkRows() {
	o := TypedOptions{Headers: true, RawValue: true, OnTombstone: Drop}
	if _, err := NewTyped(s.parser, o); err != nil {
		s.problem("schema", err)
		return
	}
	o.OnMalformed = policies[s.value.OnMalformed]
	o.Rejected = func(*columns.Records, int, *malformed.Error) error { return nil }
	if _, err := NewTyped(s.parser, o); err != nil {
		s.problem("onMalformed", err)
	}
}
