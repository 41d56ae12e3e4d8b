package jsonschema_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/decode/ddl"
	"sluice/decode/jsonschema"
)

// columnsOf are the columns of a schema in one line, or what is wrong with it.
func columnsOf(text string, references map[string]string) string {
	s, err := jsonschema.Parse(text, references)
	if err != nil {
		return err.Error()
	}
	schema, err := s.Columns()
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(ddl.Format(schema), ",\n", ", ")
}

func TestTypesBecomeColumns(t *testing.T) {
	for of, want := range map[string]string{
		`{"type":"boolean"}`:                                                               "BOOLEAN",
		`{"type":"integer"}`:                                                               "BIGINT",
		`{"type":"integer","minimum":0}`:                                                   "BIGINT",
		`{"type":"integer","format":"int32"}`:                                              "INT",
		`{"type":"integer","minimum":0,"maximum":100}`:                                     "INT",
		`{"type":"integer","minimum":0,"maximum":4294967295}`:                              "BIGINT",
		`{"type":"integer","minimum":0,"exclusiveMaximum":2147483648}`:                     "INT",
		`{"type":"integer","minimum":0,"maximum":2147483648}`:                              "BIGINT",
		`{"type":"integer","minimum":-2147483649,"maximum":0}`:                             "BIGINT",
		`{"type":"integer","minimum":0,"maximum":18446744073709551615}`:                    "DECIMAL(20,0)",
		`{"type":"integer","minimum":-1e400,"maximum":1e99999999999}`:                      "BIGINT",
		`{"type":"integer","format":"uint64"}`:                                             "DECIMAL(20,0)",
		`{"type":"integer","connect.type":"int16"}`:                                        "INT",
		`{"type":"integer","connect.type":"int64","minimum":0,"maximum":1}`:                "BIGINT",
		`{"type":"number"}`:                                                                "DOUBLE",
		`{"type":"number","format":"float"}`:                                               "FLOAT",
		`{"type":"number","connect.type":"float32"}`:                                       "FLOAT",
		`{"type":"number","multipleOf":0.01}`:                                              "DECIMAL(38,2)",
		`{"type":"number","multipleOf":0.25}`:                                              "DECIMAL(38,2)",
		`{"type":"number","multipleOf":0.01,"minimum":0,"maximum":99999.99}`:               "DECIMAL(7,2)",
		`{"type":"number","multipleOf":0.01,"minimum":0,"exclusiveMaximum":1000}`:          "DECIMAL(5,2)",
		`{"type":"number","multipleOf":1}`:                                                 "BIGINT",
		`{"type":"number","multipleOf":1e-30,"minimum":-1e30,"maximum":1}`:                 "DECIMAL(38,30)",
		`{"type":["integer","number"]}`:                                                    "DOUBLE",
		`{"type":"string"}`:                                                                "STRING",
		`{"type":"string","format":"date-time"}`:                                           "TIMESTAMP",
		`{"type":"string","format":"date"}`:                                                "DATE",
		`{"type":"string","format":"time"}`:                                                "STRING",
		`{"type":"string","format":"uuid"}`:                                                "UUID",
		`{"type":"string","format":"email"}`:                                               "STRING",
		`{"type":"string","contentEncoding":"base64"}`:                                     "BINARY",
		`{"type":"string","connect.type":"bytes"}`:                                         "BINARY",
		`{"type":"string","format":"byte"}`:                                                "BINARY",
		`{"enum":["a","b"]}`:                                                               "STRING",
		`{"enum":[1,2]}`:                                                                   "BIGINT",
		`{"enum":[1,2.5]}`:                                                                 "DOUBLE",
		`{"const":true}`:                                                                   "BOOLEAN",
		`{"format":"date"}`:                                                                "DATE",
		`{"minimum":1}`:                                                                    "DOUBLE",
		`{"type":"array","items":{"type":"integer"}}`:                                      "ARRAY<BIGINT NOT NULL>",
		`{"items":{"type":["integer","null"]}}`:                                            "ARRAY<BIGINT>",
		`{"type":"array","prefixItems":[{"type":"integer"},{"type":"number"}]}`:            "ARRAY<DOUBLE NOT NULL>",
		`{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"null"}}`:   "ARRAY<STRING>",
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`:    "STRUCT<b: STRING, a: BIGINT>",
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`:         "STRUCT<a: BIGINT NOT NULL>",
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                      "MAP<STRING, BIGINT NOT NULL>",
		`{"patternProperties":{"^x":{"type":"integer"},"^y":{"type":["number","null"]}}}`:  "MAP<STRING, DOUBLE>",
		`{"type":"object","properties":{"a":{"type":"null"},"b":false,"c":{"const":"x"}}}`: "STRUCT<c: STRING>",
		`{"type":"number","title":"org.apache.kafka.connect.data.Decimal","connect.type":"bytes","connect.parameters":{"scale":"2","connect.decimal.precision":"9"}}`:                                                                 "DECIMAL(9,2)",
		`{"type":"integer","title":"org.apache.kafka.connect.data.Timestamp","connect.type":"int64"}`:                                                                                                                                 "BIGINT",
		`{"properties":{"z":{"type":"string","connect.index":1},"a":{"type":"string","connect.index":2},"m":{"oneOf":[{"type":"null"},{"const":1}],"connect.index":0}}}`:                                                              "STRUCT<m: BIGINT, z: STRING, a: STRING>",
		`{"type":"object","properties":{"a":{"type":"string","connect.index":1},"b":{"type":"string"}}}`:                                                                                                                              "STRUCT<a: STRING, b: STRING>",
		`{"allOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"minimum":0,"maximum":9},"b":{"type":"string"}},"required":["b"],"type":"object"}]}`:                                                                   "STRUCT<a: INT, b: STRING NOT NULL>",
		`{"type":"object","unevaluatedProperties":{"type":"string"}}`:                                                                                                                                                                 "MAP<STRING, STRING NOT NULL>",
		`{"oneOf":[{"type":"integer"},{"type":"number"}]}`:                                                                                                                                                                            "DOUBLE",
		`{"anyOf":[{"type":"integer","format":"int32"},{"type":"null"},{"type":"integer"}]}`:                                                                                                                                          "BIGINT",
		`{"anyOf":[{"type":"string","format":"date-time"},{"type":"string","format":"date"}]}`:                                                                                                                                        "STRING",
		`{"anyOf":[{"type":"number","multipleOf":0.01},{"type":"integer"}]}`:                                                                                                                                                          "DECIMAL(38,2)",
		`{"anyOf":[{"type":"integer"},{"type":"string"}],"oneOf":[{"type":"boolean"},{"type":"integer","format":"int32"}]}`:                                                                                                           "BIGINT",
		`{"type":"string","anyOf":[{"minLength":1},{"pattern":"x"}]}`:                                                                                                                                                                 "STRING",
		`{"oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k","x"]},{"properties":{"k":{"const":"b"},"y":{"type":"null"}},"required":["k"]}]}`:                                                          "STRUCT<k: STRING NOT NULL, x: BIGINT>",
		`{"properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`:                                                                                                                                      "STRUCT<a: STRING>",
		`{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"if":{"properties":{"k":{"const":"x"}}},"then":{"properties":{"n":{"type":"integer"}},"required":["n"]},"else":{"properties":{"k":{"minLength":2}}}}`: "STRUCT<k: STRING NOT NULL, n: BIGINT>",
		`{"properties":{"a":{"type":"integer"}},"dependentSchemas":{"a":{"properties":{"b":{"type":"string"}}}},"dependencies":{"a":["b"]}}`:                                                                                          "STRUCT<a: BIGINT, b: STRING>",
	} {
		if got := columnsOf(`{"type":"object","properties":{"c":`+of+`}}`, nil); got != "c "+want {
			t.Errorf("%s\ngot  %s\nwant c %s", of, got, want)
		}
	}
}

func TestWhatIsNeverNullIsRequired(t *testing.T) {
	for of, want := range map[string]bool{
		`{"type":"string"}`: true, `{"type":["string","null"]}`: false, `{"type":"string","nullable":true}`: false, `{"enum":["a"]}`: true, `{"enum":["a",null]}`: false,
		`{"type":"string","enum":["a",null]}`: true, `{"format":"date"}`: false, `{"oneOf":[{"type":"null"},{"type":"string"}]}`: false, `{"anyOf":[{"type":["string","null"]},{"const":"x"}]}`: false,
		`{"anyOf":[{"type":"string"},{"type":"null"}],"type":"string"}`: true, `{"type":["string","null"],"allOf":[{"minLength":1,"type":"string"}]}`: true, `{"type":"string","default":"x"}`: true,
		`{"oneOf":[{"type":"string"},{"const":"x"}]}`: true, `{"type":["string","null"],"if":{"type":"string"},"then":{"minLength":1}}`: false,
	} {
		got := columnsOf(`{"type":"object","required":["c"],"properties":{"c":`+of+`}}`, nil)
		if strings.HasSuffix(got, " NOT NULL") != want {
			t.Errorf("%s: got %s, want required %v", of, got, want)
		}
	}
}

func TestWhatIsNoColumnIsRefusedWithItsPlace(t *testing.T) {
	for of, want := range map[string]string{
		`{}`:                            `#/properties/c (column c): says nothing of the type of its values; in value.schema make it a STRING, and value.json.columnFormats.c=json keeps the text of its values`,
		`true`:                          `#/properties/c (column c): says nothing of the type`,
		`{"type":["string","integer"]}`: `#/properties/c (column c): has values of several types: integer, string`,
		`{"enum":["a",1]}`:              `several types: integer, string`,
		`{"oneOf":[{"type":"string"},{"type":"integer"}]}`: `#/properties/c (column c): has values of several types: string and long`,
		`{"type":"int"}`:                                                       `#/properties/c/type (column c): there is no type int: the types are null, boolean`,
		`{"anyOf":[{"type":["null","Date"]}]}`:                                 `#/properties/c/anyOf/0/type/1 (column c): there is no type Date`,
		`{"type":"object"}`:                                                    `#/properties/c (column c): is an object of any fields`,
		`{"type":"object","additionalProperties":true}`:                        `is an object of any fields`,
		`{"additionalProperties":{"type":["string","number"]}}`:                `#/properties/c/additionalProperties (column c.value): has values of several types: number, string; in value.schema make it a STRING, and value.json.columnFormats.c.value=json`,
		`{"patternProperties":{"a":{"type":"string"},"b":{"type":"boolean"}}}`: `#/properties/c/patternProperties/b (column c.value): has values of several types: string and boolean`,
		`{"type":"array"}`:                                                     `is an array, and items does not say of what`,
		`{"type":"array","items":{}}`:                                          `#/properties/c/items (column c.element): says nothing`,
		`{"type":"array","items":{"type":"null"}}`:                             `is an array of nothing but nulls`,
		`{"type":"array","items":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]}`:           `#/properties/c/items/1 (column c.element): has values of several types: string and struct`,
		`{"properties":{"a b/~":{"properties":{"x":{}}}}}`:                                                              `#/properties/c/properties/a b~1~0/properties/x (column c.a b/~.x)`,
		`{"properties":{"":{"type":"string"}}}`:                                                                         `a column has a name`,
		`{"properties":{"id":{"type":"string"},"ID":{"type":"string"}}}`:                                                `#/properties/c/properties/ID (column c.ID): the properties id and ID differ by case only`,
		`{"oneOf":[{"properties":{"id":{"type":"string"}}},{"properties":{"ID":{"type":"string"}}}]}`:                   `the properties id and ID differ by case only`,
		`{"oneOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"boolean"}}}]}`:                    `#/properties/c (column c.x): has values of several types, string and boolean`,
		`{"prefixItems":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"boolean"}}}]}`:              `#/properties/c/prefixItems/1 (column c.element.x): has values of several types, string and boolean`,
		`{"patternProperties":{"a":{"properties":{"x":{"type":"string"}}},"b":{"properties":{"X":{"type":"string"}}}}}`: `#/properties/c/patternProperties/b (column c.value.X): the properties x and X differ by case only`,
		`{"$ref":"#/$defs/gone"}`:  `#/properties/c/$ref (column c): the text has no schema at /$defs/gone`,
		`{"$ref":"other.json#/a"}`: `#/properties/c/$ref (column c): there is no schema other.json: nothing is fetched; give its text as a reference of that name`,
		`{"$ref":"#anchor"}`:       `the text has no anchor anchor`,
		`{"$ref":"http://[x"}`:     `is no URI`,
		`{"$ref":"#"}`:             `#/properties/c (column c): is recursive, and a table is not: it holds what is at # again`,
		`{"properties":{"n":{"type":["object","null"],"properties":{"next":{"$ref":"#/properties/c/properties/n"}}}}}`: `#/properties/c/properties/n/properties/next (column c.n.next): is recursive`,
		`{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/properties/c"}}]}`:                               `#/properties/c/anyOf/1/items (column c.element): is recursive`,
		`{"type":"string","allOf":[7]}`: `#/properties/c/allOf/0 (column c): a schema is an object, or true or false`,
	} {
		if got := columnsOf(`{"type":"object","properties":{"c":`+of+`}}`, nil); !strings.HasPrefix(got, "JSON Schema, ") || !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", of, got, want)
		}
	}
}

func TestARecordIsAnObjectWithProperties(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"string"}`:                          "#: a record is an object with properties, which become columns, and this is a string",
		`{"type":"array","items":{"type":"string"}}`: "this is a list", `{"type":"object","additionalProperties":{"type":"string"}}`: "this is an object without properties",
		`{}`: "this says nothing of the type", `false`: "and this has none", `{"type":"object","properties":{"a":false}}`: "and this has none",
		`{"oneOf":[{"type":"string"},{"properties":{"a":{"type":"string"}}}]}`: "this has values of several types",
		`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`:      "a STRING",
		`{"oneOf":[{"$ref":"#/definitions/A"},{"$ref":"#/definitions/B"}],"definitions":{"A":{"properties":{"id":{"type":"string"},"x":{"type":"integer"}},"required":["id"]},"B":{"properties":{"id":{"type":"string"}},"required":["id"]}}}`: "id STRING NOT NULL, x BIGINT",
	} {
		if got := columnsOf(text, nil); !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Everything that is wrong is said at once.
func TestEveryProblemIsTold(t *testing.T) {
	s, err := jsonschema.Parse(`{"properties":{"a":{},"b":{"type":"string"},"c":{"type":"array"}}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Columns()
	var wrong *jsonschema.Error
	if !errors.As(err, &wrong) || len(wrong.Problems) != 2 || wrong.Problems[0].Column != "a" || wrong.Problems[1].Pointer != "#/properties/c" {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(err.Error(), "JSON Schema: 2 problems\n  #/properties/a (column a): ") {
		t.Errorf("got %v", err)
	}
}

func TestReferencesLeadToOtherTexts(t *testing.T) {
	customer := `{"$id":"http://example.com/schemas/customer.json","type":"object","properties":{"name":{"type":"string"},"home":{"$ref":"address.json#/definitions/place"}},"definitions":{"vip":{"$id":"#vip","type":"boolean"}}}`
	address := `{"definitions":{"place":{"type":"object","properties":{"zip":{"$ref":"#/definitions/zip"}}},"zip":{"type":"string"}}}`
	for text, want := range map[string]string{
		`{"$id":"http://example.com/schemas/order.json","properties":{"c":{"$ref":"customer.json"}}}`:                                                                                                           "c STRUCT<name: STRING, home: STRUCT<zip: STRING>>",
		`{"properties":{"c":{"$ref":"customer.json#/properties/name"}}}`:                                                                                                                                        "c STRING",
		`{"properties":{"c":{"$ref":"http://example.com/schemas/customer.json#/properties/name"}}}`:                                                                                                             "c STRING",
		`{"$id":"urn:order","properties":{"c":{"$ref":"address.json#/definitions/zip"}}}`:                                                                                                                       "c STRING",
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"c":{"$ref":"#/definitions/x"}},"definitions":{"x":{"$id":"#y","type":"string"},"z":{"$ref":"#y"}}}`:                                "c STRING",
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"c":{"$ref":"#y"}},"definitions":{"x":{"$id":"#y","type":"string"}}}`:                                                               "c STRING",
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/a","properties":{"c":{"$ref":"b"},"id":{"type":"string"}},"definitions":{"x":{"id":"b","type":"boolean"}}}`:                        "c BOOLEAN, id STRING",
		`{"$defs":{"x":{"$anchor":"y","type":"string"}},"properties":{"c":{"$ref":"#y"}}}`:                                                                                                                      "c STRING",
		`{"$defs":{"x":{"$id":"inner","$defs":{"t":{"type":"string"}},"properties":{"p":{"$ref":"#/$defs/t"}}}},"properties":{"c":{"$ref":"#/$defs/x"}}}`:                                                       "c STRUCT<p: STRING>",
		`{"components":{"schemas":{"x y":{"type":"string"}}},"properties":{"c":{"$ref":"#/components/schemas/x%20y"}}}`:                                                                                         "c STRING",
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"c":{"$ref":"#/definitions/x","type":"boolean","description":"here"}},"definitions":{"x":{"type":"string","description":"there"}}}`: "c STRING COMMENT 'here'",
		`{"properties":{"c":{"$ref":"#/definitions/x","enum":[1]}},"definitions":{"x":{"type":["string","integer"],"description":"a\u001bb"}}}`:                                                                 "c BIGINT COMMENT 'a b'",
		`{"properties":{"c":{"$dynamicRef":"#y"}},"$defs":{"x":{"$dynamicAnchor":"y","type":"string"}}}`:                                                                                                        "c STRING",
	} {
		if got := columnsOf(text, map[string]string{"customer.json": customer, "address.json": address}); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if got := columnsOf(`{"properties":{"c":{"$ref":"bad.json"}}}`, map[string]string{"bad.json": "{"}); !strings.Contains(got, "read the JSON Schema bad.json: line 1, column 1") {
		t.Errorf("got %s", got)
	}
	if got := columnsOf(`{"properties":{"c":{"$ref":"o.json"}}}`, map[string]string{"o.json": `{"properties":{"x":{}}}`}); !strings.Contains(got, "o.json#/properties/x (column c.x)") {
		t.Errorf("got %s", got)
	}
}

func TestTextsThatAreNoSchemaAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		``: "the text ends too early", `[]`: "a schema is an object", `{"a":1,"a":2}`: `the name "a" comes twice`, "{\n \"a\":01}": "line 2, column 6", `{} {}`: "there is more after the schema",
		"{\"a\":\"\xff\"}": "not UTF-8", `{"$schema":"http://json-schema.org/draft-03/schema#"}`: "draft 3 is not read", strings.Repeat(`{"a":`, 300): "nested deeper", `{"type":"object",}`: "line 1, column",
	} {
		if got := columnsOf(text, nil); !strings.HasPrefix(got, "read the JSON Schema: ") || !strings.Contains(got, want) {
			t.Errorf("%.40s: got %s, want %s", text, got, want)
		}
	}
}

// Definitions that each use the one before twice are a text of a few lines, and a schema of 2^40 columns.
func TestASchemaThatGrowsWithoutBoundIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d40","$defs":{"d0":{"type":"string"}`)
	for i := range 40 {
		n, m := string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10)), string(rune('0'+i/10))+string(rune('0'+i%10))
		if i < 9 {
			n = n[1:]
		}
		if i < 10 {
			m = m[1:]
		}
		b.WriteString(`,"d` + n + `":{"properties":{"a":{"$ref":"#/$defs/d` + m + `"},"b":{"$ref":"#/$defs/d` + m + `"}}}`)
	}
	if got := columnsOf(b.String()+"}}", nil); !strings.Contains(got, "combinations of schemas") {
		t.Errorf("got %.300s", got)
	}
	alternatives := `{"type":"string"}`
	for range 60 {
		alternatives = `{"anyOf":[` + alternatives + `,{"maxLength":3}]}`
	}
	if got := columnsOf(`{"properties":{"c":`+alternatives+`}}`, nil); !strings.Contains(got, "c") {
		t.Errorf("got %.300s", got)
	}
	if got := columnsOf(`{"properties":{"c":{"anyOf":[{"$ref":"#/properties/c"},{"$ref":"#/properties/c"}]}}}`, nil); !strings.Contains(got, "says nothing") && !strings.Contains(got, "recursive") {
		t.Errorf("got %.300s", got)
	}
}

func TestLenientKeepsTheTextOfWhatIsNoColumn(t *testing.T) {
	s, err := jsonschema.Parse(`{"required":["any"],"properties":{"any":{},"mixed":{"type":["string","integer"]},"open":{"type":"object"},"l":{"type":"array","items":{}},"m":{"additionalProperties":true},
		"t":{"prefixItems":[{"type":"string"},{"type":"object","properties":{"x":{}}}]},"o":{"oneOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"boolean"}}}]},"tree":{"$ref":"#"},"ok":{"type":"string"}}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	schema, formats, err := s.Lenient()
	if err != nil {
		t.Fatal(err)
	}
	want := "any STRING, mixed STRING, open STRING, l ARRAY<STRING>, m STRING, t ARRAY<STRING>, o STRUCT<x: STRING>, tree STRING, ok STRING"
	if got := strings.ReplaceAll(ddl.Format(schema), ",\n", ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(formats)), " "); got != "any l.element m mixed o.x open t.element tree" {
		t.Errorf("got %s", got)
	}
}

func TestTypeIsThatOfOneColumn(t *testing.T) {
	for text, want := range map[string]string{`{"type":"integer"}`: "BIGINT NOT NULL", `{"type":["string","null"]}`: "STRING", `{"type":"object","properties":{"a":{"type":"string"}}}`: "STRUCT<a: STRING> NOT NULL",
		`{}`: "JSON Schema, #: says nothing of the type of its values", `false`: "JSON Schema, #: there is never a value"} {
		s, err := jsonschema.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		typ, required, err := s.Type()
		got := ddl.FormatType(typ)
		if required {
			got += " NOT NULL"
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// As Confluent's serializer derives them from a class, and its converter from a table
// (https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/serdes-json.html,
// https://docs.confluent.io/platform/current/schema-registry/connect.html).
func TestSchemasOfProducersBecomeColumns(t *testing.T) {
	for text, want := range map[string]string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","title":"User","type":"object","additionalProperties":false,"properties":{
			"firstName":{"oneOf":[{"type":"null","title":"Not included"},{"type":"string"}]},"age":{"oneOf":[{"type":"null","title":"Not included"},{"type":"integer"}]}}}`: "firstName STRING, age BIGINT",
		`{"type":"object","title":"ConnectDefault1","connect.version":1,"properties":{
			"total":{"connect.index":2,"title":"org.apache.kafka.connect.data.Decimal","type":"number","connect.version":1,"connect.type":"bytes","connect.parameters":{"scale":"2"}},
			"id":{"connect.index":0,"type":"integer","connect.type":"int64"},"small":{"connect.index":1,"oneOf":[{"type":"null"},{"type":"integer","connect.type":"int16"}]},
			"raw":{"connect.index":3,"oneOf":[{"type":"null"},{"type":"string","connect.type":"bytes"}]},
			"byNumber":{"connect.index":5,"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":"integer","connect.index":0,"connect.type":"int32"},"value":{"connect.index":1,"type":"string"}}}},
			"byText":{"connect.index":4,"type":"object","connect.type":"map","additionalProperties":{"type":"number","connect.type":"float64"}}}}`: "id BIGINT, small INT, total DECIMAL(38,2), raw BINARY, byText MAP<STRING, DOUBLE NOT NULL>, byNumber ARRAY<STRUCT<key: INT, value: STRING> NOT NULL>",
		`{"openapi":"3.0.0","components":{"schemas":{"Pet":{"required":["id"],"type":"object","properties":{"id":{"type":"integer","format":"int64"},"tag":{"type":"string","nullable":true}}}}},"allOf":[{"$ref":"#/components/schemas/Pet"}]}`: "id BIGINT NOT NULL, tag STRING",
	} {
		if got := columnsOf(text, nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
