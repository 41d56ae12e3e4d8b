package job

import (
	"fmt"
	"slices"
	"strings"
)

// Layer ranks the places that a value can come from: a later one overrides an earlier one.
type Layer int

// The layers, lowest first.
const (
	Unset Layer = iota
	Default
	Derived
	File
	Environment
	Flag
)

// Origin is where a value was written.
type Origin struct {
	Layer Layer
	// Name is the file, the variable or the flag; for a derived value the key that it follows from.
	Name string
	// Line and Column count from 1; they are 0 outside of a file, and where YAML does not tell.
	Line, Column int
}

// String is "orders.yaml:4:3", "SLUICE_NAME", "--name", "from sink.iceberg.table" or "default".
func (o Origin) String() string {
	switch {
	case o.Layer == Default:
		return "default"
	case o.Layer == Derived:
		return "from " + o.Name
	case o.Line > 0 && o.Column == 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case o.Line > 0:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return o.Name
}

// Problem is one thing that is wrong with a job.
type Problem struct {
	// At is where; its zero value means nowhere in particular.
	At Origin
	// Key is the path of the key, empty if the problem is not with one.
	Key string
	// Message says what is wrong and what is allowed. It never holds a secret.
	Message string
	// Nearest is the valid name that was probably meant, empty if none is near.
	Nearest string
}

// String is one line: place, key, what is wrong, and what was probably meant.
func (p Problem) String() string {
	var b strings.Builder
	if at := p.At.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Nearest != "" {
		b.WriteString("; did you mean " + p.Nearest + "?")
	}
	return b.String()
}

// Error is everything that is wrong with a job, in the order of file, environment and flags. Nothing was touched.
type Error struct {
	Problems []Problem
}

// Error has one line for a single problem; for several a line that counts them and one line each.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return "job: " + e.Problems[0].String()
	}
	lines := []string{fmt.Sprintf("job: %d problems", len(e.Problems))}
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}

// Hint says what to do about it.
func (e *Error) Hint() string {
	return "correct the job; docs/job.md has every key and what it takes. Nothing was touched"
}

// ordered sorts problems by layer and place; those without a line keep the order in which they were found.
func ordered(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.At.Layer != b.At.Layer {
			return rank(a.At) - rank(b.At)
		}
		if a.At.Line != b.At.Line {
			return a.At.Line - b.At.Line
		}
		return a.At.Column - b.At.Column
	})
	return problems
}

// rank puts what has no place of its own last: a missing key is read after the keys that are there.
func rank(o Origin) int {
	if o.Layer <= Derived {
		return int(Flag) + 1
	}
	return int(o.Layer)
}
