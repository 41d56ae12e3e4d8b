package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"sluice/runner"
)

// signalled is the cause of a context that a signal ended.
type signalled struct {
	name string
	code int
	// verb is the command that it ended; empty if none had begun.
	verb string
}

// lookers are the commands that move nothing: there is nothing that a next run could go on from.
var lookers = []string{"plan", "status", "verify", "validate", "peek", "schema infer", "schema convert"}

func (s *signalled) looks() bool { return slices.Contains(lookers, s.verb) }

func (s *signalled) Error() string {
	if s.looks() {
		return fmt.Sprintf("%s: %s was stopped before it was done; it moves nothing", s.name, s.verb)
	}
	return fmt.Sprintf("%s: %v", s.name, runner.ErrInterrupted)
}

func (s *signalled) Unwrap() error { return runner.ErrInterrupted }

// Hint is empty for a run, which says itself how it goes on.
func (s *signalled) Hint() string {
	if s.looks() {
		return "start it again when there is time; no run depends on it"
	}
	return ""
}

// withSignals returns a context that the first SIGINT or SIGTERM ends: the run stops at a safe point. The second one
// ends the process at once, which is safe too. verb tells which command has begun. stop gives the signals back to the system.
func withSignals(parent context.Context, verb func() string) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first *signalled
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if first != nil {
					os.Exit(first.code)
				}
				first = &signalled{"SIGTERM", exitTerminated, verb()}
				if s == os.Interrupt {
					first = &signalled{"SIGINT", exitInterrupted, verb()}
				}
				cancel(first)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}
