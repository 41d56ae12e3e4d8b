package json_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/malformed"
)

// sampled is a sample of records, each called after its number from 1.
func sampled(tb testing.TB, o json.Options, records ...string) *json.Sample {
	tb.Helper()
	s, err := json.NewSample(o)
	if err != nil {
		tb.Fatal(err)
	}
	for i, r := range records {
		if err := s.Add([]byte(r), "#"+strconv.Itoa(i+1)); err != nil {
			tb.Fatalf("%s: %v", r, err)
		}
	}
	return s
}

// told writes a guess down: the schema, then the formats and the remarks, a line each.
func told(g json.Guess) string {
	text := strings.ReplaceAll(ddl.Format(g.Schema), ",\n", ", ")
	for _, path := range slices.Sorted(maps.Keys(g.Formats)) {
		text += "\n" + path + "=" + g.Formats[path]
	}
	for _, r := range g.Remarks {
		text += fmt.Sprintf("\n%s: %s: %s", r.About, r.Path, r.Text)
	}
	return text
}

func wantGuess(t *testing.T, g json.Guess, want ...string) {
	t.Helper()
	if got := told(g); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestAGuessHoldsWhatTheSampleHas(t *testing.T) {
	many := func(n int, f func(i int) string) (records []string) {
		for i := range n {
			records = append(records, f(i))
		}
		return records
	}
	for _, c := range []struct {
		what    string
		records []string
		want    []string
	}{
		{"the kinds", []string{`{"b":true,"i":1,"d":1.5,"s":"x","l":[1],"o":{"a":null,"c":"y"}}`},
			[]string{"b BOOLEAN, i BIGINT, d DOUBLE, s STRING, l ARRAY<BIGINT>, o STRUCT<c: STRING>",
				"might be: d: DECIMAL(18,1), which is exact: no number has more than 1 digit behind the point", "left out: o.a: null in the only value"}},
		{"order", []string{`{"a":1,"d":1}`, `{"a":1,"b":1,"c":1,"d":1}`, `{"z":1}`}, []string{"a BIGINT, b BIGINT, c BIGINT, d BIGINT, z BIGINT"}},
		{"nothing is known", []string{`{"a":null,"b":[],"c":{},"d":[null],"e":[{}],"f":{"g":[]},"h":0}`}, []string{"h BIGINT", "left out: a: null in the only value",
			"left out: b: empty in the only array", "left out: c: empty in the only object", "left out: d: of its elements nothing is known: null in the only value",
			"left out: e: of its elements nothing is known: empty in the only object", "left out: f.g: empty in the only array", "left out: f: none of its fields has a column"}},
		{"several kinds", []string{`{"a":1}`, `{"a":null}`, `{"a":"x"}`, `{"a":[{"b":{}}]}`, `{"a":2}`}, []string{"a STRING", "a=json",
			"kept as text: a: 2 numbers (first in #1), 1 text (first in #3), 1 array (first in #4)"}},
		{"several kinds inside", []string{`{"a":[{"b":1},{"b":true}]}`}, []string{"a ARRAY<STRUCT<b: STRING>>", "a.element.b=json",
			"kept as text: a.element.b: 1 boolean (first in #1), 1 number (first in #1)"}},
		{"an empty object beside a text", []string{`{"a":{}}`, `{"a":"x"}`}, []string{"a STRING", "a=json", "kept as text: a: 1 text (first in #2), 1 object (first in #1)"}},
		{"integers", []string{`{"a":-2147483649,"b":9223372036854775808,"c":1,"d":` + strings.Repeat("9", 39) + `,"e":1}`, `{"c":1e0,"e":99999999999}`},
			[]string{"a BIGINT, b DECIMAL(38,0), c DOUBLE, d STRING, e BIGINT", "d=json", "mind the numbers: a: 1 integer beyond 32 bits (first in #1), so no INT",
				"taken for: b: DECIMAL(38,0), for integers beyond 64 bits (first in #1)", "kept as text: d: integers of up to 39 digits, where a DECIMAL has 38 (first beyond 64 bits in #1)", "mind the numbers: e: 1 integer beyond 32 bits (first in #2), so no INT"}},
		{"fractions", []string{`{"a":0.5,"b":1e400,"c":12345678901234567.5,"d":0.123456789,"e":1e-20}`, `{"b":1.5}`}, []string{"a DOUBLE, b STRING, c DOUBLE, d DOUBLE, e DOUBLE", "b=json",
			"might be: a: DECIMAL(18,1), which is exact: no number has more than 1 digit behind the point", "kept as text: b: a number beyond what a DOUBLE holds (first in #1)",
			"mind the numbers: c: up to 18 digits, which DOUBLE rounds and DECIMAL(18,1) would not"}},
		{"times", []string{`{"z":"2026-01-02T03:04:05Z","l":"2026-01-02 03:04:05.5","d":"2026-01-02","t":"03:04:05","u":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","n":"2026-01-02T03:04:05.123456789Z","m":"2026-01-02T03:04:05Z","e":""}`,
			`{"z":"2026-01-02T03:04:05+01:00","m":"2026-01-02T03:04:05","e":"2026-01-02"}`},
			[]string{"z TIMESTAMP, l TIMESTAMP_NTZ, d DATE, t STRING, u STRING, n STRING, m STRING, e STRING",
				"taken for: z: TIMESTAMP: each of 2 texts is one", "taken for: l: TIMESTAMP_NTZ: the only text is one", "taken for: d: DATE: the only text is one",
				"might be: t: TIME: each text is one; Spark reads it from 4.1 on", "might be: u: UUID: each text is one; Spark has no such type",
				"might be: n: TIMESTAMP with value.json.cutFractions=true: each text is one, and some are finer than a microsecond",
				"might be: m: TIMESTAMP with value.json.timeZone: each text is one, and some have no zone",
				"might be: e: DATE, but for 1 text without a character (first in #1)"}},
		{"days that do not exist", []string{`{"d":"2026-02-30","z":"2026-01-02T25:00:00Z"}`}, []string{"d STRING, z STRING"}},
		{"epochs", []string{`{"s":1767323045,"m":1767323045678,"u":1767323045678000,"n":1767323045678000000,"f":1767323045.5,"x":1767323045,"q":"1767323045"}`, `{"x":7}`},
			[]string{"s BIGINT, m BIGINT, u BIGINT, n BIGINT, f DOUBLE, x BIGINT, q STRING",
				"might be: s: TIMESTAMP with value.json.columnFormats.s=epochSeconds: each number is in the range of seconds since 1970",
				"might be: m: TIMESTAMP with value.json.columnFormats.m=epochMillis: each number is in the range of milliseconds since 1970",
				"might be: u: TIMESTAMP with value.json.columnFormats.u=epochMicros: each number is in the range of microseconds since 1970",
				"might be: n: TIMESTAMP with value.json.columnFormats.n=epochNanos: each number is in the range of nanoseconds since 1970",
				"might be: f: TIMESTAMP with value.json.columnFormats.f=epochSeconds: each number is in the range of seconds since 1970",
				"might be: q: BIGINT with value.json.numbersInText=true: each text is an integer"}},
		{"numbers in texts", []string{`{"a":"12.500","b":"007","c":"-1","d":"1e300"}`, `{"a":"0.5","c":"1.5"}`}, []string{"a STRING, b STRING, c STRING, d STRING",
			"might be: a: DECIMAL(18,3) with value.json.numbersInText=true: each text is a number", "might be: c: DECIMAL(18,1) with value.json.numbersInText=true: each text is a number",
			"might be: d: DOUBLE with value.json.numbersInText=true: each text is a number"}},
		{"JSON in texts", []string{`{"a":"{\"b\":1}","c":"[1"}`}, []string{"a STRING, c STRING", "might be: a: JSON within JSON: each text is an array or an object of its own, and stays text"}},
		{"names", []string{`{"":1,"ID":1,"a-b":1,"from":1,"1st":1,"123":1,"ü":1,"x` + "`" + `y":1,"Kafka_Offset":1,"\u001b[2J":1,"o":{"kafka_offset":1,"A":1,"a":1}}`, `{"id":1}`, `{"id":2,"o":{"a":1}}`},
			[]string{"id BIGINT, `a-b` BIGINT, from BIGINT, 1st BIGINT, 123 BIGINT, `ü` BIGINT, `x``y` BIGINT, o STRUCT<kafka_offset: BIGINT, a: BIGINT>",
				"left out: : a field without a name, which a column has", "left out: ID: it differs from id by case only, which is there as often or more: tables match names whatever their case",
				"left out: Kafka_Offset: it is the name of a column about the record", "left out: \x1b[2J: its name has characters that do not show",
				"left out: o.A: it differs from a by case only, which is there as often or more: tables match names whatever their case"}},
		{"names with dots", []string{`{"a.b":1,"a":{"b":true},"l.element":1,"l":[1]}`, `{"a":{"b":1}}`}, []string{"`a.b` BIGINT, `l.element` BIGINT",
			"left out: a.b: another column has the same path, since a name has a dot", "left out: a: none of its fields has a column",
			"left out: l: a column has the path of its elements, since a name has a dot"}},
		{"a map by its names", []string{`{"m":{"2026-01-01":1,"2026-01-02":2},"n":{"1":true},"k":{"1":1,"2":2}}`, `{"m":{"2026-01-03":3.5},"n":{"2":true,"3":null}}`},
			[]string{"m MAP<STRING, DOUBLE>, n MAP<STRING, BOOLEAN>, k STRUCT<1: BIGINT, 2: BIGINT>",
				"might be: m.value: DECIMAL(18,1), which is exact: no number has more than 1 digit behind the point",
				"taken for: m: a MAP, for 3 names in 2 objects; if they are fields, write STRUCT", "taken for: n: a MAP, for 3 names in 2 objects; if they are fields, write STRUCT"}},
		{"a map by how many names", many(30, func(i int) string { return fmt.Sprintf(`{"m":{"k%d":{"a":1},"k%d":{"b":"x"}}}`, i, i+1) }),
			[]string{"m MAP<STRING, STRUCT<a: BIGINT, b: STRING>>", "taken for: m: a MAP, for 31 names in 30 objects; if they are fields, write STRUCT"}},
		{"many fields that all are there", many(3, func(int) string {
			return `{"o":{` + strings.Join(many(25, func(i int) string { return fmt.Sprintf(`"f%02d":%d`, i, i) }), ",") + `}}`
		}), []string{"o STRUCT<" + strings.Join(many(25, func(i int) string { return fmt.Sprintf("f%02d: BIGINT", i) }), ", ") + ">"}},
		{"many names of several kinds", many(30, func(i int) string { return fmt.Sprintf(`{"m":{"1%d":%s}}`, i, []string{"1", "true"}[i%2]) })[:3],
			[]string{"m STRUCT<10: BIGINT, 11: BOOLEAN, 12: BIGINT>"}},
		{"seldom there", many(41, func(i int) string {
			if i == 7 {
				return `{"a":1,"b":1}`
			}
			return `{"a":1}`
		}), []string{"a BIGINT, b BIGINT", "seldom there: b: in 1 of 41 records"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			wantGuess(t, sampled(t, json.Options{}, c.records...).Guess(json.GuessOptions{Reserved: []string{"kafka_offset"}}), c.want...)
		})
	}
}

func TestAGuessHeedsWhatItIsAskedFor(t *testing.T) {
	s := sampled(t, json.Options{}, `{"a":1,"d":"2026-01-02","o":{"x":1,"y":1},"l":[1],"m":"2026-01-02T03:04:05Z"}`, `{"a":2,"d":"2026-01-03","o":{"x":2},"l":[],"m":null}`)
	wantGuess(t, s.Guess(json.GuessOptions{NotNull: true, Plain: true}), "a BIGINT NOT NULL, d STRING NOT NULL, o STRUCT<x: BIGINT NOT NULL, y: BIGINT> NOT NULL, l ARRAY<BIGINT> NOT NULL, m STRING",
		"might be: d: DATE: each of 2 texts is one", "might be: m: TIMESTAMP: the only text is one")
	local := sampled(t, json.Options{}, `{"a":"2026-01-02T03:04:05","b":"2026-01-02T03:04:05Z"}`, `{"b":"2026-01-02T03:04:05"}`)
	wantGuess(t, local.Guess(json.GuessOptions{Zone: true}), "a TIMESTAMP, b TIMESTAMP", "taken for: a: TIMESTAMP: the only text is one", "taken for: b: TIMESTAMP: each of 2 texts is one")
	patterns := sampled(t, json.Options{Timestamps: "yyyyMMddHHmmssX", Dates: "dd.MM.yyyy"}, `{"a":"20260102030405Z","b":"31.12.2026","c":"2026-01-02"}`)
	wantGuess(t, patterns.Guess(json.GuessOptions{}), "a TIMESTAMP, b DATE, c STRING", "taken for: a: TIMESTAMP: the only text is one", "taken for: b: DATE: the only text is one")
	counted := sampled(t, json.Options{Timestamps: "epochMillis"}, `{"a":"2026-01-02T03:04:05Z"}`)
	wantGuess(t, counted.Guess(json.GuessOptions{}), "a STRING")
	if _, err := json.NewSample(json.Options{Timestamps: "yy"}); err == nil || !strings.Contains(err.Error(), "yy") {
		t.Errorf("got %v", err)
	}
}

// A value that is no record leaves no trace, however far it was read.
func TestWhatIsNoRecordIsNotInTheSample(t *testing.T) {
	s := sampled(t, json.Options{MaxDepth: 3}, `{"a":1}`)
	for value, want := range map[string]malformed.Reason{
		``: malformed.Empty, `[1]`: malformed.WrongType, `null`: malformed.WrongType, `"x"`: malformed.WrongType, `{"b":1`: malformed.Syntax, `{"b":1} 2`: malformed.Syntax, "\xef\xbb\xbf{}": malformed.Syntax,
		`{"b":1,"b":2}`: malformed.Duplicate, `{"b":{"c":1,"\u0063":2}}`: malformed.Duplicate, `{"b":[[[]]]}`: malformed.Depth, `{"b":"\ud800"}`: malformed.Encoding, "{\"b\":\"\xff\"}": malformed.Encoding,
		`{"b":01}`: malformed.Syntax, `{"b":NaN}`: malformed.Syntax, `{b:1}`: malformed.Syntax, `{"b" 1}`: malformed.Syntax, `{"b":1 "c":1}`: malformed.Syntax,
	} {
		err := s.Add([]byte(value), "#2")
		var why *malformed.Error
		if !errors.As(err, &why) || why.Reason != want {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
	if s.Records() != 1 {
		t.Errorf("got %d records", s.Records())
	}
	wantGuess(t, s.Guess(json.GuessOptions{}), "a BIGINT")
}

// Whatever names a producer makes up, what is kept of them is bounded.
func TestManyNamesBecomeAMap(t *testing.T) {
	s := sampled(t, json.Options{})
	for record := range 60 {
		var b strings.Builder
		fmt.Fprintf(&b, `{"id":%d,"m":{`, record)
		for name := range 900 {
			fmt.Fprintf(&b, `"n%d_%d":{"x":%d},`, record, name, name)
		}
		if err := s.Add([]byte(b.String()+`"last":{"y":"z"}}}`), "#"); err != nil {
			t.Fatal(err)
		}
	}
	wantGuess(t, s.Guess(json.GuessOptions{}), "id BIGINT, m MAP<STRING, STRUCT<x: BIGINT, y: STRING>>",
		"seldom there: m.value.y: in 60 of 54,060 objects", "taken for: m: a MAP, for 1,000 names or more in 60 objects; if they are fields, write STRUCT")
	wide := `{"n0":1`
	for name := range 1500 {
		wide += fmt.Sprintf(`,"m%d":1`, name)
	}
	wantGuess(t, sampled(t, json.Options{}, wide+"}").Guess(json.GuessOptions{}), "", "left out: : the objects have 1,000 different names or more, or 20,000 places for values inside of each other: no table has so many columns")
	var nested strings.Builder
	for name := range 900 {
		fmt.Fprintf(&nested, `"n%d":%s,`, name, strings.Repeat(`{"a":`, 60)+"1"+strings.Repeat("}", 60))
	}
	var why *malformed.Error
	if err := s.Add([]byte("{"+nested.String()+`"l":`+strings.Repeat("[", 50)+strings.Repeat("]", 50)+"}"), "#"); err != nil && !errors.As(err, &why) {
		t.Fatal(err)
	}
}

// The promise of Guess: whatever the records are, each has a row in the schema that was guessed, once that has been
// written down as DDL and read again.
func TestEveryRecordOfASampleHasARow(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		gen := jsonMaker{rng: rng}
		var records []string
		for range 1 + rng.IntN(12) {
			records = append(records, gen.object(3))
		}
		wantRows(t, rng.IntN(2) == 0, records)
	}
}

func wantRows(t *testing.T, notNull bool, records []string) {
	t.Helper()
	s, err := json.NewSample(json.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var taken []string
	for _, r := range records {
		if s.Add([]byte(r), "#") == nil {
			taken = append(taken, r)
		}
	}
	g := s.Guess(json.GuessOptions{NotNull: notNull})
	if again := s.Guess(json.GuessOptions{NotNull: notNull}); !reflect.DeepEqual(g, again) {
		t.Fatalf("got\n%s\nand then\n%s", told(g), told(again))
	}
	if len(g.Schema) == 0 {
		return
	}
	schema, err := ddl.Parse(ddl.Format(g.Schema))
	if err != nil || !reflect.DeepEqual(schema, g.Schema) {
		t.Fatalf("%v: got %v, want %v", err, schema, g.Schema)
	}
	p, err := json.Compile(schema, json.Options{Formats: g.Formats})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, told(g), strings.Join(taken, "\n"))
	}
	into := columns.Make(schema)
	for _, r := range taken {
		var why *malformed.Error
		if err := p.Append(into, []byte(r)); errors.As(err, &why) && why.Reason != malformed.Size {
			t.Fatalf("%v\n%s\n%s", err, told(g), strings.Join(taken, "\n"))
		}
	}
}

// jsonMaker writes random JSON in which names and kinds come again, so that they clash.
type jsonMaker struct{ rng *rand.Rand }

func (m jsonMaker) object(depth int) string {
	names := []string{"a", "b", "c", "A", "id", "a.b", "élan", "x y", "element", "1", "2026-01-01", "`", "key", "value", "", "l.element"}
	var members []string
	for range m.rng.IntN(7) {
		name := names[m.rng.IntN(len(names))]
		if m.rng.IntN(4) == 0 {
			name = strconv.Itoa(m.rng.IntN(60))
		}
		if member := strconv.Quote(name) + ":"; !slices.ContainsFunc(members, func(s string) bool { return strings.HasPrefix(s, member) }) {
			members = append(members, member+m.value(depth))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (m jsonMaker) value(depth int) string {
	kind := m.rng.IntN(9)
	if depth == 0 {
		kind = m.rng.IntN(7)
	}
	at := time.Unix(m.rng.Int64N(4e9), 0).UTC()
	pick := func(of ...string) string { return of[m.rng.IntN(len(of))] }
	switch kind {
	case 0:
		return "null"
	case 1:
		return pick("true", "false")
	case 2:
		return strconv.Itoa(m.rng.IntN(100))
	case 3:
		return pick("2147483648", "-9223372036854775808", "9223372036854775808", "1e300", "1e400", "0.1", "-0", "1767323045678", "123456789012345678901234567890.5", "9"+strings.Repeat("0", 38))
	case 4:
		return strconv.Quote(at.Format(pick(time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02 15:04:05.000000001", time.TimeOnly)))
	case 5, 6:
		return pick(`"x"`, `""`, `"12.5"`, `"[1]"`, `"\u00e9"`, `"0000-01-01"`, `"0001-01-01T00:00:00+01:00"`, `"9999-12-31T23:59:59-01:00"`)
	case 7:
		return m.object(depth - 1)
	}
	elements := make([]string, m.rng.IntN(4))
	for i := range elements {
		elements[i] = m.value(depth - 1)
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// Any two values are a sample, or are refused.
func FuzzSample(f *testing.F) {
	for i, seed := range seeds {
		f.Add(seed, seeds[(i+7)%len(seeds)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		wantRows(t, len(a)%2 == 0, []string{a, b, `{"a":` + b + `}`, `{"a":` + a + `}`})
	})
}
