package cmd

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/progress"
	"sluice/runner"
)

func (p *process) replayDeadLetters(c *cli.Context) error {
	line, found, err := p.deadLetters(c)
	if line != nil {
		defer line.close()
	}
	if err != nil {
		return err
	}
	if found.stop != nil {
		return found.stop
	}
	var came *progress.DeadLetterReplay
	if c.Bool(flagDryRun) {
		came, err = line.replay(c.Context, found, true)
	} else {
		came, err = p.replayHeld(c.Context, line, found)
	}
	if err != nil {
		return cause(c.Context, err)
	}
	return progress.Write(p.stdout, p.json, came)
}

// replayHeld replays under the lease.
func (p *process) replayHeld(ctx context.Context, line *pipeline, found *letterSet) (*progress.DeadLetterReplay, error) {
	if err := line.unwritable(ctx); err != nil {
		return nil, err
	}
	held, _, err := line.lease.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	came, err := line.replay(held, found, false)
	if releaseErr := line.lease.Release(context.WithoutCancel(ctx)); releaseErr != nil && err == nil {
		fmt.Fprintf(p.stderr, "sluice: the lease was not released; the next run may have to wait for it to run out: %v\n", releaseErr)
	}
	if err != nil {
		return nil, cause(held, err)
	}
	return came, nil
}

// replay decodes the dead letters of a query again. The checkpoint is not touched: what is replayed is in the table's
// ledger. A dry one writes nothing.
func (l *pipeline) replay(ctx context.Context, of *letterSet, dry bool) (*progress.DeadLetterReplay, error) {
	uuids := map[string]string{}
	if of.identity != nil {
		uuids[""] = of.identity.Tables["main"]
	}
	var from []lakesink.Letterbox
	for _, name := range of.read {
		in, err := l.letterbox(ctx, name)
		if err != nil {
			return nil, err
		}
		from = append(from, in)
		uuids[in.TableName()] = runner.LettersUUID(batch.ParseLetterPlace(name), of.identity)
	}
	value, err := l.replayed(ctx, of)
	if err != nil {
		return nil, err
	}
	decoder, err := l.newDecoder(value, l.job.Source.IncludeHeaders)
	if err != nil {
		return nil, err
	}
	did, err := l.sink.Replay(ctx, from, lakesink.ReplayOptions{Query: of.shown.QueryID, Name: l.job.Name, Run: l.runID, UUIDs: uuids, Schema: decoder.Schema(), DryRun: dry, Others: l.inTopics(of),
		Decode: func(records *columns.Records) (*columns.Batch, error) { return decoder.Decode(records) }})
	if err != nil {
		return nil, err
	}
	came := &progress.DeadLetterReplay{Query: of.shown.Query, QueryID: of.shown.QueryID, DryRun: dry, DeadLetters: did.Letters, Before: did.Before, Rows: did.Rows, Still: did.Still,
		Reasons: did.Misfits.Reasons, Examples: []progress.DeadLetterPlace{}, Table: l.sink.TableName(), Snapshot: did.Snapshot}
	for _, e := range did.Misfits.Examples {
		came.Examples = append(came.Examples, progress.DeadLetterPlace{Topic: e.Topic, Partition: e.Partition, Offset: e.Offset, Reason: e.Reason, Error: e.Text, Batch: batch.None})
	}
	return came, nil
}

// replayed is how the job reads values now, with the columns that the table has been given, but that whatever is no row
// stays a dead letter: to make nulls of it would be to lose it. So does a record with a field that the table has no
// column for, where such fields are to become columns: that is a run's work.
func (l *pipeline) replayed(ctx context.Context, of *letterSet) (batch.Value, error) {
	if err := l.openRegistry(ctx); err != nil {
		return batch.Value{}, err
	}
	t, err := l.sink.Table(ctx, of.shown.QueryID)
	if err != nil {
		return batch.Value{}, err
	}
	value, err := l.valueFor(ctx, t)
	if value.OnUnknownField == decode.AddColumn {
		value.OnUnknownField = batch.DeadLetterPolicy
	}
	if value.OnTombstone == "drop" {
		value.OnTombstone = batch.DeadLetterPolicy
	}
	value.OnMalformed = batch.DeadLetterPolicy
	value.SendLetters(batch.ParseLetterPlace(of.shown.Tables[0]))
	return value, err
}
