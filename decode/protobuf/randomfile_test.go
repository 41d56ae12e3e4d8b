package protobuf_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomFile writes a file of messages M0, M1, … each of which holds later ones alone.
func randomFile(rng *rand.Rand) string {
	var b strings.Builder
	syntax := []string{"proto2", "proto3", "edition"}[rng.IntN(3)]
	if syntax == "edition" {
		b.WriteString("edition = \"2023\";\n")
	} else {
		fmt.Fprintf(&b, "syntax = %q;\n", syntax)
	}
	b.WriteString("package t;\n")
	for _, name := range []string{"timestamp", "duration", "wrappers", "struct", "any", "field_mask", "empty"} {
		fmt.Fprintf(&b, "import \"google/protobuf/%s.proto\";\n", name)
	}
	b.WriteString("enum E { ZERO = 0; ONE = 1; LARGE = 2000; NEGATIVE = -1; }\n")
	count := 1 + rng.IntN(4)
	for i := range count {
		w := &fileWriter{b: &b, rng: rng, syntax: syntax, used: map[int]bool{}}
		for later := i + 1; later < count; later++ {
			w.messages = append(w.messages, fmt.Sprintf("M%d", later))
		}
		fmt.Fprintf(&b, "message M%d {\n", i)
		w.fields(1 + rng.IntN(10))
		b.WriteString("}\n")
	}
	return b.String()
}

type fileWriter struct {
	b        *strings.Builder
	rng      *rand.Rand
	syntax   string
	messages []string
	used     map[int]bool
}

var (
	scalarNames = []string{"bool", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "float", "double", "string", "bytes", "E"}
	knownNames  = []string{"Timestamp", "Duration", "BoolValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value", "FloatValue", "DoubleValue", "StringValue", "BytesValue",
		"Struct", "Value", "ListValue", "Any", "FieldMask", "Empty"}
)

func (w *fileWriter) typ() string {
	switch w.rng.IntN(6) {
	case 0:
		if len(w.messages) > 0 {
			return w.messages[w.rng.IntN(len(w.messages))]
		}
	case 1:
		return "google.protobuf." + knownNames[w.rng.IntN(len(knownNames))]
	}
	return scalarNames[w.rng.IntN(len(scalarNames))]
}

func (w *fileWriter) number() int {
	for {
		n := 1 + w.rng.IntN(30)
		if w.rng.IntN(8) == 0 {
			n = 1 + w.rng.IntN(1<<28)
		}
		if !w.used[n] && (n < 19000 || n > 19999) {
			w.used[n] = true
			return n
		}
	}
}

func (w *fileWriter) fields(count int) {
	for i := range count {
		name, t, number := fmt.Sprintf("f%d", i), w.typ(), w.number()
		switch w.rng.IntN(9) {
		case 0:
			fmt.Fprintf(w.b, "map<%s, %s> %s = %d;\n", scalarNames[w.rng.IntN(11)], t, name, number)
		case 1, 2:
			fmt.Fprintf(w.b, "repeated %s %s = %d;\n", t, name, number)
		case 3:
			fmt.Fprintf(w.b, "oneof o%d { %s a%d = %d; %s b%d = %d; %s c%d = %d; }\n", i, t, i, number, w.typ(), i, w.number(), w.typ(), i, w.number())
		case 4:
			w.special(name, i, number)
		default:
			w.single(t, name, number)
		}
	}
}

// special is what only one syntax has.
func (w *fileWriter) special(name string, i, number int) {
	switch {
	case w.syntax == "proto2" && w.rng.IntN(2) == 0:
		fmt.Fprintf(w.b, "%s group G%d = %d { optional int32 x = 1; repeated string y = 2; }\n", []string{"optional", "repeated"}[w.rng.IntN(2)], i, number)
	case w.syntax == "proto2":
		fmt.Fprintf(w.b, "required int32 %s = %d;\n", name, number)
	case w.syntax == "edition" && len(w.messages) > 0:
		fmt.Fprintf(w.b, "%s%s %s = %d [features.message_encoding = DELIMITED];\n", []string{"", "repeated "}[w.rng.IntN(2)], w.messages[0], name, number)
	case w.syntax == "edition":
		fmt.Fprintf(w.b, "int64 %s = %d [features.field_presence = IMPLICIT];\n", name, number)
	default:
		fmt.Fprintf(w.b, "optional sint64 %s = %d;\n", name, number)
	}
}

func (w *fileWriter) single(t, name string, number int) {
	defaults := map[string]string{"bool": "true", "int32": "-5", "sint32": "-7", "sint64": "-9", "uint64": "18446744073709551615", "fixed32": "4000000000", "sfixed32": "-1", "float": "-1.5",
		"double": "inf", "string": `"größe"`, "bytes": `"\xff"`, "E": "LARGE"}
	switch {
	case w.syntax == "proto3":
		fmt.Fprintf(w.b, "%s %s = %d;\n", t, name, number)
	case defaults[t] != "" && w.rng.IntN(2) == 0:
		fmt.Fprintf(w.b, "%s %s %s = %d [default = %s];\n", map[bool]string{true: "optional"}[w.syntax == "proto2"], t, name, number, defaults[t])
	default:
		fmt.Fprintf(w.b, "%s %s %s = %d;\n", map[bool]string{true: "optional"}[w.syntax == "proto2"], t, name, number)
	}
}
