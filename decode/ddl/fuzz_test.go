package ddl_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"sluice/decode/ddl"
)

// FuzzParse compares what is read with the oracle, and what is written of it with what was read. An error has a place.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"order_id STRING NOT NULL, amount DECIMAL(18,2), tags ARRAY<STRING>, m MAP<STRING, INT>, s STRUCT<a: INT>", "STRUCT<`a``b`: TIME(6)>",
		"a INT COMMENT 'x\\'y' -- z\n, /* */ b FIXED(3)", "a ARRAY<INT NOT NULL>", "é STRNG", "a INT,", "a\r\nINT",
		"a INT /* b /* c */ d */, b LONG", "a INT, -- b\rc INT", `a INT COMMENT "x""y\u00e9\U0001f600\101\%\_"`, `a INT COMMENT '\ud800'`, "struct INT, STRUCT: NUMERIC",
		"a CHAR(0)", "1 DEC(38,38), 2 DEC(5)", "a MAP<ARRAY<INT>, INT>", "A INT, a INT", "a INT COMMENT 'x' NOT NULL",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 { // the oracle is slow
			return
		}
		got, err := ddl.Parse(text)
		want, wrong := schemaOf(text)
		if (err == nil) != (wrong == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %+v, %v, want %+v, %v", text, got, err, want, wrong)
		}
		if err != nil {
			var fault *ddl.Error
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || !strings.HasSuffix(err.Error(), "^") {
				t.Fatalf("%q: got %v", text, err)
			}
			return
		}
		written := ddl.Format(got)
		again, err := ddl.Parse(written)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q: written as %q: got %+v, %v, want %+v", text, written, again, err, got)
		}
		if again, err := schemaOf(written); err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q: written as %q, which the oracle reads as %+v, %v", text, written, again, err)
		}
	})
}
