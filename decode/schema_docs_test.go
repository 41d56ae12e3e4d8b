package decode_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/decode"
)

var codeIn = regexp.MustCompile("`([^`]+)`")

// tableOf lists the rows of a section's first table, each cell as the code in it.
func tableOf(t *testing.T, section string) (found [][][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("there is no section %s", section)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what") {
			continue
		}
		var row [][]string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
			var code []string
			for _, m := range codeIn.FindAllStringSubmatch(cell, -1) {
				code = append(code, m[1])
			}
			row = append(row, code)
		}
		found = append(found, row)
	}
	return found
}

// The page's samples give the schemas that stand beside them.
func TestDocumentedSamplesGiveTheirSchema(t *testing.T) {
	tried := 0
	for _, row := range tableOf(t, "A schema to start from") {
		if len(row[1]) == 0 {
			continue
		}
		tried++
		var sample []decode.SampledValue
		for _, record := range row[1] {
			sample = append(sample, decode.SampledValue{Value: []byte(record), Place: "here"})
		}
		found, err := decode.Infer(sample, decode.InferOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.ReplaceAll(found.DDL, ",\n", ", "), row[2][0]; got != want {
			t.Errorf("%s: got %s, the documentation says %s", row[1], got, want)
		}
		if wants := len(row[2]) > 1; wants != (len(found.Formats) > 0) || len(found.NoRecords)+len(found.Misfits) > 0 {
			t.Errorf("%s: got formats %v, malformed %v %v", row[1], found.Formats, found.NoRecords, found.Misfits)
		}
	}
	if tried < 12 {
		t.Errorf("got %d samples", tried)
	}
}

// The page's properties become the columns that stand beside them, or are refused.
func TestDocumentedPropertiesBecomeTheirColumn(t *testing.T) {
	rows := tableOf(t, "JSON Schema")
	if len(rows) < 30 {
		t.Errorf("got %d properties", len(rows))
	}
	for _, row := range rows {
		schema := row[1][len(row[1])-1]
		converted, err := decode.Convert(decode.ForeignSchema{Name: "x.json", Content: []byte(`{"properties":{"c":` + schema + `}}`)})
		switch refused := len(row[2]) == 0; {
		case refused && err == nil:
			t.Errorf("%s: got %s, the documentation says that it is refused", schema, converted.DDL)
		case !refused && err != nil:
			t.Errorf("%s: %v", schema, err)
		case !refused && converted.DDL != "c "+row[2][0]:
			t.Errorf("%s: got %s, the documentation says %s", schema, converted.DDL, row[2][0])
		}
	}
}
