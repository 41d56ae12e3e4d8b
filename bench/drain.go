package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sluice/progress"
)

// The targets: how much more than the floor a run may take, how much more than compressing the values alone, and how
// often it may allocate.
const (
	targetFloor       = 1.5
	targetReference   = 1.9
	targetAllocations = 0.02
)

// round is what was measured in turn.
type round struct {
	// idle is the part of all cores that nobody used just before.
	idle   float64
	run    cost
	told   told
	fetch  work
	encode encoding
}

// measureDrain compares a run with the floor.
//
// The floor is the time that the same machine needs at least if fetching overlaps perfectly with writing: the CPU time of
// the reader that drains the topic and keeps nothing, plus the CPU time of the writer that encodes and compresses the same
// columns out of memory into nothing, divided by the number of cores. Neither has start-up, commit or store in it.
func (b *bench) measureDrain(ctx context.Context) error {
	b.begin("drain", fmt.Sprintf("%s JSON orders of about 250 B, %d partitions, zstd, into a local Iceberg table; medians of %d rounds",
		thousands(b.main.Records), b.main.Partitions, b.rounds))
	if err := b.provide(ctx, b.main); err != nil {
		return err
	}
	var rounds []round
	for range b.rounds {
		r, err := b.drainRound(ctx)
		if err != nil {
			return err
		}
		rounds = append(rounds, r)
	}
	b.reportDrain(rounds)
	return b.reportAllocations(ctx)
}

func (b *bench) provide(ctx context.Context, c corpus) error {
	_, err := b.child(ctx, "produce", assignment{Broker: b.broker, Corpus: c}, &struct{}{})
	return err
}

func (b *bench) drainRound(ctx context.Context) (r round, err error) {
	a := assignment{Broker: b.broker, Corpus: b.main, Workers: b.cores}
	if r.idle, err = b.awaitQuiet(ctx); err != nil {
		return r, err
	}
	if r.run, r.told, err = b.freshRun(ctx, b.main); err != nil {
		return r, err
	}
	if _, err = b.child(ctx, "fetch", a, &r.fetch); err != nil {
		return r, err
	}
	_, err = b.child(ctx, "encode", a, &r.encode)
	return r, err
}

// folder is a warehouse that is not there yet.
func (b *bench) folder() (dir string, discard func(), err error) {
	dir, err = os.MkdirTemp(b.scratch, "run-")
	return filepath.Join(dir, "lake"), func() { _ = os.RemoveAll(dir) }, err // the next one has its own; all go with scratch
}

// runArgs are the command line of a run with default settings.
func (b *bench) runArgs(c corpus, warehouse string, more ...string) []string {
	return append([]string{"run", "--bootstrap-servers", b.broker, "--subscribe", c.topic(), "--warehouse", warehouse,
		"--table", "bench.orders", "--output", "json"}, more...)
}

// freshRun drains a corpus into a new table and checks that all of it arrived.
func (b *bench) freshRun(ctx context.Context, c corpus, more ...string) (cost, told, error) {
	warehouse, discard, err := b.folder()
	if err != nil {
		return cost{}, told{}, err
	}
	defer discard()
	out, took, err := b.run(ctx, b.sluice, b.runArgs(c, warehouse, more...)...)
	if err != nil {
		return took, told{}, err
	}
	t, err := read(out)
	if err == nil && t.summary.Rows != c.Records {
		err = fmt.Errorf("%d rows were written, of %d records", t.summary.Rows, c.Records)
	}
	return took, t, err
}

// told is what a run says of itself.
type told struct {
	batches []progress.Batch
	summary progress.Summary
}

// read takes the objects of a run's stdout.
func read(out []byte) (t told, err error) {
	for line := range bytes.Lines(out) {
		var kind struct{ Type string }
		if err = json.Unmarshal(line, &kind); err != nil {
			return t, fmt.Errorf("read the run's output: %w", err)
		}
		switch kind.Type {
		case "batch":
			var one progress.Batch
			err = json.Unmarshal(line, &one)
			t.batches = append(t.batches, one)
		case "summary":
			err = json.Unmarshal(line, &t.summary)
		}
		if err != nil {
			return t, fmt.Errorf("read the run's output: %w", err)
		}
	}
	return t, nil
}

// phase is the time that all batches took for one part of their life, in seconds.
func (t told) phase(names ...string) float64 {
	var ms int64
	for i := range t.batches {
		for _, name := range names {
			ms += t.batches[i].DurationMs[name]
		}
	}
	return float64(ms) / 1000
}

func (b *bench) reportDrain(rounds []round) {
	n, cores := float64(b.main.Records), float64(b.cores)
	perRow := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / n }
	floor := func(r round) float64 { return (r.fetch.CPU + r.encode.CPU).Seconds() / cores }
	reference := func(r round) float64 { return r.encode.Reference.perRow() }
	b.add(
		of("run: wall", "s", each(rounds, func(r round) float64 { return r.run.Wall.Seconds() })...),
		of("run: CPU", "ns/row", each(rounds, func(r round) float64 { return perRow(r.run.cpu()) })...),
		of("fetch and decompress only: CPU", "ns/row", each(rounds, func(r round) float64 { return perRow(r.fetch.CPU) })...),
		of("encode and compress only: CPU", "ns/row", each(rounds, func(r round) float64 { return perRow(r.encode.CPU) })...),
		of("reference R: zstd fastest on the values: CPU", "ns/row", each(rounds, reference)...),
		of("floor: (fetch + encode CPU) / cores", "s", each(rounds, floor)...),
		of("run wall / floor", "x", each(rounds, func(r round) float64 { return r.run.Wall.Seconds() / floor(r) })...).atMost(targetFloor),
		of("run CPU / floor CPU", "x", each(rounds, func(r round) float64 { return r.run.cpu().Seconds() / (floor(r) * cores) })...).atMost(targetFloor),
		of("run CPU / R", "x", each(rounds, func(r round) float64 { return perRow(r.run.cpu()) / reference(r) })...).atMost(targetReference),
		of("run: cores kept busy", fmt.Sprintf("of %d", b.cores), each(rounds, func(r round) float64 { return r.run.cpu().Seconds() / r.run.Wall.Seconds() })...),
		of("run: rows", "/s", each(rounds, func(r round) float64 { return n / r.run.Wall.Seconds() })...),
		of("run: rows", "/CPU-s", each(rounds, func(r round) float64 { return n / r.run.cpu().Seconds() })...),
		of("run: of the wall, reading and writing files", "s", each(rounds, func(r round) float64 { return r.told.phase("addBatch") })...),
		of("run: of the wall, table commits", "s", each(rounds, func(r round) float64 { return r.told.phase("commitBatch") })...),
		of("run: of the wall, plans and markers", "s", each(rounds, func(r round) float64 { return r.told.phase("walCommit", "commitOffsets") })...),
		of("run: peak memory", "MiB", each(rounds, func(r round) float64 { return mebibytes(r.run.Peak) })...),
		of("machine idle before the round", "", each(rounds, func(r round) float64 { return r.idle })...),
		of("data files", "B/row", each(rounds, func(r round) float64 { return float64(r.told.summary.Bytes) / n })...),
	)
}

func (w work) perRow() float64 { return float64(w.CPU.Nanoseconds()) / float64(w.Rows) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// reportAllocations counts allocations: these do not depend on how busy the machine is. What a record costs is told from
// what a process and a batch cost by the difference of two runs of one batch each.
func (b *bench) reportAllocations(ctx context.Context) error {
	if err := b.provide(ctx, b.small); err != nil {
		return err
	}
	whole, err := b.insideRun(ctx, b.main, "")
	if err != nil {
		return err
	}
	large, err := b.insideRun(ctx, b.main, "", "--max-offsets-per-trigger", "none")
	if err != nil {
		return err
	}
	small, err := b.insideRun(ctx, b.small, "", "--max-offsets-per-trigger", "none")
	if err != nil {
		return err
	}
	n, more := float64(b.main.Records), float64(b.main.Records-b.small.Records)
	b.add(of("allocations to read and write a record", "/row", (float64(large.Objects)-float64(small.Objects))/more).atMost(targetAllocations),
		of("bytes allocated to read and write a record", "B/row", (float64(large.Bytes)-float64(small.Bytes))/more),
		of("allocations of the whole process", "/row", float64(whole.Objects)/n),
		of("garbage collections of the whole process", "", float64(whole.Collections)))
	return nil
}

// insideRun drains a corpus by a sluice inside a child of ours.
func (b *bench) insideRun(ctx context.Context, c corpus, profile string, more ...string) (in inside, err error) {
	warehouse, discard, err := b.folder()
	if err != nil {
		return in, err
	}
	defer discard()
	_, err = b.child(ctx, "inside", assignment{Args: b.runArgs(c, warehouse, more...), Profile: profile}, &in)
	return in, err
}
