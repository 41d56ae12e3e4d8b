package decode_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
	"sluice/lakesink/rowtest"
)

// documented is an example of docs/formats.md.
type documented struct{ what, schema, options, record, becomes string }

// examples reads the table of a section.
func examples(t *testing.T, section string) []documented {
	t.Helper()
	text, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "# "+section+"\n")
	if !ok {
		t.Fatalf("there is no section %s", section)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	part, _, _ = strings.Cut(part, "\n### ")
	var found []documented
	inside := false
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case strings.HasPrefix(cells[0], "what") && strings.HasPrefix(line, "| "):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case !inside || strings.HasPrefix(line, "|-"):
		case len(cells) == 3:
			found = append(found, documented{cells[0], "", "", cells[1], cells[2]})
		case len(cells) == 4:
			found = append(found, documented{cells[0], cells[1], "", cells[2], cells[3]})
		case len(cells) == 5:
			found = append(found, documented{cells[0], cells[1], cells[2], cells[3], cells[4]})
		default:
			t.Errorf("%q has %d cells", line, len(cells))
		}
	}
	return found
}

// plain is a cell without its backticks; text in quotes is Go's.
func plain(t *testing.T, cell string) string {
	t.Helper()
	cell = strings.Trim(cell, "`")
	if !strings.HasPrefix(cell, `"`) {
		return cell
	}
	text, err := strconv.Unquote(cell)
	if err != nil {
		t.Fatalf("%s: %v", cell, err)
	}
	return text
}

// set puts an option into settings.
func set(t *testing.T, v *batch.Value, option string) {
	t.Helper()
	key, value, _ := strings.Cut(option, "=")
	column, isColumn := strings.CutPrefix(key, "value.json.columnFormats.")
	switch {
	case isColumn:
		v.JSON.ColumnFormats = map[string]string{column: value}
	case key == "value.onUnknownField":
		v.OnUnknownField = value
	case key == "value.json.timestampFormat":
		v.JSON.TimestampFormat = value
	case key == "value.json.dateFormat":
		v.JSON.DateFormat = value
	case key == "value.json.timeZone":
		v.JSON.TimeZone = value
	case key == "value.json.maxDepth":
		v.JSON.MaxDepth, _ = strconv.Atoi(value)
	case key == "value.json.numbersInText":
		v.JSON.NumbersInText = value == "true"
	case key == "value.json.cutFractions":
		v.JSON.CutFractions = value == "true"
	case key == "value.protobuf.cutFractions":
		v.CutFractions = value == "true"
	case key == "value.protobuf.maxDepth":
		v.MaxDepth, _ = strconv.Atoi(value)
	default:
		t.Fatalf("there is no option %s", option)
	}
}

// written are the settings of an example: JSON by its columns, the others by the schema that the record was written with.
func (e *documented) settings(t *testing.T, section string) batch.Value {
	t.Helper()
	v := batch.Value{Format: section, Schema: plain(t, e.schema), OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
	options := plain(t, e.options)
	switch section {
	case "avro":
		v.Schema, v.Written.Text = "", `{"type":"record","name":"Example","fields":[{"name":"a","type":`+strings.Trim(e.schema, "`")+`}]}`
	case "Writer and table":
		v.Format, v.Schema, options = "avro", options, ""
		v.Written.Text = `{"type":"record","name":"Example","fields":[` + plain(t, e.schema) + `]}`
	case "protobuf":
		v.Schema, v.Written = "", batch.Written{Text: protobufText(plain(t, e.schema)), Message: "M"}
	}
	for _, option := range strings.Fields(options) {
		set(t, &v, option)
	}
	return decode.Derive(v)
}

// protobufText is a whole .proto file: the documentation leaves out what is the same in all.
func protobufText(schema string) string {
	if strings.HasPrefix(schema, "syntax") {
		return schema
	}
	if !strings.Contains(schema, "message M ") {
		schema = "message M { " + schema + " }"
	}
	imports := ""
	for _, name := range []string{"timestamp", "duration", "wrappers", "struct", "any", "empty"} {
		imports += "import \"google/protobuf/" + name + ".proto\";\n"
	}
	return "syntax = \"proto3\";\n" + imports + schema
}

// bytesOf are those of an example: hexadecimal with text in quotes, unless the format is text itself.
func (e *documented) bytesOf(t *testing.T, section string) string {
	t.Helper()
	text := plain(t, e.record)
	if section == "string" || section == "json" {
		return text
	}
	var out []byte
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, b...)
	}
	return string(out)
}

func TestTheExamplesOfTheDocumentationAreTrue(t *testing.T) {
	reasons := map[malformed.Reason]bool{}
	for section, least := range map[string]int{"string": 4, "json": 50, "avro": 35, "Writer and table": 20, "protobuf": 40} {
		all := examples(t, section)
		if len(all) < least {
			t.Errorf("%s: got %d examples, want %d at least", section, len(all), least)
		}
		for _, e := range all {
			v := e.settings(t, section)
			got := "refused"
			if problems := decode.Problems(v); len(problems) == 0 {
				var why *malformed.Error
				if got, why = becomes(t, v, topic(e.bytesOf(t, section))); why != nil {
					reasons[why.Reason] = true
				}
			} else if e.becomes != "refused" {
				got = problems[0].Error()
			}
			if got != e.becomes {
				t.Errorf("%s: %s: got %s, the documentation says %s", section, e.what, got, e.becomes)
			}
		}
	}
	for _, r := range []malformed.Reason{malformed.Empty, malformed.Syntax, malformed.Encoding, malformed.Depth, malformed.Duplicate, malformed.Missing, malformed.Null,
		malformed.WrongType, malformed.Overflow, malformed.Lossy, malformed.Format, malformed.Zone, malformed.Unknown} {
		if !reasons[r] {
			t.Errorf("no example is malformed (%s)", r)
		}
	}
}

func TestTheExamplesOfKeysAreTrue(t *testing.T) {
	all := examples(t, "keys")
	if len(all) < 12 {
		t.Errorf("got %d examples, want 12 at least", len(all))
	}
	for _, e := range all {
		v := jsonValue("a INT")
		if v.Key.Format = plain(t, e.schema); v.Key.Format == "raw" {
			v.Key.Format = ""
		}
		if text := plain(t, e.options); text != "" {
			typ, err := decode.ParseKeyType(text)
			if err != nil {
				t.Errorf("%s: %v", e.what, err)
				continue
			}
			v.Key.Type = ddl.FormatType(typ)
		}
		got, _ := becomes(t, v, keyed(`{"a":1}`, plain(t, e.record)), "kafka_key")
		if got != e.becomes {
			t.Errorf("%s: got %s, the documentation says %s", e.what, got, e.becomes)
		}
	}
}

// becomes is the row of a record as the documentation has it, or one column of it, or why there is none.
func becomes(t *testing.T, v batch.Value, records *columns.Records, column ...string) (string, *malformed.Error) {
	t.Helper()
	var why *malformed.Error
	d, err := decode.Lenient(v, false, func(_ *columns.Records, _ int, told *malformed.Error) { why = told })
	if err != nil {
		return err.Error(), nil
	}
	rows, err := d.Decode(records)
	switch {
	case err != nil:
		return err.Error(), nil
	case why != nil:
		return "malformed (" + string(why.Reason) + ")", why
	case column == nil:
		return "`" + rowtest.ShownRow(d.Schema()[:len(d.Schema())-5], rows.Columns, 0) + "`", nil
	}
	for k, f := range d.Schema() {
		if f.Name == column[0] {
			return "`" + rowtest.Shown(&f.Type, &rows.Columns[k], 0) + "`", nil
		}
	}
	return "", nil
}
