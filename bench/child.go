package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// childWord as the first argument makes this program do one measured thing and print the result as JSON.
const childWord = "child"

// assignment is what a child is to do.
type assignment struct {
	Broker string `json:"broker"`
	Corpus corpus `json:"corpus"`
	// Workers share the work.
	Workers int `json:"workers"`
	// Args are the command line of a sluice that runs inside the child, Profile the file for its CPU profile.
	Args    []string `json:"args,omitempty"`
	Profile string   `json:"profile,omitempty"`
}

var children = map[string]func(context.Context, assignment) (any, error){
	"produce": produceChild,
	"fetch":   fetchChild,
	"encode":  encodeChild,
	"inside":  insideChild,
}

// work is what one part of a run took, measured by the child itself so that start-up is not in it.
type work struct {
	Rows int64         `json:"rows"`
	CPU  time.Duration `json:"cpu"`
	Wall time.Duration `json:"wall"`
}

// beChild carries out one child mode.
func beChild(ctx context.Context, args []string) error {
	if len(args) != 2 || children[args[0]] == nil {
		return fmt.Errorf("unknown child %q", args)
	}
	var a assignment
	if err := json.Unmarshal([]byte(args[1]), &a); err != nil {
		return fmt.Errorf("read the assignment of %s: %w", args[0], err)
	}
	result, err := children[args[0]](ctx, a)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func produceChild(ctx context.Context, a assignment) (any, error) {
	return struct{}{}, provide(ctx, a.Broker, a.Corpus)
}

// watch measures CPU and time of this process between two moments.
type watch struct {
	cpu  time.Duration
	wall time.Time
}

func startWatch() watch { return watch{processCPU(), time.Now()} }

func (w watch) stop(rows int64) work {
	return work{Rows: rows, CPU: processCPU() - w.cpu, Wall: time.Since(w.wall)}
}

// processCPU is the CPU time of all threads of this process so far.
func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // RUSAGE_SELF with a valid pointer cannot fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
