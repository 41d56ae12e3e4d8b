package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"sluice/batch"
	"sluice/objectstore"
)

// WritePlan makes a plan durable and sets its Hash; a plan without Nonce gets one. Fenced if the batch has another plan
// already. What was written is read back once: a store that takes an object and loses it must stop the run before
// the table is touched (https://github.com/apache/spark/pull/38291).
//
// The entry carries forward what the newest one before it holds of Spark's: format version, settings, watermark, and
// whatever is unknown. A plan may have any number and no ranges, as recovery needs.
func (l *Log) WritePlan(ctx context.Context, plan *batch.Plan) error {
	err := l.writePlan(ctx, plan)
	if err != nil {
		return fmt.Errorf("write plan %d: %w", plan.Batch, err)
	}
	return nil
}

func (l *Log) writePlan(ctx context.Context, plan *batch.Plan) error {
	before, err := l.carry(ctx)
	if err != nil {
		return err
	}
	if plan.Nonce == "" {
		plan.Nonce = rand.Text()
	}
	text, err := marshalPlan(plan, before)
	if err != nil {
		return err
	}
	if err := l.ensureProbed(ctx); err != nil {
		return err
	}
	key := planKey(plan.Batch)
	_, err = objectstore.PutOwned(ctx, l.store, key, text)
	if errors.Is(err, objectstore.ErrConflict) {
		return l.rival(ctx, plan.Batch, err)
	}
	if err != nil {
		return err
	}
	if err := l.confirm(ctx, key, text); err != nil {
		return err
	}
	plan.Hash = sum(text)
	l.plans = insert(l.plans, plan.Batch)
	l.tailBatch = plan.Batch
	l.tail, err = parseEntry(text)
	return err
}

// carry is the entry that the next one carries forward: the newest one, with the watermark that Spark would start the
// next batch with.
func (l *Log) carry(ctx context.Context) (*entry, error) {
	if err := l.readTail(ctx); err != nil {
		return nil, err
	}
	before := *l.tail
	before.watermark = max(before.watermark, l.mark.watermark)
	return &before, nil
}

// readTail sees to it that tail and mark are there, which whatever is written next goes on from.
func (l *Log) readTail(ctx context.Context) error {
	if l.tail == nil {
		if _, err := l.Last(ctx); err != nil {
			return err
		}
	}
	mark, err := l.newestMark(ctx)
	if err != nil {
		return err
	}
	l.mark = mark
	return nil
}

// rival is the fault of a batch that another run has planned.
func (l *Log) rival(ctx context.Context, n int64, cause error) error {
	who := "another run"
	if _, plan, err := l.readPlan(ctx, n); err == nil {
		who = fmt.Sprintf("another run (lease epoch %d, %s)", plan.LeaseEpoch, time.UnixMilli(plan.TimestampMs).UTC().Format(time.RFC3339))
		if plan.Foreign {
			who = fmt.Sprintf("Spark (%s)", time.UnixMilli(plan.TimestampMs).UTC().Format(time.RFC3339))
		}
	}
	return &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("batch %d has been planned by %s", n, who), Err: cause, Hint: "nothing to do: the other run goes on, nothing was harmed"}
}

// confirm reads back what a store has accepted.
func (l *Log) confirm(ctx context.Context, key string, want []byte) error {
	there, _, err := l.store.Get(ctx, key)
	if err == nil && bytes.Equal(there, want) {
		return nil
	}
	if err != nil && !errors.Is(err, objectstore.ErrNotFound) {
		return err
	}
	found := "does not have it any more"
	if err == nil {
		found = fmt.Sprintf("has other bytes under that name (%d, written were %d)", len(there), len(want))
	}
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("%s accepted %s and %s", l.store, key, found), Err: err,
		Hint: "nothing was read or written to the table; if no other run purged it, the store is not safe for a checkpoint: use another"}
}

// WriteCommit marks a batch as done; repeating it is success. Its bytes depend on the plan and on the newest marker
// before it alone, so every run that finishes the batch writes the same. Fenced if there is another marker.
func (l *Log) WriteCommit(ctx context.Context, n int64) error {
	err := l.writeCommit(ctx, n)
	if err != nil {
		return fmt.Errorf("write commit %d: %w", n, err)
	}
	return nil
}

func (l *Log) writeCommit(ctx context.Context, n int64) error {
	if err := l.readTail(ctx); err != nil {
		return err
	}
	planned, err := l.planned(ctx, n)
	if err != nil {
		return err
	}
	mark := *l.mark
	mark.watermark = planned.watermark
	text, err := mark.marshal()
	if err != nil {
		return err
	}
	_, err = objectstore.PutOwned(ctx, l.store, markerKey(n), text)
	if errors.Is(err, objectstore.ErrConflict) {
		return &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("batch %d has been marked as done by another program", n), Err: err, Hint: "nothing to do: the batch is in the table; do not run Spark and sluice on one checkpoint at the same time"}
	}
	if err != nil {
		return err
	}
	l.markers, l.mark = insert(l.markers, n), &mark
	return nil
}

// planned is the entry of a batch, a blank one if it is not there any more.
func (l *Log) planned(ctx context.Context, n int64) (*entry, error) {
	if l.tailBatch == n {
		return l.tail, nil
	}
	e, _, err := l.readPlan(ctx, n)
	if errors.Is(err, objectstore.ErrNotFound) {
		return blank(), nil
	}
	return e, err
}
