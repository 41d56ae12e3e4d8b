package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"sluice/batch"
	"sluice/progress"
)

// indent sets what commands print apart from what the demo says.
const indent = "     "

// stage shows steps, and runs this program as child processes whose output is part of them.
type stage struct {
	*process
	// program is the file to run.
	program string
	environ []string
	began   time.Time
	steps   int
	// colors says that the output is watched by somebody who wants colours.
	colors bool
}

func (p *process) newStage() (*stage, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &stage{process: p, program: program, began: time.Now()}
	s.colors = !p.json && progress.IsTerminal(p.stdout) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
	for _, pair := range p.environ {
		if !strings.HasPrefix(pair, "SLUICE_") { // it is meant for another job
			s.environ = append(s.environ, pair)
		}
	}
	return s, nil
}

// show shows the next step.
func (s *stage) show(step *progress.Demo) error {
	s.steps++
	step.Step, step.ElapsedMs = s.steps, time.Since(s.began).Milliseconds()
	if s.json {
		return progress.WriteJSON(s.stdout, step)
	}
	var text bytes.Buffer
	if err := step.WriteText(&text); err != nil {
		return err
	}
	_, err := io.WriteString(s.stdout, painted(text.String(), s.colors))
	return err
}

// painted is the text of a step, its heading bold and its commands green if there are to be colours.
func painted(text string, colors bool) string {
	var out strings.Builder
	headed := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		color := ""
		switch {
		case line != "" && !headed:
			headed, color = true, "\x1b[1m"
		case strings.HasPrefix(line, "   $ "):
			color = "\x1b[32m"
		}
		if colors && color != "" {
			line = color + line + "\x1b[0m"
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// scene is a step that is a command of this program.
type scene struct {
	title  string
	detail []string
	args   []string
}

// do shows a scene, and carries its command out in a process of its own.
func (s *stage) do(ctx context.Context, act scene) error {
	child, err := s.announce(ctx, act)
	if err != nil {
		return err
	}
	if err = child.Run(); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return failed(child, err)
}

// cutShort is do for a command that is killed. watch takes a function to be called each time that the command asks for
// something, as long as it returns true; once inTheMiddle says so, the command is killed before it gets its answer.
func (s *stage) cutShort(ctx context.Context, act scene, watch func(func() bool), inTheMiddle func() bool) error {
	child, err := s.announce(ctx, act)
	if err != nil {
		return err
	}
	var killed atomic.Bool
	running, dead := make(chan struct{}), make(chan struct{})
	watch(func() bool {
		<-running
		if !inTheMiddle() {
			return true
		}
		killed.Store(child.Process.Kill() == nil)
		<-dead
		return false
	})
	if err := child.Start(); err != nil {
		return failed(child, err)
	}
	close(running)
	err = child.Wait()
	close(dead)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !killed.Load() && err != nil:
		return failed(child, err)
	case !killed.Load():
		return fmt.Errorf("the run ended before it could be killed")
	case !s.json:
		_, err = fmt.Fprintln(s.stdout, indent+"Killed") // as a shell would say
		return err
	}
	return nil
}

// announce shows the scene, and makes the process for its command. What the process prints follows, line by line; of a
// line that is never finished nothing is shown.
func (s *stage) announce(ctx context.Context, act scene) (*exec.Cmd, error) {
	args := act.args
	if s.json {
		args = append(args, "--"+flagOutput, "json")
	}
	if err := s.show(&progress.Demo{Title: act.title, Detail: act.detail, Command: shellLine(s.name, args)}); err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, s.program, args...)
	child.Env = s.environ
	child.Stdout, child.Stderr = &lines{to: s.stdout}, &lines{to: s.stderr}
	if !s.json {
		child.Stdout, child.Stderr = &lines{to: s.stdout, prefix: indent}, &lines{to: s.stderr, prefix: indent}
	}
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 5 * time.Second
	return child, nil
}

// failed is the fault of a command that ended badly. What it had to say has been shown.
func failed(child *exec.Cmd, err error) error {
	f := &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("sluice %s did not end well", child.Args[1]), Err: err,
		Hint: "what it printed stands above; the folder of the demo is left as it is"}
	if child.ProcessState != nil && child.ProcessState.ExitCode() == exitInconsistent {
		f.Class = batch.Inconsistent
	}
	return f
}

// shellLine is a command as it would be typed.
func shellLine(name string, args []string) string {
	words := []string{name}
	for _, arg := range args {
		if strings.ContainsFunc(arg, func(r rune) bool {
			return !strings.ContainsRune("-_./,:=@%+", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// lines passes whole lines on, each with a prefix.
type lines struct {
	to      io.Writer
	prefix  string
	pending []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.pending = append(l.pending, p...)
	for {
		line, rest, whole := bytes.Cut(l.pending, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		shown := "\n"
		if len(line) > 0 {
			shown = l.prefix + string(line) + shown
		}
		if _, err := io.WriteString(l.to, shown); err != nil {
			return 0, err
		}
		l.pending = rest
	}
}

// thousands renders 12,500.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
