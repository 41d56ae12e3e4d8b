// Package ddl reads and writes schemas as Spark SQL has them: what Spark's StructType.toDDL and fromDDL, its
// CREATE TABLE and its from_json take.
//
//	order_id   STRING NOT NULL COMMENT 'as the shop knows it',
//	amount     DECIMAL(18,2),
//	`zip-code` STRING,                          -- a name with other characters than letters, digits and _
//	items      ARRAY<STRUCT<sku: STRING, qty: INT>>
//
// Columns are separated by commas; a colon may stand between name and type, at each depth. Names keep their case, types
// and keywords have none. Comments are -- to the end of the line and /* … */, also within each other. The whole may be
// one STRUCT<…>. Texts in quotes have the escapes of Spark's string literals: \n, \', \u00e9, \U0001f600, \101 and so on.
//
//	BOOLEAN, BOOL                       boolean
//	TINYINT, BYTE, SMALLINT, SHORT      int; Iceberg has nothing smaller, and the smaller range is not enforced
//	INT, INTEGER                        int
//	BIGINT, LONG                        long
//	FLOAT, REAL                         float
//	DOUBLE                              double
//	DECIMAL(p,s), DEC, NUMERIC          decimal of p digits, 1 to 38, s of them behind the point; (p) is (p,0), none (10,0)
//	STRING, VARCHAR(n), CHAR(n)         string; the length is not enforced, and CHAR is not padded
//	BINARY                              binary
//	DATE                                date
//	TIMESTAMP, TIMESTAMP_LTZ            timestamptz, microseconds
//	TIMESTAMP_NTZ                       timestamp of no zone, microseconds
//	ARRAY<t>                            list
//	MAP<k, v>                           map; keys are never null
//	STRUCT<a: t, b: t>                  struct
//	TIME, TIME(6)                       time of day, microseconds (Spark from 4.1 on)
//	UUID, FIXED(n)                      uuid, fixed; Iceberg has them, Spark has not
//
// Spark has no way to say that the elements of an array or the values of a map are never null. As Flink does,
// ARRAY<INT NOT NULL> and MAP<STRING, INT NOT NULL> say so here.
//
// Two columns of the same name, or of names that differ by case only, are refused at every depth.
package ddl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/columns"
)

// maxDepth bounds types within types.
const maxDepth = 100

// Parse reads a schema. Its errors are *Error.
func Parse(text string) (columns.Schema, error) {
	p := &parser{scanner: scanner{src: text}}
	if !utf8.ValidString(text) {
		return nil, p.fail(invalid(text), "the text is not UTF-8")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	schema, err := p.schema()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, p.unexpected("a comma, NOT NULL or COMMENT")
	}
	return schema, nil
}

// ParseType reads one type, such as BIGINT or STRUCT<id: BIGINT NOT NULL>. Its errors are *Error.
func ParseType(text string) (columns.Type, error) {
	p := &parser{scanner: scanner{src: text}}
	if !utf8.ValidString(text) {
		return columns.Type{}, p.fail(invalid(text), "the text is not UTF-8")
	}
	if err := p.advance(); err != nil {
		return columns.Type{}, err
	}
	t, err := p.dataType()
	if err == nil && p.tok.kind != end {
		err = p.unexpected("the end of the type")
	}
	return t, err
}

// invalid is where text stops being UTF-8.
func invalid(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return i
		}
	}
	return len(text)
}

type parser struct {
	scanner
	tok   token
	depth int
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) unexpected(wanted string) error {
	return p.fail(p.tok.at, "%s where %s should be", p.tok, wanted)
}

// expect passes a character of punctuation.
func (p *parser) expect(kind rune, wanted string) error {
	if p.tok.kind != kind {
		return p.unexpected(wanted)
	}
	return p.advance()
}

func (p *parser) schema() (columns.Schema, error) {
	if p.tok.kind == end {
		return nil, p.fail(p.tok.at, "a schema has at least one column, such as: id BIGINT NOT NULL, name STRING")
	}
	if p.tok.is("STRUCT") && strings.HasPrefix(strings.TrimLeft(p.src[p.at:], " \t\r\n"), "<") {
		t, err := p.dataType()
		return t.Fields, err
	}
	return p.fields(end)
}

// fields reads columns up to a closing token, which stays.
func (p *parser) fields(until rune) ([]columns.Field, error) {
	var fields []columns.Field
	seen := map[string]string{}
	for {
		at := p.tok.at
		f, err := p.field()
		if err != nil {
			return nil, err
		}
		if before, twice := seen[strings.ToLower(f.Name)]; twice {
			return nil, p.twice(at, before, f.Name)
		}
		seen[strings.ToLower(f.Name)] = f.Name
		fields = append(fields, f)
		if p.tok.kind != ',' {
			return fields, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind == until {
			return nil, p.fail(p.tok.at, "a column should follow the comma")
		}
	}
}

func (p *parser) twice(at int, before, name string) error {
	if before == name {
		return p.fail(at, "there is a column %s already", quoteName(name))
	}
	return p.fail(at, "columns %s and %s differ by case only: Spark, Hive and Trino match names whatever their case and could read neither", quoteName(before), quoteName(name))
}

func (p *parser) field() (columns.Field, error) {
	var f columns.Field
	if p.tok.kind != identifier && p.tok.kind != number {
		return f, p.unexpected("the name of a column")
	}
	if p.tok.text == "" {
		return f, p.fail(p.tok.at, "a column has a name")
	}
	f.Name = p.tok.text
	if err := p.advance(); err != nil {
		return f, err
	}
	if p.tok.kind == ':' {
		if err := p.advance(); err != nil {
			return f, err
		}
	}
	var err error
	if f.Type, err = p.dataType(); err != nil {
		return f, err
	}
	if f.Required, err = p.notNull(); err != nil {
		return f, err
	}
	f.Doc, err = p.comment()
	return f, err
}

func (p *parser) notNull() (bool, error) {
	if !p.tok.is("NOT") {
		return false, p.clause()
	}
	if err := p.advance(); err != nil {
		return false, err
	}
	if !p.tok.is("NULL") {
		return false, p.unexpected("NULL, after NOT,")
	}
	return true, p.advance()
}

// clause refuses what else Spark lets stand behind a type.
func (p *parser) clause() error {
	for _, keyword := range []string{"DEFAULT", "GENERATED", "COLLATE", "PRIMARY", "UNIQUE", "CHECK"} {
		if p.tok.is(keyword) {
			return p.fail(p.tok.at, "%s is not understood: a column has a name, a type, NOT NULL and COMMENT", keyword)
		}
	}
	return nil
}

func (p *parser) comment() (string, error) {
	if !p.tok.is("COMMENT") {
		return "", p.clause()
	}
	if err := p.advance(); err != nil {
		return "", err
	}
	if p.tok.kind != text {
		return "", p.unexpected("the comment, in quotes,")
	}
	comment := p.tok.text
	return comment, p.advance()
}

// dataType reads a type.
func (p *parser) dataType() (columns.Type, error) {
	if p.tok.kind != identifier || p.tok.quoted {
		return columns.Type{}, p.unexpected("a type, such as STRING,")
	}
	if p.depth++; p.depth > maxDepth {
		return columns.Type{}, p.fail(p.tok.at, "types are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	name, at := strings.ToUpper(p.tok.text), p.tok.at
	if err := p.known(name, at); err != nil {
		return columns.Type{}, err
	}
	if err := p.advance(); err != nil {
		return columns.Type{}, err
	}
	switch name {
	case "ARRAY", "MAP", "STRUCT":
		return p.nested(name)
	case "TIME":
		return p.time()
	}
	if kind, ok := plain[name]; ok {
		return columns.Type{Kind: kind}, nil
	}
	return p.sized(name, at)
}

// known refuses a name that is no type, with the reason or the name that may be meant.
func (p *parser) known(name string, at int) error {
	if why, ok := refused[name]; ok {
		return p.fail(at, "%s cannot be a column: %s", name, why)
	}
	if _, ok := plain[name]; ok {
		return nil
	}
	for _, other := range append(sized, nested...) {
		if name == other {
			return nil
		}
	}
	if near := nearest(name); near != "" {
		return p.fail(at, "there is no type %s; did you mean %s?", p.tok.text, near)
	}
	return p.fail(at, "there is no type %s; the types are BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, ARRAY<…>, MAP<…, …>, STRUCT<…>", p.tok.text)
}

func (p *parser) time() (columns.Type, error) {
	at := p.tok.at
	sizes, err := p.sizes()
	if err == nil && len(sizes) > 0 && (len(sizes) > 1 || sizes[0] != 6) {
		err = p.fail(at, "a TIME has microseconds: write TIME or TIME(6)")
	}
	return columns.Type{Kind: columns.Time}, err
}

func (p *parser) sized(name string, at int) (columns.Type, error) {
	sizes, err := p.sizes()
	if err != nil {
		return columns.Type{}, err
	}
	switch name {
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimal(at, sizes)
	}
	if len(sizes) != 1 || sizes[0] < 1 {
		return columns.Type{}, p.fail(at, "%s needs a length of at least 1: %s(16)", name, name)
	}
	if name == "FIXED" {
		return columns.Type{Kind: columns.Fixed, Width: sizes[0]}, nil
	}
	return columns.Type{Kind: columns.String}, nil
}

func (p *parser) decimal(at int, sizes []int) (columns.Type, error) {
	t := columns.Type{Kind: columns.Decimal, Precision: 10}
	if len(sizes) > 0 {
		t.Precision = sizes[0]
	}
	if len(sizes) > 1 {
		t.Scale = sizes[1]
	}
	switch {
	case len(sizes) > 2:
		return t, p.fail(at, "a DECIMAL has two numbers, all digits and those behind the point: DECIMAL(18,2)")
	case t.Precision < 1 || t.Precision > 38:
		return t, p.fail(at, "a DECIMAL has 1 to 38 digits, not %d", t.Precision)
	case t.Scale > t.Precision:
		return t, p.fail(at, "of %d digits, %d cannot be behind the point", t.Precision, t.Scale)
	}
	return t, nil
}

// sizes reads numbers in parentheses, if there are any.
func (p *parser) sizes() ([]int, error) {
	if p.tok.kind != '(' {
		return nil, nil
	}
	var sizes []int
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(p.tok.text, 10, 32)
		if p.tok.kind != number || err != nil {
			return nil, p.unexpected("a number of digits or bytes")
		}
		sizes = append(sizes, int(size))
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != ',' {
			return sizes, p.expect(')', "a closing parenthesis")
		}
	}
}

// nested reads what ARRAY, MAP or STRUCT have in angle brackets.
func (p *parser) nested(name string) (t columns.Type, err error) {
	if err := p.expect('<', fmt.Sprintf("<, after %s,", name)); err != nil {
		return t, err
	}
	switch name {
	case "ARRAY":
		t.Kind, t.Fields = columns.List, make([]columns.Field, 1)
		err = p.part(&t.Fields[0], "element")
	case "MAP":
		t.Kind, t.Fields = columns.Map, make([]columns.Field, 2)
		err = p.entry(t.Fields)
	default:
		if p.tok.kind == '>' {
			return t, p.fail(p.tok.at, "a STRUCT has at least one field")
		}
		t.Kind = columns.Struct
		t.Fields, err = p.fields('>')
	}
	if err != nil {
		return t, err
	}
	return t, p.expect('>', fmt.Sprintf("a comma or the > of %s", name))
}

// part reads the element of an array or the key or value of a map.
func (p *parser) part(f *columns.Field, name string) (err error) {
	f.Name = name
	if f.Type, err = p.dataType(); err != nil {
		return err
	}
	f.Required, err = p.notNull()
	return err
}

func (p *parser) entry(fields []columns.Field) error {
	at := p.tok.at
	if err := p.part(&fields[0], "key"); err != nil {
		return err
	}
	fields[0].Required = true
	if len(fields[0].Type.Fields) > 0 {
		return p.fail(at, "the key of a MAP is no %s", strings.ToUpper(fields[0].Type.Kind.String()))
	}
	if err := p.expect(',', "a comma, between the types of key and value,"); err != nil {
		return err
	}
	return p.part(&fields[1], "value")
}
