package jsonschema_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/jsonschema"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// tape is the bytes of a fuzzer as choices; what comes after its end is 0.
type tape struct{ choices []byte }

func (t *tape) n(below int) int {
	if len(t.choices) == 0 {
		return 0
	}
	c := int(t.choices[0])
	t.choices = t.choices[1:]
	return c % below
}

func (t *tape) of(words ...string) string { return words[t.n(len(words))] }

// schemas writes schemas.
type schemas struct {
	tape
	definitions int
}

// document is a schema of a record, with definitions, of which each refers to those before it alone.
func (s *schemas) document() string {
	var definitions []string
	for range s.n(3) {
		text := s.schema(2)
		definitions = append(definitions, fmt.Sprintf(`"d%d":%s`, s.definitions, text))
		s.definitions++
	}
	root := s.object(3)
	return `{"$defs":{` + strings.Join(definitions, ",") + `},` + root[1:]
}

func (s *schemas) schema(depth int) string {
	if depth <= 0 {
		return s.scalar()
	}
	switch s.n(10) {
	case 0:
		return `{` + s.of(`"oneOf"`, `"anyOf"`) + `:[` + s.schema(depth-1) + `,` + s.schema(depth-1) + `]}`
	case 1:
		return `{"anyOf":[{"type":"null"},` + s.schema(depth-1) + `]}`
	case 2:
		return `{"allOf":[` + s.schema(depth-1) + `,` + s.object(depth-1) + `]}`
	case 3:
		if s.definitions > 0 {
			return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, s.n(s.definitions))
		}
		return s.of(`true`, `false`, `{}`)
	case 4:
		return `{"type":"array","items":` + s.schema(depth-1) + `}`
	case 5:
		return `{"prefixItems":[` + s.schema(depth-1) + `,` + s.schema(depth-1) + `],"items":` + s.schema(depth-1) + `}`
	case 6:
		return `{"type":"object","additionalProperties":` + s.schema(depth-1) + `}`
	case 7, 8:
		return s.object(depth)
	}
	return s.scalar()
}

func (s *schemas) object(depth int) string {
	var properties, required []string
	for i := range 1 + s.n(3) {
		if s.n(4) == 3 {
			continue
		}
		name := strconv.Quote(string(rune('a' + i)))
		properties = append(properties, name+`:`+s.schema(depth-1))
		if s.n(2) == 1 {
			required = append(required, name)
		}
	}
	text := s.of(`{"type":"object",`, `{"type":["object","null"],`, `{`)
	if depth > 0 && s.n(6) == 5 {
		properties = append(properties, `"k":{"type":"string"}`)
		text += `"if":{"properties":{"a":{"type":"string"}}},"then":` + s.object(depth-1) + `,"else":` + s.object(0) + `,`
	}
	return text + `"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

func (s *schemas) scalar() string {
	null := s.of(`"`, `"`, `","null`)
	typed := func(name string) string {
		return strings.Replace(`{"type":[`+`"`+name+null+`"]`, `""`, `"`, 1)
	}
	switch s.n(9) {
	case 0:
		return typed("boolean") + `}`
	case 1:
		low := s.of("0", "-1", "-2147483648", "-2147483649", "-9223372036854775809", "-1e30")
		high := s.of("1", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "1e30")
		return typed(s.of("integer", "number")) + s.of(``, `,"format":"int32"`, `,"minimum":`+low, `,"minimum":`+low+`,"maximum":`+high, `,"exclusiveMinimum":`+low+`,"exclusiveMaximum":`+high) + `}`
	case 2:
		return typed("number") + s.of(``, `,"format":"float"`, `,"multipleOf":0.01`, `,"multipleOf":2.5,"minimum":-100,"exclusiveMaximum":1000`, `,"multipleOf":1`, `,"multipleOf":1e-20`) + `}`
	case 3:
		return s.of(`{"enum":["x","y",null]}`, `{"enum":[1,2.5]}`, `{"const":true}`, `{"const":null}`, `{"enum":[1.0,2e2]}`, `{"const":"x","type":"string"}`)
	case 4:
		return typed("string") + s.of(``, `,"contentEncoding":"base64"`) + `}`
	case 5:
		return `{"format":` + s.of(`"date-time"`, `"date"`, `"uuid"`, `"email"`) + `}`
	case 6:
		return typed("string") + `,"format":` + s.of(`"date-time"`, `"date"`, `"uuid"`, `"time"`) + `}`
	case 7:
		return s.of(`{"minimum":0}`, `{"type":["string","integer"]}`, `{"type":["integer","number"]}`, `{"multipleOf":0.5,"maximum":9}`)
	}
	return typed("integer") + `}`
}

// samples writes records: mostly ones that keep to a schema.
type samples struct {
	tape
	oracle *oracle
}

// value is a value where all of some schemas hold.
func (s *samples) value(schemas []any, depth int) string {
	all := [][]object{{}}
	for _, one := range schemas {
		all = s.oracle.each(all, s.oracle.alternatives(one))
	}
	if len(all) == 0 || depth > 12 {
		return s.anything()
	}
	parts := all[s.n(len(all))]
	for _, p := range parts {
		if p.has("const") || p.has("enum") {
			values := append([]any{p.get("const")}, p.list("enum")...)
			return write(values[min(len(values)-1, 1-len(p.list("const"))+s.n(4))])
		}
	}
	types := allowed(parts)
	if len(types) == len(allTypes) {
		types = implied(parts)
	}
	var names []string
	for _, t := range allTypes {
		if types[t] {
			names = append(names, t)
		}
	}
	if len(names) == 0 {
		return s.anything()
	}
	return s.typed(names[s.n(len(names))], parts, depth)
}

func (s *samples) anything() string {
	return s.of(`null`, `true`, `1`, `-0.5`, `1e2`, `"x"`, `[]`, `{}`, `[1]`, `{"a":1}`, `99999999999999999999`, `"2020-02-30"`, `1e-7`)
}

func (s *samples) typed(name string, parts []object, depth int) string {
	switch name {
	case "null":
		return "null"
	case "boolean":
		return s.of("true", "false")
	case "integer":
		return s.of("0", "1", "7", "-1", "5.0", "1e2", "2147483647", "-2147483649", "9007199254740993", "9223372036854775807", "9223372036854775808", "-1e30")
	case "number":
		return s.of("0.5", "2.5", "-97.5", "999.99", "0.01", "1e-20", "123456789.123456789", "1e300", "0.1", "-0.0")
	case "string":
		switch textual(parts).Kind {
		case columns.TimestampTZ:
			return s.of(`"2026-11-30T12:00:00Z"`, `"1969-12-31T23:59:59.999999-23:59"`, `"0001-01-02T00:00:00.5+05:30"`)
		case columns.Date:
			return s.of(`"2024-02-29"`, `"1970-01-01"`, `"1969-12-31"`, `"9999-12-31"`)
		case columns.UUID:
			return s.of(`"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`, `"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"`)
		case columns.Binary:
			return s.of(`""`, `"AA=="`, `"+/+/"`)
		}
		return s.of(`"x"`, `""`, `"é\n"`, `"2024-02-29"`)
	case "array":
		return s.array(parts, depth)
	}
	return s.object(parts, depth)
}

func (s *samples) array(parts []object, depth int) string {
	var elements []string
	for i := range s.n(4) {
		var schemas []any
		for _, p := range parts {
			positions := p.list("prefixItems")
			switch {
			case i < len(positions):
				schemas = append(schemas, positions[i])
			case p.has("items"):
				schemas = append(schemas, p.get("items"))
			}
		}
		elements = append(elements, s.value(schemas, depth+1))
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (s *samples) object(parts []object, depth int) string {
	var fields []string
	schemas := map[string][]any{}
	var names []string
	var rest []any
	for _, p := range parts {
		properties, _ := p.get("properties").(object)
		for _, m := range properties {
			if schemas[m.name] == nil {
				names = append(names, m.name)
			}
			schemas[m.name] = append(schemas[m.name], m.value)
		}
		if p.has("additionalProperties") {
			rest = append(rest, p.get("additionalProperties"))
		}
	}
	for _, name := range names {
		required := slices.ContainsFunc(parts, func(p object) bool { return slices.Contains(p.list("required"), any(name)) })
		if required || s.n(3) > 0 {
			fields = append(fields, strconv.Quote(name)+":"+s.value(schemas[name], depth+1))
		}
	}
	for i := range s.n(3) {
		if len(rest) > 0 {
			fields = append(fields, fmt.Sprintf(`"k%d":`, i)+s.value(rest, depth+1))
		}
	}
	if s.n(8) == 7 {
		fields = append(fields, fmt.Sprintf(`%q:%s`, s.of("zz", "z"), s.anything()))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// write is the text of a scalar.
func write(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// FuzzColumnsAndValues makes a schema and records of it from bytes. The columns are those that the oracle says, and so are the
// values that decode/json reads into them; what a validator finds valid has a row, but for numbers that no column holds.
func FuzzColumnsAndValues(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 96)
		for k := range seed {
			seed[k] = byte((i + 1) * (k + 3) * 2654435761 >> 7)
		}
		f.Add(seed, slices.Clone(seed[32:]))
	}
	f.Fuzz(func(t *testing.T, choices, records []byte) {
		if len(choices) > 300 || len(records) > 1000 {
			return
		}
		text := (&schemas{tape: tape{choices}}).document()
		o := &oracle{validator: validator{root: read(text).(object)}}
		want, refused := o.columns()
		schema, err := columnsOfText(text)
		if !o.several && (refused == nil) != (err == nil) {
			t.Fatalf("%s\ngot %v, %v, want %v, %v", text, schema, err, want, refused)
		}
		if err != nil {
			return
		}
		if got, want := ddl.Format(inOrder(schema, o.ordered)), ddl.Format(inOrder(want, o.ordered)); !o.several && got != want {
			t.Fatalf("%s\ngot\n%s\nwant\n%s", text, got, want)
		}
		p, err := json.Compile(schema, json.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &samples{tape: tape{records}, oracle: o}
		for range 4 {
			compareRecord(t, o, p, text, s.value([]any{o.root}, 0))
		}
	})
}

func columnsOfText(text string) (columns.Schema, error) {
	s, err := jsonschema.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	return s.Columns()
}

// inOrder sorts fields by name where their order does not count.
func inOrder(fields []columns.Field, ordered bool) columns.Schema {
	sorted := slices.Clone(fields)
	for i := range sorted {
		sorted[i].Type.Fields = inOrder(sorted[i].Type.Fields, ordered)
	}
	if !ordered {
		slices.SortStableFunc(sorted, func(a, b columns.Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return sorted
}

func compareRecord(t *testing.T, o *oracle, p *json.Parser, text, record string) {
	t.Helper()
	dst := columns.Make(p.Schema())
	err := p.Append(dst, []byte(record))
	want, misfit := rowOf(p.Schema(), read(record))
	var bad *malformed.Error
	switch {
	case misfit != nil && !errors.As(err, &bad):
		t.Fatalf("%s\n%s\ngot %v, want a malformed record", text, record, err)
	case misfit == nil && err != nil:
		t.Fatalf("%s\n%s\ngot %v, want %s", text, record, err, rowtest.Text(want))
	case misfit == nil:
		if got := rowtest.Text(rowtest.Row(p.Schema(), dst, 0)); got != rowtest.Text(want) {
			t.Fatalf("%s\n%s\ngot  %s\nwant %s", text, record, got, rowtest.Text(want))
		}
	}
	if _, isObject := read(record).(object); !isObject {
		return // a record is an object
	}
	promised := bad == nil || bad.Reason == malformed.Overflow || bad.Reason == malformed.Lossy || !o.ordered
	if !promised && o.valid(o.root, read(record)) {
		t.Fatalf("%s\n%s\ngot %v, though the record keeps to the schema", text, record, err)
	}
}
