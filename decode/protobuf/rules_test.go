package protobuf_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/malformed"
	"sluice/decode/protobuf"
	"sluice/lakesink/rowtest"
)

// fileOf makes a file of the fields of a message M, or of a text that has one.
func fileOf(schema string) string {
	if strings.HasPrefix(schema, "syntax") || strings.HasPrefix(schema, "edition") {
		return schema
	}
	if !strings.Contains(schema, "message M ") {
		schema = "message M { " + schema + " }"
	}
	var imports string
	for _, name := range []string{"timestamp", "duration", "wrappers", "struct", "any", "field_mask", "empty"} {
		imports += "import \"google/protobuf/" + name + ".proto\";\n"
	}
	return "syntax = \"proto3\";\n" + imports + schema
}

// bytesOf reads hexadecimal digits, and text in quotes.
func bytesOf(tb testing.TB, text string) []byte {
	tb.Helper()
	var out []byte
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		out = append(out, b...)
	}
	return out
}

// rule is what a record becomes: the row, or the reason, the path and the position of the fault.
type rule struct{ what, schema, record, becomes string }

const proto2 = "syntax = \"proto2\"; "

var rules = []rule{
	{"no bytes are a message", "int32 a = 1; string b = 2; optional int32 c = 3;", "", `{a: 0, b: "", c: null}`},
	{"a byte of nothing", "int32 a = 1;", "00", "syntax at 0"},

	{"int32", "int32 a = 1;", "08 05", "{a: 5}"},
	{"int32, negative, of ten bytes", "int32 a = 1;", "08 ffffffffffffffffff01", "{a: -1}"},
	{"int32, the least and the most", "repeated int32 a = 1;", "0a 0f 80808080f8ffffffff01 ffffffff07", "{a: [-2147483648, 2147483647]}"},
	{"int32 beyond", "int32 a = 1;", "08 8080808008", "overflow a at 1"},
	{"int32 of 32 bits that C++ reads as -1", "int32 a = 1;", "08 ffffffff0f", "overflow a at 1"},
	{"int64", "int64 a = 1;", "08 ffffffffffffffff7f", "{a: 9223372036854775807}"},
	{"int64 beyond what a float holds", "int64 a = 1;", "08 8180808080808010", "{a: 9007199254740993}"},
	{"uint32", "uint32 a = 1;", "08 ffffffff0f", "{a: 4294967295}"},
	{"uint32 beyond", "uint32 a = 1;", "08 8080808010", "overflow a at 1"},
	{"uint64", "uint64 a = 1;", "08 ffffffffffffffffff01", "{a: 18446744073709551615}"},
	{"sint32", "sint32 a = 1;", "08 01", "{a: -1}"},
	{"sint32, the least", "sint32 a = 1;", "08 ffffffff0f", "{a: -2147483648}"},
	{"sint32 beyond", "sint32 a = 1;", "08 8080808010", "overflow a at 1"},
	{"sint64", "sint64 a = 1;", "08 ffffffffffffffffff01", "{a: -9223372036854775808}"},
	{"fixed32", "fixed32 a = 1;", "0d ffffffff", "{a: 4294967295}"},
	{"fixed64", "fixed64 a = 1;", "09 ffffffffffffffff", "{a: 18446744073709551615}"},
	{"sfixed32", "sfixed32 a = 1;", "0d feffffff", "{a: -2}"},
	{"sfixed64", "sfixed64 a = 1;", "09 feffffffffffffff", "{a: -2}"},
	{"float", "float a = 1;", "0d 0000c03f", "{a: 1.5}"},
	{"double", "double a = 1;", "09 9a9999999999b93f", "{a: 0.1}"},
	{"double that is no number", "double a = 1;", "09 000000000000f87f", "{a: NaN}"},
	{"bool", "bool a = 1;", "08 01", "{a: true}"},
	{"bool that is neither", "bool a = 1;", "08 02", "overflow a at 1"},
	{"string", "string a = 1;", "0a 07 'größe'", `{a: "größe"}`},
	{"string, a NUL", "string a = 1;", "0a 01 00", `{a: "\x00"}`},
	{"string that is no UTF-8", "string a = 1;", "0a 03 61 ff 62", "encoding a at 3"},
	{"string that is no UTF-8, in proto2", proto2 + "message M { optional string a = 1; }", "0a 01 ff", "encoding a at 2"},
	{"bytes", "bytes a = 1;", "0a 02 00ff", "{a: 0x00ff}"},
	{"a varint longer than it needs to be", "int32 a = 1;", "08 8580808000", "{a: 5}"},
	{"a tag longer than it needs to be", "int32 a = 1;", "8800 05", "{a: 5}"},

	{"enum", "message M { E a = 1; } enum E { NONE = 0; PAID = 1; SENT = 2; DISPATCHED = 2; option allow_alias = true; }", "08 02", `{a: "SENT"}`},
	{"enum that is absent", "message M { E a = 1; } enum E { NONE = 0; }", "", `{a: "NONE"}`},
	{"enum of a number without name", "message M { E a = 1; } enum E { NONE = 0; }", "08 07", `{a: "7"}`},
	{"enum of a negative number without name", "message M { E a = 1; } enum E { NONE = 0; }", "08 ffffffffffffffffff01", `{a: "-1"}`},
	{"enum of proto2, which is closed", proto2 + "message M { optional E a = 1; } enum E { ONE = 1; }", "08 07", `{a: "7"}`},
	{"enum of a number that is none", "message M { E a = 1; } enum E { NONE = 0; }", "08 8080808010", "overflow a at 1"},

	{"no presence", "int32 a = 1; bool b = 2; bytes c = 3; double d = 4;", "", "{a: 0, b: false, c: 0x, d: 0}"},
	{"presence", "optional int32 a = 1; optional string b = 2;", "12 00", `{a: null, b: ""}`},
	{"presence, in proto2", proto2 + "message M { optional int32 a = 1; }", "", "{a: null}"},
	{"presence, in editions", `edition = "2023"; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; }`, "", "{a: null, b: 0}"},
	{"a default", proto2 + `message M { optional int32 a = 1 [default = -7]; optional string b = 2 [default = "größe"]; optional sint32 c = 3 [default = -3]; }`, "", `{a: -7, b: "größe", c: -3}`},
	{"a default, and a value", proto2 + "message M { optional int32 a = 1 [default = -7]; }", "08 00", "{a: 0}"},
	{"a default of an enum", proto2 + "message M { optional E a = 1 [default = TWO]; optional E b = 2; } enum E { ONE = 1; TWO = 2; }", "", `{a: "TWO", b: null}`},
	{"a default in a oneof", proto2 + "message M { oneof o { int32 a = 1 [default = 5]; int32 b = 2; } }", "10 01", "{a: null, b: 1}"},
	{"required", proto2 + "message M { required int32 a = 1; }", "", "missing a at 0"},
	{"required, in a message that is absent", proto2 + "message M { optional N n = 1; } message N { required int32 a = 1; }", "", "{n: null}"},
	{"required, in a list", proto2 + "message M { repeated N n = 1; } message N { required int32 a = 1; }", "0a 02 0801 0a 00", "missing n[1].a at 6"},

	{"a message", "message M { N n = 1; } message N { int32 a = 1; }", "0a 02 0805", "{n: {a: 5}}"},
	{"a message that is absent", "message M { N n = 1; } message N { int32 a = 1; }", "", "{n: null}"},
	{"a message of no bytes", "message M { N n = 1; } message N { int32 a = 1; }", "0a 00", "{n: {a: 0}}"},
	{"the last counts", "int32 a = 1; string b = 2;", "08 01 12 01 'x' 08 02 12 01 'y'", `{a: 2, b: "y"}`},
	{"messages are merged", "message M { N n = 1; } message N { int32 a = 1; repeated int32 b = 2; N2 n = 3; } message N2 { string x = 1; string y = 2; }",
		"0a 0b 0801 1001 1a05 0a03'one' 0a 0b 0802 1002 1a05 1203'two'", `{n: {a: 2, b: [1, 2], n: {x: "one", y: "two"}}}`},
	{"repeated, one by one", "repeated int32 a = 1;", "08 01 08 02", "{a: [1, 2]}"},
	{"repeated, packed", "repeated int32 a = 1;", "0a 02 0102", "{a: [1, 2]}"},
	{"repeated, both, with others between", "repeated int32 a = 1; int32 b = 2;", "08 01 10 07 0a 02 0203 0a 00 08 04", "{a: [1, 2, 3, 4], b: 7}"},
	{"repeated, packed, of fixed width", "repeated fixed32 a = 1; repeated double b = 2;", "0a 08 01000000 02000000 12 00", "{a: [1, 2], b: []}"},
	{"repeated strings", "repeated string a = 1;", "0a 00 0a 01 'x'", `{a: ["", "x"]}`},
	{"repeated that is absent", "repeated string a = 1; map<string, int32> b = 2;", "", "{a: [], b: {}}"},
	{"packed that ends within a number", "repeated fixed32 a = 1;", "0a 06 01000000 0200", "syntax a[1] at 6"},
	{"packed with a number that is too large", "repeated int32 a = 1;", "0a 07 01 02 8080808008", "overflow a[2] at 4"},

	{"a map", "map<string, int32> a = 1;", "0a 05 0a01'x' 1005 0a 05 0a01'y' 1006", `{a: {"x": 5, "y": 6}}`},
	{"a map's key twice", "map<string, int32> a = 1;", "0a 05 0a01'x' 1005 0a 05 0a01'y' 1006 0a 05 0a01'x' 1007", `{a: {"y": 6, "x": 7}}`},
	{"a map's message replaces the one before", "message M { map<int32, N> a = 1; } message N { int32 x = 1; repeated string y = 2; }",
		"0a 09 0801 1205 0805 1201'a' 0a 06 0801 1202 1200", `{a: {1: {x: 0, y: [""]}}}`},
	{"a map's entry without key, without value", "map<string, int32> a = 1;", "0a 02 1005 0a 03 0a01'x'", `{a: {"": 5, "x": 0}}`},
	{"a map's entry without message", "message M { map<int32, N> a = 1; } message N { int32 x = 1; optional int32 y = 2; }", "0a 02 0801", "{a: {1: {x: 0, y: null}}}"},
	{"a map's entry with the value first, and more", "map<string, int32> a = 1;", "0a 0b 1001 0a01'x' 1002 3a02 6161", `{a: {"x": 2}}`},
	{"a map of bools", "map<bool, string> a = 1;", "0a 04 0801 1200 0a 02 1200", `{a: {true: "", false: ""}}`},
	{"a map of large numbers", "map<uint64, bytes> a = 1;", "0a 0e 08ffffffffffffffffff01 1201 00", "{a: {18446744073709551615: 0x00}}"},

	{"oneof", "oneof o { int32 a = 1; string b = 2; }", "12 01 'x'", `{a: null, b: "x"}`},
	{"oneof, the zero", "oneof o { int32 a = 1; string b = 2; }", "08 00", `{a: 0, b: null}`},
	{"oneof, one after the other", "oneof o { int32 a = 1; string b = 2; }", "08 05 12 01 'x'", `{a: null, b: "x"}`},
	{"oneof, back again", "oneof o { int32 a = 1; string b = 2; }", "08 05 12 01 'x' 08 06", `{a: 6, b: null}`},
	{"oneof, a message is merged", "message M { oneof o { N a = 1; int32 b = 2; } } message N { int32 x = 1; int32 y = 2; }", "0a 02 0801 0a 02 1002", "{a: {x: 1, y: 2}, b: null}"},
	{"oneof, a message that was cleared is not", "message M { oneof o { N a = 1; int32 b = 2; } } message N { int32 x = 1; int32 y = 2; }", "0a 02 0801 10 05 0a 02 1002", "{a: {x: 0, y: 2}, b: null}"},
	{"oneof, a message and then another member", "message M { oneof o { N a = 1; int32 b = 2; } } message N { int32 x = 1; N2 n = 3; } message N2 { int32 y = 1; }", "0a 06 0801 1a02 0805 10 05", "{a: null, b: 5}"},
	{"oneof, a message inside of one that was cleared is gone", "message M { oneof o { N a = 1; int32 b = 2; } } message N { int32 x = 1; N2 n = 3; } message N2 { int32 y = 1; }", "0a 06 0801 1a02 0805 10 05 0a 00", "{a: {x: 0, n: null}, b: null}"},
	{"oneof, what is no document in a message that was cleared", "message M { oneof o { N a = 1; int32 b = 2; } } message N { google.protobuf.Struct s = 1; }", "0a 04 0a02 0a05 10 01", "syntax a.s at 5"},
	{"oneof, none", "oneof o { int32 a = 1; string b = 2; }", "", "{a: null, b: null}"},

	{"a group", proto2 + "message M { optional group G = 1 { optional int32 a = 1; } optional int32 b = 2; }", "0b 0805 0c 10 01", "{g: {a: 5}, b: 1}"},
	{"a group twice", proto2 + "message M { repeated group G = 1 { optional int32 a = 1; } }", "0b 0805 0c 0b 0c", "{g: [{a: 5}, {a: null}]}"},
	{"a group that does not end", proto2 + "message M { optional group G = 1 { optional int32 a = 1; } }", "0b 0805", "syntax g at 3"},
	{"a group that another ends", proto2 + "message M { optional group G = 1 { optional int32 a = 1; } }", "0b 0805 14", "syntax g at 3"},
	{"an end without a group", "int32 a = 1;", "08 01 0c", "syntax at 2"},
	{"a message as a group, in editions", `edition = "2023"; message M { N n = 1 [features.message_encoding = DELIMITED]; } message N { int32 a = 1; }`, "0b 0805 0c", "{n: {a: 5}}"},
	{"a message with length where a group should be", `edition = "2023"; message M { N n = 1 [features.message_encoding = DELIMITED]; } message N { int32 a = 1; }`, "0a 02 0805", "type n at 1"},

	{"unknown fields of all wire types", "int32 a = 1;", "10 01 19 0000000000000000 22 01 ff 2d 00000000 33 10 01 34 08 07", "{a: 7}"},
	{"an unknown group in a group", "int32 a = 1;", "33 3b 08 07 3c 34 08 07", "{a: 7}"},
	{"an unknown group that does not end", "int32 a = 1;", "33 08 07", "syntax 6 at 3"},
	{"unknown groups that end crosswise", "int32 a = 1;", "33 3b 34 3c", "syntax 6 at 2"},
	{"an unknown field within a struct", "message M { N n = 1; } message N { int32 a = 1; }", "0a 04 0805 1001", "{n: {a: 5}}"},
	{"the largest number", "int32 a = 1; string b = 536870911;", "fa ff ff ff 0f 01 'x'", `{a: 0, b: "x"}`},
	{"a number beyond the largest", "int32 a = 1;", "80 80 80 80 10 01", "syntax at 0"},
	{"field number 0", "int32 a = 1;", "08 01 00 01", "syntax at 2"},
	{"wire type 6", "int32 a = 1;", "0e 01", "syntax a at 1"},
	{"wire type 7 of an unknown field", "int32 a = 1;", "17 01", "syntax 2 at 1"},
	{"another wire type", "int32 a = 1;", "0d 01000000", "type a at 1"},
	{"another wire type, of a string", "string a = 1;", "08 01", "type a at 1"},
	{"another wire type, in a list", "repeated string a = 1;", "08 01", "type a at 1"},
	{"packed where nothing can be", "int32 a = 1;", "0a 01 01", "type a at 1"},
	{"a varint that does not end", "int32 a = 1;", "08 ff", "syntax a at 1"},
	{"a tag that does not end", "int32 a = 1;", "08 01 ff", "syntax at 2"},
	{"a varint of 65 bits", "int64 a = 1;", "08 ffffffffffffffffff02", "syntax a at 1"},
	{"a varint of eleven bytes", "int64 a = 1;", "08 8080808080808080808000", "syntax a at 1"},
	{"a length beyond the end", "string a = 1;", "0a 05 'abc'", "syntax a at 1"},
	{"a length of 2^63", "string a = 1;", "0a 80808080808080808001", "syntax a at 1"},
	{"a length beyond the message around it", "message M { N n = 1; string z = 2; } message N { string a = 1; }", "0a 03 0a05'a' 12 03 'abc'", "syntax n.a at 3"},
	{"a fixed64 beyond the message around it", "message M { N n = 1; fixed64 z = 2; } message N { fixed64 a = 1; }", "0a 03 09 0000 11 0000000000000000", "syntax n.a at 3"},
	{"nothing behind a tag", "string a = 1;", "0a", "syntax a at 1"},
	{"text of JSON", "string a = 1; int32 b = 2;", "'{\"a\":1}'", "syntax 15 at 2"},

	{"Timestamp", "google.protobuf.Timestamp a = 1;", "0a 0b 08a5ebdcca06 10959aef3a", "lossy a at 13"},
	{"Timestamp of microseconds", "google.protobuf.Timestamp a = 1;", "0a 0b 08a5ebdcca06 1080ade204", "{a: 2026-01-02T03:04:05.010000Z}"},
	{"Timestamp of no bytes", "google.protobuf.Timestamp a = 1;", "0a 00", "{a: 1970-01-01T00:00:00.000000Z}"},
	{"Timestamp that is absent", "google.protobuf.Timestamp a = 1;", "", "{a: null}"},
	{"Timestamp in parts", "google.protobuf.Timestamp a = 1;", "0a 06 08a5ebdcca06 0a 03 10e807", "{a: 2026-01-02T03:04:05.000001Z}"},
	{"Timestamp before the epoch", "google.protobuf.Timestamp a = 1;", "0a 11 08ffffffffffffffffff01 108094ebdc03", "format a at 19"},
	{"Timestamp of half a second before the epoch", "google.protobuf.Timestamp a = 1;", "0a 11 08ffffffffffffffffff01 1080cab5ee01", "{a: 1969-12-31T23:59:59.500000Z}"},
	{"Timestamp of negative nanos", "google.protobuf.Timestamp a = 1;", "0a 0b 10 98f8ffffffffffffff01", "format a at 13"},
	{"Timestamp of milliseconds where seconds are", "google.protobuf.Timestamp a = 1;", "0a 07 08ae9ea6e5b733", "overflow a at 9"},
	{"Timestamps in a list", "repeated google.protobuf.Timestamp a = 1;", "0a 02 0801 0a 00", "{a: [1970-01-01T00:00:01.000000Z, 1970-01-01T00:00:00.000000Z]}"},
	{"Duration", "google.protobuf.Duration a = 1;", "0a 04 0801 1001", "{a: 1.000000001}"},
	{"Duration, negative", "google.protobuf.Duration a = 1;", "0a 0b 10 ffffffffffffffffff01", "{a: -0.000000001}"},
	{"Duration, the longest", "google.protobuf.Duration a = 1;", "0a 0d 0880bcaece9709 10ff93ebdc03", "{a: 315576000000.999999999}"},
	{"Duration beyond", "google.protobuf.Duration a = 1;", "0a 07 0881bcaece9709", "overflow a at 9"},
	{"Duration of two signs", "google.protobuf.Duration a = 1;", "0a 0d 0801 10 ffffffffffffffffff01", "format a at 15"},
	{"Duration of two signs, negative", "google.protobuf.Duration a = 1;", "0a 0d 08 ffffffffffffffffff01 1001", "format a at 15"},
	{"wrappers", "google.protobuf.Int32Value a = 1; google.protobuf.StringValue b = 2; google.protobuf.BoolValue c = 3;", "0a 02 0805 1a 00", "{a: 5, b: null, c: false}"},
	{"wrappers in parts", "google.protobuf.Int32Value a = 1;", "0a 02 0805 0a 00", "{a: 5}"},
	{"wrappers in a list", "repeated google.protobuf.UInt64Value a = 1;", "0a 00 0a 02 0805", "{a: [0, 5]}"},
	{"wrappers in a map", "map<int32, google.protobuf.StringValue> a = 1;", "0a 02 0801 0a 07 0802 1203 0a01'x'", `{a: {1: "", 2: "x"}}`},
	{"a wrapper of another wire type", "google.protobuf.Int32Value a = 1;", "0a 02 0a00", "type a.value at 3"},
	{"Empty", "google.protobuf.Empty a = 1; google.protobuf.Empty b = 2;", "0a 00", "{a: true, b: null}"},
	{"a message without fields, with some", "message M { N a = 1; } message N {}", "0a 02 0801", "{a: true}"},
	{"Any", "google.protobuf.Any a = 1;", "0a 07 0a02'tu' 1201 00", `{a: {type_url: "tu", value: 0x00}}`},
	{"FieldMask", "google.protobuf.FieldMask a = 1;", "0a 06 0a01'x' 0a01'y'", `{a: {paths: ["x", "y"]}}`},
	{"Struct", "google.protobuf.Struct a = 1;", "0a 19 0a09 0a01'b' 1204 1a02'\"\n' 0a0c 0a01'a' 1207 3205 0a03 1a01'x'", `{a: "{\"a\":[\"x\"],\"b\":\"\\\"\\n\"}"}`},
	{"Struct of no bytes", "google.protobuf.Struct a = 1;", "0a 00", `{a: "{}"}`},
	{"Struct, a key twice", "google.protobuf.Struct a = 1;", "0a 12 0a07 0a01'k' 1202 2001 0a07 0a01'k' 1202 2000", `{a: "{\"k\":false}"}`},
	{"Value", "google.protobuf.Value a = 1;", "0a 09 11 000000000000f83f", `{a: "1.5"}`},
	{"Value, what JSON escapes", "google.protobuf.Value a = 1;", "0a 0b 1a09 '\"\\/' 08 09 0a 0c 0d 7f", `{a: "\"\\\"\\\\/\\b\\t\\n\\f\\r\x7f\""}`},
	{"Value, the last counts", "google.protobuf.Value a = 1;", "0a 05 2001 1a01'x'", `{a: "\"x\""}`},
	{"Value that says nothing", "google.protobuf.Value a = 1;", "0a 00", `{a: "null"}`},
	{"Value that is no number of JSON", "google.protobuf.Value a = 1;", "0a 09 11 000000000000f87f", "format a at 3"},
	{"Value of bytes that are no text", "google.protobuf.Value a = 1;", "0a 03 1a01ff", "encoding a at 4"},
	{"Value, a large number", "google.protobuf.Value a = 1;", "0a 09 119202282c2a8b1045", `{a: "5.000000000000002e+24"}`},
	{"ListValue", "google.protobuf.ListValue a = 1;", "0a 06 0a02 0800 0a00", `{a: "[null,null]"}`},
}

func TestEveryRule(t *testing.T) {
	for _, r := range rules {
		m, _ := descriptorOf(t, fileOf(r.schema), "M")
		p := mustCompile(t, m, protobuf.Options{})
		dst := columns.Make(p.Schema())
		if got := becomes(p, dst, bytesOf(t, r.record)); got != r.becomes {
			t.Errorf("%s: got %s, want %s", r.what, got, r.becomes)
		}
	}
}

// becomes is a record as the table above has it.
func becomes(p *protobuf.Parser, dst []columns.Array, record []byte) string {
	err := p.Append(dst, record)
	var bad *malformed.Error
	if errors.As(err, &bad) {
		return strings.Join(strings.Fields(fmt.Sprintf("%s %s at %d", bad.Reason, bad.Path, bad.Position)), " ")
	}
	if err != nil {
		return err.Error()
	}
	return rowtest.ShownRow(p.Schema(), dst, dst[0].Len-1)
}
