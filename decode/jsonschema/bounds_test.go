package jsonschema_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// repeated joins n texts that a format makes of their numbers.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Texts of up to 4 MiB, which a registry may send, that ask for a great deal of work: each is refused before it is done.
func TestTextsThatAreLargeOrTangledAreRefusedSoon(t *testing.T) {
	property := `"a%d":{"type":"string"}`
	var wide []string
	for i := range 10 {
		wide = append(wide, `{"properties":{`+repeated(5000, fmt.Sprintf(`"b%d_%%d":{"const":1}`, i))+`}}`)
	}
	for name, c := range map[string]struct{ text, want string }{
		"long":            {strings.Repeat(" ", 5<<20), "more than 4194304"},
		"deep":            {strings.Repeat(`{"items":`, 100_000) + "{}" + strings.Repeat("}", 100_000), "nested deeper than 200"},
		"deep, no schema": {strings.Repeat("[", 1<<20), "nested deeper than 200"},
		"properties":      {`{"properties":{` + repeated(150_000, property) + `}}`, "has more than 10000 properties"},
		"allOf":           {`{"allOf":[` + repeated(90_000, `{"properties":{`+property+`}}`) + `]}`, "combinations of schemas"},
		"anyOf":           {`{"anyOf":[` + repeated(90_000, `{"properties":{`+property+`}}`) + `]}`, "combinations of schemas"},
		"anyOf of many":   {`{"anyOf":[` + strings.Join(wide, ",") + `]}`, "combinations of schemas"},
		"both":            {`{"allOf":[` + repeated(3000, `{"properties":{`+property+`}}`) + `],"anyOf":[` + repeated(40_000, `{"title":"%d"}`) + `]}`, "combinations of schemas"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := columnsOf(c.text, nil)
		runtime.ReadMemStats(&after)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %.300s, want %s", name, got, c.want)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 2000 {
			t.Errorf("%s: took %d MiB in all", name, took)
		}
	}
}
