package json_test

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"sluice/columns"
	"sluice/decode/json"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// everyKind has each kind and each way to nest them, under names short enough for a fuzzer to find.
const everyKind = `i INT, l BIGINT, f FLOAT, d DOUBLE, b BOOLEAN, s STRING, y BINARY, x FIXED(3), u UUID, e DECIMAL(9,2), w DECIMAL(38,10), z DECIMAL(3,3),
	a DATE, t TIME, n TIMESTAMP_NTZ, p TIMESTAMP, o STRUCT<i: INT NOT NULL, s: STRING, o: STRUCT<l: BIGINT>>, r ARRAY<BIGINT>, q ARRAY<STRUCT<i: INT, r: ARRAY<STRING NOT NULL>>>,
	m MAP<STRING, INT>, k MAP<BIGINT, STRING NOT NULL>, c MAP<BOOLEAN, MAP<DATE, INT>>, v MAP<DECIMAL(20,1), INT>`

// seeds are what the fuzzers begin with, and a test of their own: all kinds of things that are right or nearly so.
var seeds = []string{
	`{}`, `{"i":1}`, ` { "i" : 1 , "l" : 2 } `, "{\"i\":1}\n", `{"i":1}{"i":2}`, `{"i":1} garbage`, `{"i":1,}`, `{,}`, `{"i"}`, `{"i":}`, `{"i":1`, `{"i`, `{`, ``, ` `, "\x00",
	`null`, `[]`, `[1]`, `5`, `"x"`, `true`, `nul`, `{"i":nul}`, `{"i":nullx}`, `{"b":truee}`, `{"b":tru}`, `{"b":true}`, `{"b":false}`, `{"b":"true"}`, `{"b":1}`, `{"b":TRUE}`,
	"\xef\xbb\xbf{}", "\xff\xfe{\x00}\x00", "{\x00", `{'i':1}`, `{i:1}`, `{"i":1//c` + "\n}", `{"i":/**/1}`,
	`{"i":1.0}`, `{"i":1e3}`, `{"i":1.5}`, `{"i":"5"}`, `{"i":null}`, `{"i":-0}`, `{"i":01}`, `{"i":+1}`, `{"i":.5}`, `{"i":1.}`, `{"i":1e}`, `{"i":1e+}`, `{"i":-}`, `{"i":--1}`, `{"i":0x10}`, `{"i":1_0}`,
	`{"i":2147483647}`, `{"i":2147483648}`, `{"i":-2147483648}`, `{"i":-2147483649}`, `{"i":0.0e99999999999999999999}`, `{"i":120e-1}`, `{"i":12e-1}`,
	`{"l":9007199254740993}`, `{"l":9223372036854775807}`, `{"l":9223372036854775808}`, `{"l":-9223372036854775808}`, `{"l":-9223372036854775809}`, `{"l":9223372036854775807.000}`, `{"l":92233720368547758070e-1}`,
	`{"l":1e18}`, `{"l":1e19}`, `{"l":1e1000000000000}`, `{"l":1e-1000000000000}`, `{"l":100000000000000000000000000000000000000000000000000e-40}`, `{"l":99999999999999999999}`,
	`{"f":1e400}`, `{"d":1e400}`, `{"d":-1e400}`, `{"d":1e-400}`, `{"f":3.4028236e38}`, `{"f":16777217}`, `{"d":NaN}`, `{"d":Infinity}`, `{"d":-Infinity}`, `{"d":-0}`, `{"d":0.1}`, `{"f":1.401298464324817e-45}`, `{"d":5e-324}`,
	`{"e":12.34}`, `{"e":12.340}`, `{"e":12.345}`, `{"e":9999999.99}`, `{"e":10000000}`, `{"e":-0.00}`, `{"e":1e6}`, `{"e":1e7}`, `{"e":1e1000000}`, `{"e":1e-2}`, `{"e":1e-3}`, `{"e":"1.5"}`, `{"e":123456789012345678901234567890}`,
	`{"w":9999999999999999999999999999.9999999999}`, `{"w":-9999999999999999999999999999.9999999999}`, `{"w":10000000000000000000000000000}`, `{"w":0.00000000001}`, `{"w":1234567890123456789.5}`, `{"z":0.123}`, `{"z":1}`, `{"z":0}`,
	`{"s":""}`, `{"s":"a\u0000b"}`, `{"s":"\ud83d\udc4d"}`, `{"s":"\ud800x"}`, `{"s":"\udc4d"}`, `{"s":"\ud800\ud800"}`, `{"s":"\ud83d\u0041"}`, `{"s":"\uD83D\uDC4D\"\\\/\b\f\n\r\t"}`, `{"s":"\x"}`, `{"s":"\u12"}`, `{"s":"\u12g4"}`, `{"s":"\`, `{"s":"\"`,
	"{\"s\":\"a\xffb\"}", "{\"s\":\"\xed\xa0\x80\"}", "{\"s\":\"\xc0\x80\"}", "{\"s\":\"\xf4\x90\x80\x80\"}", "{\"s\":\"a\tb\"}", "{\"s\":\"a\nb\"}", "{\"s\":\"a\x00b\"}", "{\"s\":\"\x7f\"}", `{"s":"é…👍"}`, "{\"s\":\"cafe\xcc\x81\"}", `{"s":5}`, `{"s":{}}`, `{"s":"12345678\"12345678\\12345678"}`,
	`{"y":"aGVsbG8="}`, `{"y":"aGVsbG8"}`, `{"y":"_-_-"}`, `{"y":"+/+/"}`, `{"y":"+_"}`, `{"y":"AA=="}`, `{"y":"AB=="}`, `{"y":"AA="}`, `{"y":"A"}`, `{"y":"AA\n=="}`, `{"y":"===="}`, `{"y":""}`, `{"y":"AA==AA=="}`, `{"x":"AAEC"}`, `{"x":"AAE="}`,
	`{"u":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}`, `{"u":"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"}`, `{"u":"f81d4fae7dec11d0a76500a0c91e6bf6"}`, `{"u":"{f81d4fae-7dec-11d0-a765-00a0c91e6b}"}`,
	`{"a":"2026-02-28"}`, `{"a":"2026-02-29"}`, `{"a":"2000-02-29"}`, `{"a":"1900-02-29"}`, `{"a":"0000-01-01"}`, `{"a":"0001-01-01"}`, `{"a":"9999-12-31"}`, `{"a":"1969-12-31"}`, `{"a":"2026-1-2"}`, `{"a":"2026-01-02T00:00:00Z"}`, `{"a":20000}`,
	`{"t":"03:04:05"}`, `{"t":"03:04:05.678901"}`, `{"t":"03:04:05.6789010"}`, `{"t":"03:04:05.6789011"}`, `{"t":"24:00:00"}`, `{"t":"03:04:05."}`, `{"t":"03:04:05Z"}`, `{"t":"3:04:05"}`,
	`{"n":"2026-01-02T03:04:05"}`, `{"n":"2026-01-02 03:04:05.5"}`, `{"n":"2026-01-02T03:04:05Z"}`, `{"n":"1969-12-31T23:59:59.999999"}`, `{"n":"0001-01-01T00:00:00"}`,
	`{"p":"2026-01-02T03:04:05.678901+00:00"}`, `{"p":"2026-05-01T08:30:00+09:00"}`, `{"p":"2026-01-02T03:04:05z"}`, `{"p":"2026-01-02t03:04:05-23:59"}`, `{"p":"2026-01-02T03:04:05+24:00"}`, `{"p":"2026-01-02T03:04:05+0000"}`, `{"p":"2026-01-02T03:04:05+00"}`,
	`{"p":"2026-01-02T24:00:00Z"}`, `{"p":"2026-12-31T23:59:60Z"}`, `{"p":"2026-01-02T03:04Z"}`, `{"p":"2026-01-02"}`, `{"p":1767323045}`, `{"p":"2026-01-02T03:04:05.678901999Z"}`, `{"p":"9999-12-31T23:59:59-00:01"}`, `{"p":"0001-01-01T00:00:00+00:01"}`, `{"p":"2026-01-02T03:04:05,5Z"}`,
	`{"o":{"i":1}}`, `{"o":{}}`, `{"o":null}`, `{"o":{"i":null}}`, `{"o":{"i":1,"o":{}}}`, `{"o":{"i":1,"o":{"l":null}}}`, `{"o":[]}`, `{"o":{"i":1,"i":1}}`, `{"o":{"i":1,"o":null}}`,
	`{"r":[]}`, `{"r":null}`, `{"r":[null,1]}`, `{"r":[1,]}`, `{"r":[,1]}`, `{"r":[1 2]}`, `{"r":[1,"x"]}`, `{"r":{}}`, `{"r":[1`, `{"q":[{"i":1,"r":["a","b"]},null,{},{"r":[]}]}`, `{"q":[{"r":[null]}]}`,
	`{"m":{}}`, `{"m":{"":1}}`, `{"m":{"a":1,"a":2}}`, `{"m":{"a":1,"\u0061":2}}`, `{"m":{"a":null}}`, `{"m":[]}`, `{"k":{"1":"a","1.0":"b"}}`, `{"k":{"1":null}}`, `{"k":{"x":"a"}}`, `{"k":{" 1":"a"}}`, `{"k":{"":"a"}}`, `{"k":{"9007199254740993":""}}`,
	`{"c":{"true":{"2026-01-02":1},"false":{}}}`, `{"c":{"true":{},"true":{}}}`, `{"c":{"yes":{}}}`, `{"v":{"1.5":1,"15e-1":2}}`, `{"v":{"1.5":1,"1.4":2}}`,
	`{"i":1,"i":1}`, `{"i":1,"\u0069":1}`, `{"I":1,"i":2}`, `{"zz":1,"zz":2}`, `{"zz":{"a":[1,{"b":"\ud800"}]}}`, `{"zz":"\ud800"}`, "{\"zz\":\"\xff\"}", `{"zz":[01]}`, `{"zz":1e999}`, `{"zz":tru}`, `{"zz":{"a" 1}}`, "{\"z\xff\":1}",
	`{"zz":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, `{"zz":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, strings.Repeat("[", 10001), strings.Repeat(`{"o":`, 10001),
	"{\"s\":\"a\xffb\",\"i\":1,\"l\":1}", "{\"s\":\"1234567890\xff\",\"i\":1,\"l\":1}", "{\"s\":\"12345678\xe2\x82\\n12345678\",\"l\":1}", `{"s":"\ud83d\ue000"}`, `{"y":"+_+_"}`, `{"y":"_+/-"}`, `{"p":"0000-12-31T23:59:59-23:59"}`,
	manyKeys(1000, ""), manyKeys(1000, `,"k500":1`), manyKeys(64, ""), manyKeys(48, `,"k47":1`), manyKeys(40, ""), manyKeys(40, `,"k7":1`), manyKeys(13, `,"k12":1`), manyKeys(12, `,"k0":1`),
}

func manyKeys(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return `{"m":{` + strings.TrimPrefix(b.String()+last, ",") + `}}`
}

// compare reads good, value, good and holds what comes out against the oracle.
func compare(t *testing.T, p *json.Parser, value []byte) {
	t.Helper()
	const good = `{"i":7,"s":"x","b":true,"r":[1,null],"m":{"a":1},"o":{"i":1},"u":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","w":1.5,"q":[{"r":["y"]}]}`
	schema := p.Schema()
	dst := columns.Make(schema)
	goodRow, err := oracle(schema, []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{goodRow}
	row, oracleErr := oracle(schema, value)
	if oracleErr == nil {
		want = append(want, row)
	}
	want = append(want, goodRow)
	for _, record := range []string{good, string(value), good} {
		err := p.Append(dst, []byte(record))
		var bad *malformed.Error
		if err != nil && (!errors.As(err, &bad) || bad.Reason == "" || bad.Position < 0 || bad.Position > len(record) || bad.Detail == "") {
			t.Fatalf("%q: got error %#v", record, err)
		}
		if err != nil && strings.IndexFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatalf("%q: the error is not safe to print: %q", record, err)
		}
		if record == string(value) && (err == nil) != (oracleErr == nil) {
			t.Fatalf("%q: got %v, want %v", record, err, oracleErr)
		}
	}
	for i := range schema {
		if err := rowtest.Sound(&dst[i], &schema[i].Type, len(want), schema[i].Name); err != nil {
			t.Fatalf("%q: %v", value, err)
		}
	}
	for i := range want {
		if got := rowtest.Text(rowtest.Row(schema, dst, i)); got != rowtest.Text(want[i]) {
			t.Fatalf("%q: row %d: got %s, want %s", value, i, got, rowtest.Text(want[i]))
		}
	}
}

func TestTheOracleAgreesOnEverySeed(t *testing.T) {
	p := mustCompile(t, everyKind, json.Options{})
	for _, seed := range seeds {
		compare(t, p, []byte(seed))
	}
}

func FuzzAppend(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	p := mustCompile(f, everyKind, json.Options{})
	f.Fuzz(func(t *testing.T, value []byte) { compare(t, p, value) })
}

// FuzzNumber puts any number into every numeric column.
func FuzzNumber(f *testing.F) {
	for _, seed := range seeds {
		if from, to := strings.Index(seed, ":"), strings.LastIndex(seed, "}"); from > 0 && to > from {
			f.Add(seed[from+1 : to])
		}
	}
	p := mustCompile(f, everyKind, json.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		if number.MatchString(text) {
			for _, name := range []string{"i", "l", "f", "d", "e", "w", "z"} {
				compare(t, p, fmt.Appendf(nil, `{"%s":%s}`, name, text))
			}
		}
	})
}

// FuzzText puts any text into every column that is written as text.
func FuzzText(f *testing.F) {
	for _, seed := range seeds {
		if from, to := strings.Index(seed, `:"`), strings.LastIndex(seed, `"`); from > 0 && to > from+1 {
			f.Add(seed[from+2 : to])
		}
	}
	p := mustCompile(f, everyKind, json.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := stdjson.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"s", "y", "x", "u", "a", "t", "n", "p"} {
			compare(t, p, fmt.Appendf(nil, `{"%s":%s}`, name, quoted))
		}
		compare(t, p, fmt.Appendf(nil, `{"m":{%s:1},"k":{%s:"x"},"v":{%s:1},"c":{"true":{%s:1}}}`, quoted, quoted, quoted, quoted))
	})
}

// FuzzEpoch holds numbers of units against math/big, cut or not.
func FuzzEpoch(f *testing.F) {
	for _, seed := range []string{"0", "-1", "1767323045", "1767323045.678901", "1767323045.6789019", "-0.0000001", "253402300799.999999", "1e11", "1e12", "-62135596800", "-62135596800.0000001",
		"1767323045678901234", "-999", "1" + strings.Repeat("0", 60) + "1e-55", "1" + strings.Repeat("0", 60) + "e-55", "123456789.0123456789012345678901234567890123456789"} {
		f.Add(seed, uint8(0), true)
		f.Add(seed, uint8(3), true)
		f.Add(seed, uint8(3), false)
	}
	f.Fuzz(func(t *testing.T, text string, unit uint8, cut bool) {
		if !number.MatchString(text) || len(text) > 200 {
			return
		}
		name := []string{"epochSeconds", "epochMillis", "epochMicros", "epochNanos"}[unit%4]
		p := mustCompile(t, "p TIMESTAMP", json.Options{Timestamps: name, CutFractions: cut})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, []byte(`{"p":`+text+`}`))
		want, ok := oracleEpoch(text, []int{6, 3, 0, -3}[unit%4], cut)
		if (err == nil) != ok || ok && dst[0].Int64s[0] != want {
			t.Errorf("%s %s, cut %v: got %v, %v, want %d, %v", text, name, cut, dst[0].Int64s, err, want, ok)
		}
	})
}

// Whatever the schema and the values, what is written as JSON is read back.
func TestRandomRowsOfRandomSchemasComeBack(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 6))
		schema := randomSchema(rng, 3)
		p, err := json.Compile(schema, json.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dst := columns.Make(schema)
		var want [][]any
		for range 1 + rng.IntN(8) {
			row := randomRow(rng, schema)
			record := string(appendObject(nil, rng, schema, row))
			if err := p.Append(dst, []byte(record)); err != nil {
				t.Fatalf("%s: %v", record, err)
			}
			if cut := rng.IntN(len(record)); p.Append(dst, []byte(record[:cut])) == nil {
				t.Fatalf("%s is a row", record[:cut])
			}
			want = append(want, row)
		}
		for i := range want {
			if got := rowtest.Text(rowtest.Row(schema, dst, i)); got != rowtest.Text(want[i]) {
				t.Fatalf("seed %d: got %s, want %s", seed, got, rowtest.Text(want[i]))
			}
		}
	}
}
