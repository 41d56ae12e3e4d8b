package malformed

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTheTextNamesColumnReasonAndPlace(t *testing.T) {
	err := &Error{Reason: Lossy, Path: "items[2].price", Position: 31, Detail: "1.005 has more than 2 digits behind the point", Excerpt: `…"price":1.005}`}
	want := `items[2].price: 1.005 has more than 2 digits behind the point (lossy, at byte 31) near …"price":1.005}`
	if got := err.Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (&Error{Reason: Empty, Detail: "no bytes"}).Error(); got != "no bytes (empty, at byte 0)" {
		t.Errorf("got %s", got)
	}
}

func TestExcerptsAreShortAndSafe(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		value    string
		position int
		want     string
	}{
		"whole":           {`{"a":1}`, 5, `{"a":1}`},
		"nothing":         {"", 0, ""},
		"end":             {`{"a":`, 5, `{"a":`},
		"control":         {"a\x1b[31m\n\x00\u202eb", 1, `a\x1b[31m\n\x00\u202eb`},
		"invalid UTF-8":   {"a\xff\xfeb", 1, `a\xff\xfeb`},
		"middle":          {long, 250, "…" + strings.Repeat("x", 80) + "…"},
		"cut through €":   {strings.Repeat("x", 10) + "€" + long, 43, "…€" + strings.Repeat("x", 78) + "…"},
		"€ at the end":    {"xx" + strings.Repeat("€", 20), 2, "xx" + strings.Repeat("€", 16) + "…"},
		"beyond the end":  {"abc", 9, "abc"},
		"quotes stay":     {`"\u0061"`, 0, `"\u0061"`},
		"replacement":     {"\ufffd", 0, "\ufffd"},
		"only half there": {"ab\xe2\x82", 2, `ab\xe2\x82`},
	} {
		if got := Excerpt([]byte(c.value), c.position); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a€\xff\x00"), 2)
	f.Fuzz(func(t *testing.T, value []byte, position int) {
		position = min(max(position, 0), len(value))
		got := Excerpt(value, position)
		if len(got) > 10*(before+after)+8 || !utf8.ValidString(got) {
			t.Errorf("got %d bytes: %q", len(got), got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q has %U", got, r)
			}
		}
	})
}

func TestALargeRecordHasRoomForAValueAByte(t *testing.T) {
	for _, c := range []struct{ size, perByte, want int }{{0, 16, 0}, {100, 16, 1600}, {100, 8, 800}, {1 << 20, 8, 3 << 20}, {64 << 20, 16, 66 << 20}} {
		if got := Room(c.size, c.perByte); got != c.want {
			t.Errorf("%d bytes, %d a byte: got %d, want %d", c.size, c.perByte, got, c.want)
		}
	}
}
