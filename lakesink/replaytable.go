package lakesink

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
)

// Keys of the summary of a snapshot that holds replayed dead letters. It is of no batch: none of the keys of a batch is
// there.
const (
	keyReplayQuery = "sluice.replay.query-id"
	keyReplayName  = "sluice.replay.query-name"
	keyReplayRun   = "sluice.replay.run-id"
	keyReplayed    = "sluice.replay.records"
)

// intoTable is a table as the target of a replay.
type intoTable struct{ *Iceberg }

// Base is ReplayTarget's.
func (i intoTable) Base(ctx context.Context, query, uuid string) (*table.Table, *batch.Ledger, error) {
	t, err := i.load(ctx)
	if err != nil {
		return nil, nil, explain(fmt.Sprintf("read table %s", i.TableName()), err)
	}
	if err := sameTable(uuid, i.TableName(), t); err != nil {
		return nil, nil, err
	}
	applied, err := appliedOf(t, query)
	switch {
	case err != nil:
		return nil, nil, i.unreadable(err)
	case applied.Ledger == nil:
		return nil, nil, notSetUp(fmt.Sprintf("table %s has no batch of query %s", i.TableName(), query), "run sluice run first", nil)
	case applied.RolledBack:
		return nil, nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table %s was rolled back: snapshot %d, which holds batch %d, is no longer in its history", i.TableName(), applied.Ledger.Snapshot, applied.Ledger.Batch),
			Hint: "run sluice run first: it says what the choices are"}
	}
	return t, applied.Ledger, i.checkClock(t)
}

// Takes is ReplayTarget's.
func (i intoTable) Takes(t *table.Table, schema columns.Schema) error {
	_, err := i.fieldsFor(t, schema)
	return err
}

// Begin is ReplayTarget's.
func (i intoTable) Begin(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (ReplayWriter, error) {
	w, err := i.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Pause is ReplayTarget's.
func (i intoTable) Pause(ctx context.Context, attempt int) error {
	if attempt <= i.options.Attempts {
		return i.options.Sleep(ctx, i.options.Backoff(attempt-1))
	}
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("the replayed dead letters are not in table %s: the commit was not accepted in %d attempts", i.TableName(), i.options.Attempts),
		Hint: "run again; if other writers commit to this table all the time, pause them for a moment"}
}

// Offer commits the files, and finds out what became of it.
func (i intoTable) Offer(ctx context.Context, t *table.Table, c *ReplayCommit) (moved bool, snapshot int64, err error) {
	o, err := i.stageReplay(ctx, t, c)
	if i.Moved(ctx, t, err) {
		return true, 0, nil
	}
	if err != nil {
		return false, 0, explain(fmt.Sprintf("prepare the commit of replayed dead letters to table %s", i.TableName()), err)
	}
	detached := context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeout(detached, i.options.Timeout)
	_, answer := o.tx.Commit(limited)
	cancel()
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if err := i.options.Sleep(detached, i.options.Backoff(attempt)); err != nil {
				return false, 0, err
			}
		}
		limited, cancel := context.WithTimeout(detached, i.options.Timeout)
		now, err := i.load(limited)
		cancel()
		if err == nil {
			return !historyOf(now).has(o.snapshot.SnapshotID), o.snapshot.SnapshotID, nil
		}
		failure = err
	}
	if answer == nil { // the commit was conditional, and the catalog said yes
		return false, o.snapshot.SnapshotID, nil
	}
	return false, 0, &batch.Fault{Class: batch.UnknownOutcome, Message: fmt.Sprintf("the replayed dead letters may or may not be in table %s: the commit ended with an error and the table cannot be read", i.TableName()),
		Hint: "run again when catalog and store answer: what is there is not added again", Err: errors.Join(answer, failure)}
}

// Moved reports whether an error is only that of a reading which is old by now: maintenance has taken what it refers to.
func (i intoTable) Moved(ctx context.Context, t *table.Table, err error) bool {
	if err == nil || !isGone(err) {
		return false
	}
	now, loadErr := i.load(ctx)
	return loadErr == nil && now.MetadataLocation() != t.MetadataLocation()
}

// stageReplay prepares the commit on one reading of the table, as that of a batch.
func (i *Iceberg) stageReplay(ctx context.Context, t *table.Table, c *ReplayCommit) (*offer, error) {
	fenced, f, err := i.fenced(t)
	if err != nil {
		return nil, err
	}
	tx, err := i.begin(fenced)
	if err != nil {
		return nil, err
	}
	added, err := icebergFiles(fenced, []batch.TaskResult{{Files: c.Files}})
	if err != nil {
		return nil, err
	}
	summary := iceberg.Properties{keyReplayQuery: c.Query, keyReplayName: c.Name, keyReplayRun: c.Run, keyReplayed: strconv.FormatInt(c.Records, 10)}
	if err := appendFiles(ctx, tx, fenced, added, summary); err != nil {
		return nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	o := &offer{tx: tx, fence: f, parent: t.CurrentSnapshot(), snapshot: staged.SnapshotByName(i.options.Branch)}
	if err := o.merge(ctx, fenced, mergingOf(t), nil); err != nil {
		return nil, err
	}
	if err := o.boundEmptyText(ctx, fenced); err != nil {
		return nil, err
	}
	if err := o.check(ctx, fenced, len(added)); err != nil {
		return nil, err
	}
	return o, o.setLedger(t, c.Ledger)
}
