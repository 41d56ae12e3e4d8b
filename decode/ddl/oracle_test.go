package ddl_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/columns"
)

// The oracle reads a schema by the rules of Spark's grammar (singleTableSchema, colType, dataType and complexColType of
// SqlBaseParser.g4, the tokens of SqlBaseLexer.g4, https://spark.apache.org/docs/latest/sql-ref-datatypes.html and
// https://spark.apache.org/docs/latest/sql-ref-literals.html), with what the package comment adds to them and takes away.
// It is slow: the text is cut into a list of tokens by regular expressions, and each rule takes tokens off the front.

var errNoSchema = errors.New("no schema")

// piece is one token: a word, a quoted name, a string in quotes, or a sign.
type piece struct {
	kind string
	text string
}

var (
	blank    = regexp.MustCompile(`^[ \t\r\n]+|^--[^\r\n]*`)
	words    = regexp.MustCompile(`^[\pL\p{Nd}_]+`)
	ticked   = regexp.MustCompile("^`((?:[^`]|``)*)`")
	single   = regexp.MustCompile(`(?s)^'((?:[^'\\]|\\.|'')*)'`)
	double   = regexp.MustCompile(`(?s)^"((?:[^"\\]|\\.|"")*)"`)
	signs    = regexp.MustCompile(`^[<>(),:]`)
	brackets = regexp.MustCompile(`/\*|\*/`)
	escaped  = regexp.MustCompile(`(?s)\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[01][0-7][0-7]|\\.|''|""`)
)

// pieces cuts a text into tokens, white space and comments left out.
func pieces(text string) (all []piece, err error) {
	if !utf8.ValidString(text) {
		return nil, errNoSchema
	}
	for text != "" {
		if m := blank.FindString(text); m != "" {
			text = text[len(m):]
			continue
		}
		if strings.HasPrefix(text, "/*") {
			if text, err = afterComment(text); err != nil {
				return nil, err
			}
			continue
		}
		found := false
		for kind, pattern := range map[string]*regexp.Regexp{"word": words, "name": ticked, "single": single, "double": double, "sign": signs} {
			m := pattern.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			all, text, found = append(all, piece{kind, m[len(m)-1]}), text[len(m[0]):], true
			break
		}
		if !found {
			return nil, errNoSchema
		}
	}
	return all, nil
}

// afterComment is what follows a comment in brackets; others may be inside of it.
func afterComment(text string) (string, error) {
	open := 0
	for {
		at := brackets.FindStringIndex(text)
		if at == nil {
			return "", errNoSchema
		}
		if text[at[0]] == '/' {
			open++
		} else {
			open--
		}
		if text = text[at[1]:]; open == 0 {
			return text, nil
		}
	}
}

// unescaped is what stands in quotes.
func unescaped(p piece) (string, bool) {
	quote, sound := map[string]string{"single": "'", "double": `"`}[p.kind], true
	return escaped.ReplaceAllStringFunc(p.text, func(m string) string {
		switch {
		case m == quote+quote:
			return quote
		case m[0] != '\\':
			return m
		case len(m) > 3: // a character by its number
			base, digits := 16, m[2:]
			if m[1] != 'u' && m[1] != 'U' {
				base, digits = 8, m[1:]
			}
			n, _ := strconv.ParseInt(digits, base, 64)
			sound = sound && n <= 0x10ffff && (n < 0xd800 || n > 0xdfff)
			return string(rune(n))
		}
		plain := map[string]string{`\n`: "\n", `\t`: "\t", `\r`: "\r", `\b`: "\b", `\0`: "\x00", `\Z`: "\x1a", `\%`: `\%`, `\_`: `\_`}
		if to, ok := plain[m]; ok {
			return to
		}
		return m[1:]
	}), sound
}

// rest is the tokens that are left.
type rest struct{ pieces []piece }

func (r *rest) front() piece {
	if len(r.pieces) == 0 {
		return piece{}
	}
	return r.pieces[0]
}

func (r *rest) take() piece {
	p := r.front()
	r.pieces = r.pieces[min(1, len(r.pieces)):]
	return p
}

// takes takes a sign or a keyword if it is next.
func (r *rest) takes(text string) bool {
	p := r.front()
	if p.kind == "sign" && p.text == text || p.kind == "word" && strings.EqualFold(p.text, text) {
		r.take()
		return true
	}
	return false
}

// schemaOf is what a text says, or an error.
func schemaOf(text string) (columns.Schema, error) {
	all, err := pieces(text)
	if err != nil {
		return nil, err
	}
	r := &rest{all}
	if len(all) > 1 && r.front().kind == "word" && strings.EqualFold(all[0].text, "STRUCT") && all[1] == (piece{"sign", "<"}) {
		t, err := r.dataType(0)
		if err != nil || len(r.pieces) > 0 {
			return nil, errNoSchema
		}
		return t.Fields, nil
	}
	fields, err := r.fields(0)
	if err != nil || len(r.pieces) > 0 {
		return nil, errNoSchema
	}
	return fields, nil
}

func (r *rest) fields(depth int) (fields []columns.Field, err error) {
	seen := map[string]bool{}
	for {
		f, err := r.field(depth)
		if err != nil {
			return nil, err
		}
		if seen[strings.ToLower(f.Name)] {
			return nil, errNoSchema
		}
		seen[strings.ToLower(f.Name)] = true
		if fields = append(fields, f); !r.takes(",") {
			return fields, nil
		}
	}
}

func (r *rest) field(depth int) (f columns.Field, err error) {
	name := r.take()
	switch name.kind {
	case "word":
		f.Name = name.text
	case "name":
		f.Name = strings.ReplaceAll(name.text, "``", "`")
	}
	if f.Name == "" {
		return f, errNoSchema
	}
	r.takes(":")
	if f.Type, err = r.dataType(depth); err != nil {
		return f, err
	}
	if f.Required, err = r.notNull(); err != nil || !r.takes("COMMENT") {
		return f, err
	}
	comment := r.take()
	if comment.kind != "single" && comment.kind != "double" {
		return f, errNoSchema
	}
	var sound bool
	if f.Doc, sound = unescaped(comment); !sound {
		return f, errNoSchema
	}
	return f, nil
}

func (r *rest) notNull() (bool, error) {
	if !r.takes("NOT") {
		return false, nil
	}
	if !r.takes("NULL") {
		return false, errNoSchema
	}
	return true, nil
}

var named = map[string]columns.Kind{
	"BOOLEAN": columns.Bool, "BOOL": columns.Bool, "TINYINT": columns.Int32, "BYTE": columns.Int32, "SMALLINT": columns.Int32, "SHORT": columns.Int32,
	"INT": columns.Int32, "INTEGER": columns.Int32, "BIGINT": columns.Int64, "LONG": columns.Int64, "FLOAT": columns.Float32, "REAL": columns.Float32,
	"DOUBLE": columns.Float64, "STRING": columns.String, "BINARY": columns.Binary, "DATE": columns.Date, "TIMESTAMP": columns.TimestampTZ,
	"TIMESTAMP_LTZ": columns.TimestampTZ, "TIMESTAMP_NTZ": columns.Timestamp, "UUID": columns.UUID,
}

func (r *rest) dataType(depth int) (t columns.Type, err error) {
	name := r.take()
	if name.kind != "word" || depth >= 100 {
		return t, errNoSchema
	}
	word := strings.ToUpper(name.text)
	if kind, ok := named[word]; ok {
		return columns.Type{Kind: kind}, nil
	}
	if slices.Contains([]string{"ARRAY", "MAP", "STRUCT"}, word) {
		return r.inBrackets(word, depth+1)
	}
	numbers, err := r.numbers()
	if err != nil {
		return t, err
	}
	return sizedType(word, numbers)
}

func (r *rest) inBrackets(word string, depth int) (t columns.Type, err error) {
	if !r.takes("<") {
		return t, errNoSchema
	}
	switch word {
	case "STRUCT":
		t.Kind = columns.Struct
		t.Fields, err = r.fields(depth)
	case "ARRAY":
		t.Kind, t.Fields = columns.List, []columns.Field{{Name: "element"}}
		err = r.part(&t.Fields[0], depth)
	case "MAP":
		t.Kind, t.Fields = columns.Map, []columns.Field{{Name: "key"}, {Name: "value"}}
		err = r.part(&t.Fields[0], depth)
		if t.Fields[0].Required = true; err != nil || len(t.Fields[0].Type.Fields) > 0 || !r.takes(",") {
			return t, errNoSchema
		}
		err = r.part(&t.Fields[1], depth)
	}
	if err != nil || !r.takes(">") {
		return t, errNoSchema
	}
	return t, nil
}

func (r *rest) part(f *columns.Field, depth int) (err error) {
	if f.Type, err = r.dataType(depth); err != nil {
		return err
	}
	f.Required, err = r.notNull()
	return err
}

// numbers are those in parentheses behind the name of a type.
func (r *rest) numbers() (all []int, err error) {
	if !r.takes("(") {
		return nil, nil
	}
	for {
		p := r.take()
		n, err := strconv.ParseInt(p.text, 10, 32)
		if p.kind != "word" || err != nil || strings.Trim(p.text, "0123456789") != "" {
			return nil, errNoSchema
		}
		if all = append(all, int(n)); !r.takes(",") {
			break
		}
	}
	if !r.takes(")") {
		return nil, errNoSchema
	}
	return all, nil
}

func sizedType(word string, numbers []int) (columns.Type, error) {
	switch word {
	case "DECIMAL", "DEC", "NUMERIC":
		both := append(slices.Clone(numbers), []int{10, 0}[min(2, len(numbers)):]...)
		if len(numbers) <= 2 && both[0] >= 1 && both[0] <= 38 && both[1] <= both[0] {
			return columns.Type{Kind: columns.Decimal, Precision: both[0], Scale: both[1]}, nil
		}
	case "TIME":
		if len(numbers) == 0 || len(numbers) == 1 && numbers[0] == 6 {
			return columns.Type{Kind: columns.Time}, nil
		}
	case "VARCHAR", "CHAR", "CHARACTER":
		if len(numbers) == 1 && numbers[0] > 0 {
			return columns.Type{Kind: columns.String}, nil
		}
	case "FIXED":
		if len(numbers) == 1 && numbers[0] > 0 {
			return columns.Type{Kind: columns.Fixed, Width: numbers[0]}, nil
		}
	}
	return columns.Type{}, errNoSchema
}
