package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/decode"
	"sluice/job"
	"sluice/progress"
)

const (
	flagFromTopic = "from-topic"
	flagFromFile  = "from-file"
	flagFrom      = "from"
	flagSample    = "sample"
	flagNotNull   = "not-null"
	flagPlain     = "plain"
)

// Bounds of a sample: its values are held in memory.
const (
	mostSampled      = 100_000
	mostSampledBytes = 64 << 20
)

// forNothing is a part of a job that needs no key.
const forNothing job.Part = 1 << 7

func (p *process) schemaCommand() *cli.Command {
	return &cli.Command{
		Name:        "schema",
		Usage:       "make a schema for value.schema",
		UsageText:   "sluice schema COMMAND [options]",
		Description: "A schema says which columns the values of records become: docs/formats.md has its grammar.",
		Subcommands: []*cli.Command{p.inferCommand(), p.convertCommand()},
		Action:      needsSubcommand,
	}
}

// needsSubcommand is for a command that does nothing of its own.
func needsSubcommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowSubcommandHelp(c)
	}
	var names []string
	for _, sub := range c.Command.Subcommands {
		names = append(names, sub.Name)
	}
	typed := c.Args().First()
	hint := fmt.Sprintf("sluice %s has: %s", c.Command.Name, strings.Join(names, ", "))
	if near := job.Nearest(typed, names); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return &usage{fmt.Errorf("there is no command %s %s", c.Command.Name, typed), hint}
}

func (p *process) inferCommand() *cli.Command {
	return &cli.Command{
		Name:  "infer",
		Usage: "look at records of JSON, and print a schema to start from",
		Description: "Samples a topic, the newest records of each partition by default, and prints the columns that hold all of them: Spark's DDL, on stdout, with nothing else,\n" +
			"so that it can become the file that value.schemaFile names. What to know of it is on stderr: which fields have no column, which hold values of several kinds and\n" +
			"where, which may be times or decimals; with --output json all of it is one object on stdout. Nothing is NOT NULL unless --not-null says so. It writes nothing, and moves no offset.\n\n" +
			"   sluice schema infer --bootstrap-servers broker:9092 --from-topic orders >orders.ddl\n   sluice schema infer --from-file orders.jsonl",
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.StringFlag{Name: flagFromTopic, Usage: "sample this `TOPIC`, and not those that the job reads"},
			&cli.StringFlag{Name: flagFromFile, Usage: "take the records from a `FILE` with one in each line, - for stdin, and not from Kafka"},
			&cli.StringFlag{Name: flagFrom, Value: "latest", Usage: "which `END` of each partition to sample: latest or earliest"},
			&cli.IntFlag{Name: flagSample, Value: 1000, Usage: "sample at most so many records (`COUNT`), and 64 MiB of them"},
			&cli.BoolFlag{Name: flagNotNull, Usage: "make fields NOT NULL that every sampled record has, and that are never null"},
			&cli.BoolFlag{Name: flagPlain, Usage: "leave texts STRING, also if each is a date or a timestamp"},
		}),
		Action: p.infer,
	}
}

func (p *process) infer(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	p.verb.Store("schema infer")
	if err := checkInfer(c); err != nil {
		return err
	}
	j, err := p.inferJob(c)
	if err != nil {
		return err
	}
	taken, err := p.take(c, j)
	if err != nil {
		return cause(c.Context, err)
	}
	if len(taken.values) == 0 {
		return &batch.Fault{Class: batch.NotSetUp, Message: taken.from + " holds no record to infer a schema from", Hint: "produce some records, then try again"}
	}
	found, err := decode.Infer(taken.values, decode.InferOptions{JSON: valueOf(&j.Value).JSON, ZoneGiven: j.Origin("value.json.timeZone").Layer > job.Default,
		Plain: c.Bool(flagPlain), NotNull: c.Bool(flagNotNull)})
	if err != nil {
		return err
	}
	if !p.json { // where they are in the object
		if err := writeRemarks(p.stderr, taken, found); err != nil {
			return err
		}
	}
	if err := progress.Write(p.stdout, p.json, shownSchema(taken, found)); err != nil {
		return err
	}
	if found.DDL == "" {
		return noSchema(taken, found)
	}
	return nil
}

func checkInfer(c *cli.Context) error {
	n := c.Int(flagSample)
	end := c.String(flagFrom)
	switch {
	case n < 1 || n > mostSampled:
		return &usage{fmt.Errorf("--%s %d is out of range", flagSample, n), fmt.Sprintf("use a number from 1 to %d", mostSampled)}
	case end != "latest" && end != "earliest":
		return &usage{fmt.Errorf("--%s %q is no end", flagFrom, end), "use latest or earliest"}
	case c.IsSet(flagFromFile) && c.IsSet(flagFromTopic):
		return &usage{fmt.Errorf("--%s and --%s contradict each other", flagFromFile, flagFromTopic), "give one of them"}
	case c.IsSet(flagFromFile) && c.IsSet(flagFrom):
		return &usage{fmt.Errorf("--%s is about a topic", flagFrom), "a file is read from its beginning: leave the flag out"}
	case c.IsSet(flagFromFile) && c.String(flagFromFile) == "", c.IsSet(flagFromTopic) && c.String(flagFromTopic) == "":
		return &usage{errors.New("the name of what to sample is empty"), fmt.Sprintf("give --%s or --%s a name", flagFromTopic, flagFromFile)}
	}
	return nil
}

// inferJob makes the job as if its values were JSON of a schema that is yet to be found.
func (p *process) inferJob(c *cli.Context) (*job.Job, error) {
	in := p.jobInput(c, job.ForSource)
	replaced := map[string]bool{"value-format": true, "value-schema": true}
	if c.IsSet(flagFromFile) {
		in.Needs = forNothing
	}
	if c.IsSet(flagFromTopic) {
		replaced["subscribe"], replaced["subscribe-pattern"], replaced["assign"] = true, true, true
		in.Flags = append(in.Flags, job.FlagValue{Flag: "subscribe", Value: c.String(flagFromTopic)})
	}
	in.Flags = slices.DeleteFunc(in.Flags, func(f job.FlagValue) bool {
		return replaced[f.Flag] && !(f.Flag == "subscribe" && f.Value == c.String(flagFromTopic))
	})
	in.Flags = append(in.Flags, job.FlagValue{Flag: "value-format", Value: decode.FormatJSON}, job.FlagValue{Flag: "value-schema", Value: "inferred TIMESTAMP, dates DATE"})
	in.CheckValue = func(v *job.Value) []job.ValueProblem {
		reads := *v
		reads.JSON.ColumnFormats = nil // they are about columns that somebody has in mind
		return checkValue(&reads)
	}
	return loadJob(c.Context, in)
}

// sample is values to infer a schema from.
type sample struct {
	values []decode.SampledValue
	// from is where they come from, which says at which end.
	from, which string
}

func (p *process) take(c *cli.Context, j *job.Job) (*sample, error) {
	if c.IsSet(flagFromFile) {
		return sampleFile(c.Context, c.String(flagFromFile), c.Int(flagSample))
	}
	line, err := connect(c.Context, j, job.ForSource)
	defer line.close()
	if err != nil {
		return nil, err
	}
	return line.sampleTopic(c.Context, c.Int(flagSample), c.String(flagFrom) == "earliest")
}

// noSchema is why nothing was printed.
func noSchema(s *sample, found *decode.Inferred) error {
	if found.Records > 0 {
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("no field of %s in %s has a column", progress.Plural(int64(found.Records), "record"), s.from),
			Hint: "the remarks say why; write the schema by hand, or sample more records"}
	}
	if len(found.NoRecords) == 0 {
		return &batch.Fault{Class: batch.NotSetUp, Message: s.from + " holds tombstones alone", Hint: "sample more records"}
	}
	first := &found.NoRecords[0]
	fault := &batch.Fault{Class: batch.BadRecords, Message: fmt.Sprintf("no value in %s is an object of JSON; %s is the first", s.from, first.Place), Err: first.Why,
		Hint: "a schema is inferred from JSON objects alone"}
	if first.Looks != "" {
		fault.Message += ", and looks like " + first.Looks
	}
	if strings.Contains(first.Looks, "registry") {
		fault.Hint = "the registry has the schema, and none need be inferred: schemaRegistry.url and value.format say so"
	}
	return fault
}
