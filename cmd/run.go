package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/job"
	"sluice/progress"
	"sluice/runner"
)

func (p *process) runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "drain what is in Kafka now into the table, and exit",
		Description: "Finishes what an earlier run left open, then reads everything that was there when it started, batch by batch.\n" +
			"It may be started at any time, also twice at once, and killed at any time.\n\n" +
			"   sluice run --bootstrap-servers broker:9092 --subscribe orders --warehouse /data/lake --table sales.orders\n   sluice run --job orders.yaml" + exitHelp,
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.StringFlag{Name: flagLogFormat, Value: "text", Usage: "`FORM` of the log on stderr: text or json"},
			&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print no text unless something is wrong; the objects of -o json are printed all the same, so that -q -o json leaves stderr to warnings"},
			&cli.BoolFlag{Name: flagPrintConfig, Usage: "print the job as it is in force, and where each value comes from; secrets redacted; then exit"},
		}, choiceFlags()),
		Action: p.run,
	}
}

const exitHelp = "\n\nExit codes: 0 caught up, nothing to do, or stopped at a limit; 1 failed, run again; 10 something is not set up; 11 another run is active;\n" +
	"12 records are gone from Kafka; 13 checkpoint and table disagree; 14 bad records; 15 outcome of a commit unknown, run again;\n" +
	"64 wrong flags or job file; 130/143 stopped by a signal."

func (p *process) run(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForAll)
	if err != nil {
		return err
	}
	if c.Bool(flagPrintConfig) {
		return j.WriteConfig(p.stdout)
	}
	chosen, err := choicesOf(c)
	if err != nil {
		return err
	}
	reporter, bar, err := p.reporter(c, j.Name)
	if err != nil {
		return err
	}
	defer bar.Close()
	began := time.Now()
	line, err := connect(c.Context, j, job.ForAll)
	defer line.close()
	if err == nil {
		err = line.unwritable(c.Context)
	}
	if err == nil {
		err = line.settle(c.Context)
	}
	if err != nil {
		err = cause(c.Context, err)
		return p.finish(reporter, line.refuse(c.Context, reporter, began, err), err, "")
	}
	line.lease.Notice = reporter.Notice
	for _, remark := range []string{line.leftOut(), line.unfilled()} {
		if remark != "" {
			reporter.Notice(remark)
		}
	}
	query := line.query(reporter)
	query.Started = began
	chosen.tell(query)
	done := context.AfterFunc(c.Context, func() {
		reporter.Notice("stopping at a safe point; another signal ends the run at once, which is safe too")
	})
	summary, err := query.Run(c.Context)
	done()
	look := ""
	if p.wantsLook(c, summary) {
		look = line.look(context.WithoutCancel(c.Context))
	}
	return p.finish(reporter, summary, err, look)
}

// refuse is the summary of a run that found nobody to talk to; it is recorded if the checkpoint can be reached.
func (l *pipeline) refuse(ctx context.Context, reporter runner.Reporter, began time.Time, err error) *progress.Summary {
	query := &runner.Query{Reporter: reporter, Options: runner.Options{Name: l.job.Name, RunID: l.runID, Started: began, Grace: l.job.Run.Grace,
		TableName: l.job.Sink.Name(), Now: time.Now, ExitCode: exitCode}}
	if l.log != nil {
		query.Log, query.Journal = l.log, l.log
	}
	return query.Refuse(ctx, err)
}

// finish shows the summary also of a run that failed: it says what was done before. In JSON it is the last object, so
// the error comes before it.
func (p *process) finish(reporter *progress.Reporter, summary *progress.Summary, failure error, look string) error {
	if failure != nil && p.json {
		p.tell(failure, summary.ExitCode)
		p.told = true
	}
	if err := reporter.Finish(summary, look); err != nil && failure == nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return failure
}

// reporter shows the run on stdout and stderr: a bar only where somebody watches.
func (p *process) reporter(c *cli.Context, name string) (*progress.Reporter, *progress.Bar, error) {
	form := c.String(flagLogFormat)
	if form != "text" && form != "json" {
		return nil, nil, &usage{fmt.Errorf("--%s %q is no form", flagLogFormat, form), "use text or json"}
	}
	quiet := c.Bool(flagQuiet)
	var bar *progress.Bar
	if !p.json && !quiet && form == "text" {
		bar = progress.TerminalBar(p.stderr, name, p.getenv)
	}
	var out, log io.Writer = p.stdout, p.stderr
	if bar != nil {
		log = bar.Over(log)
		if progress.IsTerminal(out) {
			out = bar.Over(out)
		}
	}
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	logger := progress.NewLogger(log, progress.LogOptions{JSON: form == "json", Level: level})
	options := progress.Options{Out: out, JSON: p.json, Quiet: quiet, Stamped: !p.json && !progress.IsTerminal(p.stdout), Log: logger, Bar: bar}
	return progress.NewReporter(options), bar, nil
}

func (p *process) getenv(name string) string {
	for _, pair := range p.environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// cause prefers the reason why the context ended to the error that it led to.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
