// Package layout is the grammar of how the rows of a table are laid out: the expressions by which they are partitioned and
// sorted, as Spark writes them in PARTITIONED BY and WRITE ORDERED BY. It knows words, not tables: whether a column exists
// and what its type allows is up to who has the table. It needs the standard library alone.
package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// Transform is what becomes of a column's value (Iceberg specification, Partition Transforms).
type Transform string

// The transforms, by the names that the Iceberg specification gives them.
const (
	Identity Transform = "identity"
	Void     Transform = "void"
	Bucket   Transform = "bucket"
	Truncate Transform = "truncate"
	Year     Transform = "year"
	Month    Transform = "month"
	Day      Transform = "day"
	Hour     Transform = "hour"
)

// words are the names that expressions may give transforms; the first of each is the one that String writes.
var words = []struct {
	transform Transform
	names     []string
}{
	{Bucket, []string{"bucket"}}, {Truncate, []string{"truncate"}}, {Void, []string{"void"}}, {Identity, []string{"identity"}},
	{Year, []string{"years", "year"}}, {Month, []string{"months", "month"}}, {Day, []string{"days", "day", "date"}},
	{Hour, []string{"hours", "hour", "date_hour"}},
}

// Term is an expression over one column.
type Term struct {
	Transform Transform
	// Width is the number of a Bucket's buckets or the length of a Truncate, else 0.
	Width int
	// Column is the column, with dots between the names of those inside of others.
	Column string
}

// Order is a term that rows are sorted by.
type Order struct {
	Term
	Descending, NullsLast bool
}

// ParseTerm reads an expression such as customer_id, address.city, days(event_time), bucket(16, customer_id) or
// truncate(10, name). Names of transforms are taken in any case, in the singular and the plural; the number may also stand
// behind the column. A name that is not made of letters, digits and _-@$: alone is put between backticks. An error says at which
// character.
func ParseTerm(text string) (Term, error) {
	s := &scanner{text: text}
	t, err := s.term()
	if err == nil && s.token() != "" {
		err = s.unexpected("nothing more")
	}
	return t, err
}

// ParseOrder reads a term with an optional ASC or DESC and an optional NULLS FIRST or NULLS LAST. As in Spark, nulls come
// first where rows ascend and last where they descend, if nothing is said.
func ParseOrder(text string) (Order, error) {
	s := &scanner{text: text}
	t, err := s.term()
	if err != nil {
		return Order{}, err
	}
	o := Order{Term: t}
	if s.word("desc") {
		o.Descending = true
	} else {
		s.word("asc")
	}
	o.NullsLast = o.Descending
	if s.word("nulls") {
		switch {
		case s.word("first"):
			o.NullsLast = false
		case s.word("last"):
			o.NullsLast = true
		default:
			return Order{}, s.unexpected("FIRST or LAST")
		}
	}
	if s.token() != "" {
		return Order{}, s.unexpected("ASC, DESC, NULLS FIRST, NULLS LAST or nothing more")
	}
	return o, nil
}

// String is the term as ParseTerm reads it.
func (t Term) String() string {
	column := quoted(t.Column)
	switch t.Transform {
	case Identity:
		return column
	case Bucket, Truncate:
		return fmt.Sprintf("%s(%d, %s)", t.Transform, t.Width, column)
	}
	for _, w := range words {
		if w.transform == t.Transform {
			return fmt.Sprintf("%s(%s)", w.names[0], column)
		}
	}
	return fmt.Sprintf("%s(%s)", t.Transform, column)
}

// String is the order as ParseOrder reads it.
func (o Order) String() string {
	text := o.Term.String()
	if o.Descending {
		text += " DESC"
	}
	if o.NullsLast != o.Descending {
		text += map[bool]string{true: " NULLS LAST", false: " NULLS FIRST"}[o.NullsLast]
	}
	return text
}

func quoted(column string) string {
	for i := range len(column) {
		if column[i] != '.' && !isName(column[i]) {
			return "`" + strings.ReplaceAll(column, "`", "``") + "`"
		}
	}
	return column
}

// scanner goes through the tokens of an expression: names, numbers, text between backticks, and single characters.
type scanner struct {
	text string
	at   int
}

// isName says what a name without backticks may hold. What begins beyond ASCII is a letter.
func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-@$:", c) >= 0
}

// token is the next token, without going past it; empty at the end.
func (s *scanner) token() string {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	rest := s.text[s.at:]
	switch {
	case rest == "":
		return ""
	case rest[0] == '`':
		return rest[:endOfQuoted(rest)]
	}
	n := 0
	for n < len(rest) && isName(rest[n]) {
		n++
	}
	return rest[:max(1, n)]
}

// endOfQuoted is the length of a text between backticks; two in a row stand for one. Where it does not end it is all.
func endOfQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		if i+1 == len(text) || text[i+1] != '`' {
			return i + 1
		}
		i++
	}
	return len(text)
}

func (s *scanner) next() string {
	t := s.token()
	s.at += len(t)
	return t
}

func (s *scanner) take(token string) bool {
	if s.token() != token {
		return false
	}
	s.at += len(token)
	return true
}

func (s *scanner) word(word string) bool {
	if !strings.EqualFold(s.token(), word) {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) unexpected(want string) error {
	found := s.token()
	if found == "" {
		return fmt.Errorf("ends at character %d, where %s was expected", s.at+1, want)
	}
	return fmt.Errorf("has %s at character %d, where %s was expected", found, s.at+1, want)
}

func (s *scanner) term() (Term, error) {
	begin := s.at
	name := s.next()
	if !s.take("(") {
		s.at = begin
		column, err := s.column()
		return Term{Transform: Identity, Column: column}, err
	}
	for _, w := range words {
		for _, n := range w.names {
			if strings.EqualFold(n, name) {
				return s.arguments(w.transform)
			}
		}
	}
	s.at = begin
	return Term{}, s.unexpected("a column or one of bucket, truncate, years, months, days, hours, identity, void")
}

// arguments reads what stands between the parentheses, and the closing one.
func (s *scanner) arguments(t Transform) (term Term, err error) {
	term.Transform = t
	sized := t == Bucket || t == Truncate
	numberFirst := sized && isNumber(s.token())
	if numberFirst {
		if term.Width, err = s.width(); err != nil {
			return term, err
		}
		if !s.take(",") {
			return term, s.unexpected("a comma")
		}
	}
	if term.Column, err = s.column(); err != nil {
		return term, err
	}
	if sized && !numberFirst {
		if !s.take(",") {
			return term, s.unexpected("a comma and a number")
		}
		if term.Width, err = s.width(); err != nil {
			return term, err
		}
	}
	if !s.take(")") {
		return term, s.unexpected("a closing parenthesis")
	}
	return term, nil
}

func isNumber(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

func (s *scanner) width() (int, error) {
	n, err := strconv.ParseInt(s.token(), 10, 32)
	if err != nil || n < 1 {
		return 0, s.unexpected("a number from 1 to 2147483647")
	}
	s.next()
	return int(n), nil
}

// column reads names with dots between them.
func (s *scanner) column() (string, error) {
	var names []string
	for {
		name := s.token()
		switch {
		case name == "" || name[0] != '`' && !isName(name[0]):
			return "", s.unexpected("a column")
		case name[0] == '`':
			if len(name) < 3 || name[len(name)-1] != '`' {
				return "", s.unexpected("a column between backticks")
			}
			s.next()
			name = strings.ReplaceAll(name[1:len(name)-1], "``", "`")
		default:
			s.next()
		}
		names = append(names, name)
		if !s.take(".") {
			return strings.Join(names, "."), nil
		}
	}
}
