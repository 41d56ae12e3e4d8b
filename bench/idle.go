package main

import (
	"context"
	"fmt"
)

// targetIdle is how much longer than `sluice version` a run with nothing to do may take, in milliseconds.
const targetIdle = 300

// idleRuns are so many for each round: they are short.
const idleRuns = 5

// measureIdle compares a run that finds nothing new with the program's start alone.
func (b *bench) measureIdle(ctx context.Context) error {
	runs := idleRuns * b.rounds
	b.begin("idle", fmt.Sprintf("a run with nothing to do on a local store, beside `sluice version`; medians of %d", runs))
	if err := b.provide(ctx, b.small); err != nil {
		return err
	}
	warehouse, discard, err := b.folder()
	if err != nil {
		return err
	}
	defer discard()
	args := b.runArgs(b.small, warehouse)
	if _, _, err := b.run(ctx, b.sluice, args...); err != nil {
		return err
	}
	var idle, version []cost
	for range runs {
		out, took, err := b.run(ctx, b.sluice, args...)
		if err != nil {
			return err
		}
		if t, err := read(out); err != nil || t.summary.Batches != 0 || !t.summary.CaughtUp {
			return fmt.Errorf("a run that should have had nothing to do says %s: %w", out, err)
		}
		idle = append(idle, took)
		if _, took, err = b.run(ctx, b.sluice, "version"); err != nil {
			return err
		}
		version = append(version, took)
	}
	var more []float64
	for i := range runs {
		more = append(more, milliseconds(idle[i])-milliseconds(version[i]))
	}
	peak := func(c cost) float64 { return mebibytes(c.Peak) }
	b.add(of("sluice version: wall", "ms", each(version, milliseconds)...),
		of("run: wall", "ms", each(idle, milliseconds)...),
		of("run - version", "ms", more...).atMost(targetIdle),
		of("sluice version: CPU", "ms", each(version, cpuMilliseconds)...),
		of("run: CPU", "ms", each(idle, cpuMilliseconds)...),
		of("sluice version: peak memory", "MiB", each(version, peak)...),
		of("run: peak memory", "MiB", each(idle, peak)...))
	return nil
}

func milliseconds(c cost) float64    { return c.Wall.Seconds() * 1000 }
func cpuMilliseconds(c cost) float64 { return c.cpu().Seconds() * 1000 }
