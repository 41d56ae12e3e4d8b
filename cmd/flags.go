package cmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/job"
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
// keys), and --set for all others.
func jobFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: flagJob, Aliases: []string{"j", "f"}, Usage: "the job `FILE`; without one the flags are the job"},
		&cli.StringSliceFlag{Name: flagSet, Usage: "set any key: `KEY=VALUE`, such as source.maxOffsetsPerTrigger=1000; may be repeated"},
	}
	for _, k := range job.Keys() {
		if k.Flag == "" {
			continue
		}
		usage := strings.ReplaceAll(firstSentence(k.Doc), "`", "") + fmt.Sprintf(" (%s; `%s`)", k.Path, strings.ToUpper(k.Type))
		if k.Default != "" {
			usage += " [" + k.Default + "]"
		}
		flags = append(flags, &cli.StringFlag{Name: k.Flag, Usage: usage, Category: "job:"})
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

// begin reads the flags that every verb shares.
func (p *process) begin(c *cli.Context) error {
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
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	in := job.Input{File: c.String(flagJob), Environ: p.environ, Set: c.StringSlice(flagSet), Needs: needs, WorkDir: dir}
	for _, k := range job.Keys() {
		if k.Flag != "" && c.IsSet(k.Flag) {
			in.Flags = append(in.Flags, job.FlagValue{Flag: k.Flag, Value: c.String(k.Flag)})
		}
	}
	return job.Load(in)
}
