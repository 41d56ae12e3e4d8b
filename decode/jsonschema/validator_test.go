package jsonschema_test

import (
	"encoding/base64"
	stdjson "encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// member is one member of an object; objects keep the order of their text.
type member struct {
	name  string
	value any
}

// object is a JSON object. Other JSON values are nil, bool, stdjson.Number, string and []any.
type object []member

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o object) has(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name })
}

func (o object) list(name string) []any {
	list, _ := o.get(name).([]any)
	return list
}

func (o object) str(name string) string {
	s, _ := o.get(name).(string)
	return s
}

// read makes values of a text that is valid JSON.
func read(text string) any {
	d := stdjson.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return readNext(d)
}

func readNext(d *stdjson.Decoder) any {
	t, err := d.Token()
	if err != nil {
		panic(err)
	}
	if t != stdjson.Delim('{') && t != stdjson.Delim('[') {
		return t
	}
	array, fields := []any{}, object{}
	for d.More() {
		if t == stdjson.Delim('[') {
			array = append(array, readNext(d))
			continue
		}
		name, _ := d.Token()
		fields = append(fields, member{name.(string), readNext(d)})
	}
	_, _ = d.Token()
	if t == stdjson.Delim('[') {
		return array
	}
	return fields
}

func exact(n stdjson.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// typesOf are the names of the types that a value has.
func typesOf(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	case object:
		return []string{"object"}
	case stdjson.Number:
		if exact(v).IsInt() {
			return []string{"integer", "number"}
		}
	}
	return []string{"number"}
}

// equal compares as JSON Schema does: numbers by value.
func equal(a, b any) bool {
	x, isNumber := a.(stdjson.Number)
	y, alike := b.(stdjson.Number)
	if isNumber && alike {
		return exact(x).Cmp(exact(y)) == 0
	}
	return !isNumber && !alike && a == b // const and enum are scalars here
}

// validator follows the text of draft 2020-12, one keyword after the other, for the keywords that the generator writes.
// Formats are asserted: without that, a date could be any text. A schema without a type is about what its keywords are about,
// or null: without that, what says that texts are dates could be a number.
type validator struct{ root object }

func (o *validator) valid(schema, v any) bool {
	if always, ok := schema.(bool); ok {
		return always
	}
	s := schema.(object)
	for _, keyword := range []func(object, any) bool{o.types, o.inPlace, o.conditional, o.numeric, o.text, o.elements, o.fields} {
		if !keyword(s, v) {
			return false
		}
	}
	return true
}

func (o *validator) types(s object, v any) bool {
	words, isList := s.get("type").([]any)
	if word := s.str("type"); word != "" {
		words, isList = []any{word}, true
	}
	if isList && !slices.ContainsFunc(typesOf(v), func(t string) bool { return slices.Contains(words, any(t)) }) {
		return false
	}
	if s.has("const") && !equal(s.get("const"), v) {
		return false
	}
	about := implied([]object{s})
	if !isList && len(about) > 0 && v != nil && !slices.ContainsFunc(typesOf(v), func(t string) bool { return about[t] }) {
		return false
	}
	return !s.has("enum") || slices.ContainsFunc(s.list("enum"), func(e any) bool { return equal(e, v) })
}

func (o *validator) inPlace(s object, v any) bool {
	if s.has("$ref") && !o.valid(o.target(s.str("$ref")), v) {
		return false
	}
	count := func(keyword string) (n int) {
		for _, other := range s.list(keyword) {
			if o.valid(other, v) {
				n++
			}
		}
		return n
	}
	return count("allOf") == len(s.list("allOf")) && (!s.has("anyOf") || count("anyOf") > 0) && (!s.has("oneOf") || count("oneOf") == 1)
}

// target is what a reference to a definition leads to.
func (o *validator) target(reference string) any {
	return o.root.get("$defs").(object).get(strings.TrimPrefix(reference, "#/$defs/"))
}

func (o *validator) conditional(s object, v any) bool {
	if !s.has("if") {
		return true
	}
	branch := "else"
	if o.valid(s.get("if"), v) {
		branch = "then"
	}
	return !s.has(branch) || o.valid(s.get(branch), v)
}

func (o *validator) numeric(s object, v any) bool {
	n, ok := v.(stdjson.Number)
	if !ok {
		return true
	}
	for keyword, holds := range map[string]func(order int) bool{
		"minimum": func(order int) bool { return order >= 0 }, "exclusiveMinimum": func(order int) bool { return order > 0 },
		"maximum": func(order int) bool { return order <= 0 }, "exclusiveMaximum": func(order int) bool { return order < 0 },
	} {
		if limit, ok := s.get(keyword).(stdjson.Number); ok && !holds(exact(n).Cmp(exact(limit))) {
			return false
		}
	}
	step, ok := s.get("multipleOf").(stdjson.Number)
	return !ok || new(big.Rat).Quo(exact(n), exact(step)).IsInt()
}

var (
	dateTimes = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$`)
	uuids     = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

func (o *validator) text(s object, v any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	if s.has("contentEncoding") {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
			return false
		}
	}
	switch s.str("format") {
	case "date-time":
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil && dateTimes.MatchString(text)
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "uuid":
		return uuids.MatchString(text)
	}
	return true
}

func (o *validator) elements(s object, v any) bool {
	list, ok := v.([]any)
	if !ok {
		return true
	}
	positions := s.list("prefixItems")
	for i, e := range list {
		switch {
		case i < len(positions):
			if !o.valid(positions[i], e) {
				return false
			}
		case s.has("items"):
			if !o.valid(s.get("items"), e) {
				return false
			}
		}
	}
	return true
}

func (o *validator) fields(s object, v any) bool {
	fields, ok := v.(object)
	if !ok {
		return true
	}
	for _, name := range s.list("required") {
		if !fields.has(name.(string)) {
			return false
		}
	}
	properties, _ := s.get("properties").(object)
	for _, f := range fields {
		switch {
		case properties.has(f.name):
			if !o.valid(properties.get(f.name), f.value) {
				return false
			}
		case s.has("additionalProperties"):
			if !o.valid(s.get("additionalProperties"), f.value) {
				return false
			}
		}
	}
	return true
}
