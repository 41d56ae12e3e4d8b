package ddl_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/ddl"
)

func scalar(kind columns.Kind) columns.Type { return columns.Type{Kind: kind} }

func decimal(p, s int) columns.Type {
	return columns.Type{Kind: columns.Decimal, Precision: p, Scale: s}
}

func list(t columns.Type) columns.Type {
	return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: t}}}
}

func mapping(k, v columns.Type) columns.Type {
	return columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: k, Required: true}, {Name: "value", Type: v}}}
}

func structure(fields ...columns.Field) columns.Type {
	return columns.Type{Kind: columns.Struct, Fields: fields}
}

func TestParseReadsWhatSparkUsersHave(t *testing.T) {
	str, i32 := scalar(columns.String), scalar(columns.Int32)
	orders := columns.Schema{
		{Name: "order_id", Type: str, Required: true}, {Name: "amount", Type: decimal(18, 2)}, {Name: "tags", Type: list(str)},
		{Name: "m", Type: mapping(str, i32)}, {Name: "s", Type: structure(columns.Field{Name: "a", Type: i32})},
	}
	for text, want := range map[string]columns.Schema{
		"order_id STRING NOT NULL, amount DECIMAL(18,2), tags ARRAY<STRING>, m MAP<STRING, INT>, s STRUCT<a: INT>":                      orders,
		"order_id string not null,amount decimal( 18 , 2 ),tags array<string>,m map<string,int>,s struct<a int>":                        orders,
		"STRUCT<order_id: STRING NOT NULL, amount: DECIMAL(18,2), tags: ARRAY<STRING>, m: MAP<STRING,INT>, s: STRUCT<a: INT>>":          orders,
		"order_id:VarChar(10) Not Null,\r\n\tamount : numeric(18,2), tags: Array <Char(3)>, m: Map<String,Integer>, s Struct < a:int >": orders,
		"a INT -- the first, and not the last\n, /* b INT, */ c INT--":                                                                  {{Name: "a", Type: i32}, {Name: "c", Type: i32}},
		"a INT COMMENT 'it''s, \\'quoted\\' \\\\ \\n', b INT NOT NULL COMMENT \"say \"\"no\"\"\"": {
			{Name: "a", Type: i32, Doc: "it's, 'quoted' \\ \n"}, {Name: "b", Type: i32, Required: true, Doc: `say "no"`}},
		"a INT /* b INT /* c INT */ d INT */, e INT":     {{Name: "a", Type: i32}, {Name: "e", Type: i32}},
		"a INT, -- the first\rb INT":                     {{Name: "a", Type: i32}, {Name: "b", Type: i32}},
		`a INT COMMENT "\u00e9\U0001f600\101\%\_\q\u12"`: {{Name: "a", Type: i32, Doc: `é😀A\%\_qu12`}},
		`a INT COMMENT '\ud83d\ude00'`:                   nil, // halves of a character
		"`a-b` INT, `a``b` INT, `` ` `` INT":             nil,
		"`a-b` INT, `a``b` INT, ` ` INT":                 {{Name: "a-b", Type: i32}, {Name: "a`b", Type: i32}, {Name: " ", Type: i32}},
		"date DATE, timestamp TIMESTAMP, `not` INT NOT NULL, comment STRING COMMENT 'c', struct STRING": {
			{Name: "date", Type: scalar(columns.Date)}, {Name: "timestamp", Type: scalar(columns.TimestampTZ)}, {Name: "not", Type: i32, Required: true},
			{Name: "comment", Type: str, Doc: "c"}, {Name: "struct", Type: str}},
		"1st INT, 2 INT, größe INT":       {{Name: "1st", Type: i32}, {Name: "2", Type: i32}, {Name: "größe", Type: i32}},
		"OrderID INT, orderId2 INT":       {{Name: "OrderID", Type: i32}, {Name: "orderId2", Type: i32}},
		"x STRUCT<y: STRUCT<x: INT>>":     {{Name: "x", Type: structure(columns.Field{Name: "y", Type: structure(columns.Field{Name: "x", Type: i32})})}},
		"x ARRAY<MAP<DATE,ARRAY<FLOAT>>>": {{Name: "x", Type: list(mapping(scalar(columns.Date), list(scalar(columns.Float32))))}},
	} {
		got, err := ddl.Parse(text)
		if want == nil {
			if err == nil {
				t.Errorf("%s: got %v, want an error", text, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestEveryTypeHasItsNames(t *testing.T) {
	for names, want := range map[string]columns.Type{
		"BOOLEAN boolean BOOL": scalar(columns.Bool), "TINYINT BYTE SMALLINT SHORT INT INTEGER": scalar(columns.Int32), "BIGINT LONG": scalar(columns.Int64),
		"FLOAT REAL": scalar(columns.Float32), "DOUBLE": scalar(columns.Float64), "DECIMAL DEC NUMERIC DECIMAL(10) DEC(10,0)": decimal(10, 0),
		"DECIMAL(38,38)": decimal(38, 38), "DECIMAL(1)": decimal(1, 0), "STRING VARCHAR(7) CHAR(1) CHARACTER(2)": scalar(columns.String),
		"BINARY": scalar(columns.Binary), "DATE": scalar(columns.Date), "TIMESTAMP TIMESTAMP_LTZ": scalar(columns.TimestampTZ),
		"TIMESTAMP_NTZ": scalar(columns.Timestamp), "TIME TIME(6)": scalar(columns.Time), "UUID": scalar(columns.UUID),
		"FIXED(16)":           {Kind: columns.Fixed, Width: 16},
		"ARRAY<INT·NOT·NULL>": {Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: scalar(columns.Int32), Required: true}}},
	} {
		for name := range strings.FieldsSeq(names) {
			got, err := ddl.Parse("c " + strings.ReplaceAll(name, "·", " "))
			if err != nil || !reflect.DeepEqual(got[0].Type, want) {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
			}
		}
	}
}

func TestErrorsPointAtThePlace(t *testing.T) {
	for text, want := range map[string]struct {
		line, column int
		words        string
	}{
		"":                                   {1, 1, "at least one column"},
		"a":                                  {1, 2, "the end where a type"},
		"a STRNG":                            {1, 3, "did you mean STRING?"},
		"a INT,\n  b STRNIG NOT NULL":        {2, 5, "did you mean STRING?"},
		"a BIGNIT":                           {1, 3, "did you mean BIGINT?"},
		"a TIMESTAMP_TZ":                     {1, 3, "did you mean TIMESTAMP_"},
		"a WOMBAT":                           {1, 3, "the types are"},
		"a INTERVAL DAY":                     {1, 3, "Iceberg has no intervals"},
		"a VOID":                             {1, 3, "nothing but nulls"},
		"a VARIANT":                          {1, 3, "format version 3"},
		"a OBJECT":                           {1, 3, "STRUCT"},
		"a TEXT":                             {1, 3, "STRING"},
		"a INT,":                             {1, 7, "a column should follow the comma"},
		"a INT b INT":                        {1, 7, "a comma, NOT NULL or COMMENT"},
		"a INT, a STRING":                    {1, 8, "a column a already"},
		"ID INT, id STRING":                  {1, 9, "differ by case only"},
		"id INT, ID STRING":                  {1, 9, "differ by case only"},
		"s STRUCT<x INT, X INT>":             {1, 17, "differ by case only"},
		"s STRUCT<>":                         {1, 10, "at least one field"},
		"s STRUCT<a INT":                     {1, 15, "the > of STRUCT"},
		"s ARRAY":                            {1, 8, "<, after ARRAY,"},
		"s ARRAY<INT, INT>":                  {1, 12, "the > of ARRAY"},
		"s MAP<INT>":                         {1, 10, "between the types of key and value"},
		"s MAP<ARRAY<INT>, INT>":             {1, 7, "the key of a MAP"},
		"a INT NOT 5":                        {1, 11, "NULL, after NOT,"},
		"a INT COMMENT b":                    {1, 15, "the comment, in quotes"},
		"a INT DEFAULT 5":                    {1, 7, "DEFAULT is not understood"},
		"a DECIMAL(39,0)":                    {1, 3, "1 to 38"},
		"a DECIMAL(0)":                       {1, 3, "1 to 38"},
		"a DECIMAL(5,6)":                     {1, 3, "behind the point"},
		"a DECIMAL(5,-2)":                    {1, 13, "backticks"},
		"a DECIMAL(5,2,1)":                   {1, 3, "two numbers"},
		"a VARCHAR":                          {1, 3, "needs a length"},
		"a TIME(3)":                          {1, 7, "microseconds"},
		"a-b INT":                            {1, 2, "needs backticks"},
		"a.b INT":                            {1, 2, "has no meaning"},
		"`a INT":                             {1, 1, "no end"},
		"`` INT":                             {1, 1, "a column has a name"},
		"a INT COMMENT 'x":                   {1, 15, "no end"},
		"a INT /* x":                         {1, 7, "no end"},
		"é\tSTRNG":                           {1, 3, "no type STRNG"},
		"a \xff":                             {1, 3, "not UTF-8"},
		"a \ufffd \xff":                      {1, 5, "not UTF-8"},
		"a INT\n\n":                          {0, 0, ""},
		"a " + strings.Repeat("ARRAY<", 200): {1, 603, "deeper than 100"},
	} {
		_, err := ddl.Parse(text)
		var fault *ddl.Error
		if want.line == 0 {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if !errors.As(err, &fault) {
			t.Errorf("%q: got %v, want *Error", text, err)
		} else if fault.Line != want.line || fault.Column != want.column || !strings.Contains(fault.Message, want.words) {
			t.Errorf("%q: got line %d, column %d: %s; want %+v", text, fault.Line, fault.Column, fault.Message, want)
		}
	}
}

func TestErrorsShowTheLineWithACaret(t *testing.T) {
	_, err := ddl.Parse("id BIGINT,\n\tgröße STRNG,\n\tb INT")
	want := "schema, line 2, column 8: there is no type STRNG; did you mean STRING?\n  \tgröße STRNG,\n  \t      ^"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestFormatIsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		schema := randomFields(rng, 3)
		text := ddl.Format(schema)
		got, err := ddl.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(got, columns.Schema(schema)) {
			t.Fatalf("%s: got %+v, want %+v", text, got, schema)
		}
	}
}

func randomFields(rng *rand.Rand, depth int) []columns.Field {
	fields := make([]columns.Field, 1+rng.IntN(4))
	for i := range fields {
		fields[i] = columns.Field{Name: randomText(rng) + string(rune('a'+i)), Type: randomType(rng, depth), Required: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			fields[i].Doc = randomText(rng)
		}
	}
	return fields
}

func randomText(rng *rand.Rand) string {
	letters := []rune("ab_1`'\"\\-, \n\r\t€é<:\x00")
	text := make([]rune, rng.IntN(6))
	for i := range text {
		text[i] = letters[rng.IntN(len(letters))]
	}
	return string(text)
}

func randomType(rng *rand.Rand, depth int) columns.Type {
	kind := columns.Bool + columns.Kind(rng.IntN(17))
	if depth == 0 && kind >= columns.List {
		kind = columns.String
	}
	t := columns.Type{Kind: kind}
	part := func(name string) columns.Field {
		return columns.Field{Name: name, Type: randomType(rng, depth-1), Required: rng.IntN(2) == 0}
	}
	switch kind {
	case columns.Decimal:
		t.Precision = 1 + rng.IntN(38)
		t.Scale = rng.IntN(t.Precision + 1)
	case columns.Fixed:
		t.Width = 1 + rng.IntN(99)
	case columns.List:
		t.Fields = []columns.Field{part("element")}
	case columns.Map:
		t.Fields = []columns.Field{{Name: "key", Type: randomType(rng, 0), Required: true}, part("value")}
	case columns.Struct:
		t.Fields = randomFields(rng, depth-1)
	}
	return t
}
