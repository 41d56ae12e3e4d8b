package cmd

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/files"
)

// Replay is outlet's.
func (f *folder) Replay(ctx context.Context, letters []lakesink.Letterbox, o lakesink.ReplayOptions) (*lakesink.Replayed, error) {
	return lakesink.Replay(ctx, &intoFolder{folder: f}, letters, o)
}

// Replayed is outlet's.
func (f *folder) Replayed(ctx context.Context, query string, letters lakesink.Places) (lakesink.Places, error) {
	t, ledger, err := f.reading(ctx, query)
	if err != nil {
		return nil, err
	}
	return letters.ReplayedIn(ctx, t, ledger)
}

// reading is the folder as a table, with the ledger of a query.
func (f *folder) reading(ctx context.Context, query string) (*table.Table, *batch.Ledger, error) {
	t, err := f.Load(ctx)
	if isNoTable(err) {
		return nil, nil, &batch.Fault{Class: batch.NotSetUp, Message: "there is no folder " + f.TableName(), Hint: "check sink.parquet.path, or run sluice run first"}
	}
	if err != nil {
		return nil, nil, err
	}
	ledger, err := batch.ParseLedger(t.Properties(), query)
	if err == nil && ledger == nil {
		err = &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s has no batch of query %s", f.TableName(), query), Hint: "run sluice run first"}
	}
	return t, ledger, err
}

// intoFolder is a folder as the target of a replay.
type intoFolder struct {
	*folder
	// next is the number that the replay has, if none comes before it.
	next int64
}

// Base reads the number first: what comes between it and the reading is found when that number is taken.
func (i *intoFolder) Base(ctx context.Context, query, uuid string) (t *table.Table, ledger *batch.Ledger, err error) {
	if i.next, err = i.NextReplay(ctx, query); err != nil {
		return nil, nil, err
	}
	if t, ledger, err = i.reading(ctx, query); err != nil {
		return nil, nil, err
	}
	if is := t.Metadata().TableUUID().String(); uuid != "" && uuid != is {
		return nil, nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the folder %s is not the one that this query wrote to: its UUID is %s and was %s", i.TableName(), is, uuid),
			Hint: "bring the old one back, or run sluice run: it says what the choices are"}
	}
	return t, ledger, nil
}

// Takes is that of lakesink.ReplayTarget.
func (i *intoFolder) Takes(_ *table.Table, schema columns.Schema) error {
	return i.Fits(context.Background(), schema)
}

// Begin is that of lakesink.ReplayTarget.
func (i *intoFolder) Begin(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (lakesink.ReplayWriter, error) {
	return i.Write(ctx, task, attempt, schema)
}

// Offer is that of lakesink.ReplayTarget.
func (i *intoFolder) Offer(ctx context.Context, t *table.Table, c *lakesink.ReplayCommit) (moved bool, snapshot int64, err error) {
	moved, err = i.AddReplay(ctx, &files.Replay{Folder: t.Metadata().TableUUID().String(), Query: c.Query, Name: c.Name, Run: c.Run, Number: i.next,
		Schema: t.Schema().ID, Records: c.Records, Files: c.Files}, c.Ledger)
	return moved, 0, err
}

// Moved is that of lakesink.ReplayTarget: nothing is ever taken from a folder.
func (i *intoFolder) Moved(context.Context, *table.Table, error) bool { return false }

// Pause is that of lakesink.ReplayTarget.
func (i *intoFolder) Pause(ctx context.Context, attempt int) error {
	return i.PauseReplay(ctx, attempt)
}
