package progress

import "io"

// Failure is the error that a verb ended with.
type Failure struct {
	// ExitCode is the process's, Class the word for it, such as data loss.
	ExitCode int    `json:"exitCode"`
	Class    string `json:"class"`
	// Error says what happened, Hint what to do next.
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	// Problems are all that is wrong with a job; absent for other errors.
	Problems []JobProblem `json:"problems,omitempty"`
}

// JobProblem is one thing that is wrong with a job.
type JobProblem struct {
	// At is the file, variable or flag, Line and Column the place in a file.
	At     string `json:"at,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Key is the path of the key.
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	// Nearest is the valid name that was probably meant.
	Nearest string `json:"nearest,omitempty"`
}

// Type is "error".
func (f *Failure) Type() string { return "error" }

// WriteText writes the error, and a line that says what to do.
func (f *Failure) WriteText(w io.Writer) error {
	var out page
	out.linef("sluice: %s", f.Error)
	if f.Hint != "" {
		out.linef("Try: %s", f.Hint)
	}
	return out.to(w)
}
