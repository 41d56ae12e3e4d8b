package ddl

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// escapes are what a backslash makes of a character; % and _ keep it, as in MySQL, from which Spark has them.
var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", '0': "\x00", 'Z': "\x1a", '%': `\%`, '_': `\_`}

// numbered are the escapes that give a character by its number.
var numbered = regexp.MustCompile(`^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7][0-7]))`)

// unescape is what an escape stands for, by Spark's rules for string literals, and how many bytes it takes behind its
// backslash: none if its number is that of no character. Halves of surrogate pairs are not put together.
func unescape(rest string) (to string, size int) {
	if m := numbered.FindStringSubmatch(rest); m != nil {
		base := 16
		if m[3] != "" {
			base = 8
		}
		n, err := strconv.ParseInt(m[1]+m[2]+m[3], base, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return "", 0
		}
		return string(rune(n)), len(m[0])
	}
	if to, ok := escapes[rest[0]]; ok {
		return to, 1
	}
	_, size = utf8.DecodeRuneInString(rest)
	return rest[:size], size
}
