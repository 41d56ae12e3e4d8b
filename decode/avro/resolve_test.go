package avro_test

import (
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/avro"
)

// read is what value becomes, as text.
func read(t *testing.T, schema, to, hex string) string {
	t.Helper()
	p := mustCompile(t, schema, to, avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, b(t, hex)); err != nil {
		return "malformed: " + err.Error()
	}
	return strings.TrimSuffix(strings.TrimPrefix(values(p, dst), "[["), ",],]")
}

func TestTheWritersTypeBecomesTheColumns(t *testing.T) {
	for name, c := range map[string]struct{ typ, ddl, hex, want string }{
		"int for BIGINT":                  {`"int"`, "a BIGINT", "01", "int64(-1)"},
		"int for DOUBLE":                  {`"int"`, "a DOUBLE", "feffffff0f", "float64(2.147483647e+09)"},
		"int for FLOAT":                   {`"int"`, "a FLOAT", "80808010", "float32(1.6777216e+07)"},
		"long for FLOAT":                  {`"long"`, "a FLOAT", "ffffffffffffffffff01", "float32(-9.223372e+18)"},
		"long for DOUBLE":                 {`"long"`, "a DOUBLE", "8080808080808020", "float64(9.007199254740992e+15)"},
		"long for INT":                    {`"long"`, "a INT", "ffffffff0f", "int32(-2147483648)"},
		"float for DOUBLE":                {`"float"`, "a DOUBLE", "cdcccc3d", "float64(0.10000000149011612)"},
		"string for BINARY":               {`"string"`, "a BINARY", "02ff", "xff"},
		"bytes for STRING":                {`"bytes"`, "a STRING", "0261", `"a"`},
		"fixed for BINARY":                {fixed2, "a BINARY", "0001", "x0001"},
		"enum for STRING":                 {suits, "a STRING", "00", `"SPADES"`},
		"null":                            {`"null"`, "a DATE", "", "<nil>(<nil>)"},
		"text for UUID":                   {`"string"`, "a UUID", "4866383164346661652d376465632d313164302d613736352d303061306339316536626636", "xf81d4fae7dec11d0a76500a0c91e6bf6"},
		"UUID as text":                    {logical("string", "uuid"), "a STRING", "0278", `"x"`},
		"fixed for UUID":                  {`{"type":"fixed","name":"U","size":16}`, "a UUID", "f81d4fae7dec11d0a76500a0c91e6bf6", "xf81d4fae7dec11d0a76500a0c91e6bf6"},
		"a timestamp's number":            {logical("long", "timestamp-millis"), "a BIGINT", "02", "int64(1)"},
		"a date's number":                 {logical("int", "date"), "a INT", "02", "int32(1)"},
		"a decimal's bytes":               {money, "a BINARY", "029c", "x9c"},
		"a decimal of more digits":        {money, "a DECIMAL(38,10)", "029c", "d-10000000000"},
		"a decimal of fewer":              {money, "a DECIMAL(3,0)", "049c64", "d-255"},
		"a decimal of none":               {money, "a DECIMAL(38,38)", "0200", "d0"},
		"one of several types":            {`["null","string","long","int"]`, "a BIGINT", "0601", "int64(-1)"},
		"a union's type for the one left": {`["int","string"]`, "a STRING", "020261", `"a"`},
		"a type for its member":           {`"string"`, "a STRUCT<member0: INT, member1: STRING>", "0261", `[<nil>(<nil>),"a",]`},
		"an optional type for its member": {`["null","string"]`, "a STRUCT<member0: INT, member1: STRING>", "020261", `[<nil>(<nil>),"a",]`},
		"a record with a member's name":   {`{"type":"record","name":"M","fields":[{"name":"member1","type":"int"}]}`, "a STRUCT<member0: INT, member1: INT>", "02", `[<nil>(<nil>),int32(1),]`},
	} {
		if got := read(t, record(field("a", c.typ)), c.ddl, c.hex); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestTypesThatDoNotBecomeTheColumnsAreRefusedBeforeAnyValue(t *testing.T) {
	for _, c := range []struct{ fields, ddl, want string }{
		{field("a", `"string"`), "a INT", "column a is int, and the writer has string"},
		{field("a", `"double"`), "a FLOAT", "column a is float, and the writer has double"},
		{field("a", `"long"`), "a TIMESTAMP", "without a logical type it has no unit"},
		{field("a", logical("long", "timestamp-millis")), "a TIMESTAMP_NTZ", "column a is timestamp, and the writer has timestamp-millis"},
		{field("a", logical("long", "timestamp-millis")), "a INT", "column a is int, and the writer has timestamp-millis"},
		{field("a", logical("long", "time-micros")), "a DOUBLE", "column a is double, and the writer has time-micros"},
		{field("a", logical("int", "date")), "a TIMESTAMP", "column a is timestamptz, and the writer has date"},
		{field("a", money), "a STRING", "column a is string, and the writer has decimal(9,2)"},
		{field("a", `"long"`), "a DECIMAL(18,2)", "column a is decimal(18,2), and the writer has long"},
		{field("a", fixed2), "a FIXED(3)", "column a is fixed(3), and the writer has fixed F"},
		{field("a", `{"type":"array","items":"string"}`), "a ARRAY<INT>", "column a.element is int, and the writer has string"},
		{field("a", `{"type":"map","values":"string"}`), "a MAP<STRING, INT>", "column a.value is int"},
		{field("a", `{"type":"map","values":"int"}`), "a MAP<INT, INT>", "the key of column a must be a required string"},
		{field("a", `{"type":"array","items":"int"}`), "a MAP<STRING, INT>", "column a is map, and the writer has array"},
		{field("a", address), "a STRUCT<c: STRING, x: INT NOT NULL>", "column a.x is required, and the writer does not have it"},
		{field("a", `"int"`), "a INT, b INT NOT NULL", "column b is required, and the writer does not have it"},
		{field("A", `"int"`) + "," + field("b", `"int"`), "a INT NOT NULL, b INT", "column a is required"},
		{field("A", `"int"`), "a INT", "the schema has no column for any field of record R: names count with their case"},
		{field("a", address), "a STRUCT<N: INT>", "column a has no column for any field of record A"},
		{field("a", `"null"`), "a INT NOT NULL", "column a is required, and the writer has only null"},
		{field("a", `["null","string"]`), "a INT", "column a is int, and the writer has string"},
		{field("a", `["null","string","bytes"]`), "a INT", "column a is int, and the writer has string"},
		{field("a", `["string","int"]`), "a STRUCT<member0: DATE>", "no member is of its type"},
		{field("a", `["string","int"]`), "a STRUCT<member0: STRING NOT NULL>", "column a.member0 is required, and one member of a union is set at a time"},
		{field("a", `["string",`+address+`]`), "a STRUCT<member0: STRING, member1: STRUCT<n: DATE>>", "column a.member1.n is date, and the writer has int"},
		{`{"name":"x","type":"int","aliases":["a"]},{"name":"y","type":"int","aliases":["a"]}`, "a INT", "column a is an old name of two fields, x and y"},
	} {
		_, err := avro.Compile(mustParse(t, record(c.fields)), mustDDL(t, c.ddl), avro.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "avro: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %s: got %v, want %s", c.fields, c.ddl, err, c.want)
		}
	}
	if _, err := avro.Compile(mustParse(t, record(field("a", `"int"`))), nil, avro.Options{}); err == nil {
		t.Error("no columns are taken")
	}
	twice := columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Int32}}, {Name: "a", Type: columns.Type{Kind: columns.Int32}}}
	if _, err := avro.Compile(mustParse(t, record(field("a", `"int"`))), twice, avro.Options{}); err == nil || !strings.Contains(err.Error(), "two fields a") {
		t.Errorf("got %v", err)
	}
}

func TestFieldsAreFoundByNameThenByAlias(t *testing.T) {
	for name, c := range map[string]struct{ fields, ddl, hex, want string }{
		"any order":                        {field("a", `"int"`) + "," + field("b", `"string"`), "b STRING, a INT", "02 0278", `"x",int32(1)`},
		"an old name":                      {`{"name":"new","type":"int","aliases":["older","old"]}`, "old INT", "02", "int32(1)"},
		"the name before an alias":         {`{"name":"new","type":"int","aliases":["old"]}`, "old INT, new INT", "02", "<nil>(<nil>),int32(1)"},
		"an alias that is another's name":  {`{"name":"b","type":"int","aliases":["a"]},` + field("a", `"int"`), "a INT", "02 04", "int32(2)"},
		"another case is another name":     {field("ID", `"int"`) + "," + field("id", `"int"`), "id INT", "02 04", "int32(2)"},
		"a column that is not there":       {field("a", `"int"`), "x STRUCT<y: INT NOT NULL>, a INT", "02", "<nil>(<nil>),int32(1)"},
		"inside of a list":                 {field("l", `{"type":"array","items":`+address+`}`), "l ARRAY<STRUCT<n: BIGINT, x: STRING>>", "02 00 02 00", "[[int64(1),<nil>(<nil>),],]"},
		"passed over, whatever it is":      {field("x", address) + "," + field("y", `["null",{"type":"map","values":"A"}]`) + "," + field("a", `"int"`), "a INT", "00 02 02 02 0278 00 02 00 02", "int32(1)"},
		"a list, passed by its size":       {field("x", `{"type":"array","items":"string"}`) + "," + field("a", `"int"`), "a INT", "01 06 ffffff 00 02", "int32(1)"},
		"a list of one width, passed":      {field("x", `{"type":"array","items":"double"}`) + "," + field("a", `"int"`), "a INT", "02 0000000000000000 00 02", "int32(1)"},
		"a list of nothing, passed":        {field("x", `{"type":"array","items":"null"}`) + "," + field("a", `"int"`), "a INT", "80808080808080808001 00 02", "int32(1)"},
		"a list of nothing":                {field("x", `{"type":"array","items":"null"}`), "x ARRAY<INT>", "04 00", "[<nil>(<nil>),<nil>(<nil>),]"},
		"a list without end":               {field("next", `["null","R"]`) + "," + field("a", `"int"`), "a INT", "02 02 00 02 04 06", "int32(3)"},
		"a list without end, to its depth": {field("next", `["null","R"]`) + "," + field("a", `"int"`), "a INT, next STRUCT<a: INT>", "02 02 00 02 04 06", "int32(3),[int32(2),]"},
	} {
		if got := read(t, record(c.fields), c.ddl, c.hex); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAMemberKeepsItsTypeWhenTheUnionChanges(t *testing.T) {
	const ddl = "a STRUCT<member0: STRING, member1: INT, member2: STRUCT<c: STRING, n: INT>, member3: STRUCT<x: INT>>"
	other := `{"type":"record","name":"X","fields":[{"name":"x","type":"int"}]}`
	for _, c := range []struct{ typ, hex, want, unknown string }{
		{`["string","int",` + address + `,` + other + `]`, "06 02", "[<nil>(<nil>),<nil>(<nil>),<nil>(<nil>),[int32(1),],]", ""},
		{`[` + other + `,` + address + `,"int","string"]`, "00 02", "[<nil>(<nil>),<nil>(<nil>),<nil>(<nil>),[int32(1),],]", ""},
		{`[` + other + `,` + address + `,"int","string"]`, "02 00 02", "[<nil>(<nil>),<nil>(<nil>),[<nil>(<nil>),int32(1),],<nil>(<nil>),]", ""},
		{`["boolean","string","int"]`, "04 02", "[<nil>(<nil>),int32(1),<nil>(<nil>),<nil>(<nil>),]", "a STRUCT<member4: BOOLEAN>"},
		{`["boolean","string","int"]`, "00 01", "malformed: a: the union has boolean, for which the column has no member (type, at byte 1) near \\x00\\x01", "a STRUCT<member4: BOOLEAN>"},
		{`["string","int",` + address + `,` + other + `,"double"]`, "00 00", `["",<nil>(<nil>),<nil>(<nil>),<nil>(<nil>),]`, "a STRUCT<member4: DOUBLE>"},
		{`["string",{"type":"record","name":"E","fields":[]}]`, "02", "[<nil>(<nil>),<nil>(<nil>),<nil>(<nil>),<nil>(<nil>),]", ""},
	} {
		schema := record(field("a", c.typ))
		if got := read(t, schema, ddl, c.hex); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.hex, got, c.want)
		}
		p := mustCompile(t, schema, ddl, avro.Options{})
		if got := columnsText(p.Unknown()); got != c.unknown {
			t.Errorf("%s: got unknown %s, want %s", c.typ, got, c.unknown)
		}
	}
}

// Where several members would do, the one in the type's place is meant; a member that another type has is not in question.
func TestTypesThatAreAlikeKeepTheirPlaces(t *testing.T) {
	like := func(name, typ string) string {
		return `{"type":"record","name":"` + name + `","fields":[{"name":"x","type":` + typ + `}]}`
	}
	const ddl = "a STRUCT<member0: STRUCT<x: INT NOT NULL>, member1: STRUCT<x: INT NOT NULL>>"
	if got := read(t, record(field("a", `["boolean",`+like("B", `"int"`)+`]`)), ddl, "02 02"); got != "[<nil>(<nil>),[int32(1),],]" {
		t.Errorf("got %s", got)
	}
	p := mustCompile(t, record(field("a", `[`+like("A", `"int"`)+`,`+like("B", `"string"`)+`]`)), "a STRUCT<member0: STRUCT<x: INT NOT NULL>>", avro.Options{})
	if got := columnsText(p.Unknown()); got != "a STRUCT<member1: STRUCT<x: STRING NOT NULL>>" {
		t.Errorf("got unknown %s", got)
	}
}

func TestWhatTheTableLacksIsToldWithNothingElse(t *testing.T) {
	point := `{"type":"record","name":"P","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","int"],"doc":"up"}]}`
	for _, c := range []struct{ fields, ddl, want string }{
		{field("a", `"int"`), "a INT, b INT", ""},
		{field("a", `"int"`) + "," + field("b", `["null","long"]`), "a INT", "b BIGINT"},
		{field("p", point), "p STRUCT<x: INT>", "p STRUCT<y: INT COMMENT 'up'>"},
		{field("p", `["null",`+point+`]`), "p STRUCT<x: INT>", "p STRUCT<y: INT COMMENT 'up'>"},
		{field("l", `{"type":"array","items":`+point+`}`), "l ARRAY<STRUCT<x: INT>>", "l ARRAY<STRUCT<y: INT COMMENT 'up'>>"},
		{field("m", `{"type":"map","values":{"type":"array","items":`+point+`}}`), "m MAP<STRING, ARRAY<STRUCT<x: INT>>>", "m MAP<STRING, ARRAY<STRUCT<y: INT COMMENT 'up'>>>"},
		{field("n", `"null"`) + "," + field("a", `"int"`), "a INT", ""},
		{`{"name":"new","type":"int","aliases":["old"]}`, "old INT", ""},
	} {
		p := mustCompile(t, record(c.fields), c.ddl, avro.Options{})
		if got := columnsText(p.Unknown()); got != c.want {
			t.Errorf("%s into %s: got %s, want %s", c.fields, c.ddl, got, c.want)
		}
	}
	p := mustCompile(t, record(field("a", `"int"`), field("next", `["null","R"]`)), "a INT", avro.Options{})
	if got := p.Unknown(); len(got) != 1 || got[0].Name != "next" || got[0].Type.Kind != 0 {
		t.Errorf("got %+v, want next without a type", got)
	}
}

// https://github.com/redpanda-data/connect/issues/4383: a new field's first value is null, and its type is known all the same.
func TestANewFieldHasItsTypeWhileItsValuesAreNull(t *testing.T) {
	schema := record(field("a", `"int"`), field("b", `["null","long"]`))
	p := mustCompile(t, schema, "a INT", avro.Options{})
	if got := columnsText(p.Unknown()); got != "b BIGINT" {
		t.Errorf("got %s", got)
	}
	if first, second := read(t, schema, "a INT, b BIGINT", "02 00"), read(t, schema, "a INT, b BIGINT", "04 02 0e"); first != "int32(1),<nil>(<nil>)" || second != "int32(2),int64(7)" {
		t.Errorf("got %s and %s", first, second)
	}
}

// A topic of several kinds of events has a union at its root.
func TestARootThatIsAUnionFillsColumnsRowByRow(t *testing.T) {
	a, c := `{"type":"record","name":"A","fields":[{"name":"a","type":"int"}]}`, `{"type":"record","name":"C","fields":[{"name":"c","type":"string"}]}`
	p := mustCompile(t, `[`+a+`,`+c+`]`, "", avro.Options{})
	dst := columns.Make(p.Schema())
	for _, hex := range []string{"0002", "020278", "0004"} {
		if err := p.Append(dst, b(t, hex)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Append(dst, b(t, "0280")); err == nil || !strings.HasPrefix(err.Error(), "member1.c: ") {
		t.Errorf("got %v", err)
	}
	if got := values(p, dst); got != `[[[int32(1),],<nil>(<nil>),],[<nil>(<nil>),["x",],],[[int32(2),],<nil>(<nil>),],]` {
		t.Errorf("got %s", got)
	}
	p = mustCompile(t, `[`+a+`,`+c+`]`, "c STRING, d INT", avro.Options{})
	dst = columns.Make(p.Schema())
	if err := p.Append(dst, b(t, "020278")); err != nil {
		t.Error(err)
	}
	if err := p.Append(dst, b(t, "0002")); err == nil || !strings.Contains(err.Error(), "the union has record A, which does not become struct (type, at byte 1)") {
		t.Errorf("got %v", err)
	}
	p = mustCompile(t, `["null",`+a+`]`, "", avro.Options{})
	dst = columns.Make(p.Schema())
	if err := p.Append(dst, b(t, "0202")); err != nil {
		t.Error(err)
	}
	if err := p.Append(dst, b(t, "00")); err == nil || !strings.Contains(err.Error(), "(null, at byte 0)") || values(p, dst) != "[[int32(1),],]" {
		t.Errorf("got %v, %s", err, values(p, dst))
	}
}
