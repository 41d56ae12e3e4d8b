package progress

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const documentation = "../docs/json.md"

// section is the part of the documentation about one type.
func section(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(content), "\n## "+name+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", documentation, name)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

var sampleBlock = regexp.MustCompile("(?s)<!-- sample -->\n```json\n(.*?)```\n")

func TestTheDocumentationShowsWhatIsWritten(t *testing.T) {
	for _, o := range samples() {
		var line, want bytes.Buffer
		if err := WriteJSON(&line, o); err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&want, line.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		part := section(t, o.Type())
		m := sampleBlock.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("%s has no sample", o.Type())
		}
		if m[1] == want.String() {
			continue
		}
		if !*update {
			t.Errorf("%s: got\n%s\nwant\n%s", o.Type(), m[1], &want)
			continue
		}
		content, err := os.ReadFile(documentation)
		if err != nil {
			t.Fatal(err)
		}
		fresh := strings.Replace(part, m[0], "<!-- sample -->\n```json\n"+want.String()+"```\n", 1)
		if err := os.WriteFile(documentation, []byte(strings.Replace(string(content), part, fresh, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheDocumentationHasEveryFieldAndNoOther(t *testing.T) {
	for _, o := range samples() {
		want := fieldsOf(reflect.TypeOf(o).Elem(), "")
		var got []string
		for line := range strings.Lines(section(t, o.Type())) {
			if first, ok := strings.CutPrefix(line, "| `"); ok {
				names, _, _ := strings.Cut("`"+first, " | ")
				for _, name := range strings.Split(names, ", ") {
					got = append(got, strings.Trim(name, "`"))
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", o.Type(), got, want)
		}
	}
}

// fieldsOf lists the JSON fields of a struct and of what it consists of, as paths. Fields whose form is described in
// words, or elsewhere, are listed without what is in them.
func fieldsOf(t reflect.Type, path string) []string {
	var fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		full, inner := path+name, f.Type
		if f.Anonymous { // its fields stand among the others
			fields = append(fields, fieldsOf(inner, path)...)
			continue
		}
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice {
				full += "[]"
			}
			inner = inner.Elem()
		}
		below := inner.Kind() == reflect.Struct && inner != reflect.TypeFor[Timestamp]() && inner != reflect.TypeFor[Batch]()
		if listed := strings.TrimRight(full, "[]"); !below || f.Type.Kind() != reflect.Struct {
			fields = append(fields, listed)
		}
		if below {
			fields = append(fields, fieldsOf(inner, full+".")...)
		}
	}
	return fields
}
