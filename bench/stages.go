package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stage is a part of a run, recognised by the functions on the stack.
type stage struct {
	name string
	// marks are parts of function names. The first stage that has one of the functions of a stack takes it.
	marks []string
}

// stages from the inside out: compression happens inside encoding, and writing to the store inside both.
var stages = []stage{
	{"garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart"}},
	{"write files to the store", []string{"lakesink.(*upload)", "lakesink.storedSize", "lakesink.(*Writer).begin", "lakesink.(*durableFile)"}},
	{"compress pages", []string{"parquetfile.(*zstdCodec)"}},
	{"encode pages", []string{"sluice/lakesink/parquetfile."}},
	{"decompress record batches", []string{"kafkasrc.(*decompressor)"}},
	{"record batches to columns", []string{"kafkasrc.(*Reader)", "kafkasrc.(*decoder)", "sluice/decode"}},
	{"fetch", []string{"kafkasrc.", "franz-go/pkg/kgo.", "franz-go/pkg/kmsg."}},
	{"commit to the table", []string{"lakesink.(*Iceberg)", "lakesink.(*deal)", "apache/iceberg-go"}},
	{"checkpoint", []string{"sluice/checkpoint.", "sluice/objectstore."}},
	{"everything else", []string{""}},
}

// stageOf finds the stage of a stack.
func stageOf(stack []string) int {
	for i, s := range stages {
		for _, mark := range s.marks {
			for _, function := range stack {
				if strings.Contains(function, mark) {
					return i
				}
			}
		}
	}
	return len(stages) - 1
}

// measureStages says where the CPU time of a run goes, by sampling it.
func (b *bench) measureStages(ctx context.Context) error {
	b.begin("stages", fmt.Sprintf("where the CPU time of a run over %s orders goes, sampled in %d runs", thousands(b.main.Records), b.rounds))
	if err := b.provide(ctx, b.main); err != nil {
		return err
	}
	var profiles []string
	var cpu time.Duration
	for i := range b.rounds {
		profile := filepath.Join(b.scratch, fmt.Sprintf("run-%d.pprof", i))
		in, err := b.insideRun(ctx, b.main, profile)
		if err != nil {
			return err
		}
		profiles = append(profiles, profile)
		cpu += in.CPU
	}
	shares, err := b.shares(ctx, profiles)
	if err != nil {
		return err
	}
	perRow := float64(cpu.Nanoseconds()) / float64(b.rounds) / float64(b.main.Records)
	for i, s := range stages {
		b.add(of(s.name, "ns/row", shares[i]*perRow))
	}
	b.add(of("all, without the process's start", "ns/row", perRow))
	return nil
}

// shares is the part of the samples that each stage has.
func (b *bench) shares(ctx context.Context, profiles []string) ([]float64, error) {
	args := append([]string{"tool", "pprof", "-traces", "-unit=ns", b.self}, profiles...)
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("read the profiles: %w", err)
	}
	totals := make([]float64, len(stages))
	var all float64
	for _, s := range samples(string(out)) {
		totals[stageOf(s.stack)] += s.weight
		all += s.weight
	}
	if all == 0 {
		return nil, fmt.Errorf("the profiles hold no samples")
	}
	for i := range totals {
		totals[i] /= all
	}
	return totals, nil
}

// sample is a stack, innermost function first, with the time that was spent there.
type sample struct {
	weight float64
	stack  []string
}

// samples reads what `pprof -traces -unit=ns` prints: stacks between lines of dashes, the time before the innermost
// function.
func samples(text string) (all []sample) {
	_, text, _ = strings.Cut(text, "-----------+")
	for block := range strings.SplitSeq(text, "-----------+") {
		var s sample
		for line := range strings.Lines(block) {
			fields := strings.Fields(line)
			if len(fields) > 1 && len(s.stack) == 0 {
				if _, err := fmt.Sscanf(fields[0], "%gns", &s.weight); err != nil {
					continue
				}
				fields = fields[1:]
			}
			if s.weight > 0 && len(fields) > 0 {
				s.stack = append(s.stack, fields[0])
			}
		}
		if len(s.stack) > 0 {
			all = append(all, s)
		}
	}
	return all
}
