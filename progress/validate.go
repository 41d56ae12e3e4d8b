package progress

import "io"

// Validate is what was checked of a job without running it.
type Validate struct {
	Query string `json:"query"`
	// OK says that no check failed.
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// Check is one of the checks, in the order in which they were made.
type Check struct {
	// Name is a fixed word for it, such as kafka or table.
	Name string `json:"name"`
	// Status is ok, failed, or skipped where it stands on another check that did not succeed.
	Status string `json:"status"`
	// Detail is what was found, or why the check was skipped.
	Detail string `json:"detail"`
	// Hint is what to do about a failure.
	Hint       string `json:"hint,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

// The states of a check.
const (
	CheckOK      = "ok"
	CheckFailed  = "failed"
	CheckSkipped = "skipped"
)

// Type is "validate".
func (v *Validate) Type() string { return "validate" }

// WriteText writes a line for each check, and what to do below those that failed.
func (v *Validate) WriteText(w io.Writer) error {
	var out page
	width := 0
	for _, c := range v.Checks {
		width = max(width, len(c.Name))
	}
	failed, skipped := int64(0), int64(0)
	for _, c := range v.Checks {
		out.linef("%-7s  %s%s  %s", c.Status, c.Name, gap(width, c.Name), printable(c.Detail))
		if c.Hint != "" {
			out.linef("%s  try: %s", gap(9+width, ""), printable(c.Hint))
		}
		switch c.Status {
		case CheckFailed:
			failed++
		case CheckSkipped:
			skipped++
		}
	}
	switch {
	case v.OK:
		out.linef("%s: ready to run", v.Query)
	case skipped > 0:
		out.linef("%s: not ready, %s failed, %s skipped", v.Query, plural(failed, "check"), count(skipped))
	default:
		out.linef("%s: not ready, %s failed", v.Query, plural(failed, "check"))
	}
	return out.to(w)
}
