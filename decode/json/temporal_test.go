package json_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones, also on a machine without them

	"sluice/columns"
	"sluice/decode/json"
)

// utc is a moment in microseconds, as time.Parse has it.
func utc(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

func micros(v int64) string { return fmt.Sprintf("int64(%d)", v) }

func TestTimestampsAreExactInEveryZone(t *testing.T) {
	before := time.Local
	defer func() { time.Local = before }()
	for _, local := range []string{"UTC", "Asia/Tokyo", "America/New_York"} { // https://github.com/apache/iceberg/issues/13876
		time.Local = location(t, local)
		p := mustCompile(t, "p TIMESTAMP", json.Options{})
		for text, want := range map[string]int64{
			"2026-01-02T03:04:05.678901+00:00": 1767323045678901, // https://github.com/apache/iceberg/issues/15838
			"2026-05-01T08:30:00+09:00":        utc(t, "2026-04-30T23:30:00Z"),
			"2026-05-01T08:30:00":              utc(t, "2026-05-01T08:30:00Z"),
			"2026-05-01 08:30:00.5-00:30":      utc(t, "2026-05-01T09:00:00.5Z"),
			"1969-12-31T23:59:59.999999Z":      -1,
			"0001-01-01T00:00:00Z":             utc(t, "0001-01-01T00:00:00Z"),
			"9999-12-31T23:59:59.999999Z":      utc(t, "9999-12-31T23:59:59.999999Z"),
			"2400-02-29T00:00:00.000000000z":   13574563200000000,
			"1582-10-10t00:00:00Z":             utc(t, "1582-10-10T00:00:00Z"), // the calendar is Gregorian throughout
		} {
			wantRow(t, p, `{"p":"`+text+`"}`, micros(want))
		}
	}
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// https://github.com/apache/iceberg/issues/13876: an hour that a zone has twice, or not at all, must not be guessed.
func TestLocalTimesAreInTheZone(t *testing.T) {
	p := mustCompile(t, "p TIMESTAMP", json.Options{Zone: location(t, "Europe/Berlin")})
	for text, want := range map[string]string{
		"2026-01-15T12:00:00": "2026-01-15T11:00:00Z", "2026-07-15T12:00:00": "2026-07-15T10:00:00Z", "2026-03-29T01:59:59.999999": "2026-03-29T00:59:59.999999Z",
		"2026-03-29T03:00:00": "2026-03-29T01:00:00Z", "2026-10-25T01:59:59": "2026-10-24T23:59:59Z", "2026-10-25T03:00:00": "2026-10-25T02:00:00Z",
		"2026-10-25T02:30:00+02:00": "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z": "2026-10-25T02:30:00Z",
	} {
		wantRow(t, p, `{"p":"`+text+`"}`, micros(utc(t, want)))
	}
	wantFault(t, p, `{"p":"2026-10-25T02:30:00"}`, fault{"zone", "p", 5, "a time that Europe/Berlin has twice"})
	wantFault(t, p, `{"p":"2026-03-29T02:30:00"}`, fault{"zone", "p", 5, "a time that Europe/Berlin has not"})
}

// Wherever time.Date and the zone agree that a local time is there once, so do we, and else it is refused.
func TestEveryHourOfAYearInManyZones(t *testing.T) {
	for _, name := range []string{"America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Asia/Kolkata"} {
		zone := location(t, name)
		p := mustCompile(t, "p TIMESTAMP", json.Options{Zone: zone})
		dst := columns.Make(p.Schema())
		for at := time.Date(2011, 12, 1, 0, 15, 0, 0, time.UTC); at.Year() < 2013; at = at.Add(30 * time.Minute) {
			count := 0
			for offset := -15 * 3600; offset <= 15*3600; offset += 900 {
				if _, there := at.Add(-time.Duration(offset) * time.Second).In(zone).Zone(); there == offset {
					count++
				}
			}
			dst[0].Reset()
			err := p.Append(dst, []byte(`{"p":"`+at.Format("2006-01-02T15:04:05")+`"}`))
			if (err == nil) != (count == 1) {
				t.Fatalf("%s in %s: there %d times, got %v", at.Format("2006-01-02T15:04:05"), name, count, err)
			}
			if err == nil && time.UnixMicro(dst[0].Int64s[0]).In(zone).Format("2006-01-02T15:04:05") != at.Format("2006-01-02T15:04:05") {
				t.Fatalf("%s in %s: got %d", at, name, dst[0].Int64s[0])
			}
		}
	}
}

func TestFractionsCanBeCut(t *testing.T) {
	p := mustCompile(t, "p TIMESTAMP, t TIME, n TIMESTAMP", json.Options{CutFractions: true, Formats: map[string]string{"n": "epochNanos"}})
	wantRow(t, p, `{"p":"2026-01-02T03:04:05.678901999Z","t":"00:00:00.0000019","n":1767323045678901999}`, "int64(1767323045678901),int64(1),int64(1767323045678901)")
	wantRow(t, mustCompile(t, "s TIMESTAMP, m TIMESTAMP", json.Options{CutFractions: true, Timestamps: "epochSeconds"}),
		`{"s":99999999999.`+strings.Repeat("9", 40)+`,"m":-1.000001`+strings.Repeat("0", 40)+`1}`, "int64(99999999999999999),int64(-1000002)")
	wantRow(t, p, `{"p":"1969-12-31T23:59:59.9999999Z","t":"00:00:00","n":-1}`, "int64(-1),int64(0),int64(-1)")
}

// https://github.com/databricks/iceberg-kafka-connect/issues/309, https://github.com/confluentinc/kafka-connect-storage-common/issues/121
func TestEpochsCountInTheirUnit(t *testing.T) {
	p := mustCompile(t, "s TIMESTAMP, m TIMESTAMP, u TIMESTAMP_NTZ, n TIMESTAMP, d DATE", json.Options{Formats: map[string]string{
		"s": "epochSeconds", "m": "epochMillis", "u": "epochMicros", "n": "epochNanos", "d": "epochDays"}})
	wantRow(t, p, `{"s":1767323045,"m":1767323045678,"u":1767323045678901,"n":1767323045678901000,"d":20455}`,
		"int64(1767323045000000),int64(1767323045678000),int64(1767323045678901),int64(1767323045678901),int32(20455)")
	wantRow(t, p, `{"s":1767323045.678901,"m":-0.001,"u":-1,"n":-1e3,"d":-1.0}`, "int64(1767323045678901),int64(-1),int64(-1),int64(-1),int32(-1)")
	wantRow(t, p, `{"m":1767323045}`, "<nil>(<nil>),int64(1767323045000),<nil>(<nil>),<nil>(<nil>),<nil>(<nil>)") // 1970-01-21: the unit is not guessed
	wantFault(t, p, `{"s":1767323045678}`, fault{"overflow", "s", 5, "1767323045678 seconds are not within the years 1 to 9999"})
	wantFault(t, p, `{"m":1e30}`, fault{"overflow", "m", 5, "milliseconds"})
	wantFault(t, p, `{"n":1}`, fault{"lossy", "n", 5, "microseconds"})
	wantFault(t, p, `{"d":1.5}`, fault{"lossy", "d", 5, "whole days"})
	wantFault(t, p, `{"d":1767323045}`, fault{"overflow", "d", 5, "days are not within"})
	wantFault(t, p, `{"s":"1767323045"}`, fault{"type", "s", 5, "a string"})
	wantFault(t, p, `{"s":"2026-01-02T03:04:05Z"}`, fault{"type", "s", 5, "a string"})
}

func TestNumbersInText(t *testing.T) {
	p := mustCompile(t, "i INT, d DECIMAL(9,2), f DOUBLE, s TIMESTAMP, b BOOLEAN", json.Options{NumbersInText: true, Timestamps: "epochSeconds"})
	wantRow(t, p, `{"i":"-5","d":"1\u002e50","f":"1e3","s":"1","b":true}`, "int32(-5),d150,float64(1000),int64(1000000),bool(true)")
	for _, text := range []string{"", " 5", "5 ", "+5", "05", "0x5", "5.", "NaN", "1_0", "-"} {
		wantFault(t, p, `{"i":"`+text+`"}`, fault{"format", "i", 5, "no JSON number"})
	}
	wantFault(t, p, `{"i":"5.5"}`, fault{"lossy", "i", 5, ""})
	wantFault(t, p, `{"b":"true"}`, fault{"type", "b", 5, ""})
}

func TestTheTextOfAnyValueCanBeKept(t *testing.T) {
	p := mustCompile(t, "a STRING, m MAP<STRING, STRING>, s STRING", json.Options{Formats: map[string]string{"a": "json", "m.value": "json"}})
	wantRow(t, p, `{"a": {"id":9007199254740993, "b":[1,"\u0061"]} ,"m":{"x":[],"y":"s","z":null},"s":"s"}`,
		`"{\"id\":9007199254740993, \"b\":[1,\"\\u0061\"]}",{"x":"[]","y":"\"s\"","z":<nil>(<nil>),},"s"`)
	wantRow(t, p, `{"a":null}`, "<nil>(<nil>),<nil>(<nil>),<nil>(<nil>)")
	wantFault(t, p, `{"a":{"b":01}}`, fault{"syntax", "a", 10, "zero"})
	wantFault(t, p, `{"a":nil}`, fault{"syntax", "a", 5, "a value"})
}

func TestPatternsReadWhatSparkWrites(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		{"yyyy-MM-dd HH:mm:ss.SSS", "2026-01-02 03:04:05.678", "2026-01-02T03:04:05.678Z"},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2026-01-02 03:04:05.6", "2026-01-02T03:04:05.6Z"},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2026-01-02 03:04:05.6789", ""},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2026-01-02 03:04:05.", ""},
		{"yyyy-MM-dd HH:mm:ss.SSS", "2026-01-02 03:04:05.678 ", ""},
		{"yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS][XXX]", "2026-01-02T03:04:05.678901000+01:00", "2026-01-02T02:04:05.678901Z"},
		{"yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2026-01-02T03:04:05", "2026-01-02T03:04:05Z"},
		{"yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
		{"yyyy-MM-dd[ HH[:mm[:ss]]]", "2026-01-02", "2026-01-02T00:00:00Z"},
		{"yyyy-MM-dd[ HH[:mm[:ss]]]", "2026-01-02 03:04", "2026-01-02T03:04:00Z"},
		{"yyyy-MM-dd[ HH[:mm[:ss]]]", "2026-01-02 03:", ""},
		{"yyyy-MM-dd[ HH:mm]' 07'", "2026-01-02 07", "2026-01-02T00:00:00Z"},
		{"uuuuMMddHHmmss", "20260102030405", "2026-01-02T03:04:05Z"},
		{"d/M/yyyy H:m:s", "2/1/2026 3:4:5", "2026-01-02T03:04:05Z"},
		{"d/M/yyyy H:m:s", "31/12/2026 23:59:59", "2026-12-31T23:59:59Z"},
		{"d/M/yyyy H:m:s", "32/12/2026 23:59:59", ""},
		{"dd/MMM/yyyy:HH:mm:ss Z", "02/Jan/2026:03:04:05 -0130", "2026-01-02T04:34:05Z"},
		{"dd/MMM/yyyy:HH:mm:ss Z", "02/DEC/2026:03:04:05 +0000", "2026-12-02T03:04:05Z"},
		{"dd/MMM/yyyy:HH:mm:ss Z", "02/Foo/2026:03:04:05 +0000", ""},
		{"dd/MMM/yyyy:HH:mm:ss Z", "02/Jan/2026:03:04:05 Z", ""},
		{"MM/dd/yyyy hh:mm a", "01/02/2026 12:30 AM", "2026-01-02T00:30:00Z"},
		{"MM/dd/yyyy hh:mm a", "01/02/2026 12:30 pm", "2026-01-02T12:30:00Z"},
		{"MM/dd/yyyy h:mm a", "01/02/2026 3:30 PM", "2026-01-02T15:30:00Z"},
		{"MM/dd/yyyy hh:mm a", "01/02/2026 00:30 AM", ""},
		{"MM/dd/yyyy hh:mm a", "01/02/2026 13:30 PM", ""},
		{"MM/dd/yyyy hh:mm a", "01/02/2026 11:30 xx", ""},
		{"yyyy-MM-dd'T'HHX", "2026-01-02T03+02", "2026-01-02T01:00:00Z"},
		{"yyyy-MM-dd'T'HHXX", "2026-01-02T03Z", "2026-01-02T03:00:00Z"},
		{"yyyy-MM-dd'T'HHxxx", "2026-01-02T03Z", ""},
		{"yyyy-MM-dd'T'HHxxx", "2026-01-02T03-00:00", "2026-01-02T03:00:00Z"},
		{"yyyy-MM-dd'T'HHxxx", "2026-01-02T03+24:00", ""},
		{"yyyy-MM-dd 'o''clock'", "2026-01-02 o'clock", "2026-01-02T00:00:00Z"},
		{"yyyy-MM-dd 'o''clock'", "2026-01-02 oclock", ""},
		{"'Q''s' yyyy-MM-dd", "Q's 2026-01-02", "2026-01-02T00:00:00Z"},
		{"yyyy''''MM-dd", "2026'01-02", "2026-01-02T00:00:00Z"},
		{"'''x' yyyy-MM-dd", "'x 2026-01-02", "2026-01-02T00:00:00Z"},
		{"yyyy-MM-dd ' ''x'", "2026-01-02  'x", "2026-01-02T00:00:00Z"},
		{"yyyy''MM-dd", "2026'01-02", "2026-01-02T00:00:00Z"},
		{"yyyy-MM-dd", "2026-02-29", ""},
		{"yyyy-MM-dd", "0000-01-01", ""},
		{"yyyy年MM月dd日", "2026年01月02日", "2026-01-02T00:00:00Z"},
	} {
		p := mustCompile(t, "p TIMESTAMP", json.Options{Timestamps: c.pattern})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, []byte(`{"p":"`+c.text+`"}`))
		if (err == nil) != (c.want != "") {
			t.Errorf("%s as %s: got %v, want %q", c.text, c.pattern, err, c.want)
		} else if err == nil && dst[0].Int64s[0] != utc(t, c.want) {
			t.Errorf("%s as %s: got %s, want %s", c.text, c.pattern, time.UnixMicro(dst[0].Int64s[0]).UTC(), c.want)
		}
	}
}

func TestPatternsThatCannotBeReadAreRefused(t *testing.T) {
	for _, c := range []struct{ columns, format, want string }{
		{"p TIMESTAMP", "yy-MM-dd", `pattern "yy-MM-dd", character 1: yy is not understood`},
		{"p TIMESTAMP", "yyyy-MM-dd VV", "character 12: VV"},
		{"p TIMESTAMP", "yyyy-MM-ddTHH", "character 11: T"},
		{"p TIMESTAMP", "YYYY-MM-dd", "character 1: YYYY"},
		{"p TIMESTAMP", "yyyy-MM-dd SSSSSSSSSS", "SSSSSSSSSS"},
		{"p TIMESTAMP", "yyyy-MM-dd [HH", "not closed"},
		{"p TIMESTAMP", "yyyy-MM-dd HH]", "not opened"},
		{"p TIMESTAMP", "yyyy-MM-dd 'x", "quote is not closed"},
		{"p TIMESTAMP", "yyyy-MM", "has no day"},
		{"p TIMESTAMP", "yyyy[-MM]-dd", "has no month"},
		{"p TIMESTAMP", "HH:mm:ss", "has no year"},
		{"p TIMESTAMP", "yyyy-MM-dd MMM", "the month is there already"},
		{"p TIMESTAMP", "yyyy-MM-dd HH hh a", "the hour is there already"},
		{"p TIMESTAMP", "yyyy-MM-dd hh", "need each other"},
		{"p TIMESTAMP", "yyyy-MM-dd HH a", "need each other"},
		{"p TIMESTAMP", "epochDays", "epochDays is for DATE"},
		{"p TIMESTAMP", "ISO8601", "is not understood"},
		{"p TIMESTAMP_NTZ", "yyyy-MM-dd[XXX]", "holds none"},
		{"p DATE", "epochSeconds", "epochDays"},
		{"p DATE", "yyyy-MM-dd HH", "the hour, which a DATE would lose"},
		{"p DATE", "yyyy-MM", "has no day"},
	} {
		_, err := json.Compile(mustParse(t, c.columns), json.Options{Formats: map[string]string{"p": c.format}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "column p") {
			t.Errorf("%s as %s: got %v, want one that says %q", c.columns, c.format, err, c.want)
		}
	}
}

func TestDatesInPatternsAndByColumn(t *testing.T) {
	o := json.Options{Dates: "dd.MM.yyyy", Timestamps: "yyyyMMdd", Formats: map[string]string{"o.d": "iso", "r.element": "epochDays", "p": "rfc3339"}}
	p := mustCompile(t, "d DATE, o STRUCT<d: DATE>, r ARRAY<DATE>, p TIMESTAMP, q TIMESTAMP_NTZ", o)
	wantRow(t, p, `{"d":"02.01.2026","o":{"d":"2026-01-02"},"r":[20455],"p":"2026-01-02T00:00:00Z","q":"20260102"}`,
		"int32(20455),[int32(20455),],[int32(20455),],int64(1767312000000000),int64(1767312000000000)")
	wantFault(t, p, `{"d":"2026-01-02"}`, fault{"format", "d", 5, `is not written as dd.MM.yyyy`})
}

// What Go formats by a layout, the pattern of the same meaning reads.
func TestPatternsAgreeWithGosLayouts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for pattern, layout := range map[string]string{
		"yyyy-MM-dd HH:mm:ss.SSSSSS": "2006-01-02 15:04:05.000000", "d MMM yyyy hh:mm:ss.SSSSSSSSS a xxx": "2 Jan 2006 03:04:05.000000000 PM -07:00",
		"M/d/yyyy h:m:sa[.SSSSSS]XX": "1/2/2006 3:4:5PM.000000Z0700", "yyyyMMdd'T'HHmmss.SSSSSSZ": "20060102T150405.000000-0700",
	} {
		p := mustCompile(t, "p TIMESTAMP", json.Options{Timestamps: pattern})
		dst := columns.Make(p.Schema())
		for i := range 300 {
			at := time.UnixMicro(rng.Int64N(250e15) - 60e15).In(time.FixedZone("", 900*(rng.IntN(100)-50)))
			if !strings.Contains(layout, "07") {
				at = at.UTC()
			}
			if err := p.Append(dst, []byte(`{"p":"`+at.Format(layout)+`"}`)); err != nil {
				t.Fatalf("%s as %s: %v", at.Format(layout), pattern, err)
			}
			if got := dst[0].Int64s[i]; got != at.UnixMicro() {
				t.Fatalf("%s as %s: got %d, want %d", at.Format(layout), pattern, got, at.UnixMicro())
			}
		}
	}
}

// FuzzPattern: nothing makes a pattern or its reading panic, and what is read is within the years 1 to 9999.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"yyyy-MM-dd[ HH[:mm]]['Z']", "2026-01-02 03"}, {"d/M/uuuuhha.SSSX", "1/2/2026"}, {"''yyyyMMMddss", "'2026jan01"}, {"[[yyyy", "x"}} {
		f.Add(seed[0], seed[1])
	}
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := json.Compile(columns.Schema{{Name: "p", Type: columns.Type{Kind: columns.TimestampTZ}}}, json.Options{Timestamps: pattern})
		if err != nil {
			return
		}
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, fmt.Appendf(nil, `{"p":%q}`, text)); err == nil && dst[0].Valid(0) && (dst[0].Int64s[0] < first || dst[0].Int64s[0] >= last) {
			t.Errorf("%q as %q: got %d", text, pattern, dst[0].Int64s[0])
		}
	})
}
