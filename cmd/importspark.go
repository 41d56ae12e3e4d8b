package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/offsets"
)

// What a person can say of a last batch.
const (
	batchApplied    = "applied"
	batchNotApplied = "not-applied"
)

// sparkOrigin is a checkpoint of Spark's.
type sparkOrigin struct {
	folder, output string
	source         int
	// said is what a person says of the last batch, empty if nothing.
	said string
}

func sparkOriginOf(c *cli.Context) (origin, error) {
	o := &sparkOrigin{folder: c.String(flagSpark), output: c.String(flagSparkOutput), source: c.Int(flagSparkSource), said: c.String(flagLastBatch)}
	switch {
	case o.said != "" && o.said != batchApplied && o.said != batchNotApplied:
		return nil, &usage{fmt.Errorf("--%s %q is no choice", flagLastBatch, o.said), fmt.Sprintf("use %s or %s", batchApplied, batchNotApplied)}
	case c.IsSet(flagSparkSource) && o.source < 0:
		return nil, &usage{fmt.Errorf("--%s %d is no position", flagSparkSource, o.source), "count the sources of the query from 0"}
	}
	return o, nil
}

// open is a folder of Spark's, with the parameters of its store as the job has them.
func (o *sparkOrigin) open(ctx context.Context, line *pipeline, address string) (objectstore.Store, error) {
	if rest, ok := strings.CutPrefix(address, "s3a://"); ok {
		address = "s3://" + rest
	}
	if !strings.Contains(address, "?") {
		address = line.located(address)
	}
	store, err := objectstore.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("open Spark's folder: %w", err)
	}
	return store, nil
}

func (o *sparkOrigin) read(ctx context.Context, line *pipeline) (*foreign, error) {
	store, err := o.open(ctx, line, o.folder)
	if err != nil {
		return nil, err
	}
	if store.String() == line.store.String() {
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: "--" + flagSpark + " and the job's checkpoint are the same folder: " + store.String(),
			Hint: "to go on in Spark's checkpoint nothing is imported: sluice run takes it over (docs/from-spark.md); to import, give the job an empty checkpoint"}
	}
	stop, err := checkpoint.ReadSpark(ctx, store, o.source)
	if err != nil {
		return nil, sparkFault(err)
	}
	seen, err := o.look(ctx, line, stop)
	if err != nil {
		return nil, err
	}
	told, reached, err := settleSpark(stop, seen, o.said)
	if err != nil {
		return nil, err
	}
	f := &foreign{unknown: []string{
		"whether Spark is stopped for good: its checkpoint does not say" + lastPlanned(stop),
		"whether Spark read this cluster, and whether a topic was deleted and created again since: its checkpoint has neither the cluster's id nor those of topics",
	}}
	f.From, f.Place, f.Reached = fromSpark, store.String(), reached
	if len(stop.Sources) > 1 {
		f.Place += fmt.Sprintf(", source %d", stop.Source)
	}
	if stop.Query == "" {
		f.unknown = append(f.unknown, "the query's id, and with it what tables say of it: metadata is missing")
	}
	return f, f.take(line, told)
}

func lastPlanned(stop *checkpoint.SparkStop) string {
	if stop.PlannedMs <= 0 {
		return ""
	}
	return "; the last batch was planned at " + moment(stop.PlannedMs)
}

// sparkFault says which flag chooses a source.
func sparkFault(err error) error {
	if batch.ClassOf(err) == batch.Inconsistent && strings.Contains(err.Error(), checkpoint.ErrManySources.Error()) {
		return &batch.Fault{Class: batch.Inconsistent, Err: err, Hint: "choose the one that the job reads with --" + flagSparkSource + " POSITION"}
	}
	return err
}

// witness is what an output of Spark's says of a query: the newest batch that is there.
type witness struct {
	batch int64
	where string
	// byID says that it tells queries apart.
	byID bool
}

// look asks the job's table, and the folder that the query wrote files to, which batches are there; nil if neither tells.
func (o *sparkOrigin) look(ctx context.Context, line *pipeline, stop *checkpoint.SparkStop) (*witness, error) {
	if o.output != "" {
		folder, err := o.open(ctx, line, o.output)
		if err != nil {
			return nil, err
		}
		newest, err := checkpoint.FileLog(ctx, folder)
		if err != nil {
			return nil, err
		}
		if newest == batch.None {
			return nil, &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s has no log of Spark's sink of files (_spark_metadata)", folder),
				Hint: "give the folder that the query wrote to, or leave --" + flagSparkOutput + " out"}
		}
		return &witness{batch: newest, where: folder.String()}, nil
	}
	if stop.Query == "" {
		return nil, nil
	}
	table, err := line.sink.Table(ctx, stop.Query)
	if err != nil {
		return nil, err
	}
	if table.Applied.Batch == batch.None {
		return nil, nil
	}
	return &witness{batch: table.Applied.Batch, where: line.word() + " " + line.sink.TableName(), byID: true}, nil
}

// settleSpark decides where a query of Spark's stopped. A batch that is planned and not marked as done may be in the output or
// not: the output says so, or a person does, and neither is guessed for.
func settleSpark(stop *checkpoint.SparkStop, seen *witness, said string) (told offsets.Offsets, reached string, err error) {
	disagree := func(hint, format string, parts ...any) error {
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf(format, parts...), Hint: hint}
	}
	n := stop.Planned
	switch {
	case stop.State != "":
		return nil, "", disagree(fmt.Sprintf("let Spark finish it; or begin a new query with startingOffsets where it is to read again from: the last plan ends at %s", stop.End),
			"the query keeps state (%s): what it has read and not put out yet would be lost", stop.State)
	case n == batch.None && stop.Before == nil:
		return nil, "", disagree("begin a new query with startingOffsets", "the query has planned nothing, and where it was to begin is not in its checkpoint")
	case n == batch.None:
		return stop.Before, "nothing was planned; it was to begin there (sources/0/0)", nil
	case seen != nil && seen.batch > n:
		return nil, "", disagree("give the checkpoint that the query really used, or a newer copy of it",
			"%s has batch %d, and the newest plan in the checkpoint is that of batch %d", seen.where, seen.batch, n)
	case stop.Committed == n:
		return settledBatch(stop, seen, said)
	}
	landed, why := said, "as you say"
	if seen != nil && (seen.batch == n || seen.batch == n-1) {
		landed, why = batchNotApplied, seen.where+" has batch "+fmt.Sprint(seen.batch)+" and not that one"
		if seen.batch == n {
			landed, why = batchApplied, "it is in "+seen.where
		}
		if said != "" && said != landed {
			return nil, "", disagree("leave --"+flagLastBatch+" out", "--%s %s contradicts %s, whose newest batch of the query is %d", flagLastBatch, said, seen.where, seen.batch)
		}
	}
	switch {
	case landed == "", why == "as you say" && said == batchNotApplied && stop.Committed < n-1:
		return nil, "", undecided(stop, seen)
	case landed == batchApplied:
		return stop.End, fmt.Sprintf("the end of batch %d, which is not marked as done; %s", n, why), nil
	case stop.Before == nil:
		return nil, "", disagree("restore it from a backup, or begin a new query with startingOffsets", "batch %d was not applied, and where it begins is not in the checkpoint", n)
	}
	return stop.Before, fmt.Sprintf("the start of batch %d, which was planned and not applied; %s", n, why), nil
}

// settledBatch is for a last batch that is marked as done.
func settledBatch(stop *checkpoint.SparkStop, seen *witness, said string) (offsets.Offsets, string, error) {
	n := stop.Planned
	switch {
	case said == batchNotApplied:
		return nil, "", &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("--%s %s contradicts the checkpoint, which has batch %d marked as done", flagLastBatch, said, n),
			Hint: "leave it out; to read again what is marked as done, begin a new query with startingOffsets"}
	case seen != nil && seen.batch < n && said == "":
		return nil, "", &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("batch %d is marked as done, and the newest batch of the query in %s is %d", n, seen.where, seen.batch),
			Hint: fmt.Sprintf("it may have been rolled back, or is not what the query wrote to: --%s %s goes on after batch %d all the same", flagLastBatch, batchApplied, n)}
	}
	return stop.End, fmt.Sprintf("the end of batch %d, which is marked as done", n), nil
}

// undecided is the fault of a last batch that nobody knows about.
func undecided(stop *checkpoint.SparkStop, seen *witness) error {
	n := stop.Planned
	what := "no output that was asked knows the query"
	if seen != nil {
		what = fmt.Sprintf("the newest batch in %s is %d", seen.where, seen.batch)
	}
	message := fmt.Sprintf("batch %d was planned and is not marked as done, and whether its rows were written cannot be told: %s", n, what)
	if stop.Committed < n-1 {
		message += fmt.Sprintf("; the newest mark is that of batch %d", stop.Committed)
	}
	start := "an offset that the checkpoint does not have"
	if stop.Before != nil {
		start = stop.Before.String()
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: message,
		Hint: fmt.Sprintf("look whether its records are where the query wrote to, then say which: --%s %s begins at %s, --%s %s begins at %s; a query that wrote files may be asked with --%s FOLDER",
			flagLastBatch, batchApplied, stop.End, flagLastBatch, batchNotApplied, start, flagSparkOutput)}
}
