package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"sluice/cmd"
)

// inside is what a run tells of itself from within the process.
type inside struct {
	// Objects and Bytes were allocated; Collections is how often garbage was collected.
	Objects     uint64 `json:"objects"`
	Bytes       uint64 `json:"bytes"`
	Collections uint32 `json:"collections"`
	CPU         time.Duration
	// Out is the run's stdout.
	Out string `json:"out"`
}

// insideChild runs sluice in this process, so that its allocations can be counted and its CPU time be told apart by what
// it was spent on.
func insideChild(_ context.Context, a assignment) (any, error) {
	var before, after runtime.MemStats
	if a.Profile != "" {
		file, err := os.Create(a.Profile)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, err
		}
	}
	var out, log bytes.Buffer
	begin := startWatch()
	runtime.ReadMemStats(&before)
	code := cmd.Main(append([]string{"sluice"}, a.Args...), os.Environ(), &out, &log)
	runtime.ReadMemStats(&after)
	took := begin.stop(0)
	pprof.StopCPUProfile()
	if code != 0 {
		return nil, fmt.Errorf("sluice ended with %d: %s%s", code, out.Bytes(), log.Bytes())
	}
	return inside{Objects: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc,
		Collections: after.NumGC - before.NumGC, CPU: took.CPU, Out: out.String()}, nil
}
