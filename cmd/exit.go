package cmd

import (
	"errors"

	"sluice/batch"
	"sluice/job"
	"sluice/objectstore"
	"sluice/runner"
)

// The exit codes. They are an interface: examples/cron and people's alerts rely on them. 2 is left to the Go runtime.
const (
	exitOK           = 0
	exitFailed       = 1
	exitNotSetUp     = 10
	exitActive       = 11
	exitDataLoss     = 12
	exitInconsistent = 13
	exitBadRecords   = 14
	exitUnknown      = 15
	exitUsage        = 64
	exitInterrupted  = 130
	exitTerminated   = 143
)

// exitCode is the one function from an error to an exit code.
func exitCode(err error) int {
	var typed *usage
	var signal *signalled
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signal):
		return signal.code
	case errors.As(err, &typed), job.IsJobError(err), errors.Is(err, objectstore.ErrURL):
		return exitUsage
	case errors.Is(err, runner.ErrInterrupted):
		return exitTerminated
	}
	switch batch.ClassOf(err) {
	case batch.NotSetUp:
		return exitNotSetUp
	case batch.Fenced:
		return exitActive
	case batch.DataLoss:
		return exitDataLoss
	case batch.Inconsistent:
		return exitInconsistent
	case batch.BadRecords:
		return exitBadRecords
	case batch.UnknownOutcome:
		return exitUnknown
	}
	return exitFailed
}
