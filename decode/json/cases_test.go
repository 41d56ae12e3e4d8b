package json_test

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/json"
)

// reported is a record of a public report, and what becomes of it: a row, or a fault.
type reported struct {
	ddl, record, row string
	fault            fault
}

// The records of reports, as they are there: each becomes the row that its producer meant, or is malformed.
func TestRecordsOfReportsAreReadExactlyOrRefused(t *testing.T) {
	const null = "<nil>(<nil>)"
	for _, c := range []reported{
		// https://github.com/apache/iceberg/issues/18066 and https://github.com/redpanda-data/connect/issues/4365: encoding/json
		// folds case, and the last of the two wins.
		{ddl: "id BIGINT", record: `{"ID":5}`, row: null},
		{ddl: "id BIGINT", record: `{"id":1,"ID":2}`, row: "int64(1)"},
		{ddl: "id BIGINT", record: `{"ID":2,"id":1}`, row: "int64(1)"},

		// https://github.com/golang/go/issues/36225: a decoder of streams leaves what comes after the first document.
		{ddl: "a BIGINT", record: `{"a":1}{"a":2}`, fault: fault{"syntax", "", 7, "more after the object"}},
		{ddl: "a BIGINT", record: `{"a":1} garbage`, fault: fault{"syntax", "", 8, "more after the object"}},
		{ddl: "a BIGINT", record: "{\"a\":1}\n", row: "int64(1)"},

		// The same, of what is no object: null must not become a row of zeros.
		{ddl: "a BIGINT", record: "", fault: fault{"empty", "", 0, "no bytes"}},
		{ddl: "a BIGINT", record: `null`, fault: fault{"type", "", 0, "null where an object"}},
		{ddl: "a BIGINT", record: `[]`, fault: fault{"type", "", 0, "an array where an object"}},
		{ddl: "a BIGINT", record: `5`, fault: fault{"type", "", 0, "a number where an object"}},
		{ddl: "a BIGINT", record: `"x"`, fault: fault{"type", "", 0, "a string where an object"}},
		{ddl: "a BIGINT", record: strings.Repeat("[", 10001), fault: fault{"type", "", 0, "an array where an object"}},
		{ddl: "a BIGINT", record: `{"b":` + strings.Repeat("[", 10001), fault: fault{"depth", "", 104, "deeper than 100"}},

		// https://github.com/parseablehq/parseable/issues/1334, https://github.com/brimdata/super/issues/2523 and
		// https://issues.apache.org/jira/browse/SPARK-49451: a name that comes twice, also once it is unescaped, and inside.
		{ddl: "a BIGINT", record: `{"a":1,"a":2}`, fault: fault{"duplicate", "a", 7, "comes twice"}},
		{ddl: "a BIGINT", record: `{"a":1,"\u0061":2}`, fault: fault{"duplicate", "a", 7, "comes twice"}},
		{ddl: "u STRUCT<x: BIGINT>", record: `{"u":{"x":1,"x":2}}`, fault: fault{"duplicate", "u.x", 12, "comes twice"}},
		{ddl: "u MAP<STRING, BIGINT>", record: `{"u":{"x":1,"x":2}}`, fault: fault{"duplicate", `u["x"]`, 12, "twice"}},

		// https://github.com/valyala/fastjson/issues/15, https://github.com/influxdata/telegraf/issues/7555 and
		// https://github.com/tidwall/gjson/issues/74: through a double, …993 is …992.
		{ddl: "id BIGINT", record: `{"id":9007199254740993}`, row: "int64(9007199254740993)"},
		{ddl: "id BIGINT", record: `{"id":9223372036854775807}`, row: "int64(9223372036854775807)"},
		{ddl: "id BIGINT", record: `{"id":9223372036854775808}`, fault: fault{"overflow", "id", 6, "beyond what long"}},
		{ddl: "id BIGINT", record: `{"id":-9223372036854775808}`, row: "int64(-9223372036854775808)"},
		{ddl: "id BIGINT", record: `{"id":-9223372036854775809}`, fault: fault{"overflow", "id", 6, "beyond what long"}},
		{ddl: "u STRUCT<id: BIGINT>", record: `{"u":{"id":9007199254740993}}`, row: "[int64(9007199254740993),]"},
		{ddl: "l ARRAY<BIGINT>", record: `{"l":[9007199254740993]}`, row: "[int64(9007199254740993),]"},
		{ddl: "m MAP<STRING, BIGINT>", record: `{"m":{"id":9007199254740993}}`, row: `{"id":int64(9007199254740993),}`},
		{ddl: "m MAP<BIGINT, STRING>", record: `{"m":{"9007199254740993":""}}`, row: `{int64(9007199254740993):"",}`},

		// The same: integers that are written otherwise.
		{ddl: "n BIGINT", record: `{"n":1.0}`, row: "int64(1)"},
		{ddl: "n BIGINT", record: `{"n":1e3}`, row: "int64(1000)"},
		{ddl: "n BIGINT", record: `{"n":1.5}`, fault: fault{"lossy", "n", 5, "the column holds integers"}},
		{ddl: "n BIGINT", record: `{"n":"5"}`, fault: fault{"type", "n", 5, "a string where long"}},
		{ddl: "n BIGINT", record: `{"n":null}`, row: null},
		{ddl: "n BIGINT", record: `{"n":-0}`, row: "int64(0)"},
		{ddl: "n BIGINT", record: `{"n":01}`, fault: fault{"syntax", "n", 5, "begins with a zero"}},
		{ddl: "n BIGINT", record: `{"n":+1}`, fault: fault{"syntax", "n", 5, "+ where a value"}},
		{ddl: "n BIGINT", record: `{"n":.5}`, fault: fault{"syntax", "n", 5, ". where a value"}},

		// https://github.com/apache/openwhisk-package-kafka/issues/332: no number becomes an infinity; one that is too small for
		// a double is 0.
		{ddl: "x DOUBLE", record: `{"x":1e400}`, fault: fault{"overflow", "x", 5, "beyond what double"}},
		{ddl: "x DOUBLE", record: `{"x":-1e400}`, fault: fault{"overflow", "x", 5, "beyond what double"}},
		{ddl: "x DOUBLE", record: `{"x":1e-400}`, row: "float64(0)"},
		{ddl: "x DOUBLE", record: `{"x":NaN}`, fault: fault{"syntax", "x", 5, "neither NaN nor Infinity"}},

		// https://github.com/databricks/iceberg-kafka-connect/issues/170: null, or nothing, where something is required.
		{ddl: "id BIGINT NOT NULL", record: `{"id":null}`, fault: fault{"null", "id", 6, "required"}},
		{ddl: "id BIGINT NOT NULL", record: `{}`, fault: fault{"missing", "id", 1, "required"}},
		{ddl: "id BIGINT NOT NULL", record: `{"id":1}`, row: "int64(1)"},

		// https://github.com/apache/iceberg/issues/17652: JSON has no defaults, and neither null nor nothing becomes one.
		{ddl: "n BIGINT", record: `{"n":null}`, row: null},
		{ddl: "n BIGINT", record: `{}`, row: null},

		// https://github.com/duckdb/duckdb/issues/1932: text that is not UTF-8 is not mended to U+FFFD.
		{ddl: "k STRING", record: unhex("7b226b223a2261ff62227d"), fault: fault{"encoding", "k", 7, "not UTF-8"}},
		{ddl: "k STRING", record: "{\"k\":\"\xed\xa0\x80\"}", fault: fault{"encoding", "k", 6, "not UTF-8"}},

		// https://github.com/questdb/questdb/issues/7191: half of a surrogate pair is no text, and a pair is one character.
		{ddl: "k STRING", record: `{"k":"\ud800x"}`, fault: fault{"encoding", "k", 6, `\ud800 is half`}},
		{ddl: "k STRING", record: `{"k":"\udc4d"}`, fault: fault{"encoding", "k", 6, `\udc4d is half`}},
		{ddl: "k STRING", record: `{"k":"\ud83d\udc4d"}`, row: `"` + unhex("f09f918d") + `"`},
	} {
		p := mustCompile(t, c.ddl, json.Options{})
		if c.fault.reason != "" {
			wantFault(t, p, c.record, c.fault)
		} else {
			wantRow(t, p, c.record, c.row)
		}
	}
}

func unhex(digits string) string {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// https://github.com/questdb/questdb/issues/7191 again: the bytes of a text are those of the record, NUL among them, and é stays
// composed or not as it came.
func TestTextsThatLookAlikeStayApart(t *testing.T) {
	p := mustCompile(t, "k STRING", json.Options{})
	for record, want := range map[string]string{
		`{"k":"a\u0000b"}`: "610062", `{"k":"` + unhex("636166c3a9") + `"}`: "636166c3a9", `{"k":"` + unhex("63616665cc81") + `"}`: "63616665cc81",
		`{"k":"caf\u00e9"}`: "636166c3a9", `{"k":"cafe\u0301"}`: "63616665cc81", `{"k":"\ud83d\udc4d"}`: "f09f918d",
	} {
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, []byte(record)); err != nil {
			t.Errorf("%s: %v", record, err)
		} else if got := hex.EncodeToString(dst[0].Bytes(0)); got != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
}

// https://github.com/valyala/fastjson/issues/15 once more: also where a value is kept as JSON.
func TestIntegersInsideOfKeptJSONAreExact(t *testing.T) {
	p := mustCompile(t, "a STRING", json.Options{Formats: map[string]string{"a": "json"}})
	wantRow(t, p, `{"a":{"id":9007199254740993}}`, `"{\"id\":9007199254740993}"`)
}

// https://issues.apache.org/jira/browse/KAFKA-17792 and https://github.com/FasterXML/jackson-databind/issues/2141: a few bytes
// that stand for a number of a million digits cost what few bytes cost.
func TestAGiganticExponentIsRefusedInLittleMemory(t *testing.T) {
	p := mustCompile(t, "d DECIMAL(38,2), l BIGINT, x DOUBLE", json.Options{})
	wantFault(t, p, `{"d":1e1000000}`, fault{"overflow", "d", 5, "1e1000000 is beyond what decimal(38,2)"})
	dst := columns.Make(p.Schema())
	for _, record := range []string{`{"d":1e1000000}`, `{"d":-1e1000000}`, `{"l":1e1000000}`, `{"x":1e1000000}`, `{"d":1e-1000000}`, `{"d":1e99999999999999999999}`} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := p.Append(dst, []byte(record))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 64<<10 {
			t.Errorf("%s: got %v, and %d bytes allocated", record, err, took)
		}
	}
}

// https://github.com/apache/iceberg/issues/15838: what is written as RFC 3339 has it, or as SQL has it, is a timestamp, and
// nothing else; the offsets are whole.
func TestTimestampsOfOtherFormsAreRefused(t *testing.T) {
	p := mustCompile(t, "p TIMESTAMP", json.Options{})
	wantRow(t, p, `{"p":"2026-01-02T03:04:05.678901+00:00"}`, micros(1767323045678901))
	wantRow(t, p, `{"p":"2026-01-02t03:04:05.678901z"}`, micros(1767323045678901))
	for _, text := range []string{"2026-01-02T03:04:05.678901+0000", "2026-01-02T03:04:05.678901+00", "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z",
		"2026-01-02T03:04:05,678Z", "2026-1-2T03:04:05Z", "2026-01-02T03:04:05.Z", " 2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z ", "20260102T030405Z", "1767323045"} {
		wantFault(t, p, `{"p":"`+text+`"}`, fault{"format", "p", 5, "a timestamp such as"})
	}
}

// https://github.com/databricks/iceberg-kafka-connect/issues/309: microseconds are kept, and what is finer is refused or cut as
// the job says.
func TestMicrosecondsAreKept(t *testing.T) {
	p, cut := mustCompile(t, "p TIMESTAMP", json.Options{}), mustCompile(t, "p TIMESTAMP", json.Options{CutFractions: true})
	for _, each := range []*json.Parser{p, cut} {
		wantRow(t, each, `{"p":"2026-01-02T03:04:05.678901Z"}`, micros(1767323045678901))
		wantRow(t, each, `{"p":"1969-12-31T23:59:59.999999Z"}`, micros(-1))
	}
	wantFault(t, p, `{"p":"2026-01-02T03:04:05.678901999Z"}`, fault{"lossy", "p", 5, "microseconds"})
	wantRow(t, cut, `{"p":"2026-01-02T03:04:05.678901999Z"}`, micros(1767323045678901))
}

// https://github.com/apache/iceberg/issues/13876: a time with an offset is its moment in UTC, on the day before, or is refused
// where the column holds local times.
func TestATimeWithAnOffsetIsAMoment(t *testing.T) {
	wantRow(t, mustCompile(t, "p TIMESTAMP", json.Options{}), `{"p":"2026-05-01T08:30:00+09:00"}`, micros(20573*86400e6+(23*60+30)*60e6))
	wantFault(t, mustCompile(t, "n TIMESTAMP_NTZ", json.Options{}), `{"n":"2026-05-01T08:30:00+09:00"}`, fault{"zone", "n", 5, "the column holds local times"})
}
