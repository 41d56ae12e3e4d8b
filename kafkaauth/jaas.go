package kafkaauth

import (
	"fmt"
	"strings"
)

// jaas is the one login module of a JAAS text.
type jaas struct {
	module  string
	options map[string]string
	// order is that of the text.
	order []string
}

// parseJAAS reads what stands in sasl.jaas.config, by the grammar of Kafka's JaasConfig, but more strictly: what Java would
// leave out or misread without a word is an error here. Errors name the character, counted from 1, and never show any of
// the text but what this package says: a quote forgotten makes a piece of a password look like a name.
func parseJAAS(text string) (*jaas, error) {
	s := &jaasScanner{text: text}
	module, at, err := s.next()
	switch {
	case err != nil:
		return nil, err
	case module.end():
		return nil, jaasError(at, "is empty: want a login module, such as org.apache.kafka.common.security.scram.ScramLoginModule required username=\"…\" password=\"…\";")
	case module.kind != word:
		return nil, jaasError(at, "want the name of a login module")
	}
	flag, at, err := s.next()
	if err != nil {
		return nil, err
	}
	if flag.kind != word || !isFlag(flag.text) {
		return nil, jaasError(at, "want required behind the login module")
	}
	j := &jaas{module: module.text, options: map[string]string{}}
	if err := j.readOptions(s); err != nil {
		return nil, err
	}
	if rest, at, err := s.next(); err != nil || !rest.end() {
		return nil, jaasError(at, "want nothing behind the semicolon: one login module is enough")
	}
	return j, nil
}

func isFlag(text string) bool {
	switch strings.ToUpper(text) {
	case "REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL":
		return true
	}
	return false
}

func (j *jaas) readOptions(s *jaasScanner) error {
	for {
		name, at, err := s.next()
		switch {
		case err != nil:
			return err
		case name.kind == sign && name.text == ";":
			return nil
		case name.end():
			return jaasError(at, "want a semicolon at the end")
		case name.kind != word:
			return jaasError(at, "want the name of an option, or a semicolon")
		}
		equals, at, err := s.next()
		if err != nil {
			return err
		}
		if equals.kind != sign || equals.text != "=" {
			return jaasError(at, "want = behind the name of an option; a value with blanks or signs needs quotes")
		}
		value, at, err := s.next()
		if err != nil {
			return err
		}
		if value.kind != word && value.kind != quoted {
			return jaasError(at, "want a value behind =; one with signs needs quotes")
		}
		if _, twice := j.options[name.text]; twice {
			return jaasError(at, "an option is given twice")
		}
		j.options[name.text] = value.text
		j.order = append(j.order, name.text)
	}
}

func jaasError(at int, what string) error { return fmt.Errorf("at character %d: %s", at+1, what) }

// The kinds of tokens.
const (
	nothing = iota // the end
	word
	quoted
	sign
)

type jaasToken struct {
	kind int
	text string
}

func (t jaasToken) end() bool { return t.kind == nothing }

// jaasScanner cuts a text into words, quoted texts and the signs = and ;.
type jaasScanner struct {
	text string
	at   int
}

// next also tells where the token begins.
func (s *jaasScanner) next() (jaasToken, int, error) {
	if err := s.skip(); err != nil {
		return jaasToken{}, s.at, err
	}
	from := s.at
	if from == len(s.text) {
		return jaasToken{}, from, nil
	}
	switch c := s.text[from]; {
	case c == '"' || c == '\'':
		text, err := s.quotedText(c)
		return jaasToken{quoted, text}, from, err
	case c == '=' || c == ';':
		s.at++
		return jaasToken{sign, string(c)}, from, nil
	}
	for s.at < len(s.text) && wordByte(s.text[s.at]) {
		s.at++
	}
	if s.at == from {
		return jaasToken{}, from, jaasError(from, "want a letter, a digit or a quote; a value with signs needs quotes")
	}
	return jaasToken{word, s.text[from:s.at]}, from, nil
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '$' || c == '.' || c >= 0x80
}

// skip goes over blanks and comments.
func (s *jaasScanner) skip() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "//"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				s.at += end
			} else {
				s.at = len(s.text)
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return jaasError(s.at, "the comment has no end")
			}
			s.at += end + 2
		default:
			return nil
		}
	}
	return nil
}

// escapes are those of Java's StreamTokenizer; a backslash before anything else stands for that.
var escapes = map[byte]byte{'a': 7, 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': 11}

func (s *jaasScanner) quotedText(quote byte) (string, error) {
	from := s.at
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			s.at++
			return b.String(), nil
		case c == '\n' || c == '\r':
			return "", jaasError(s.at, "a quoted text ends with its line: write \\n for a line feed")
		case c == '\\' && s.at+1 < len(s.text):
			s.at++
			s.escaped(&b)
		default:
			b.WriteByte(c)
		}
	}
	return "", jaasError(from, "the quote has no end")
}

// escaped reads what stands behind a backslash; up to three octal digits are a character.
func (s *jaasScanner) escaped(b *strings.Builder) {
	c := s.text[s.at]
	if c < '0' || c > '7' {
		if stands, ok := escapes[c]; ok {
			c = stands
		}
		b.WriteByte(c)
		return
	}
	digits, most, code, n := s.text[s.at:], 2, rune(0), 0
	if c <= '3' {
		most = 3
	}
	for n < min(most, len(digits)) && '0' <= digits[n] && digits[n] <= '7' {
		code = code*8 + rune(digits[n]-'0')
		n++
	}
	s.at += n - 1
	b.WriteRune(code)
}
