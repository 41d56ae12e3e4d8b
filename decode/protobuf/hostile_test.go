package protobuf_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sluice/decode/protobuf"
)

// Texts as a registry may send them. The compiler of .proto files would take a gigabyte for some, minutes for others, or
// end the process for lack of stack.
func TestTextsThatAreLargeOrDeepAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	const head = `syntax = "proto3"; message A { int32 a = 1; } `
	for name, c := range map[string]struct{ text, want string }{
		"long":          {head + "//" + strings.Repeat("x", 5<<20), "more than 4194304 bytes"},
		"deep messages": {head + strings.Repeat("message M{", 300_000) + strings.Repeat("}", 300_000), "levels of brackets"},
		"deep option":   {head + "option (x) = " + strings.Repeat("{a:", 500_000) + "1" + strings.Repeat("}", 500_000) + ";", "levels of brackets"},
		"deep list":     {head + "option (x) = {a:" + strings.Repeat("[", 1<<20), "levels of brackets"},
		"deep angles":   {head + "option (x) = {a" + strings.Repeat("<a", 1<<20), "levels of brackets"},
		"statements":    {head + strings.Repeat(";", 2<<20), "words and signs"},
		"a string":      {head + `option (x) = "` + strings.Repeat("{", 1000) + `\"` + strings.Repeat("{", 1000), "protobuf: a.proto:1:"},
		"comments":      {head + "// " + strings.Repeat("{", 1000) + "\n/* " + strings.Repeat("{", 1000) + "*/", "<nil>"},
		"names alike":   {head + strings.Repeat("message M{} ", 1000), "already defined"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := protobuf.Parse(map[string]string{"a.proto": c.text}, "a.proto")
		runtime.ReadMemStats(&after)
		if got := fmt.Sprint(err); !strings.Contains(got, c.want) || len(got) > 500 {
			t.Errorf("%s: got %.600s, want %s", name, got, c.want)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 50 {
			t.Errorf("%s: took %d MiB", name, took)
		}
	}
	half := head + "//" + strings.Repeat("x", 3<<20)
	if _, err := protobuf.Parse(map[string]string{"a.proto": half, "b.proto": half}, "a.proto"); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("got %v of two texts", err)
	}
}

// Generators write a file as one line. Its comments, which are the columns', cost the square of the line's length.
func TestCommentsOfVeryLongLinesAreLeftOut(t *testing.T) {
	for padding, want := range map[int]string{10: "how many", 9000: ""} {
		text := `syntax = "proto3"; message A {
			// how many
			int32 a = 1; } ` + "/*" + strings.Repeat("x", padding) + "*/"
		f, err := protobuf.Parse(map[string]string{"a.proto": text}, "a.proto")
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Message("A")
		if err != nil {
			t.Fatal(err)
		}
		schema, err := m.Columns()
		if err != nil || schema[0].Doc != want {
			t.Errorf("%d bytes: got %+v, %v, want the comment %q", padding, schema, err, want)
		}
	}
}
