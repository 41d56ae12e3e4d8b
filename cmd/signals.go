package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sluice/runner"
)

// signalled is the cause of a context that a signal ended.
type signalled struct {
	name string
	code int
}

func (s *signalled) Error() string { return fmt.Sprintf("%s: %v", s.name, runner.ErrInterrupted) }
func (s *signalled) Unwrap() error { return runner.ErrInterrupted }

// withSignals returns a context that the first SIGINT or SIGTERM ends: the run stops at a safe point. The second one
// ends the process at once, which is safe too. stop gives the signals back to the system.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
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
				first = &signalled{"SIGTERM", exitTerminated}
				if s == os.Interrupt {
					first = &signalled{"SIGINT", exitInterrupted}
				}
				cancel(first)
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}
