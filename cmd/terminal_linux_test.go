package cmd_test

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/cmd"
)

// screen is a terminal and all that was written to it.
type screen struct {
	tty  *os.File
	text bytes.Buffer
	done chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	owner, tty := cmd.Terminal(t)
	s := &screen{tty: tty, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.text, owner) // ends with an error once nobody has the terminal open any more
	}()
	return s
}

// shown is what was written, with line ends as programs write them. Nothing may be written after.
func (s *screen) shown() string {
	s.tty.Close()
	<-s.done
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

// drawing is the bar as it is drawn over itself, or taken away: from a carriage return to where the line is cleared.
var drawing = regexp.MustCompile(`\r([^\r\n]*)\x1b\[K`)

// wantBar fails the test unless a bar was drawn, and taken away again before anything else came. It returns the rest.
func wantBar(t *testing.T, shown string) (rest string) {
	t.Helper()
	drawn := drawing.FindAllStringSubmatch(shown, -1)
	if len(drawn) < 2 || !strings.Contains(drawn[0][1], "batch 0") || drawn[len(drawn)-1][1] != "" {
		t.Errorf("got %q, want a bar from batch 0 on, and in the end none", shown)
	}
	for _, between := range drawing.Split(shown, -1) {
		if between != "" && !strings.HasSuffix(between, "\n") {
			t.Errorf("the bar was drawn over %q", between)
		}
	}
	return drawing.ReplaceAllString(shown, "")
}

// watched drains a topic in two batches, with stdout and stderr where they are given.
func watched(t *testing.T, stdout, stderr io.Writer, environ string, more ...string) {
	t.Helper()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	p := newPipeline(t, k)
	r := prepared(t, child(slices.Concat([]string{"sluice", "run", "--max-offsets-per-trigger", "10"}, p.flags, more)...))
	r.cmd.Stdout, r.cmd.Stderr = stdout, stderr
	r.cmd.Env = append(slices.DeleteFunc(r.cmd.Env, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") }), "TERM=xterm", environ)
	r.start()
	r.wait().wants(0)
}

var beginning = regexp.MustCompile(`^time=[^ ]+ level=INFO msg="the table was not there and was made" [ -~]*\n\S+ level=INFO msg="a new query begins" [ -~]*\n`)

// afterBeginning is what follows the two lines that a first run begins with.
func afterBeginning(t *testing.T, shown string) string {
	t.Helper()
	lines := beginning.FindString(shown)
	if lines == "" {
		t.Errorf("got %q, want it to begin with what a first run says", shown)
	}
	return shown[len(lines):]
}

// Results go into a file and the bar to whoever watches: the file has nothing of it.
func TestTheBarIsOnTheTerminalAndResultsAreClean(t *testing.T) {
	t.Parallel()
	results := regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ sales\.orders, batch \d: [ -~]*\n){2}\d{4}[^ ]*Z sales\.orders: caught up in `)
	for name, tc := range map[string]struct {
		environ string
		color   bool
	}{"in colour": {"", true}, "without colour": {"NO_COLOR=1", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout bytes.Buffer
			s := newScreen(t)
			watched(t, &stdout, s.tty, tc.environ)
			shown := s.shown()
			if rest := afterBeginning(t, wantBar(t, shown)); rest != "" {
				t.Errorf("got %q beside the bar, want nothing", rest)
			}
			if got := strings.Contains(shown, "\x1b[32m"); got != tc.color {
				t.Errorf("got colour %v, want %v: %q", got, tc.color, shown)
			}
			if !results.MatchString(stdout.String()) || strings.ContainsAny(stdout.String(), "\r\x1b") {
				t.Errorf("got %q, want a line for each batch and a summary, and no control characters", stdout.String())
			}
		})
	}
}

// Where results and bar share the terminal, every line of the results stands for itself.
func TestTheBarLeavesResultsOnTheSameTerminalWhole(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	watched(t, s.tty, s.tty, "")
	rest := afterBeginning(t, wantBar(t, s.shown()))
	if strings.ContainsAny(rest, "\r\x1b") || !regexp.MustCompile(`^(batch \d: [ -~]*\n){2}sales\.orders: caught up in `).MatchString(rest) {
		t.Errorf("got %q without the bar, want a line for each batch and a summary", rest)
	}
}

// Nobody watches, or asked not to be shown a bar: there is none.
func TestThereIsNoBarWhereNobodyWantsOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		more    []string
		environ string
	}{
		"JSON":                            {[]string{"--output", "json"}, ""},
		"quiet":                           {[]string{"--quiet"}, ""},
		"a log for collectors":            {[]string{"--log-format", "json"}, ""},
		"a terminal that cannot draw":     {nil, "TERM=dumb"},
		"a terminal that nobody knows of": {nil, "TERM="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout bytes.Buffer
			s := newScreen(t)
			watched(t, &stdout, s.tty, tc.environ, tc.more...)
			if got := s.shown() + stdout.String(); strings.ContainsAny(got, "\r\x1b") {
				t.Errorf("got %q, want no control characters", got)
			}
		})
	}
	var stderr bytes.Buffer
	s := newScreen(t)
	watched(t, s.tty, &stderr, "")
	if shown := s.shown(); afterBeginning(t, stderr.String()) != "" || strings.ContainsAny(shown, "\r\x1b") || !strings.Contains(shown, "caught up") {
		t.Errorf("results on the terminal, log in a file: got %q and %q, want a summary and no bar", shown, stderr.String())
	}
}
