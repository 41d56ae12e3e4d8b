package progress

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Peek is a few rows of a topic or a table, to look at.
type Peek struct {
	// From is topic or table, Name its name.
	From string `json:"from"`
	Name string `json:"name"`
	// Columns are those of the rows, in order.
	Columns []PeekColumn `json:"columns"`
	// Rows hold a value for each column: nil, bool, int32, int64, float64, string, Bytes, time.Time or []PeekHeader. In
	// JSON a row is an object by column.
	Rows [][]any `json:"rows"`
	// Malformed says which of the records shown are no rows of the schema, and why: their columns are null here. Always
	// empty for a table.
	Malformed []PeekFault `json:"malformed"`
	// Unknown are fields that the records read have and the schema lacks, with the types that they would have as columns;
	// Undecided is why others could not be columns. Absent for a table.
	Unknown   []PeekUnknown `json:"unknown,omitempty"`
	Undecided string        `json:"undecided,omitempty"`
	// Read is a statement for DuckDB that reads exactly the rows of a folder of files; absent for a table or a topic.
	Read string `json:"read,omitempty"`
}

// PeekUnknown is a field that records have and the schema lacks.
type PeekUnknown struct {
	// Name is its path, SQLType its type in Spark's words.
	Name    string `json:"name"`
	SQLType string `json:"sqlType"`
}

// PeekFault is a record that is no row of the schema.
type PeekFault struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// Reason is the class of the fault, Error says it in full.
	Reason string `json:"reason"`
	Error  string `json:"error"`
}

// PeekColumn is a column: its name, and its type as the table has it.
type PeekColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// PeekHeader is a header of a record.
type PeekHeader struct {
	Key   string `json:"key"`
	Value Bytes  `json:"value"`
}

// Bytes are bytes of a record. In JSON they are a string if they are text in UTF-8, {"base64":"…"} if not, null if nil.
type Bytes []byte

// MarshalJSON renders them.
func (b Bytes) MarshalJSON() ([]byte, error) {
	switch {
	case b == nil:
		return []byte("null"), nil
	case utf8.Valid(b):
		return plainJSON(string(b))
	}
	return plainJSON(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
}

// Type is "peek".
func (p *Peek) Type() string { return "peek" }

// MarshalJSON renders rows as objects, their fields in the order of the columns.
func (p *Peek) MarshalJSON() ([]byte, error) {
	rows := make([]json.RawMessage, len(p.Rows))
	for i, row := range p.Rows {
		if len(row) != len(p.Columns) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i, len(row), len(p.Columns))
		}
		b := bytes.NewBufferString("{")
		for k, column := range p.Columns {
			name, err := plainJSON(column.Name)
			if err != nil {
				return nil, err
			}
			value, err := plainJSON(peekValue(row[k]))
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", column.Name, err)
			}
			if k > 0 {
				b.WriteByte(',')
			}
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteByte('}')
		rows[i] = b.Bytes()
	}
	type plain Peek // without this method
	return plainJSON(struct {
		plain
		Rows      []json.RawMessage `json:"rows"`
		Malformed []PeekFault       `json:"malformed"`
		Unknown   []PeekUnknown     `json:"unknown,omitempty"`
		Undecided string            `json:"undecided,omitempty"`
		Read      string            `json:"read,omitempty"`
	}{plain(*p), rows, p.Malformed, p.Unknown, p.Undecided, p.Read})
}

// peekValue gives times the form that all other times have, with microseconds, as tables keep them.
func peekValue(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return v
}

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// widestCell bounds a value in the text form.
const widestCell = 60

// WriteText writes a table. Long values are cut; whatever could upset a terminal is escaped.
func (p *Peek) WriteText(w io.Writer) error {
	var out page
	from := p.From
	if from == "table" {
		from = sinkWord(p.Name)
	}
	out.linef("%s %s: %s", from, printable(p.Name), plural(int64(len(p.Rows)), "row"))
	rows := &table{}
	for _, c := range p.Columns {
		rows.headings = append(rows.headings, alignment(c.Type)+printable(c.Name))
	}
	for _, row := range p.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, clip(printable(cellText(v)), widestCell))
		}
		rows.add(cells...)
	}
	out.section("", "", rows)
	faults := &table{headings: []string{"topic", ">partition", ">offset", "why it is malformed"}}
	for _, f := range p.Malformed {
		faults.add(printable(f.Topic), number(int64(f.Partition)), number(f.Offset), printable(f.Error))
	}
	out.section("", "", faults)
	unknown := &table{headings: []string{"field that the schema lacks", "type"}}
	for _, f := range p.Unknown {
		unknown.add(printable(f.Name), printable(f.SQLType))
	}
	out.section("", "", unknown)
	if p.Undecided != "" {
		out.linef("\nCannot be a column: %s", printable(p.Undecided))
	}
	if p.Read != "" {
		out.linef("\nRead with DuckDB: %s", briefly(p.Read))
	}
	return out.to(w)
}

func alignment(columnType string) string {
	switch columnType {
	case "int", "long", "float", "double":
		return ">"
	}
	return ""
}

func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case Bytes:
		if v == nil {
			return "NULL"
		}
		return string(v)
	case []PeekHeader:
		var parts []string
		for _, h := range v {
			parts = append(parts, h.Key+"="+cellText(h.Value))
		}
		return strings.Join(parts, " ")
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.000")
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// longestStatement is what of a statement fits on a screen.
const longestStatement = 2000

// briefly is a statement for a terminal. One that names very many files is kept for JSON, where it can be used.
func briefly(statement string) string {
	if len(statement) > longestStatement {
		return fmt.Sprintf("a statement of %d KiB, since it names each file: --output json has it as read", len(statement)>>10+1)
	}
	return printable(statement)
}
