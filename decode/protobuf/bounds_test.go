package protobuf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/malformed"
	"sluice/decode/protobuf"
)

func TestOptions(t *testing.T) {
	m, _ := descriptorOf(t, fileOf("google.protobuf.Timestamp a = 1;"), "M")
	p := mustCompile(t, m, protobuf.Options{CutFractions: true})
	if got := becomes(p, columns.Make(p.Schema()), bytesOf(t, "0a 11 08 ffffffffffffffffff01 10 ffcab5ee01")); got != "{a: 1969-12-31T23:59:59.500000Z}" {
		t.Errorf("got %s", got)
	}
	schema := p.Schema()
	for _, depth := range []int{-1, 10001} {
		if _, err := protobuf.Compile(m, schema, protobuf.Options{MaxDepth: depth}); err == nil {
			t.Errorf("a depth of %d is taken", depth)
		}
	}
	if _, err := protobuf.Compile(m, nil, protobuf.Options{}); err == nil {
		t.Error("no columns are taken")
	}
	if _, err := protobuf.Compile(m, append(schema, schema[0]), protobuf.Options{}); err == nil {
		t.Error("two columns of a name are taken")
	}
}

func TestDepthIsBounded(t *testing.T) {
	m, _ := descriptorOf(t, fileOf("message M { A a = 1; google.protobuf.Value v = 2; } message A { B b = 1; } message B { int32 c = 1; }"), "M")
	p := mustCompile(t, m, protobuf.Options{MaxDepth: 2})
	if got := becomes(p, columns.Make(p.Schema()), bytesOf(t, "0a 00")); got != "{a: {b: null}, v: null}" {
		t.Errorf("two levels: got %s", got)
	}
	if got := becomes(p, columns.Make(p.Schema()), bytesOf(t, "0a 02 0a00")); got != "depth a.b at 3" {
		t.Errorf("three levels: got %s", got)
	}
	if got := becomes(p, columns.Make(p.Schema()), bytesOf(t, "1b 1b 1c 1c")); got != "depth 3 at 2" {
		t.Errorf("groups: got %s", got)
	}
	p = mustCompile(t, m, protobuf.Options{})
	dst := columns.Make(p.Schema())
	var bad *malformed.Error
	if err := p.Append(dst, []byte(strings.Repeat("\x1b", 1<<20))); !errors.As(err, &bad) || bad.Reason != malformed.Depth {
		t.Errorf("a million groups: got %v", err)
	}
	document := []byte{}
	for range 2000 { // a list of a list of …
		document = append([]byte{0x32}, sized(append([]byte{0x0a}, sized(document)...))...)
	}
	if err := p.Append(dst, append([]byte{0x12}, sized(document)...)); !errors.As(err, &bad) || bad.Reason != malformed.Depth {
		t.Errorf("lists of lists: got %v", err)
	}
}

func sized(b []byte) []byte {
	out := []byte{}
	for n := len(b); ; n >>= 7 {
		if n < 0x80 {
			return append(append(out, byte(n)), b...)
		}
		out = append(out, byte(n)|0x80)
	}
}

// Every row takes all columns, and every element of a list all of the element's: a record of many empty elements is bounded.
func TestRecordsThatAreMuchMoreThanTheirBytesAreMalformed(t *testing.T) {
	wide, lists := "message W { ", "} message L { "
	for i := range 200 {
		wide += fmt.Sprintf("string f%d = %d; ", i, i+1)
		lists += fmt.Sprintf("repeated string f%d = %d; ", i, i+1)
	}
	m, _ := descriptorOf(t, fileOf("message M { repeated W l = 1; map<int32, W> m = 2; oneof o { W x = 3; W y = 4; } repeated L n = 5; } "+wide+lists+"}"), "M")
	p := mustCompile(t, m, protobuf.Options{})
	for what, c := range map[string]struct{ few, many string }{
		"elements": {strings.Repeat("\x0a\x00", 10), strings.Repeat("\x0a\x00", 5000)},
		"entries":  {strings.Repeat("\x12\x00", 10), strings.Repeat("\x12\x00", 5000)},
		"lists":    {strings.Repeat("\x2a\x00", 10), strings.Repeat("\x2a\x00", 5000)},
		"members":  {strings.Repeat("\x1a\x00\x22\x00", 10), strings.Repeat("\x1a\x00\x22\x00", 5000)},
	} {
		dst := columns.Make(p.Schema())
		if err := p.Append(dst, []byte(c.few)); err != nil {
			t.Errorf("few %s: %v", what, err)
		}
		var bad *malformed.Error
		if err := p.Append(dst, []byte(c.many)); !errors.As(err, &bad) || bad.Reason != malformed.Size {
			t.Errorf("many %s: got %v", what, err)
		}
		if dst[0].Len != 1 {
			t.Errorf("%s: got %d rows", what, dst[0].Len)
		}
	}
}

func TestRowsAllocateNothingOnceColumnsHaveGrown(t *testing.T) {
	m, _ := descriptorOf(t, ordersText, "shop.Order")
	p := mustCompile(t, m, protobuf.Options{})
	rows := orders(t, 256)
	dst := columns.Make(p.Schema())
	all := func() {
		for i := range dst {
			dst[i].Reset()
		}
		for _, row := range rows {
			if err := p.Append(dst, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("got %v allocations", n)
	}
	every, _ := descriptorOf(t, everyKind, "M")
	p = mustCompile(t, every, protobuf.Options{})
	dst = columns.Make(p.Schema())
	rows = nil
	for _, seed := range seeds(t) {
		if p.Append(dst, seed) == nil {
			rows = append(rows, seed)
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%d rows of every kind: got %v allocations", len(rows), n)
	}
}
