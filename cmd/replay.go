package cmd

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/progress"
	"sluice/runner"
	"sluice/verify"
)

func (p *process) replayDeadLetters(c *cli.Context) error {
	line, found, err := p.deadLetters(c)
	if line != nil {
		defer line.close()
	}
	if err != nil {
		return err
	}
	if err := lakesink.Unwritable(line.catalog); err != nil {
		return err
	}
	held, _, err := line.lease.Acquire(c.Context)
	if err != nil {
		return cause(c.Context, err)
	}
	came, err := line.replay(held, found)
	if releaseErr := line.lease.Release(context.WithoutCancel(c.Context)); releaseErr != nil && err == nil {
		fmt.Fprintf(p.stderr, "sluice: the lease was not released; the next run may have to wait for it to run out: %v\n", releaseErr)
	}
	if err != nil {
		return cause(held, err)
	}
	return progress.Write(p.stdout, p.json, came)
}

// replay decodes the dead letters of a query again. The checkpoint is not touched: what is replayed is in the table's
// ledger.
func (l *pipeline) replay(ctx context.Context, of *progress.DeadLetters) (*progress.DeadLetterReplay, error) {
	identity, err := l.log.Identity(ctx)
	if err != nil {
		return nil, err
	}
	uuids := map[string]string{}
	if identity != nil {
		uuids[""] = identity.Tables["main"]
		for _, name := range verify.LetterTables(identity) {
			uuids[name] = identity.Tables["deadLetters/"+name]
		}
	}
	var from []*lakesink.Iceberg
	for _, name := range of.Tables {
		from = append(from, l.deadLetters(name))
	}
	decoder, err := l.replayDecoder(ctx, of)
	if err != nil {
		return nil, err
	}
	did, err := l.sink.Replay(ctx, from, lakesink.ReplayOptions{Query: of.QueryID, Name: l.job.Name, Run: l.runID, UUIDs: uuids, Schema: decoder.Schema(),
		Decode: func(records *columns.Records) (*columns.Batch, error) { return decodeAgain(decoder, records) }})
	if err != nil {
		return nil, err
	}
	came := &progress.DeadLetterReplay{Query: of.Query, QueryID: of.QueryID, DeadLetters: did.Letters, Before: did.Before, Rows: did.Rows, Still: did.Still,
		Reasons: did.Misfits.Reasons, Examples: []progress.DeadLetterPlace{}, Table: l.sink.TableName(), Snapshot: did.Snapshot}
	for _, e := range did.Misfits.Examples {
		came.Examples = append(came.Examples, progress.DeadLetterPlace{Topic: e.Topic, Partition: e.Partition, Offset: e.Offset, Reason: e.Reason, Error: e.Text, Batch: batch.None})
	}
	return came, nil
}

// replayDecoder reads values as the job says now, into the columns that the table has.
func (l *pipeline) replayDecoder(ctx context.Context, of *progress.DeadLetters) (runner.Decoder, error) {
	table, err := l.sink.Table(ctx, of.QueryID)
	if err != nil {
		return nil, err
	}
	value, err := l.valueFor(ctx, table)
	if err != nil {
		return nil, err
	}
	return l.newDecoder(replayed(value, of.Tables[0]), l.job.Source.IncludeHeaders)
}

// decodeAgain is Decode, but that fields which would have to become columns first are no rows without them.
func decodeAgain(decoder runner.Decoder, records *columns.Records) (*columns.Batch, error) {
	rows, err := decoder.Decode(records)
	if finder, finds := decoder.(runner.Finder); err == nil && finds && len(finder.Unknown()) > 0 {
		u := finder.Unknown()[0]
		return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("a dead letter of topic %s has a field that the table has no column for: %s", records.Topic, u.Name),
			Hint: "declare the field in value.schema, let sluice run add the column with its next batch, and replay then; or set value.onUnknownField to ignore"}
	}
	return rows, err
}

// replayed is how the job reads values now, but that whatever is no row stays a dead letter: to make nulls of it would be
// to lose it.
func replayed(value batch.Value, table string) batch.Value {
	value.OnMalformed, value.DeadLetters = batch.DeadLetterPolicy, table
	if value.OnTombstone == "drop" {
		value.OnTombstone = batch.DeadLetterPolicy
	}
	return value
}
