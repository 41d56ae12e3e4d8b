package cmd

import (
	"errors"
	"syscall"

	"sluice/batch"
	"sluice/job"
	"sluice/objectstore"
	"sluice/progress"
)

// tell shows the last error on stderr: what happened, then what to do. With --output json it is an object on stdout as
// well, so that whoever reads the objects misses nothing.
func (p *process) tell(err error, code int) {
	f := &progress.Failure{ExitCode: code, Class: class(err, code), Error: err.Error(), Hint: hintOf(err), Problems: problems(err)}
	if p.json {
		_ = progress.WriteJSON(p.stdout, f) // if stdout is gone, stderr still tells
	}
	_ = f.WriteText(p.stderr) // there is nobody left to tell
}

func class(err error, code int) string {
	switch code {
	case exitUsage:
		return "usage"
	case exitInterrupted, exitTerminated:
		return "interrupted"
	}
	return batch.ClassOf(err).String()
}

// problems lists all that is wrong with a job.
func problems(err error) []progress.JobProblem {
	var wrong *job.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	var list []progress.JobProblem
	for _, p := range wrong.Problems {
		list = append(list, progress.JobProblem{At: p.At.Name, Line: p.At.Line, Column: p.At.Column, Key: p.Key, Message: p.Message, Nearest: p.Nearest})
	}
	return list
}

// hintOf is what to do about an error: its own word if it has one, else what its exit code means.
func hintOf(err error) string {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return "this process may not open enough files: raise the limit (ulimit -n, LimitNOFILE of systemd), then run again"
	}
	if hint := batch.HintOf(err); hint != "" {
		return hint
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	if errors.Is(err, objectstore.ErrURL) {
		return "correct the address: a folder, s3://bucket/folder?region=…, gs://bucket/folder or azblob://container/folder?storage_account=…; credentials come from the environment or a profile, never from the address"
	}
	return hintOfCode(exitCode(err))
}

// hintOfCode is what to do after an exit code of which nothing else is known.
func hintOfCode(code int) string {
	if code == exitFailed {
		return "run again: it is safe, and goes on where this run stopped"
	}
	return ""
}
