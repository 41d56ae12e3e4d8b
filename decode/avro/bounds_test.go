package avro_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/decode/avro"
	"sluice/decode/malformed"
)

// A few bytes can stand for millions of nulls, which would all take room.
func TestAFewBytesDoNotMakeManyValues(t *testing.T) {
	many := binary.AppendVarint(nil, 1<<40)
	var fields, names []string
	for i := range 200 {
		fields = append(fields, field(fmt.Sprintf("f%d", i), `["null","long"]`))
		names = append(names, fmt.Sprintf("f%d: BIGINT", i))
	}
	wide := strings.ReplaceAll(record(fields...), `"R"`, `"W"`)
	for name, c := range map[string]struct {
		fields, ddl string
		value       []byte
	}{
		"an array of nulls":           {field("a", `{"type":"array","items":"null"}`), "a ARRAY<INT>", append(slices.Clone(many), 0)},
		"an array of empty records":   {field("a", `{"type":"array","items":{"type":"record","name":"E","fields":[]}}`), "a ARRAY<STRUCT<x: INT>>", append(slices.Clone(many), 0)},
		"an array of wide nulls":      {field("a", `{"type":"array","items":["null",`+wide+`]}`), "a ARRAY<STRUCT<" + strings.Join(names, ", ") + ">>", slices.Concat(binary.AppendVarint(nil, 100_000), make([]byte, 100_001))},
		"columns that are not there":  {field("a", `{"type":"array","items":{"type":"record","name":"S","fields":[{"name":"x","type":"int"}]}}`), "a ARRAY<STRUCT<x: INT, " + strings.Join(names, ", ") + ">>", slices.Concat(binary.AppendVarint(nil, 100_000), make([]byte, 100_001))},
		"members that are not set":    {field("a", `{"type":"array","items":["int",`+wide+`]}`), "a ARRAY<STRUCT<member0: INT, member1: STRUCT<" + strings.Join(names, ", ") + ">>>", slices.Concat(binary.AppendVarint(nil, 100_000), make([]byte, 200_001))},
		"nulls of a wide fixed value": {field("a", `{"type":"array","items":["null",{"type":"fixed","name":"F","size":4000}]}`), "a ARRAY<FIXED(4000)>", slices.Concat(binary.AppendVarint(nil, 100_000), make([]byte, 100_001))},
	} {
		p := mustCompile(t, record(c.fields), c.ddl, avro.Options{})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, c.value)
		var bad *malformed.Error
		if !errors.As(err, &bad) || bad.Reason != malformed.Size {
			t.Errorf("%s: got %v", name, err)
		}
		if size, most := held(dst), 1000*len(c.value)+100_000; size > most {
			t.Errorf("%s: %d bytes take %d, want at most %d", name, len(c.value), size, most)
		}
	}
}

// A large record takes at most 24 times its bytes and 16 MiB, also where it has a byte for each of its wide nulls, or of the long
// names of an enum; columns that grow have up to twice the room.
func TestALargeRecordTakesABoundedMultipleOfItsBytes(t *testing.T) {
	const size = 2 << 20
	var fields, names []string
	for i := range 16 {
		fields = append(fields, field(fmt.Sprintf("f%d", i), `"long"`))
		names = append(names, fmt.Sprintf("f%d: BIGINT", i))
	}
	wide := strings.ReplaceAll(record(fields...), `"R"`, `"W"`)
	for name, c := range map[string]struct{ items, ddl string }{
		"nulls of a struct": {`["null",` + wide + `]`, "a ARRAY<STRUCT<" + strings.Join(names, ", ") + ">>"},
		"names of an enum":  {`{"type":"enum","name":"E","symbols":["` + strings.Repeat("S", 200) + `"]}`, "a ARRAY<STRING>"},
	} {
		p := mustCompile(t, record(field("a", `{"type":"array","items":`+c.items+`}`)), c.ddl, avro.Options{})
		dst := columns.Make(p.Schema())
		err := p.Append(dst, slices.Concat(binary.AppendVarint(nil, size), make([]byte, size+1)))
		var bad *malformed.Error
		if !errors.As(err, &bad) || bad.Reason != malformed.Size {
			t.Errorf("%s: got %v", name, err)
		}
		if got, most := held(dst), 2*(24*size+16<<20); got > most {
			t.Errorf("%s: %d bytes take %d, want at most %d", name, size, got, most)
		}
	}
}

// held is how many bytes columns have room for.
func held(arrays []columns.Array) int {
	sum := 0
	for _, a := range arrays {
		sum += cap(a.Data) + cap(a.Validity) + 4*(cap(a.Int32s)+cap(a.Offsets)+cap(a.Float32s)) + 8*(cap(a.Int64s)+cap(a.Float64s)) + held(a.Children)
	}
	return sum
}

// What real records leave out is far from the bound: an optional struct of a hundred fields that is always null, and a
// hundred columns that came after the writer.
func TestWhatRecordsLeaveOutIsNotTooMuch(t *testing.T) {
	var fields, names []string
	for i := range 100 {
		fields = append(fields, field(fmt.Sprintf("f%d", i), `["null","long"]`))
		names = append(names, fmt.Sprintf("f%d: BIGINT", i))
	}
	item := `{"type":"record","name":"I","fields":[{"name":"sku","type":"string"},{"name":"promotion","type":["null",` + strings.ReplaceAll(record(fields...), `"R"`, `"W"`) + `]}]}`
	p := mustCompile(t, record(field("a", `{"type":"array","items":`+item+`}`)),
		"a ARRAY<STRUCT<sku: STRING, promotion: STRUCT<"+strings.Join(names, ", ")+">>>, "+strings.ReplaceAll(strings.Join(names, ", "), ":", ""), avro.Options{})
	value := binary.AppendVarint(nil, 1000)
	for range 1000 {
		value = append(append(append(value, 18), "SKU-12345"...), 0)
	}
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, append(value, 0)); err != nil {
		t.Error(err)
	}
}

func TestDeepValuesThatArePassedAreBounded(t *testing.T) {
	p := mustCompile(t, record(field("next", `["null","R"]`), field("a", `"int"`)), "a INT", avro.Options{})
	dst := columns.Make(p.Schema())
	var bad *malformed.Error
	if err := p.Append(dst, slices.Repeat([]byte{2}, 1_000_000)); !errors.As(err, &bad) || bad.Reason != malformed.Depth || len(bad.Path) > 10_000 {
		t.Errorf("got %v", err)
	}
	depth := 400
	value := slices.Concat(slices.Repeat([]byte{2}, depth), []byte{0}, slices.Repeat([]byte{2}, depth+1))
	if err := p.Append(dst, value); err != nil {
		t.Error(err)
	}
}

// A record that is only itself has no value, and a record that is nothing 2^40 times over has one of no bytes.
func TestSchemasThatNeverEndAreBounded(t *testing.T) {
	p := mustCompile(t, record(field("a", `"int"`), field("me", `"R"`), field("me2", `"R"`)), "a INT", avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, make([]byte, 5000)); err == nil {
		t.Error("a value of endless depth is read")
	}
	known := []string{`{"type":"record","name":"D0","fields":[]}`}
	for i := range 40 {
		known = append(known, fmt.Sprintf(`{"type":"record","name":"D%d","fields":[{"name":"l","type":"D%d"},{"name":"r","type":"D%d"}]}`, i+1, i, i))
	}
	s := mustParse(t, record(field("d", `"D40"`), field("l", `{"type":"array","items":"D40"}`), field("a", `"int"`)), known...)
	q, err := avro.Compile(s, mustDDL(t, "a INT"), avro.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Append(columns.Make(q.Schema()), append(binary.AppendVarint(nil, 1<<60), 0, 2)); err != nil {
		t.Error(err)
	}
}

// Each of 45 unions, one in the other, is tried with each member that it may fill.
func TestUnionsWithinUnionsAreCompiledInTime(t *testing.T) {
	inner, ddl := `"int"`, "INT"
	for i := range 45 {
		inner = fmt.Sprintf(`["null","string",{"type":"record","name":"N%d","fields":[{"name":"f","type":%s}]}]`, i, inner)
		ddl = "STRUCT<member0: BINARY, member1: STRUCT<more: INT, f: " + ddl + ">>"
	}
	p := mustCompile(t, record(field("a", inner)), "a "+ddl, avro.Options{})
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, []byte{4, 0}); err != nil || !strings.HasPrefix(values(p, dst), "[[[<nil>(<nil>),[<nil>(<nil>),<nil>(<nil>),],],],]") {
		t.Errorf("got %s, %v", values(p, dst), err)
	}
}

func TestTextOfEveryLengthIsCopiedExactly(t *testing.T) {
	p := mustCompile(t, record(field("s", `"string"`), field("x", `{"type":"fixed","name":"F","size":16}`)), "s STRING NOT NULL", avro.Options{})
	last := mustCompile(t, record(field("s", `"string"`)), "s STRING NOT NULL", avro.Options{})
	dst := columns.Make(p.Schema())
	var want []string
	for size := range 40 {
		for at := range size + 1 {
			for _, piece := range []string{"", "é", "€", "\x00"} {
				text := strings.Repeat("a", at) + piece + strings.Repeat("b", size-at)
				value := append(binary.AppendVarint(nil, int64(len(text))), text...)
				if err := errors.Join(p.Append(dst, append(slices.Clone(value), make([]byte, 16)...)), last.Append(dst, value)); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				want = append(want, text, text)
			}
			text := strings.Repeat("a", at) + "\x80" + strings.Repeat("b", size-at)
			value := append(binary.AppendVarint(nil, int64(len(text))), text...)
			if p.Append(dst, append(value, make([]byte, 16)...)) == nil {
				t.Fatalf("%q is text", text)
			}
		}
	}
	for i, text := range want {
		if got := string(dst[0].Bytes(i)); got != text {
			t.Fatalf("row %d: got %q, want %q", i, got, text)
		}
	}
}

func TestManyKeysOfAMapAreTold(t *testing.T) {
	p := mustCompile(t, record(field("m", `{"type":"map","values":"null"}`)), "m MAP<STRING, INT>", avro.Options{})
	encode := func(last string) []byte {
		value := binary.AppendVarint(nil, 3001)
		for i := range 3000 {
			value = append(append(value, 8), fmt.Sprintf("%04d", i)...)
		}
		return append(append(append(value, 8), last...), 0)
	}
	dst := columns.Make(p.Schema())
	if err := p.Append(dst, encode("3000")); err != nil || dst[0].Children[0].Len != 3001 {
		t.Errorf("got %v", err)
	}
	var bad *malformed.Error
	if err := p.Append(dst, encode("0017")); !errors.As(err, &bad) || bad.Reason != malformed.Duplicate || bad.Path != `m["0017"]` {
		t.Errorf("got %v", err)
	}
}

func TestAppendingAllocatesNothingOnceGrown(t *testing.T) {
	p := mustCompile(t, everything, everyColumn, avro.Options{})
	dst := columns.Make(p.Schema())
	good := b(t, goodValue)
	fill := func() {
		for i := range dst {
			dst[i].Reset()
		}
		for range 100 {
			if err := p.Append(dst, good); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n != 0 {
		t.Errorf("got %v allocations for 100 rows", n)
	}
}
