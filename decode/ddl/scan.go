package ddl

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a fault in the text of a schema.
type Error struct {
	// Line and Column are where, from 1; Column counts characters.
	Line, Column int
	// Message says what is wrong and what would be right.
	Message string
	// Text is the line.
	Text string
}

// Error is the message with its place and, below it, the line with a caret under the column.
func (e *Error) Error() string {
	before := []rune(e.Text)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(before[:min(e.Column-1, len(before))]))
	return fmt.Sprintf("schema, line %d, column %d: %s\n  %s\n  %s^", e.Line, e.Column, e.Message, e.Text, pad)
}

// token is a piece of the text: one of the kinds below, or a character of punctuation.
type token struct {
	kind rune
	// text is the identifier without its backticks, the string without its quotes, the number.
	text   string
	quoted bool // an identifier in backticks, which is never a keyword
	at     int
}

const (
	end        = -1
	identifier = -2
	text       = -3
	number     = -4
)

// String is how an error shows the token.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text:
		return "a string"
	case identifier, number:
		return t.text
	}
	return string(t.kind)
}

// is reports whether the token is a keyword, whatever its case.
func (t token) is(keyword string) bool {
	return t.kind == identifier && !t.quoted && strings.EqualFold(t.text, keyword)
}

// scanner cuts the text into tokens.
type scanner struct {
	src string
	at  int
}

func (s *scanner) fail(at int, format string, a ...any) error {
	from := strings.LastIndexByte(s.src[:at], '\n') + 1
	line, _, _ := strings.Cut(s.src[from:], "\n")
	return &Error{
		Line: strings.Count(s.src[:at], "\n") + 1, Column: utf8.RuneCountInString(s.src[from:at]) + 1,
		Message: fmt.Sprintf(format, a...), Text: strings.ToValidUTF8(strings.TrimRight(line, "\r"), "\ufffd"),
	}
}

func (s *scanner) next() (token, error) {
	if err := s.skip(); err != nil {
		return token{}, err
	}
	from := s.at
	if from == len(s.src) {
		return token{kind: end, at: from}, nil
	}
	r, size := utf8.DecodeRuneInString(s.src[from:])
	switch {
	case r == '`':
		return s.backticks()
	case r == '\'' || r == '"':
		return s.quoted(s.src[from])
	case isWord(r):
		return s.word(), nil
	case strings.ContainsRune("<>(),:", r):
		s.at += size
		return token{kind: r, at: from}, nil
	case r == '-' && from > 0:
		return token{}, s.fail(from, "a name with other characters than letters, digits and _ needs backticks: `a-b`")
	}
	return token{}, s.fail(from, "%q has no meaning here", r)
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// word is an identifier, or a number if it has digits alone.
func (s *scanner) word() token {
	t := token{kind: number, at: s.at}
	rest := s.src[s.at:]
	size := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
	if size < 0 {
		size = len(rest)
	}
	t.text = rest[:size]
	if strings.Trim(t.text, "0123456789") != "" {
		t.kind = identifier
	}
	s.at += size
	return t
}

// skip passes white space and comments.
func (s *scanner) skip() error {
	for {
		s.at = len(s.src) - len(strings.TrimLeft(s.src[s.at:], " \t\r\n"))
		from := s.at
		switch {
		case strings.HasPrefix(s.src[s.at:], "--"):
			s.at += len(s.src[s.at:])
			if size := strings.IndexAny(s.src[from:], "\r\n"); size >= 0 {
				s.at = from + size
			}
		case strings.HasPrefix(s.src[s.at:], "/*"):
			size := bracketed(s.src[s.at:])
			if size < 0 {
				return s.fail(s.at, "this comment has no end: */ is missing")
			}
			s.at += size
		default:
			return nil
		}
	}
}

// bracketed is how long the comment in front of the text is, with those inside of it; -1 if it has no end.
func bracketed(text string) int {
	open := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			open++
		case "*/":
			open--
		default:
			continue
		}
		if i++; open == 0 {
			return i + 1
		}
	}
	return -1
}

// backticks reads a quoted name, in which two backticks stand for one.
func (s *scanner) backticks() (token, error) {
	t := token{kind: identifier, quoted: true, at: s.at}
	var b strings.Builder
	s.at++
	for {
		size := strings.IndexByte(s.src[s.at:], '`')
		if size < 0 {
			return token{}, s.fail(t.at, "this name has no end: ` is missing")
		}
		b.WriteString(s.src[s.at : s.at+size])
		s.at += size + 1
		if !strings.HasPrefix(s.src[s.at:], "`") {
			t.text = b.String()
			return t, nil
		}
		b.WriteByte('`')
		s.at++
	}
}

// quoted reads a string in quotes, with backslash escapes or the quote doubled.
func (s *scanner) quoted(quote byte) (token, error) {
	t := token{kind: text, at: s.at}
	var b strings.Builder
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\\' && s.at+1 < len(s.src):
			to, size := unescape(s.src[s.at+1:])
			if size == 0 {
				return token{}, s.fail(s.at, "this escape is no character: write the character itself, or \\U and eight digits")
			}
			b.WriteString(to)
			s.at += size
		case c == quote && strings.HasPrefix(s.src[s.at+1:], string(quote)):
			s.at++
			b.WriteByte(c)
		case c == quote:
			s.at++
			t.text = b.String()
			return t, nil
		default:
			b.WriteByte(c)
		}
	}
	return token{}, s.fail(t.at, "this string has no end: %c is missing", quote)
}
