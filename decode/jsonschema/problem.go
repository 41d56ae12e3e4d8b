package jsonschema

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is everything in a schema that is no column.
type Error struct{ Problems []Problem }

// Problem is one place of a schema that is no column.
type Problem struct {
	// Pointer is where it is: the name of a reference if it is in one, #, and a JSON pointer (RFC 6901).
	Pointer string
	// Column is the path of the column that it would be, empty for the record itself.
	Column string
	// Message says what is wrong and what to do.
	Message string
}

// Error lists the problems, a line each if there are several.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if len(lines) == 1 {
		return "JSON Schema, " + lines[0]
	}
	return fmt.Sprintf("JSON Schema: %d problems\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// String is place and message.
func (p *Problem) String() string {
	if p.Column == "" {
		return fmt.Sprintf("%s: %s", safe(p.Pointer), p.Message)
	}
	return fmt.Sprintf("%s (column %s): %s", safe(p.Pointer), safe(p.Column), p.Message)
}

// safe is text of a schema as a terminal may show it.
func safe(text string) string {
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}
