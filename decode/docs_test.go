package decode_test

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/decode/malformed"
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
	_, part, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("there is no section %s", section)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	part, _, _ = strings.Cut(part, "\n### ")
	var found []documented
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "| ") || cells[0] == "what" || len(cells) == 2: // no example
		case len(cells) == 3:
			found = append(found, documented{cells[0], "", "", cells[1], cells[2]})
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
	default:
		t.Fatalf("there is no option %s", option)
	}
}

func TestTheExamplesOfTheDocumentationAreTrue(t *testing.T) {
	reasons := map[malformed.Reason]bool{}
	for section, least := range map[string]int{"string": 4, "json": 50} {
		all := examples(t, section)
		if len(all) < least {
			t.Errorf("%s: got %d examples, want %d at least", section, len(all), least)
		}
		for _, e := range all {
			v := batch.Value{Format: section, Schema: plain(t, e.schema), OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
			for _, option := range strings.Fields(plain(t, e.options)) {
				set(t, &v, option)
			}
			var bad *malformed.Error
			d, err := decode.Lenient(v, false, func(_ *columns.Records, _ int, why *malformed.Error) { bad = why })
			if err != nil {
				t.Errorf("%s: %v", e.what, err)
				continue
			}
			rows, err := d.Decode(topic(plain(t, e.record)))
			if err != nil {
				t.Errorf("%s: %v", e.what, err)
				continue
			}
			got := ""
			if bad != nil {
				got = "malformed (" + string(bad.Reason) + ")"
				reasons[bad.Reason] = true
			} else {
				got = "`" + record(d.Schema()[:len(d.Schema())-5], rows.Columns, 0) + "`"
			}
			if got != e.becomes {
				t.Errorf("%s: got %s, the documentation says %s", e.what, got, e.becomes)
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
		if got := becomes(t, v, keyed(`{"a":1}`, plain(t, e.record)), func(name string) bool { return name == "kafka_key" }); got != e.becomes {
			t.Errorf("%s: got %s, the documentation says %s", e.what, got, e.becomes)
		}
	}
}

// becomes is the chosen column of a record as the documentation has it.
func becomes(t *testing.T, v batch.Value, records *columns.Records, chosen func(name string) bool) string {
	t.Helper()
	var bad *malformed.Error
	d, err := decode.Lenient(v, false, func(_ *columns.Records, _ int, why *malformed.Error) { bad = why })
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Decode(records)
	if err != nil {
		t.Fatal(err)
	}
	if bad != nil {
		return "malformed (" + string(bad.Reason) + ")"
	}
	for k, f := range d.Schema() {
		if chosen(f.Name) {
			return "`" + shown(&f.Type, &rows.Columns[k], 0) + "`"
		}
	}
	return ""
}

func record(schema []columns.Field, arrays []columns.Array, row int) string {
	var parts []string
	for i := range schema {
		parts = append(parts, schema[i].Name+": "+shown(&schema[i].Type, &arrays[i], row))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// shown is a value as the documentation has it.
func shown(t *columns.Type, a *columns.Array, i int) string {
	if !a.Valid(i) {
		return "null"
	}
	switch t.Kind {
	case columns.Bool:
		return strconv.FormatBool(a.Data[i>>3]&(1<<(i&7)) != 0)
	case columns.Int32:
		return fmt.Sprint(a.Int32s[i])
	case columns.Int64:
		return fmt.Sprint(a.Int64s[i])
	case columns.Float32:
		return fmt.Sprint(a.Float32s[i])
	case columns.Float64:
		return fmt.Sprint(a.Float64s[i])
	case columns.Decimal:
		return new(big.Rat).SetFrac(big.NewInt(a.Int64s[i]), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)).FloatString(t.Scale)
	case columns.Date:
		return time.Unix(int64(a.Int32s[i])*86400, 0).UTC().Format(time.DateOnly)
	case columns.Time:
		return time.UnixMicro(a.Int64s[i]).UTC().Format("15:04:05.000000")
	case columns.Timestamp:
		return time.UnixMicro(a.Int64s[i]).UTC().Format("2006-01-02T15:04:05.000000")
	case columns.TimestampTZ:
		return time.UnixMicro(a.Int64s[i]).UTC().Format("2006-01-02T15:04:05.000000Z")
	case columns.String:
		return strconv.Quote(string(a.Bytes(i)))
	case columns.Binary:
		return "0x" + hex.EncodeToString(a.Bytes(i))
	case columns.Fixed:
		return "0x" + hex.EncodeToString(a.Data[i*t.Width:(i+1)*t.Width])
	case columns.UUID:
		x := hex.EncodeToString(a.Data[16*i : 16*i+16])
		return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
	case columns.Struct:
		return record(t.Fields, a.Children, i)
	}
	var items []string
	for from, until := a.Span(i); from < until; from++ {
		if t.Kind == columns.List {
			items = append(items, shown(&t.Fields[0].Type, &a.Children[0], from))
			continue
		}
		pair := a.Children[0].Children
		items = append(items, shown(&t.Fields[0].Type, &pair[0], from)+": "+shown(&t.Fields[1].Type, &pair[1], from))
	}
	if t.Kind == columns.List {
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "{" + strings.Join(items, ", ") + "}"
}
