// Command bench measures sluice on a real broker and prints the results as ratios: a run against what the same
// machine needs at least (the floor), JSON into columns against raw bytes, memory against the size of the backlog, an idle run against `sluice version`,
// the cost of a commit against the age of the table, and the requests that a batch makes.
//
// Ratios are of measurements that were taken in turn, one after the other, in the same minute: on a shared machine times
// alone say little. It exits with 0 whatever the results are; only what kept it from measuring is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sluice/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == childWord {
		err = beChild(ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmarks.
type bench struct {
	*report
	*starter
	root   string
	broker string
	sluice string
	cores  int
	rounds int
	quiet  time.Duration
	// main is the corpus of the ratios; small and large are the backlogs whose memory is compared; wide has many
	// partitions, noise is what nothing compresses.
	main, small, large, wide, noise corpus
}

// sections are what can be measured, in order.
var sections = []struct {
	name    string
	measure func(*bench, context.Context) error
}{
	{"drain", (*bench).measureDrain},
	{"stages", (*bench).measureStages},
	{"typed", (*bench).measureTyped},
	{"far", (*bench).measureFar},
	{"wide", (*bench).measureWide},
	{"memory", (*bench).measureMemory},
	{"idle", (*bench).measureIdle},
	{"commits", (*bench).measureCommits},
	{"requests", (*bench).measureRequests},
}

func sectionNames() string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return strings.Join(names, ",")
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object a line")
	rounds := flags.Int("rounds", 5, "measure everything so many times")
	only := flags.String("only", sectionNames(), "measure only these `SECTIONS`")
	records := flags.Int64("records", 2_000_000, "records of the main corpus")
	quiet := flags.Duration("quiet", 0, "before each round of drain wait at most so long for a machine that nobody else uses")
	broker := flags.String("broker", "", "use the Kafka broker at this `ADDRESS` instead of the rig's")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{report: &report{out: out, json: *asJSON}, cores: runtime.GOMAXPROCS(0), rounds: max(1, *rounds), quiet: *quiet, broker: *broker,
		main: corpus{Records: *records, Partitions: 8}, small: corpus{Records: 200_000, Partitions: 8}, large: corpus{Records: 5_000_000, Partitions: 8},
		wide: corpus{Records: 400_000, Partitions: 2000}, noise: corpus{Records: 400_000, Partitions: 8, Random: 1024}}
	done, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	defer done()
	b.describe(ctx)
	for _, s := range sections {
		if !slices.Contains(strings.Split(*only, ","), s.name) {
			continue
		}
		if err := s.measure(b, ctx); err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
	}
	b.say("load average at the end", load())
	return nil
}

// prepare builds what is measured and finds the broker. done removes what was built.
func (b *bench) prepare(ctx context.Context) (done func(), err error) {
	if b.root, err = rig.Root(); err != nil {
		return nil, err
	}
	if b.broker == "" {
		if b.broker, err = rig.StartKafka(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(b.root, ".rig"), 0o755); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(filepath.Join(b.root, ".rig"), "bench-")
	if err != nil {
		return nil, err
	}
	done = func() { _ = os.RemoveAll(scratch) } // it is in a folder that make clean removes
	self, err := os.Executable()
	if err == nil {
		b.starter = &starter{weigh: filepath.Join(scratch, "weigh"), self: self, scratch: scratch}
		b.sluice = filepath.Join(b.root, "sluice")
		err = errors.Join(b.build(ctx, "make", "--no-print-directory", "-s", "build"), b.build(ctx, "go", "build", "-o", b.weigh, "./bench/weigh"))
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

func (b *bench) build(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.root, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
