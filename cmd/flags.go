package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/job"
	"sluice/kafkasrc"
)

const (
	flagJob         = "job"
	flagSet         = "set"
	flagOutput      = "output"
	flagLogFormat   = "log-format"
	flagQuiet       = "quiet"
	flagPrintConfig = "print-config"
)

// jobFlags are the flags of a verb that works on a job: the file, a flag for each common key (from the table of
// keys), and --set for all others. Every verb takes all of them, so that the flags of a run can be given to each.
func jobFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: flagJob, Aliases: []string{"j", "f"}, Usage: "the job `FILE`; without one the flags are the job"},
		&keyFlag{name: flagSet, word: "KEY=VALUE", usage: "set any key, such as source.maxOffsetsPerTrigger=1000; may be repeated"},
	}
	for _, k := range job.Keys() {
		if k.Flag == "" {
			continue
		}
		usage := cmp.Or(k.Brief, strings.ReplaceAll(firstSentence(k.Doc), "`", "")) + " (" + k.Path + ")"
		if k.Default != "" {
			usage += " [" + k.Default + "]"
		}
		flags = append(flags, &keyFlag{name: k.Flag, path: k.Path, word: strings.ToUpper(k.Type), alone: k.Switch, usage: usage})
	}
	return flags
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, ".")
}

// outputFlags are the flags of a verb that prints a result.
func outputFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: flagOutput, Aliases: []string{"o"}, Value: "text", Usage: "`FORM` of the result: text, or json for one JSON object a line (docs/json.md)"}}
}

// unheeded lists, by verb, the keys that make no difference to it; one that ends in a dot stands for all below it. Their
// flags are taken and checked all the same, and not listed: a line of a crontab with the flags of a run is right for
// every verb.
var unheeded = map[string][]string{
	"plan":     {"run.", "retain"},
	"status":   {"run.", "retain", "source.minPartitions", "source.maxRecordsPerPartition", "sink.iceberg.targetFileSize"},
	"verify":   slices.Concat(ofRun, ofStart, []string{"value."}),
	"maintain": slices.Concat(ofStart, []string{"run.", "retain", "source.", "value.format", "value.schema", "key.", "registry."}),
	"peek":     slices.Concat(ofRun, ofStart, []string{"name", "checkpoint"}),
	"ls":       slices.Concat(ofRun, ofStart, []string{"source.", "value."}),
	"show":     slices.Concat(ofRun, ofStart, []string{"source.", "value."}),
	"replay":   slices.Concat(ofStart, ofLimits, []string{"retain", "run.maxBatches", "run.maxDuration", "run.grace"}),
	"import":   slices.Concat(ofRun, ofStart),
	"infer":    slices.Concat(ofRun, ofStart, []string{"name", "checkpoint", "sink.", "value.format", "value.schema", "source.includeHeaders", "memory"}),
}

var (
	ofRun    = slices.Concat(ofLimits, []string{"run.", "retain", "sink.iceberg.targetFileSize"})
	ofStart  = []string{"source.startingOffsets", "source.startingTimestamp", "source.startingOffsetsByTimestamp", "source.startingOffsetsByTimestampStrategy"}
	ofLimits = []string{"source.maxOffsetsPerTrigger", "source.maxBytesPerTrigger", "source.minOffsetsPerTrigger", "source.maxTriggerDelay", "source.minPartitions", "source.maxRecordsPerPartition",
		"source.endingOffsets", "source.endingTimestamp", "source.endingOffsetsByTimestamp"}
)

const unheededHelp = "\n\nFlags of a job that make no difference here, such as --max-duration, are taken, and not listed."

const keysHelp = "\n\nEvery key of a job may come from a variable as well: SLUICE_ and its path in capitals, as in SLUICE_SOURCE_SUBSCRIBE=orders. A flag counts\n" +
	"before a variable, a variable before the file. docs/job.md has all keys."

// tellKeys says in the help of a command that works on a job where else its keys may come from.
func tellKeys(c *cli.Command) {
	if slices.Contains(namesOf(c.Flags), flagJob) {
		c.Description += keysHelp
	}
}

// listHeeded leaves flags that make no difference to a command out of its help.
func listHeeded(c *cli.Command) {
	paths, ok := unheeded[c.Name]
	if !ok {
		return
	}
	c.Description += unheededHelp
	for _, f := range c.Flags {
		if f, ok := f.(*keyFlag); ok {
			f.hidden = slices.ContainsFunc(paths, func(path string) bool {
				return f.path == path || strings.HasSuffix(path, ".") && strings.HasPrefix(f.path, path)
			})
		}
	}
}

// begin reads the flags that every verb shares.
func (p *process) begin(c *cli.Context) error {
	p.verb.Store(c.Command.Name)
	switch form := c.String(flagOutput); form {
	case "text", "":
	case "json":
		p.json = true
	default:
		return &usage{fmt.Errorf("--output %q is no form", form), "use text or json"}
	}
	return noArguments(c)
}

// loadJob makes the job of file, environment and flags.
func (p *process) loadJob(c *cli.Context, needs job.Part) (*job.Job, error) {
	return loadJob(c.Context, p.jobInput(c, needs))
}

// jobInput is what a job is made of.
func (p *process) jobInput(c *cli.Context, needs job.Part) job.Input {
	dir, noDir := os.Getwd() // it may be deleted, which is nothing to a job of absolute paths
	in := job.Input{File: c.String(flagJob), Environ: p.environ, Set: given(c, flagSet), Needs: needs, WorkDir: dir, WorkDirError: noDir, CheckClient: checkClient,
		CheckRegistry: checkRegistryProperties, CheckValue: checkValue,
		ReadFile: func(path string) ([]byte, error) { return job.ReadFile(c.Context, path) }}
	for _, k := range job.Keys() {
		if k.Flag == "" {
			continue
		}
		for _, value := range given(c, k.Flag) {
			in.Flags = append(in.Flags, job.FlagValue{Flag: k.Flag, Value: value})
		}
	}
	return in
}

func loadJob(ctx context.Context, in job.Input) (*job.Job, error) {
	j, err := job.Load(in)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return j, nil
}

// checkClient asks the client about its properties, so that what does not fit is found with the other mistakes of a job.
func checkClient(properties map[string]string) []job.PropertyProblem {
	var problems []job.PropertyProblem
	for _, f := range kafkasrc.CheckClient(properties) {
		problems = append(problems, job.PropertyProblem(f))
	}
	return problems
}
