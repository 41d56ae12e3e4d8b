package lakesink

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// offer commits the files, and finds out what became of it.
func (r *replay) offer(ctx context.Context, t *table.Table, files []batch.DataFile, ledger *batch.Ledger) (done bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	o, err := r.stage(ctx, t, files, ledger)
	if r.moved(ctx, t, err) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Sprintf("prepare the commit of replayed dead letters to table %s", r.sink.TableName()), err)
	}
	detached := context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeout(detached, r.sink.options.Timeout)
	_, r.answer = o.tx.Commit(limited)
	cancel()
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if err := r.sink.options.Sleep(detached, r.sink.options.Backoff(attempt)); err != nil {
				return false, err
			}
		}
		limited, cancel := context.WithTimeout(detached, r.sink.options.Timeout)
		now, err := r.sink.load(limited)
		cancel()
		if err == nil {
			r.found.Snapshot = o.snapshot.SnapshotID
			return historyOf(now).has(o.snapshot.SnapshotID), nil
		}
		failure = err
	}
	if r.answer == nil { // the commit was conditional, and the catalog said yes
		r.found.Snapshot = o.snapshot.SnapshotID
		return true, nil
	}
	return false, &batch.Fault{Class: batch.UnknownOutcome, Message: fmt.Sprintf("the replayed dead letters may or may not be in table %s: the commit ended with an error and the table cannot be read", r.sink.TableName()),
		Hint: "run again when catalog and store answer: what is there is not added again", Err: errors.Join(r.answer, failure)}
}

// moved reports whether an error is only that of a reading which is old by now: maintenance has taken what it refers to.
func (r *replay) moved(ctx context.Context, t *table.Table, err error) bool {
	if err == nil || !isGone(err) {
		return false
	}
	now, loadErr := r.sink.load(ctx)
	return loadErr == nil && now.MetadataLocation() != t.MetadataLocation()
}

// stage prepares the commit on one reading of the table, as that of a batch.
func (r *replay) stage(ctx context.Context, t *table.Table, files []batch.DataFile, ledger *batch.Ledger) (*offer, error) {
	fenced, f := r.sink.fenced(t)
	tx := fenced.NewTransaction()
	if err := errors.Join(tx.AssertRefSnapshotID(""), tx.AssertDefaultShape()); err != nil {
		return nil, err
	}
	added, err := icebergFiles(t, []batch.TaskResult{{Files: files}})
	if err != nil {
		return nil, err
	}
	summary := iceberg.Properties{keyReplayQuery: r.options.Query, keyReplayName: r.options.Name, keyReplayRun: r.options.Run, keyReplayed: strconv.FormatInt(r.found.Rows, 10)}
	if err := appendFiles(ctx, tx, fenced, added, summary); err != nil {
		return nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	o := &offer{tx: tx, fence: f, parent: t.CurrentSnapshot(), snapshot: staged.CurrentSnapshot()}
	if err := o.check(ctx, fenced, len(added)); err != nil {
		return nil, err
	}
	return o, o.setLedger(t, ledger)
}
