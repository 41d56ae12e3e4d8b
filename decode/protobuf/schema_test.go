package protobuf_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/protobuf"
)

func mustParse(tb testing.TB, files map[string]string, main string) *protobuf.File {
	tb.Helper()
	f, err := protobuf.Parse(files, main)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func mustFind(tb testing.TB, f *protobuf.File, name string) *protobuf.Message {
	tb.Helper()
	m, err := f.Message(name)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestColumnsOfEveryType(t *testing.T) {
	const text = `message M {
		bool a = 1; int32 b = 2; sint32 c = 3; sfixed32 d = 4; uint32 e = 5; fixed32 f = 6; int64 g = 7; sint64 h = 8; sfixed64 i = 9; uint64 j = 10; fixed64 k = 11;
		float l = 12; double m = 13; string n = 14; bytes o = 15; E p = 16; N q = 17; repeated N r = 18; map<int32, N> s = 19; Nothing t = 20;
		google.protobuf.Timestamp u = 21; google.protobuf.Duration v = 22; google.protobuf.UInt64Value w = 23; google.protobuf.BytesValue x = 24; google.protobuf.Value y = 25;
		google.protobuf.Any z = 26; google.protobuf.FieldMask aa = 27; google.protobuf.Empty ab = 28; repeated uint32 ac = 29; google.protobuf.DoubleValue ad = 30;
	} message N { optional string a = 1; } enum E { ZERO = 0; } message Nothing {}`
	m, _ := descriptorOf(t, fileOf(text), "M")
	got, err := m.Columns()
	if err != nil {
		t.Fatal(err)
	}
	want, err := ddl.Parse(`a BOOLEAN, b INT, c INT, d INT, e BIGINT, f BIGINT, g BIGINT, h BIGINT, i BIGINT, j DECIMAL(20,0), k DECIMAL(20,0),
		l FLOAT, m DOUBLE, n STRING, o BINARY, p STRING, q STRUCT<a: STRING>, r ARRAY<STRUCT<a: STRING> NOT NULL>, s MAP<INT, STRUCT<a: STRING> NOT NULL>, t BOOLEAN,
		u TIMESTAMP, v DECIMAL(21,9), w DECIMAL(20,0), x BINARY, y STRING, z STRUCT<type_url: STRING, value: BINARY>, aa STRUCT<paths: ARRAY<STRING NOT NULL>>, ab BOOLEAN, ac ARRAY<BIGINT NOT NULL>, ad DOUBLE`)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestCommentsBecomeComments(t *testing.T) {
	m, _ := descriptorOf(t, fileOf("message M {\n// as the shop\n// knows it\nint64 id = 1; // later\nint32 b = 2; N n = 3; } message N {\n/* inside */\nint32 c = 1; }"), "M")
	got, err := m.Columns()
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Doc != "as the shop knows it" || got[1].Doc != "" || got[2].Type.Fields[0].Doc != "inside" {
		t.Errorf("got %+v", got)
	}
}

func TestAMessageThatHoldsItselfIsRefusedUnlessItIsLeftOut(t *testing.T) {
	const text = "message M { string id = 1; Tree tree = 2; } message Tree { int32 value = 1; repeated Tree children = 2; map<string, Tree> named = 3; }"
	m, _ := descriptorOf(t, fileOf(text), "M")
	_, err := m.Columns()
	if err == nil || !strings.Contains(err.Error(), "at tree.children.element") || !strings.Contains(err.Error(), "Tree holds a Tree") {
		t.Errorf("got %v, want the path of the circle", err)
	}
	got, err := m.Columns("tree.children", "tree.named")
	if err != nil || len(got) != 2 || len(got[1].Type.Fields) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := m.Columns("tree"); err != nil {
		t.Errorf("without the tree: %v", err)
	}
	if _, err := m.Columns("tree", "twig"); err == nil || !strings.Contains(err.Error(), "twig") {
		t.Errorf("got %v, want that there is no twig", err)
	}
	p, err := protobuf.Compile(m, got, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := becomes(p, columns.Make(got), bytesOf(t, "0a01'x' 12 06 0805 1202 0807")); r != `{id: "x", tree: {value: 5}}` {
		t.Errorf("got %s", r)
	}
	if len(p.Unknown()) != 0 {
		t.Errorf("what cannot be a column is not new: %v", p.Unknown())
	}
}

func TestMessagesThatMakeNoColumns(t *testing.T) {
	var wide strings.Builder
	for i := range 8 {
		fmt.Fprintf(&wide, "message M%d { ", i)
		for k := range 10 {
			fmt.Fprintf(&wide, "M%d f%d = %d; ", i+1, k, k+1)
		}
		wide.WriteString("} ")
	}
	for text, want := range map[string]string{
		"message M { }":                                 "M has no fields",
		"message M { M m = 1; }":                        "M holds a M inside of itself, at m",
		"message M { N n = 1; } message N { M m = 1; }": "at n.m",
		wide.String() + "message M8 { int32 a = 1; } message M { M0 m = 1; }": "more than 10000 columns",
	} {
		m, _ := descriptorOf(t, fileOf(text), "M")
		if got, err := m.Columns(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestMessagesAreFoundByNameAndByIndexes(t *testing.T) {
	f := mustParse(t, map[string]string{"a.proto": `syntax = "proto3"; package shop;
		message Order { message Item { int32 a = 1; } map<string, Item> items = 1; message Note { message Line { int32 a = 1; } } message Last {} }
		message Customer { int32 a = 1; }`}, "a.proto")
	for name, want := range map[string]string{"shop.Order": "shop.Order", "Order": "shop.Order", "Order.Note.Line": "shop.Order.Note.Line", "shop.Customer": "shop.Customer"} {
		if m, err := f.Message(name); err != nil || m.Name() != want {
			t.Errorf("%s: got %v, %v", name, m, err)
		}
	}
	for _, name := range []string{"", "Orders", "shop.Order.", "Order.ItemsEntry", "shop.shop.Order"} {
		if m, err := f.Message(name); err == nil || !strings.Contains(err.Error(), "shop.Order, shop.Customer") {
			t.Errorf("%s: got %v, %v, want the messages that there are", name, m, err)
		}
	}
	for _, c := range []struct {
		indexes []int
		want    string
	}{{nil, "shop.Order"}, {[]int{0}, "shop.Order"}, {[]int{1}, "shop.Customer"}, {[]int{0, 0}, "shop.Order.Item"}, {[]int{0, 1}, "shop.Order.Note"}, {[]int{0, 1, 0}, "shop.Order.Note.Line"},
		{[]int{0, 2}, "shop.Order.Last"}, {[]int{0, 3}, ""}, {[]int{2}, ""}, {[]int{-1}, ""}, {[]int{1, 0}, ""}} {
		m, err := f.MessageAt(c.indexes)
		if got := ""; (err == nil) != (c.want != "") {
			t.Errorf("%v: got %v, want %q", c.indexes, err, c.want)
		} else if err == nil {
			if got = m.Name(); got != c.want {
				t.Errorf("%v: got %s, want %s", c.indexes, got, c.want)
			}
		}
	}
}

func TestImportsAreFoundByPath(t *testing.T) {
	files := map[string]string{
		"orders.proto": `syntax = "proto3"; import "lib/money.proto"; import public "lib/all.proto"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; import "google/type/date.proto";
			message M { lib.Money price = 1 [(confluent.field_meta).doc = "with tax"]; lib.Note note = 2; confluent.type.Decimal exact = 3; google.type.Date day = 4; }`,
		"lib/money.proto": `syntax = "proto2"; package lib; message Money { optional int64 cents = 1; }`,
		"lib/all.proto":   `syntax = "proto3"; import public "lib/note.proto";`,
		"lib/note.proto":  `syntax = "proto3"; package lib; message Note { string text = 1; }`,
	}
	p := mustCompile(t, mustFind(t, mustParse(t, files, "orders.proto"), "M"), protobuf.Options{})
	if got := becomes(p, columns.Make(p.Schema()), bytesOf(t, "0a 02 0805 12 03 0a01'x' 22 05 08ea0f 1000")); got !=
		`{price: {cents: 5}, note: {text: "x"}, exact: null, day: {year: 2026, month: 0, day: 0}}` {
		t.Errorf("got %s", got)
	}
	delete(files, "lib/note.proto")
	if _, err := protobuf.Parse(files, "orders.proto"); err == nil || !strings.Contains(err.Error(), "lib/note.proto") {
		t.Errorf("got %v, want the import that is missing", err)
	}
	if _, err := protobuf.Parse(files, "order.proto"); err == nil || !strings.Contains(err.Error(), "order.proto") {
		t.Errorf("got %v, want that there is no main text", err)
	}
}

func TestEveryBuiltinFileIsOne(t *testing.T) {
	for path, text := range protobuf.Builtin() {
		if _, err := protobuf.Parse(map[string]string{path: text}, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := len(protobuf.Builtin()); n < 15 {
		t.Errorf("got %d files", n)
	}
}

func TestTextsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"syntax = \"proto3\";\nmessage M {\n  int32 a = ;\n}": "a.proto:3:13",
		`syntax = "proto3"; message M { Missing a = 1; }`:     "Missing",
		`syntax = "proto9";`:                   "must be",
		`syntax = "proto3"; import "a.proto";`: "cycle",
	} {
		if _, err := protobuf.Parse(map[string]string{"a.proto": text}, "a.proto"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func setOf(tb testing.TB, files ...*descriptorpb.FileDescriptorProto) []byte {
	tb.Helper()
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

func TestDescriptorSets(t *testing.T) {
	_, m := descriptorOf(t, `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/type/datetime.proto"; message M { google.protobuf.Timestamp at = 1; google.type.DateTime d = 2; }`, "M")
	file := protodesc.ToFileDescriptorProto(m.ParentFile())
	f, err := protobuf.ParseDescriptorSet(setOf(t, file))
	if err != nil {
		t.Fatal(err)
	}
	p := mustCompile(t, mustFind(t, f, "M"), protobuf.Options{})
	if at := p.Schema()[0].Type.Kind; at != columns.TimestampTZ {
		t.Errorf("got %s", at)
	}
	if m, err := f.MessageAt([]int{0}); err != nil || m.Name() != "M" {
		t.Errorf("got %v, %v", m, err)
	}
	other := proto.Clone(file).(*descriptorpb.FileDescriptorProto)
	other.Dependency[1] = "lib/other.proto"
	for name, c := range map[string]struct {
		set  []byte
		want string
	}{"no set": {[]byte("\x0a\x05abc"), "no FileDescriptorSet"}, "nothing": {nil, "no files"}, "an import that is not there": {setOf(t, other), "--include_imports"},
		"a message that is not there": {setOf(t, &descriptorpb.FileDescriptorProto{Name: proto.String("a"), MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M"),
			Field: []*descriptorpb.FieldDescriptorProto{{Name: proto.String("a"), Number: proto.Int32(1), TypeName: proto.String(".X")}}}}}), "X"}} {
		if _, err := protobuf.ParseDescriptorSet(c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestUnknownNumbersAreTold(t *testing.T) {
	m, _ := descriptorOf(t, fileOf("message M { N n = 1; google.protobuf.Struct s = 2; map<string, int32> m = 3; google.protobuf.Int32Value w = 4; } message N { int32 a = 1; }"), "M")
	record := bytesOf(t, "28 05 0a 07 32 01 'x' 3b 0801 3c 12 05 0a03 1a01 00 1a 02 1801 22 02 1007 45 01000000")
	var told []string
	p := mustCompile(t, m, protobuf.Options{Unknown: func(parent string, number int32, value []byte) bool {
		told = append(told, fmt.Sprintf("%s %d %x", parent, number, value))
		return true
	}})
	if got := becomes(p, columns.Make(p.Schema()), record); !strings.HasPrefix(got, "{n: {a: 0}, s:") {
		t.Fatalf("got %s", got)
	}
	want := []string{" 5 05", "n 6 78", "n 7 0801", "m 3 01", "w 2 07", " 8 01000000", "s 3 00"}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", told, want)
	}
	strict := mustCompile(t, m, protobuf.Options{Unknown: func(parent string, _ int32, _ []byte) bool { return parent == "" }})
	if got := becomes(strict, columns.Make(p.Schema()), record); got != "unknown n.6 at 5" {
		t.Errorf("got %s", got)
	}
}
