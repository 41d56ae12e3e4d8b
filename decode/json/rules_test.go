package json_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/json"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// fault is what an error must say.
type fault struct {
	reason   malformed.Reason
	path     string
	position int
	detail   string
}

func wantFault(t *testing.T, p *json.Parser, record string, want fault) {
	t.Helper()
	dst := columns.Make(p.Schema())
	err := p.Append(dst, []byte(record))
	var bad *malformed.Error
	if !errors.As(err, &bad) {
		t.Errorf("%.80q: got %v, want %+v", record, err, want)
		return
	}
	if bad.Reason != want.reason || bad.Path != want.path || bad.Position != want.position || !strings.Contains(bad.Detail, want.detail) {
		t.Errorf("%.80q: got %+v, want %+v", record, *bad, want)
	}
	if len(bad.Detail) > 400 || len(bad.Excerpt) > 400 || len(record) > 0 && bad.Excerpt == "" {
		t.Errorf("%.80q: detail %d, excerpt %d bytes", record, len(bad.Detail), len(bad.Excerpt))
	}
	if dst[0].Len != 0 {
		t.Errorf("%.80q: %d rows are left", record, dst[0].Len)
	}
}

// wantRow reads a record into one row; values are written as rowtest.Text has them.
func wantRow(t *testing.T, p *json.Parser, record, want string) {
	t.Helper()
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, []byte(record)); err != nil {
		t.Errorf("%.80q: %v", record, err)
		return
	}
	if got := rowtest.Text(rowtest.Row(p.Schema(), dst, 0)); got != "["+want+",]" {
		t.Errorf("%.80q: got %s, want %s", record, got, want)
	}
}

func TestAMalformedRecordSaysWhereAndWhy(t *testing.T) {
	p := mustCompile(t, everyKind+", g BIGINT NOT NULL", json.Options{})
	for record, want := range map[string]fault{
		"":                                     {"empty", "", 0, "no bytes"},
		" \n":                                  {"syntax", "", 2, "the text ends"},
		`null`:                                 {"type", "", 0, "null where an object"},
		`not json`:                             {"syntax", "", 0, "n where"},
		`true story`:                           {"type", "", 0, "a boolean where an object"},
		`falsch`:                               {"syntax", "", 0, "f where"},
		`[]`:                                   {"type", "", 0, "an array where an object"},
		`5`:                                    {"type", "", 0, "a number"},
		`"x"`:                                  {"type", "", 0, "a string"},
		`true`:                                 {"type", "", 0, "a boolean"},
		"\xef\xbb\xbf{\"g\":1}":                {"syntax", "", 0, "byte order mark"},
		"\xff\xfe{\x00\"\x00":                  {"syntax", "", 0, "UTF-16"},
		"{\x00\"\x00g\x00":                     {"syntax", "", 1, "byte 0x00"},
		`{"g":1}{"g":2}`:                       {"syntax", "", 7, "more after the object"},
		`{"g":1} garbage`:                      {"syntax", "", 8, "more after the object"},
		`{"g":1`:                               {"syntax", "", 6, "the text ends where a comma"},
		"{\"g\":\x7f}":                         {"syntax", "g", 5, "byte 0x7f"},
		`{"g":1,}`:                             {"syntax", "", 7, "} where a name"},
		`{"g":01}`:                             {"syntax", "g", 5, "begins with a zero"},
		`{"g":+1}`:                             {"syntax", "g", 5, "+ where a value"},
		`{"g":1.}`:                             {"syntax", "g", 7, "} where a digit"},
		`{"d":NaN,"g":1}`:                      {"syntax", "d", 5, "neither NaN nor Infinity"},
		`{"d":-Infinity,"g":1}`:                {"syntax", "d", 6, "neither NaN nor Infinity"},
		"{\"s\":\"a\nb\"}":                     {"syntax", "s", 7, "control character 0x0a"},
		`{"s":"\x41"}`:                         {"syntax", "s", 6, `no escape \x`},
		`{"s":"\u00zz"}`:                       {"syntax", "s", 6, "four hexadecimal digits"},
		"{\"s\":\"a\xffb\"}":                   {"encoding", "s", 7, "not UTF-8"},
		"{\"zz\":[\"\xed\xa0\x80\"]}":          {"encoding", "", 8, "not UTF-8"},
		`{"s":"\ud800x"}`:                      {"encoding", "s", 6, `\ud800 is half`},
		`{"s":"ab\udc4d"}`:                     {"encoding", "s", 8, `\udc4d is half`},
		`{"zz":"\ud83d\ud83d"}`:                {"encoding", "", 7, `\ud83d is half`},
		`{"g":1,"\u0067":2}`:                   {"duplicate", "g", 7, "comes twice"},
		`{"o":{"i":1,"s":"x","i":2}}`:          {"duplicate", "o.i", 20, "comes twice"},
		`{"m":{"a":1,"\u0061":2}}`:             {"duplicate", `m["a"]`, 12, "twice"},
		`{"v":{"1.5":1,"15e-1":2}}`:            {"duplicate", `v["15e-1"]`, 14, "twice"},
		`{"i":1}`:                              {"missing", "g", 6, "required"},
		`{"g":null}`:                           {"null", "g", 5, "required"},
		`{"o":{}}`:                             {"missing", "o.i", 6, "required"},
		`{"q":[{},{"r":["a",null]}]}`:          {"null", "q[1].r[1]", 19, "required"},
		`{"k":{"7":null}}`:                     {"null", `k["7"]`, 10, "required"},
		`{"i":"5"}`:                            {"type", "i", 5, "a string where int"},
		`{"e":"1.5"}`:                          {"type", "e", 5, "a string where decimal(9,2)"},
		`{"s":5}`:                              {"type", "s", 5, "a number where string"},
		`{"b":1}`:                              {"type", "b", 5, "a number where boolean"},
		`{"b":"true"}`:                         {"type", "b", 5, "a string where boolean"},
		`{"p":1767323045}`:                     {"type", "p", 5, "a number where timestamptz"},
		`{"r":[1,{"a":1}]}`:                    {"type", "r[1]", 8, "an object where long"},
		`{"m":{"a.b":"x"}}`:                    {"type", `m["a.b"]`, 12, "a string where int"},
		`{"i":2147483648}`:                     {"overflow", "i", 5, "2147483648 is beyond what int"},
		`{"l":9223372036854775808}`:            {"overflow", "l", 5, "beyond what long"}, // https://github.com/valyala/fastjson/issues/15
		`{"l":1.5}`:                            {"lossy", "l", 5, "the column holds integers"},
		`{"e":1e1000000}`:                      {"overflow", "e", 5, "1e1000000 is beyond"}, // https://github.com/apache/kafka/pull/17510
		`{"e":10000000}`:                       {"overflow", "e", 5, "beyond what decimal(9,2)"},
		`{"e":1.005}`:                          {"lossy", "e", 5, "2 digits behind the point"},
		`{"e":1e-1000000}`:                     {"lossy", "e", 5, "2 digits behind the point"},
		`{"d":1e400}`:                          {"overflow", "d", 5, "beyond what double"}, // https://github.com/apache/openwhisk-package-kafka/issues/332
		`{"f":1e39}`:                           {"overflow", "f", 5, "beyond what float"},
		`{"a":"2026-02-30"}`:                   {"format", "a", 5, "a date such as"},
		`{"a":"0000-01-01"}`:                   {"overflow", "a", 5, "beyond what date"},
		`{"t":"24:00:00"}`:                     {"format", "t", 5, "a time such as"},
		`{"p":"2026-01-02T03:04:60Z"}`:         {"format", "p", 5, "a timestamp such as"},
		`{"p":"2026-01-02T03:04:05+0000"}`:     {"format", "p", 5, "a timestamp such as"},
		`{"n":"2026-01-02T03:04:05Z"}`:         {"zone", "n", 5, "the column holds local times"},
		`{"p":"2026-01-02T03:04:05.1234567Z"}`: {"lossy", "p", 5, "microseconds"},
		`{"p":"9999-12-31T23:59:59-00:01"}`:    {"overflow", "p", 5, "beyond what timestamptz"},
		`{"y":"A"}`:                            {"format", "y", 5, "not base64"},
		`{"y":"+_"}`:                           {"format", "y", 5, "not base64"},
		`{"x":"AAE="}`:                         {"format", "x", 5, "2 bytes, not 3"},
		`{"u":"x"}`:                            {"format", "u", 5, "not a UUID"},
		`{"k":{"x":"a"}}`:                      {"format", `k["x"]`, 6, "no JSON number"},
		`{"c":{"yes":{}}}`:                     {"format", `c["yes"]`, 6, "true or false"},
		`{"zz":` + strings.Repeat("[", 100):    {"depth", "", 105, "deeper than 100"},
		`{"y":"` + strings.Repeat("!", 1000) + `"}`: {"format", "y", 5, "not base64"},
		`{"i":` + strings.Repeat("9", 100000) + `}`: {"overflow", "i", 5, "…"},
	} {
		wantFault(t, p, record, want)
	}
}

func TestValuesAreExact(t *testing.T) {
	p := mustCompile(t, "v BIGINT, r ARRAY<BIGINT>, m MAP<STRING, BIGINT>", json.Options{})
	// https://github.com/apache/iceberg-go/issues/369: 2^53+1 and its like, also nested
	wantRow(t, p, `{"v":9007199254740993,"r":[3510441037372461004],"m":{"a":9223372036854775807}}`,
		`int64(9007199254740993),[int64(3510441037372461004),],{"a":int64(9223372036854775807),}`)
	for text, want := range map[string]string{
		"-9223372036854775808": "-9223372036854775808", "1.0": "1", "1e3": "1000", "-0": "0", "50e-1": "5", "0e99999999999999999999": "0", "1000000000000000000000000e-23": "10", "9223372036854775807.0": "9223372036854775807",
	} {
		wantRow(t, p, `{"v":`+text+`}`, "int64("+want+"),<nil>(<nil>),<nil>(<nil>)")
	}
	d := mustCompile(t, "v DECIMAL(38,2)", json.Options{})
	for text, want := range map[string]string{
		"999999999999999999999999999999999999.99": "99999999999999999999999999999999999999", "-999999999999999999999999999999999999.99": "-99999999999999999999999999999999999999",
		"0.1": "10", "-1": "-100", "1e35": "1" + strings.Repeat("0", 37), "1.500": "150", "-0.00": "0", "0.000": "0", "1" + strings.Repeat("0", 50) + "e-50": "100",
	} {
		wantRow(t, d, `{"v":`+text+`}`, "d"+want)
	}
	for scale, want := range map[string]string{"17": "99" + strings.Repeat("0", 17), "18": "99" + strings.Repeat("0", 18), "16": "99" + strings.Repeat("0", 16)} {
		wantRow(t, mustCompile(t, "v DECIMAL(38,"+scale+")", json.Options{}), `{"v":99}`, "d"+want)
		wantRow(t, mustCompile(t, "v DECIMAL(38,"+scale+")", json.Options{}), `{"v":-99.0}`, "d-"+want)
	}
	f := mustCompile(t, "d DOUBLE, f FLOAT", json.Options{})
	wantRow(t, f, `{"d":0.1,"f":16777217}`, "float64(0.1),float32(1.6777216e+07)")
	wantRow(t, f, `{"d":-0,"f":1e-400}`, "float64(-0),float32(0)")
	wantRow(t, f, `{"d":2.2250738585072011e-308,"f":0.1}`, "float64(2.225073858507201e-308),float32(0.1)") // the denormal that hung PHP and Java
}

func TestMissingNullAndEmptyDiffer(t *testing.T) {
	p := mustCompile(t, "s STRING, o STRUCT<a: STRING>, r ARRAY<STRING>, m MAP<STRING, STRING>", json.Options{})
	const null = "<nil>(<nil>)"
	wantRow(t, p, `{}`, strings.Join([]string{null, null, null, null}, ","))
	wantRow(t, p, `{"s":null,"o":null,"r":null,"m":null}`, strings.Join([]string{null, null, null, null}, ","))
	wantRow(t, p, `{"s":"","o":{},"r":[],"m":{}}`, `"",[`+null+`,],[],{}`)
	wantRow(t, p, `{"o":{"a":""},"r":[null,""],"m":{"":null,"b":""}}`, null+`,["",],[`+null+`,"",],{"":`+null+`,"b":"",}`)
}

func TestTextIsKeptByteForByte(t *testing.T) {
	p := mustCompile(t, "k STRING", json.Options{})
	for record, want := range map[string]string{
		`{"k":"a\u0000b"}`: "a\x00b", `{"k":"\ud83d\udc4d"}`: "\xf0\x9f\x91\x8d", "{\"k\":\"caf\u00e9\"}": "caf\xc3\xa9", "{\"k\":\"cafe\u0301\"}": "cafe\xcc\x81",
		`{"k":" \t "}`: " \t ", `{"k":"\ufeff\ufffd\uffff"}`: "\ufeff\ufffd\uffff", `{"\u006b":"x"}`: "x", `{"K":"y"}`: "", `{"k":"\/\"\\"}`: `/"\`,
	} {
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, []byte(record)); err != nil {
			t.Errorf("%s: %v", record, err)
		} else if got := string(dst[0].Bytes(0)); got != want || dst[0].Valid(0) == (record == `{"K":"y"}`) {
			t.Errorf("%s: got %q, want %q", record, got, want)
		}
	}
}

// https://issues.apache.org/jira/browse/KAFKA-17792: a few bytes must not cost memory.
func TestHugeExponentsCostNothing(t *testing.T) {
	p := mustCompile(t, "d DECIMAL(38,2), l BIGINT, s STRING", json.Options{})
	dst := columns.Make(p.Schema())
	for _, record := range []string{`{"d":0e1000000000,"l":0e-1000000000}`, `{"l":` + "1" + strings.Repeat("0", 5000) + `e-5000}`} {
		got := testing.AllocsPerRun(10, func() {
			for i := range dst {
				dst[i].Reset()
			}
			if err := p.Append(dst, []byte(record)); err != nil {
				t.Fatal(err)
			}
		})
		if got > 1 {
			t.Errorf("%.40s: %v allocations", record, got)
		}
	}
}

func TestReadingAllocatesNothingOnceColumnsHaveGrown(t *testing.T) {
	p, rows := mustCompile(t, ordersDDL, json.Options{}), orders(500)
	rows = append(rows, []byte(`{"order_id":"\u00e9","customer_id":"a\nb","amount":1e2,"event_time":"2026-01-02 03:04:05Z","items":[null,{"qty":3,"sku":"x"}],"more":{"a":[1]}}`))
	dst := columns.Make(p.Schema())
	fill := func() {
		for i := range dst {
			dst[i].Reset()
		}
		for _, row := range rows {
			if err := p.Append(dst, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	if got := testing.AllocsPerRun(10, fill); got != 0 {
		t.Errorf("%v allocations for %d rows", got, len(rows))
	}
}

func TestCompileRefusesWhatCannotBeRead(t *testing.T) {
	str := columns.Type{Kind: columns.String}
	field := func(t columns.Type) columns.Schema { return columns.Schema{{Name: "c", Type: t}} }
	for name, c := range map[string]struct {
		schema  columns.Schema
		options json.Options
		want    string
	}{
		"no columns":      {nil, json.Options{}, "has no fields"},
		"an empty struct": {field(columns.Type{Kind: columns.Struct}), json.Options{}, "column c has no fields"},
		"a name twice":    {columns.Schema{{Name: "c", Type: str}, {Name: "c", Type: str}}, json.Options{}, "two fields c"},
		"no kind":         {field(columns.Type{}), json.Options{}, "no values of kind(0)"},
		"float keys":      {mustParse(t, "c MAP<DOUBLE, INT>"), json.Options{}, "cannot be double"},
		"null keys":       {field(columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: str}, {Name: "value", Type: str}}}), json.Options{}, "must be required"},
		"half a map":      {field(columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: str}}}), json.Options{}, "1 types, not 2"},
		"digits":          {field(columns.Type{Kind: columns.Decimal, Precision: 39}), json.Options{}, "decimal(39,0)"},
		"width":           {field(columns.Type{Kind: columns.Fixed}), json.Options{}, "0 bytes"},
		"depth":           {field(str), json.Options{MaxDepth: -1}, "depth of -1"},
		"too deep":        {field(str), json.Options{MaxDepth: 10001}, "depth of 10001"},
		"no such column":  {field(str), json.Options{Formats: map[string]string{"d": "json"}}, "column d, which the schema does not have"},
		"no such format":  {field(str), json.Options{Formats: map[string]string{"c": "xml"}}, `no format "xml" for string`},
		"json of numbers": {mustParse(t, "c INT"), json.Options{Formats: map[string]string{"c": "json"}}, `no format "json" for int`},
	} {
		if _, err := json.Compile(c.schema, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want one that says %q", name, err, c.want)
		}
	}
}

// [{},{},…] of a wide struct would take a thousand times the record's size: few bytes must not take much memory.
func TestARecordThatLeavesOutMuchMoreThanItHasIsMalformed(t *testing.T) {
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf("f%d: BIGINT", i))
	}
	p := mustCompile(t, "a ARRAY<STRUCT<"+strings.Join(fields, ", ")+">>, m MAP<STRING, STRUCT<"+strings.Join(fields, ", ")+">>, s STRUCT<s: STRUCT<"+strings.Join(fields, ", ")+">>", json.Options{})
	list := func(n int, element string) string {
		return `{"a":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]}"
	}
	wantFault(t, p, list(1000, "{}"), fault{"size", "a[36].f60", 115, "8 for each of its bytes"})
	wantFault(t, p, list(1000, "null"), fault{"size", "a[52]", 266, "8 for each of its bytes"})
	for _, record := range []string{`{}`, `{"s":{}}`, `{"a":[{},{},null]}`, list(100, `{"f0":123456789,`+strings.Repeat(" ", 120)+`"f1":1}`)} {
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, []byte(record)); err != nil {
			t.Errorf("%.80q: %v", record, err)
		}
	}
}
