package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
)

const (
	flagSpark        = "spark-checkpoint"
	flagSparkSource  = "spark-source"
	flagSparkOutput  = "spark-output"
	flagLastBatch    = "last-batch"
	flagGroup        = "group"
	flagControlTopic = "control-topic"
)

func (p *process) importCommand() *cli.Command {
	return &cli.Command{
		Name:  "import",
		Usage: "begin a new query where another system has stopped",
		Description: "Reads how far another system is, shows for every partition what would be read next and what could not be known, and with --yes makes the beginning of a\n" +
			"new query in the job's checkpoint, which has to be empty. The other system is only read. Without --yes nothing is changed. The same import may be\n" +
			"repeated: one that was cut short is finished, one that is done is left as it is. Stop the other system first, and for good: docs/import.md has a recipe for each.\n\n" +
			"   sluice import --job orders.yaml --from spark --spark-checkpoint s3://lake/checkpoints/orders\n" +
			"   sluice import --job orders.yaml --from group --group orders-loader --yes\n" +
			"   sluice import --job orders.yaml --from kafka-connect --group connect-orders-sink --yes\n\n" +
			"To go on in a Spark checkpoint itself, under the same query id, nothing is imported: sluice run takes it over (docs/from-spark.md).",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: flagFrom, Usage: "`SYSTEM` that stopped: " + importKinds()},
			&cli.StringFlag{Name: flagSpark, Usage: "spark: the `FOLDER` of checkpointLocation"},
			&cli.IntFlag{Name: flagSparkSource, Value: -1, Usage: "spark: the `POSITION` of the source, from 0, where the query has several"},
			&cli.StringFlag{Name: flagSparkOutput, Usage: "spark: the `FOLDER` that the query wrote files to, whose _spark_metadata tells which batches are there"},
			&cli.StringFlag{Name: flagLastBatch, Usage: "spark: what became of a last batch that is not marked as done, where nothing else tells: applied or not-applied (`CHOICE`)"},
			&cli.StringFlag{Name: flagGroup, Usage: "group, kafka-connect: the `NAME` of the consumer group"},
			&cli.StringFlag{Name: flagControlTopic, Usage: "kafka-connect: the `NAME` of the control topic (iceberg.control.topic) [" + defaultControlTopic + "]"},
			&cli.BoolFlag{Name: flagYes, Usage: "write it"},
		}, jobFlags(), outputFlags()),
		Action: p.importProgress,
	}
}

// origin is another system, as it is read.
type origin interface {
	// read says how far it is. A Fault of the classes that ask for a decision means that it must not be imported.
	read(ctx context.Context, line *pipeline) (*foreign, error)
}

// foreign is how far another system is.
type foreign struct {
	runner.Stop
	// leftOut names what it has offsets of and the job does not read; unknown is what could not be known.
	leftOut, unknown, notes []string
}

// take keeps of the offsets those that the job reads.
func (f *foreign) take(line *pipeline, told offsets.Offsets) error {
	f.Told = offsets.Offsets{}
	left := offsets.Offsets{}
	for tp, at := range told {
		if line.source.Subscribes(tp) {
			f.Told[tp] = at
		} else {
			left[tp] = at
		}
	}
	for _, tp := range left.Partitions() {
		f.leftOut = append(f.leftOut, fmt.Sprintf("%s, at offset %d", tp, left[tp]))
	}
	if len(f.Told) > 0 {
		return nil
	}
	what := "it has no offsets at all"
	if len(left) > 0 {
		what = fmt.Sprintf("it has offsets of %v", left.Topics())
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s %s has no offset of any partition that the job reads: %s", f.From, f.Place, what),
		Hint: "correct the name, or the topics of the job; to begin at the earliest offset nothing has to be imported"}
}

func (p *process) importProgress(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	from, err := originOf(c)
	if err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForAll)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, job.ForAll)
	defer line.close()
	if err != nil {
		return cause(c.Context, err)
	}
	shown, refusal, err := line.importFrom(c.Context, from, c.Bool(flagYes))
	if err != nil {
		return cause(c.Context, err)
	}
	if err := progress.Write(p.stdout, p.json, shown); err != nil {
		return err
	}
	p.told = refusal != nil && !p.json // the text says all of it
	return refusal
}

// importFrom looks, and writes if that is wanted and nothing speaks against it.
func (l *pipeline) importFrom(ctx context.Context, from origin, write bool) (shown *progress.Import, refusal, err error) {
	there, err := from.read(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	query := l.query(silent{})
	a, err := query.ForeseeImport(ctx, &there.Stop)
	if err != nil {
		return nil, nil, err
	}
	if a.Refusal == nil && a.State != runner.ImportDone {
		if a.Refusal, err = l.unfit(ctx, a.Table); err != nil {
			return nil, nil, err
		}
	}
	wrote := false
	if write && a.Refusal == nil && a.State != runner.ImportDone {
		if a, err = query.Import(ctx, l.unmoved(from, there)); err != nil {
			return nil, nil, err
		}
		wrote = a.Refusal == nil && a.State != runner.ImportDone
	}
	shown = l.arrival(there, a)
	shown.Written = wrote
	return shown, a.Refusal, nil
}

// unmoved reads the other system again, and refuses one that has moved meanwhile.
func (l *pipeline) unmoved(from origin, before *foreign) func(context.Context) (*runner.Stop, error) {
	return func(ctx context.Context) (*runner.Stop, error) {
		now, err := from.read(ctx, l)
		if err != nil {
			return nil, err
		}
		if !now.Told.Equal(before.Told) {
			return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s %s was at %s, and is at %s now: it still runs", now.From, now.Place, before.Told, now.Told),
				Hint: "stop it, see that it stays stopped, and import again; nothing was written"}
		}
		return &now.Stop, nil
	}
}

// unfit is why the table does not take the rows of the job, nil if it does: after the import, less of the job may be changed.
func (l *pipeline) unfit(ctx context.Context, table *batch.Table) (refusal, err error) {
	if !table.Exists {
		err = l.unmakeable(ctx, table)
	} else {
		var value batch.Value
		if value, err = l.valueFor(ctx, table); err == nil {
			err = l.takes(ctx, value, l.job.Source.IncludeHeaders)
		}
	}
	if class := batch.ClassOf(err); class == batch.Inconsistent || class == batch.NotSetUp {
		return err, nil
	}
	return nil, err
}

// arrival puts an import into words.
func (l *pipeline) arrival(there *foreign, a *runner.Arrival) *progress.Import {
	shown := &progress.Import{Query: l.job.Name, QueryID: a.QueryID, From: there.From, Place: there.Place, Reached: there.Reached, State: a.State, Planned: a.Planned,
		Partitions: []progress.ImportPartition{}, LeftOut: notNil(there.leftOut), Unknown: notNil(there.unknown), Notes: append(notNil(there.notes), a.Remarks...)}
	if err := a.Refusal; err != nil {
		code := exitCode(err)
		shown.Refusal = &progress.Refusal{ExitCode: code, Class: class(err, code), Error: err.Error(), Hint: hintOf(err)}
	}
	for _, loss := range a.Losses {
		shown.Losses = append(shown.Losses, progress.LossAhead{Loss: runner.Told(loss.Loss), Accepted: loss.Accepted, Option: loss.Cause.Option()})
	}
	if a.Imported == nil || a.View == nil {
		return shown
	}
	start := a.Imported.Start()
	for _, tp := range start.Partitions() {
		one := progress.ImportPartition{Topic: tp.Topic, Partition: tp.Partition, Offset: -1, LogStart: -1, LogEnd: -1, Next: start[tp]}
		if at, told := a.Imported.Told[tp]; told {
			one.Offset = at
		}
		if b, ok := a.View.Partitions[tp]; ok {
			one.LogStart, one.LogEnd = b.Start, b.End
			if a.State != runner.ImportDone { // where it began stays where it was, whatever the log has since
				one.Next = max(start[tp], b.Start)
				one.Waiting = max(0, b.End-one.Next)
			}
		}
		shown.Partitions = append(shown.Partitions, one)
	}
	if len(a.Imported.TopicIDs) < len(start.Topics()) {
		shown.Unknown = append(shown.Unknown, "whether a topic is deleted and created again between now and the first run: the brokers tell no topic ids")
	}
	if l.job.Origin("source.startingOffsets").Layer > job.Derived || !l.job.Source.StartingTimestamp.IsZero() {
		shown.Notes = append(shown.Notes, "startingOffsets and startingTimestamp of the job have no effect: the query begins where the other system stopped")
	}
	return shown
}

func notNil(texts []string) []string { return append([]string{}, texts...) }
