package main

import (
	"context"
	"fmt"
)

// The targets of memory: a run may take so much, and so much more for a large backlog than for a small one.
const (
	targetPeak   = 256
	targetGrowth = 1.1
)

// measureMemory compares the peak of resident memory of runs over backlogs of different size, over many
// partitions, and over records that no row group holds many of.
func (b *bench) measureMemory(ctx context.Context) error {
	b.begin("memory", fmt.Sprintf("largest resident set of a run with default settings, medians of %d rounds", b.rounds))
	corpora := []corpus{b.small, b.large, b.wide, b.noise}
	for _, c := range corpora {
		if err := b.provide(ctx, c); err != nil {
			return err
		}
	}
	peaks := make([][]float64, len(corpora))
	for range b.rounds {
		for i, c := range corpora {
			took, _, err := b.freshRun(ctx, c)
			if err != nil {
				return err
			}
			peaks[i] = append(peaks[i], mebibytes(took.Peak))
		}
	}
	for i, c := range corpora {
		b.add(of(c.String(), "MiB", peaks[i]...).atMost(targetPeak))
	}
	var growth []float64
	for i := range b.rounds {
		growth = append(growth, peaks[1][i]/peaks[0][i])
	}
	b.add(of(fmt.Sprintf("%s records / %s records", thousands(b.large.Records), thousands(b.small.Records)), "x", growth...).atMost(targetGrowth))
	return discard(ctx, b.broker, b.wide) // so many partitions slow the broker's start
}
