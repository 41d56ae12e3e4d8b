package progress

import "io"

// Demo is one step of the demonstration. Between the steps stand the objects of the verbs that it shows.
type Demo struct {
	// Step counts from 1.
	Step  int    `json:"step"`
	Title string `json:"title"`
	// Detail is what there is to know about it, line by line.
	Detail []string `json:"detail"`
	// Command is what a person would type for it; empty if there is no such command.
	Command string `json:"command,omitempty"`
	// Next lists what to try afterwards; only the last step has it.
	Next      []string `json:"next,omitempty"`
	ElapsedMs int64    `json:"elapsedMs"`
}

// Type is "demo".
func (d *Demo) Type() string { return "demo" }

// WriteText writes a heading and what there is to know.
func (d *Demo) WriteText(w io.Writer) error {
	var out page
	if d.Step > 1 {
		out.linef("")
	}
	out.linef("%d. %s", d.Step, d.Title)
	for _, line := range d.Detail {
		out.linef("   %s", line)
	}
	if d.Command != "" {
		out.linef("   $ %s", d.Command)
	}
	for _, line := range d.Next {
		out.linef("   - %s", line)
	}
	return out.to(w)
}
