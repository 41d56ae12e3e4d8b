package jsonschema_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/jsonschema"
	"sluice/decode/malformed"
)

// maker makes random schemas with functions that make values which keep to them.
type maker struct {
	rng         *rand.Rand
	definitions []string
}

type value func() string

func (m *maker) pick(of ...string) string { return of[m.rng.IntN(len(of))] }

// schema is a schema and its values.
func (m *maker) schema(depth int) (string, value) {
	text, make := m.plain(depth)
	switch m.rng.IntN(9) {
	case 0:
		null := m.pick(`{"type":"null"}`, `{"const":null}`, `{"enum":[null]}`)
		return fmt.Sprintf(`{%q:[%s,%s]}`, m.pick("oneOf", "anyOf"), null, text), m.orNull(make)
	case 1:
		m.definitions = append(m.definitions, text)
		return fmt.Sprintf(`{"$ref":"#/$defs/d%d","description":"x"}`, len(m.definitions)-1), make
	case 2:
		return fmt.Sprintf(`{"allOf":[%s,{"title":"y"}]}`, text), make
	case 3:
		return fmt.Sprintf(`{"anyOf":[%s,{"allOf":[%s]}]}`, text, text), make
	}
	return text, make
}

func (m *maker) orNull(make value) value {
	return func() string {
		if m.rng.IntN(3) == 0 {
			return "null"
		}
		return make()
	}
}

// plain is a schema of one type.
func (m *maker) plain(depth int) (string, value) {
	kind := m.rng.IntN(13)
	if depth == 0 {
		kind = m.rng.IntN(10)
	}
	at := func(layout string) value {
		return func() string {
			return strconv.Quote(time.UnixMicro(m.rng.Int64N(4e15)).UTC().Format(layout))
		}
	}
	switch kind {
	case 0:
		return `{"type":["boolean","null"]}`, m.orNull(func() string { return m.pick("true", "false") })
	case 1:
		return `{"type":"integer"}`, func() string { return strconv.FormatInt(int64(m.rng.Uint64()), 10) }
	case 2:
		low, span := m.rng.Int64N(1<<40)-1<<39, 1+m.rng.Int64N(1<<20)
		return fmt.Sprintf(`{"type":"integer","minimum":%d,"exclusiveMaximum":%d}`, low, low+span), func() string { return strconv.FormatInt(low+m.rng.Int64N(span), 10) }
	case 3:
		return `{"type":"number"}`, func() string { return strconv.FormatFloat(m.rng.NormFloat64()*1e20, m.pick("g", "f")[0], -1, 64) }
	case 4:
		high := 1 + m.rng.IntN(1e6)
		return fmt.Sprintf(`{"type":"number","multipleOf":0.01,"minimum":%d,"maximum":%d}`, -high, high), func() string {
			return fmt.Sprintf("%s%d.%02d", m.pick("", "-"), m.rng.IntN(high), m.rng.IntN(100))
		}
	case 5:
		return `{"type":"string","format":"date-time"}`, at(m.pick(time.RFC3339, "2006-01-02T15:04:05.000000-07:00"))
	case 6:
		return `{"type":"string","format":"date"}`, at(time.DateOnly)
	case 7:
		return `{"type":"string","contentEncoding":"base64"}`, func() string {
			return strconv.Quote(base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(m.rng.IntN(1e6)))))
		}
	case 8:
		return `{"enum":["a",null]}`, func() string { return m.pick(`"a"`, "null") }
	case 9:
		return `{"type":"string","format":"time"}`, func() string { return `"` + time.Unix(m.rng.Int64N(1e5), 0).UTC().Format("15:04:05Z") + `"` }
	case 10:
		return m.object(depth)
	case 11:
		items, make := m.schema(depth - 1)
		return `{"type":"array","items":` + items + `}`, m.members("[", "]", func(int) string { return make() })
	}
	values, make := m.schema(depth - 1)
	keyword := m.pick(`"additionalProperties":`+values, `"patternProperties":{"":`+values+`}`)
	return `{"type":"object",` + keyword + `}`, m.members("{", "}", func(i int) string { return fmt.Sprintf(`"k%d":`, i) + make() })
}

func (m *maker) members(open, end string, member func(i int) string) value {
	return func() string {
		var all []string
		for i := range m.rng.IntN(4) {
			all = append(all, member(i))
		}
		return open + strings.Join(all, ",") + end
	}
}

func (m *maker) object(depth int) (string, value) {
	var properties, required []string
	var makers []value
	var optional []bool
	for i := range 1 + m.rng.IntN(5) {
		text, make := m.schema(depth - 1)
		properties = append(properties, fmt.Sprintf(`"f%d":%s`, i, text))
		makers, optional = append(makers, make), append(optional, m.rng.IntN(2) == 0)
		if !optional[i] {
			required = append(required, fmt.Sprintf(`"f%d"`, i))
		}
	}
	text := fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, strings.Join(properties, ","), strings.Join(required, ","))
	return text, func() string {
		var fields []string
		for i, make := range makers {
			if !optional[i] || m.rng.IntN(2) == 0 {
				fields = append(fields, fmt.Sprintf(`"f%d":%s`, i, make()))
			}
		}
		m.rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		return "{" + strings.Join(append(fields, `"more":[1]`), ",") + "}"
	}
}

// The promise of the package comment: a record that keeps to the schema has a row.
func TestARecordThatKeepsToTheSchemaHasARow(t *testing.T) {
	for seed := range uint64(2000) {
		m := &maker{rng: rand.New(rand.NewPCG(seed, 3))}
		text, make := m.object(3)
		var definitions []string
		for i, d := range m.definitions {
			definitions = append(definitions, fmt.Sprintf(`"d%d":%s`, i, d))
		}
		text = `{"$defs":{` + strings.Join(definitions, ",") + `},` + text[1:]
		s, err := jsonschema.Parse(text, nil)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		schema, err := s.Columns()
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if again, err := ddl.Parse(ddl.Format(schema)); err != nil || !reflect.DeepEqual(again, schema) {
			t.Fatalf("%v: got %v, want %v", err, again, schema)
		}
		p, err := json.Compile(schema, json.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			record := make()
			var why *malformed.Error
			if err := p.Append(columns.Make(schema), []byte(record)); errors.As(err, &why) && why.Reason != malformed.Size {
				t.Fatalf("%v\n%s\n%s\n%s", err, text, ddl.Format(schema), record)
			}
		}
	}
}

// Whatever the text, it is columns that decode/json takes, or an error; soon.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"type":"object","properties":{"a":{"type":["integer","null"],"multipleOf":0.1},"b":{"$ref":"#/properties/a"}},"required":["b"]}`,
		`{"oneOf":[{"$ref":"#/$defs/x"},{"allOf":[{"properties":{"y":{"items":[true]}}}]}],"$defs":{"x":{"$id":"u","additionalProperties":{"format":"date"}}}}`,
		`{"properties":{"c":{"if":{},"then":{"properties":{"d":{"const":1e5}}},"dependencies":{"a":["b"]},"title":"org.apache.kafka.connect.data.Decimal"}}}`, `false`, `{"$ref":"#"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := jsonschema.Parse(text, map[string]string{"other": text})
		if err != nil {
			return
		}
		if schema, err := s.Columns(); err == nil {
			if _, err := json.Compile(schema, json.Options{}); err != nil {
				t.Errorf("%v: %s", err, ddl.Format(schema))
			}
		}
		schema, formats, err := s.Lenient()
		if err != nil {
			return
		}
		again, err := ddl.Parse(ddl.Format(schema))
		if err != nil {
			t.Fatalf("%v: %s", err, ddl.Format(schema))
		}
		if _, err := json.Compile(again, json.Options{Formats: formats}); err != nil && !strings.Contains(text, ".") {
			t.Errorf("%v: %s", err, ddl.Format(schema))
		}
		_, _, _ = s.Type()
	})
}
