package protobuf_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/protobuf"
)

// A schema of the job's may be narrower, wider, in another order and have other columns.
func TestColumnsThatTheJobHas(t *testing.T) {
	const text = `message M { int32 a = 1; uint64 b = 2; float c = 3; E d = 4; bytes e = 5; string f = 6; google.protobuf.Timestamp g = 7; google.protobuf.Duration h = 8;
		google.protobuf.StringValue i = 9; N n = 10; oneof o { int32 x = 11; int32 y = 12; } bytes u = 13; } message N { int32 p = 1; int32 q = 2; } enum E { ZERO = 0; ONE = 1; }`
	for _, c := range []struct{ schema, record, becomes string }{
		{"b BIGINT, a BIGINT", "08 05 10 07", "{b: 7, a: 5}"},
		{"a DECIMAL(3,0)", "08 e707", "{a: 999}"},
		{"a DECIMAL(3,0)", "08 e807", "overflow a at 1"},
		{"a DECIMAL(38,0)", "08 ffffffffffffffffff01", "{a: -1}"},
		{"b BIGINT", "10 ffffffffffffffffff01", "overflow b at 1"},
		{"b INT", "10 ffffffff07", "{b: 2147483647}"},
		{"b INT", "10 8080808008", "overflow b at 1"},
		{"b DECIMAL(19,0)", "10 ffffffffffffffffff01", "overflow b at 1"},
		{"b DECIMAL(19,0)", "10 ffff9fcfc8e0c8e38a01", "{b: 9999999999999999999}"},
		{"c DOUBLE", "1d 0000c03f", "{c: 1.5}"},
		{"d INT", "20 07", "{d: 7}"},
		{"d BIGINT NOT NULL", "", "{d: 0}"},
		{"e STRING", "2a 01 'x'", `{e: "x"}`},
		{"e STRING", "2a 01 ff", "encoding e at 2"},
		{"f BINARY", "32 01 'x'", `{f: 0x78}`},
		{"e FIXED(2)", "2a 02 0102", "{e: 0x0102}"},
		{"e FIXED(2)", "2a 03 010203", "format e at 2"},
		{"e FIXED(2)", "", "{e: null}"},
		{"e FIXED(2)", "2a 00", "{e: null}"},
		{"e FIXED(2) NOT NULL", "", "missing e at 0"},
		{"u UUID", "6a 10 f81d4fae7dec11d0a76500a0c91e6bf6", "{u: f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"},
		{"g TIMESTAMP_NTZ", "3a 02 0801", "{g: 1970-01-01T00:00:01.000000}"},
		{"g STRUCT<seconds: BIGINT, nanos: INT>", "3a 04 0801 1005", "{g: {seconds: 1, nanos: 5}}"},
		{"h DECIMAL(12,9)", "42 03 08e707", "{h: 999.000000000}"},
		{"h DECIMAL(12,9)", "42 03 08e807", "overflow h at 5"},
		{"h STRUCT<nanos: INT>", "42 02 0801", "{h: {nanos: 0}}"},
		{"i STRUCT<value: STRING>", "4a 00", `{i: {value: ""}}`},
		{"i STRING NOT NULL", "", "missing i at 0"},
		{"n STRUCT<q: INT, z: STRING>", "52 04 0801 1002", "{n: {q: 2, z: null}}"},
		{"n STRUCT<q: INT NOT NULL> NOT NULL", "", "missing n at 0"},
		{"z DATE, y INT", "60 05", "{z: null, y: 5}"},
		{"y INT", "60 05 58 06", "{y: null}"},
		{"x INT", "60 05 58 06", "{x: 6}"},
	} {
		schema, err := ddl.Parse(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := descriptorOf(t, fileOf(text), "M")
		p, err := protobuf.Compile(m, schema, protobuf.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got := becomes(p, columns.Make(schema), bytesOf(t, c.record)); got != c.becomes {
			t.Errorf("%s: got %s, want %s", c.schema, got, c.becomes)
		}
	}
	for schema, want := range map[string]string{
		"a STRING": "column a is string, which cannot hold what the field is, int32", "a DOUBLE": "column a", "a DECIMAL(9,2)": "decimal(9,2)", "c INT": "column c", "f INT": "column f", "g DATE": "google.protobuf.Timestamp",
		"h BIGINT": "column h", "d BOOLEAN": "enum E", "n STRING": "column n", "n STRUCT<p: STRING>": "column n.p", "zz INT NOT NULL": "column zz is required", "n STRUCT<zz: INT NOT NULL>": "column n.zz is required",
		"a ARRAY<INT>": "column a", "i INT": "column i", "n MAP<STRING, INT>": "column n", "e FLOAT": "column e", "h DECIMAL(20,6)": "column h",
	} {
		columns, err := ddl.Parse(schema)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := descriptorOf(t, fileOf(text), "M")
		if _, err := protobuf.Compile(m, columns, protobuf.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", schema, err, want)
		}
	}
}

// Messages of google/type and confluent/type are values where the column is one.
func TestDatesTimesAndDecimalsOfOthers(t *testing.T) {
	m, _ := descriptorOf(t, `syntax = "proto3"; import "google/type/date.proto"; import "google/type/timeofday.proto"; import "confluent/type/decimal.proto";
		message M { google.type.Date a = 1; google.type.TimeOfDay b = 2; confluent.type.Decimal c = 3; repeated confluent.type.Decimal d = 4; }`, "M")
	for _, c := range []struct{ schema, record, becomes string }{
		{"a DATE", "0a 07 08ea0f 1001 1802", "{a: 2026-01-02}"},
		{"a DATE", "", "{a: null}"},
		{"a DATE", "0a 07 08b10f 100c 181f", "{a: 1969-12-31}"},
		{"a DATE", "0a 07 08ea0f 1002 181d", "format a at 9"},
		{"a DATE", "0a 05 08ea0f 1001", "format a at 7"},
		{"a DATE", "0a 00", "format a at 2"},
		{"a DATE", "0a 08 08904e 10011801 00", "syntax a at 9"},
		{"a DATE", "0a 07 08904e 1001 1801", "format a at 9"},
		{"b TIME", "12 06 0803 1004 1805", "{b: 03:04:05.000000}"},
		{"b TIME", "12 00", "{b: 00:00:00.000000}"},
		{"b TIME", "12 02 0818", "format b at 4"},
		{"b TIME", "12 02 2001", "lossy b at 4"},
		{"b TIME", "12 0b 08ffffffffffffffffff01", "format b at 13"},
		{"c DECIMAL(9,2)", "1a 05 0a01 9c 1802", "{c: -1.00}"},
		{"c DECIMAL(9,2)", "1a 06 0a02 0080 1802", "{c: 1.28}"},
		{"c DECIMAL(9,2)", "1a 07 0a01 05 1001 1800", "{c: 5.00}"},
		{"c DECIMAL(9,2)", "1a 05 0a01 64 1804", "{c: 0.01}"},
		{"c DECIMAL(9,2)", "1a 05 0a01 65 1804", "lossy c at 7"},
		{"c DECIMAL(9,2)", "1a 0e 0a01 05 18fcffffffffffffffff01", "{c: 50000.00}"},
		{"c DECIMAL(9,2)", "1a 0e 0a01 05 18f0ffffffffffffffff01", "overflow c at 16"},
		{"c DECIMAL(9,2)", "1a 0e 0a01 05 1880808080f8ffffffff01", "overflow c at 16"},
		{"c DECIMAL(9,2)", "1a 09 0a01 05 18ffffffff07", "lossy c at 11"},
		{"c DECIMAL(9,2)", "1a 09 0a01 00 18ffffffff07", "{c: 0.00}"},
		{"c DECIMAL(9,2)", "1a 02 1802", "format c at 4"},
		{"c DECIMAL(38,0)", "1a 12 0a10 4b3b4ca85a86c47a098a223fffffffff", "{c: 99999999999999999999999999999999999999}"},
		{"c DECIMAL(38,0)", "1a 12 0a10 4b3b4ca85a86c47a098a224000000000", "overflow c at 20"},
		{"c DECIMAL(38,0)", "1a 12 0a10 b4c4b357a5793b85f675ddc000000001", "{c: -99999999999999999999999999999999999999}"},
		{"c DECIMAL(38,0)", "1a 12 0a10 80000000000000000000000000000000", "overflow c at 20"},
		{"c DECIMAL(38,1)", "1a 12 0a10 4b3b4ca85a86c47a098a223fffffffff", "overflow c at 20"},
		{"c DECIMAL(38,0)", "1a 13 0a11 00ffffffffffffffffffffffffffffffff", "overflow c.value at 3"},
		{"c DECIMAL(38,0)", "1a 13 0a11 ffffffffffffffffffffffffffffffffff", "{c: -1}"},
		{"c DECIMAL(9,2)", "1a 02 0801", "type c.value at 3"},
		{"c STRUCT<value: BINARY, scale: INT>", "1a 05 0a01 05 1802", "{c: {value: 0x05, scale: 2}}"},
		{"d ARRAY<DECIMAL(9,2)>", "22 05 0a01 05 1802 22 03 0a01 06", "{d: [0.05, 6.00]}"},
	} {
		schema, err := ddl.Parse(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		p, err := protobuf.Compile(m, schema, protobuf.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got := becomes(p, columns.Make(schema), bytesOf(t, c.record)); got != c.becomes {
			t.Errorf("%s, %s: got %s, want %s", c.schema, c.record, got, c.becomes)
		}
	}
}

func TestWhatTheColumnsLackIsListed(t *testing.T) {
	const text = `message M { int32 a = 1; string b = 2; N n = 3; repeated N l = 4; map<string, N> m = 5; google.protobuf.Timestamp t = 6; N w = 7; } message N { int32 p = 1; uint64 q = 2; O o = 3; } message O { bool x = 1; bool y = 2; }`
	m, _ := descriptorOf(t, fileOf(text), "M")
	to, err := ddl.Parse("a INT, n STRUCT<p: INT, o: STRUCT<x: BOOLEAN>>, l ARRAY<STRUCT<p: INT, q: DECIMAL(20,0)>>, m MAP<STRING, STRUCT<q: DECIMAL(20,0), o: STRUCT<x: BOOLEAN, y: BOOLEAN>>>, w STRUCT<p: INT, q: DECIMAL(20,0), o: STRUCT<x: BOOLEAN, y: BOOLEAN>>")
	if err != nil {
		t.Fatal(err)
	}
	want, err := ddl.Parse("b STRING, n STRUCT<q: DECIMAL(20,0), o: STRUCT<y: BOOLEAN>>, l ARRAY<STRUCT<o: STRUCT<x: BOOLEAN, y: BOOLEAN>>>, m MAP<STRING, STRUCT<p: INT>>, t TIMESTAMP")
	if err != nil {
		t.Fatal(err)
	}
	p, err := protobuf.Compile(m, to, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Unknown(); fmt.Sprint(got) != fmt.Sprint([]columns.Field(want)) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	if p := mustCompile(t, m, protobuf.Options{}); len(p.Unknown()) != 0 {
		t.Errorf("got %v", p.Unknown())
	}
}
