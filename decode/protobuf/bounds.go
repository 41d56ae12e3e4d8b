package protobuf

import (
	"fmt"
	"strings"
)

// Bounds of .proto texts, which may come from a registry: the compiler takes some hundred times the memory of what it
// reads. They are far beyond what people write; protoc itself nests messages no deeper than 32.
const (
	maxText   = 4 << 20
	maxTokens = 1_000_000
	maxNested = 100
	// longestLine is how long a line may be for its comments to be read: the compiler finds the column of each thing by
	// going through its line from the start.
	longestLine = 8 << 10
)

// weight is what a compiler has to do with texts.
type weight struct {
	bytes, tokens, line int
}

// bounded refuses texts that are too large or too deep, and says whether their lines are short enough for comments.
func bounded(files map[string]string) (comments bool, err error) {
	var all weight
	for name, text := range files {
		if all.bytes += len(text); all.bytes > maxText {
			return false, fmt.Errorf("protobuf: the texts have more than %d bytes", maxText)
		}
		if depth := all.scan(text); depth > maxNested {
			return false, fmt.Errorf("protobuf: %s: there are more than %d levels of brackets within each other", name, maxNested)
		}
		if all.tokens > maxTokens {
			return false, fmt.Errorf("protobuf: the texts have more than %d words and signs", maxTokens)
		}
	}
	return all.line <= longestLine, nil
}

// scan counts the tokens of a text and tells how deep brackets are within each other.
func (w *weight) scan(text string) (deepest int) {
	depth, from := 0, 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			w.line = max(w.line, i-from)
			from = i + 1
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '"' || c == '\'':
			w.tokens++
			i += quoted(text[i:])
		case strings.HasPrefix(text[i:], "//"):
			i += until(text[i:], "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i += 2 + until(text[i+2:], "*/")
		case isWord(c):
			w.tokens++
			for i < len(text) && isWord(text[i]) {
				i++
			}
		default:
			w.tokens++
			if strings.IndexByte("{[(<", c) >= 0 {
				depth++
				deepest = max(deepest, depth)
			} else if strings.IndexByte("}])>", c) >= 0 {
				depth = max(0, depth-1)
			}
			i++
		}
	}
	w.line = max(w.line, len(text)-from)
	return deepest
}

// until is how long the text is before a sign, all of it if the sign is not there.
func until(text, sign string) int {
	if at := strings.Index(text, sign); at >= 0 {
		return at
	}
	return len(text)
}

// quoted is how long the string at the front is; one that does not end ends with its line.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
