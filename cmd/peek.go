package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/job"
	"sluice/progress"
)

const (
	flagTopic   = "topic"
	flagLimit   = "limit"
	flagColumns = "columns"
)

// mostRows bounds --limit: rows are held in memory, and peek is for eyes.
const mostRows = 10_000

func (p *process) peekCommand() *cli.Command {
	return &cli.Command{
		Name:  "peek",
		Usage: "a few rows of the table or the topic, decoded, to look at; changes nothing",
		Description: "Shows rows of the table from its newest data files. With --topic, or if the job names no table, it shows the last records of the topic,\n" +
			"a few of each partition, as a run would decode them.\n\n" +
			"   sluice peek --job orders.yaml\n   sluice peek --bootstrap-servers broker:9092 --subscribe orders",
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagTopic, Usage: "look at the topic, also if the job names a table"},
			&cli.IntFlag{Name: flagLimit, Aliases: []string{"n"}, Value: 10, Usage: "show at most so many rows (`COUNT`)"},
			&cli.StringFlag{Name: flagColumns, Usage: "show these columns only: `NAMES` with commas"},
		}),
		Action: p.peek,
	}
}

func (p *process) peek(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	look, err := glance(c)
	if err != nil {
		return err
	}
	j, part, err := p.peekJob(c)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, part)
	defer line.close()
	if err != nil {
		return cause(c.Context, err)
	}
	see := line.peekTable
	if part == job.ForSource {
		see = line.peekTopic
	}
	shown, err := see(c.Context, look)
	if err != nil {
		return cause(c.Context, err)
	}
	return progress.Write(p.stdout, p.json, shown)
}

// look is how much of what somebody wants to see.
type look struct {
	rows int
	// columns are those to show, in this order; nil for all.
	columns []string
}

func glance(c *cli.Context) (look, error) {
	l := look{rows: c.Int(flagLimit)}
	if l.rows < 1 || l.rows > mostRows {
		return l, &usage{fmt.Errorf("--%s %d is out of range", flagLimit, l.rows), fmt.Sprintf("use a number from 1 to %d", mostRows)}
	}
	if !c.IsSet(flagColumns) {
		return l, nil
	}
	for _, name := range strings.Split(c.String(flagColumns), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(l.columns, name) {
			l.columns = append(l.columns, name)
		}
	}
	if l.columns == nil {
		return l, &usage{fmt.Errorf("--%s names no column", flagColumns), "name some with commas between, or leave the flag out for all"}
	}
	return l, nil
}

// choose finds the columns to show among those that are there.
func (l *look) choose(columns []progress.PeekColumn) ([]int, error) {
	var chosen []int
	var there []string
	for i, c := range columns {
		there = append(there, c.Name)
		if l.columns == nil {
			chosen = append(chosen, i)
		}
	}
	for _, name := range l.columns {
		at := slices.Index(there, name)
		if at < 0 {
			return nil, &usage{fmt.Errorf("there is no column %q", name), "the columns are: " + strings.Join(there, ", ")}
		}
		chosen = append(chosen, at)
	}
	return chosen, nil
}

// peekJob makes the job and says what to look at: the table unless --topic is given, or only a source.
func (p *process) peekJob(c *cli.Context) (*job.Job, job.Part, error) {
	if c.Bool(flagTopic) {
		j, err := p.loadJob(c, job.ForSource)
		return j, job.ForSource, err
	}
	j, incomplete := p.loadJob(c, job.ForSink)
	if incomplete == nil {
		return j, job.ForSink, nil
	}
	j, err := p.loadJob(c, job.ForSource)
	if err == nil && j.Sink.Name() == "" && j.Sink.Place() == "" {
		return j, job.ForSource, nil
	}
	if err != nil && c.NumFlags() == 0 {
		return nil, 0, &usage{fmt.Errorf("nothing says what to look at: %w", incomplete), "give --job, or the flags of a table (--warehouse, --table) or of a topic (--bootstrap-servers, --subscribe)"}
	}
	if err != nil && sourceFlags(c) {
		return nil, 0, err
	}
	return nil, 0, incomplete
}

// sourceFlags says whether flags name a source and no table, so that what is missing is missing there.
func sourceFlags(c *cli.Context) bool {
	source, sink := false, c.IsSet(flagJob)
	for _, k := range job.Keys() {
		if k.Flag != "" && c.IsSet(k.Flag) {
			source = source || strings.HasPrefix(k.Path, "source.")
			sink = sink || strings.HasPrefix(k.Path, "sink.")
		}
	}
	return source && !sink
}
