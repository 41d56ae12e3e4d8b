package avro_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/avro"
)

func TestSchemasAreParsedAsTheSpecificationHasThem(t *testing.T) {
	for name, c := range map[string]struct {
		known []string
		text  string
		want  string
	}{
		"a name within its namespace": {nil, `{"type":"record","name":"R","namespace":"a.b","fields":[
			{"name":"x","type":{"type":"record","name":"I","fields":[{"name":"n","type":"int"}]}},{"name":"y","type":"I"},{"name":"z","type":["null","a.b.I"]}]}`,
			"x STRUCT<n: INT NOT NULL> NOT NULL,\ny STRUCT<n: INT NOT NULL> NOT NULL,\nz STRUCT<n: INT NOT NULL>"},
		"a full name, whose namespace its fields are in": {nil, `{"type":"record","name":"a.R","namespace":"b","fields":[
			{"name":"x","type":{"type":"fixed","name":"F","size":2}},{"name":"y","type":"a.F"}]}`, "x FIXED(2) NOT NULL,\ny FIXED(2) NOT NULL"},
		"no namespace within one": {nil, `{"type":"record","name":"a.R","fields":[
			{"name":"x","type":{"type":"fixed","name":"F","namespace":"","size":2}},{"name":"y","type":"F"}]}`, "x FIXED(2) NOT NULL,\ny FIXED(2) NOT NULL"},
		"references, one to the other": {[]string{`{"type":"enum","name":"c.E","symbols":["X"]}`, `{"type":"record","name":"c.I","fields":[{"name":"e","type":"E"}]}`,
			`{"type":"enum","name":"c.E","symbols":["X"]}`}, record(field("i", `"c.I"`), field("e", `"c.E"`)), "i STRUCT<e: STRING NOT NULL> NOT NULL,\ne STRING NOT NULL"},
		"several types in a reference": {[]string{`[{"type":"fixed","name":"A","size":1},{"type":"fixed","name":"B","size":2}]`}, record(field("a", `"A"`), field("b", `"B"`)),
			"a FIXED(1) NOT NULL,\nb FIXED(2) NOT NULL"},
		"a type in an object, a name too": {nil, record(field("a", `{"type":"int"}`), field("b", `{"type":{"type":"fixed","name":"F","size":1}}`), field("c", `{"type":"F"}`)),
			"a INT NOT NULL,\nb FIXED(1) NOT NULL,\nc FIXED(1) NOT NULL"},
		"an error is a record":                      {nil, `{"type":"error","name":"R","fields":[{"name":"a","type":"int"}]}`, "a INT NOT NULL"},
		"a logical type beside the type of a field": {nil, record(`{"name":"a","type":"long","logicalType":"timestamp-millis"}`), "a BIGINT NOT NULL"},
		"docs":                              {nil, record(`{"name":"a","type":"int","doc":"as the shop knows it"}`), "a INT NOT NULL COMMENT 'as the shop knows it'"},
		"names that Avro does not allow":    {nil, record(field("order-id", `"int"`), field("größe", `"int"`)), "`order-id` INT NOT NULL,\n`größe` INT NOT NULL"},
		"defaults and orders":               {nil, record(`{"name":"a","type":"int","default":"no int","order":"ignore"}`), "a INT NOT NULL"},
		"fields that say nothing":           {nil, record(field("n", `"null"`), field("a", `"int"`), field("e", `{"type":"record","name":"E","fields":[]}`), field("u", `["null"]`)), "a INT NOT NULL"},
		"a union with null":                 {nil, `["null",` + record(field("a", `"int"`)) + `]`, "a INT NOT NULL"},
		"a union of records":                {nil, `[{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]},{"type":"record","name":"B","fields":[{"name":"b","type":"int"}]}]`, "member0 STRUCT<a: INT NOT NULL>,\nmember1 STRUCT<b: INT NOT NULL>"},
		"a member that says nothing":        {nil, record(field("u", `["int",{"type":"record","name":"E","fields":[]},"string"]`)), "u STRUCT<member0: INT, member2: STRING> NOT NULL"},
		"numbers with a meaning in a union": {nil, record(field("u", `[{"type":"int","logicalType":"date"},"long"]`)), "u STRUCT<member0: DATE, member1: BIGINT> NOT NULL"},
	} {
		s := mustParse(t, c.text, c.known...)
		if got := columnsText(mustColumns(t, s)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestWhatIsNoSchemaIsRefusedAndNamed(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 200) + `"int"` + strings.Repeat("}", 200)
	for text, want := range map[string]string{
		``:                       "the text is no JSON: EOF",
		`{"type":`:               "the text is no JSON: unexpected EOF",
		`{"type":x}`:             "invalid character 'x' looking for beginning of value, at byte 9",
		`"int" "int"`:            "there is more after the schema",
		`5`:                      "a schema is a name, a list or an object, not 5",
		`{}`:                     "there is no type in {}",
		`"Foo"`:                  `no type "Foo" is defined before it is used`,
		`[]`:                     "a union has no types",
		`["int",["null","int"]]`: "a union has a union in it",
		`["int","int"]`:          "a union has int twice",
		`[{"type":"array","items":"int"},{"type":"array","items":"int"}]`: "a union has array twice",
		`{"type":"array"}`:                                   "element: array says nothing of its items",
		`{"type":"map","values":"Foo"}`:                      `value: no type "Foo"`,
		`{"type":"fixed","name":"F"}`:                        "the fixed F has no size",
		`{"type":"fixed","name":"F","size":-1}`:              "the fixed F has no size",
		`{"type":"fixed","name":"F","size":1e30}`:            "the fixed F has no size",
		`{"type":"fixed","size":1}`:                          "a type fixed has no name",
		`{"type":"fixed","name":".","size":1}`:               "a type fixed has no name",
		`{"type":"fixed","name":"int","size":1}`:             "a type has the name int",
		`{"type":"enum","name":"E"}`:                         "the enum E has no list of symbols",
		`{"type":"enum","name":"E","symbols":[]}`:            "the enum E has no list of symbols",
		`{"type":"enum","name":"E","symbols":["A",1]}`:       "the enum E has no list of symbols",
		`{"type":"enum","name":"E","symbols":["A","A"]}`:     "the enum E has the symbol A twice",
		`{"type":"record","name":"R"}`:                       "the record R has no list of fields",
		record(`{"type":"int"}`):                             "the record R has a field without a name",
		record(`5`):                                          "the record R has a field without a name",
		record(`{"name":"a"}`):                               "the field a of the record R has no type",
		record(field("a", `"int"`), field("a", `"int"`)):     "the record R has two fields a",
		record(field("a", `{"type":"array","items":"Foo"}`)): `a.element: no type "Foo"`,
		record(field("a", record(field("b", `"int"`)))):      "a: the type R is defined twice",
		record(field("a", deep)):                             "types are within each other more than 100 times",
	} {
		if _, err := avro.Parse(text); err == nil || !strings.HasPrefix(err.Error(), "avro: parse schema: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := avro.Parse(`"int"`, `"int"`, `{"type":1}`); err == nil || !strings.Contains(err.Error(), "avro: parse referenced schema 2: a schema is a name") {
		t.Errorf("got %v", err)
	}
}

func TestSchemasWithoutColumnsAreRefused(t *testing.T) {
	// Each record holds the next one twice: columns would double 40 times over.
	doubled := []string{`{"type":"record","name":"D0","fields":[{"name":"x","type":"int"}]}`}
	for i := range 40 {
		doubled = append(doubled, fmt.Sprintf(`{"type":"record","name":"D%d","fields":[{"name":"l","type":"D%d"},{"name":"r","type":"D%d"}]}`, i+1, i, i))
	}
	for name, c := range map[string]struct {
		known      []string
		text, want string
	}{
		"no record":            {nil, `"string"`, "the schema is string, and only a record has columns"},
		"a union of no record": {nil, `["null","int"]`, "the schema is union, and only a record has columns"},
		"a record of nothing":  {nil, record(field("a", `"null"`)), "the schema is record R: its values say nothing"},
		"itself":               {nil, record(field("a", `"int"`), field("next", `["null","R"]`)), "column next is record R, which contains itself"},
		"itself in a list":     {nil, record(field("a", `{"type":"record","name":"T","fields":[{"name":"kids","type":{"type":"array","items":"T"}}]}`)), "column a.kids.element is record T, which contains itself"},
		"a list of nothing":    {nil, record(field("a", `{"type":"array","items":"null"}`)), "column a.element is null: its values say nothing"},
		"a decimal too fine":   {nil, record(field("a", `{"type":"bytes","logicalType":"decimal","precision":64,"scale":39}`)), "column a: decimal(64,39) has more digits than the 38"},
		"too many columns":     {doubled, record(field("a", `"D40"`)), "more than 10000 columns"},
	} {
		_, err := mustParse(t, c.text, c.known...).Columns()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestTheTypeOfAnySchema(t *testing.T) {
	for text, want := range map[string]string{
		`"string"`: "STRING NOT NULL", `["null","long"]`: "BIGINT", `{"type":"map","values":"int"}`: "MAP<STRING, INT NOT NULL> NOT NULL", record(field("a", `"int"`)): "STRUCT<a: INT NOT NULL> NOT NULL",
	} {
		typ, required, err := mustParse(t, text).Type()
		if got := columnsText(columns.Schema{{Name: "v", Type: typ, Required: required}}); err != nil || got != "v "+want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	if _, _, err := mustParse(t, `"null"`).Type(); err == nil {
		t.Error("null has a type")
	}
}
