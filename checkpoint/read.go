package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/offsets"
)

// damagedHint is true because the table is the authority: without an entry the next run sees what the table has
// applied, and plans the batch again or rebuilds the entry from the ledger.
const damagedHint = "restore it from a backup, or delete it: the next run then compares with the table and plans that batch again or rebuilds the entry"

// Last reads the newest end of the checkpoint: commits are listed first, then offsets, so that what a concurrent run
// adds in between can only make the plan newer than the marker. Start is where the query was pinned to start, whether
// or not it has plans since.
//
// A marker above the newest plan, and a gap between the newest marker and a plan of ours, are returned as they are:
// entries were lost, or recovery was cut short, and the table tells what was done. A gap below a plan of Spark's is an
// Inconsistent fault, and so is everything that cannot be read exactly: damage, another format version, more than one
// source, state.
func (l *Log) Last(ctx context.Context) (*batch.LogState, error) {
	state, err := l.last(ctx)
	if err != nil {
		l.tail = nil // nothing may be written on the basis of half a reading
		return nil, fmt.Errorf("read the newest entries: %w", err)
	}
	return state, nil
}

func (l *Log) last(ctx context.Context) (state *batch.LogState, err error) {
	if l.markers, err = l.list(ctx, markersDir); err != nil {
		return nil, err
	}
	if l.plans, err = l.list(ctx, plansDir); err != nil {
		return nil, err
	}
	l.listed, l.tail, l.mark = true, blank(), nil
	state = &batch.LogState{Commit: newest(l.markers)}
	if state.Start, err = l.origin(ctx); err != nil {
		return nil, err
	}
	l.tailBatch = newest(l.plans)
	if l.tailBatch == batch.None {
		return state, nil
	}
	if l.tail, state.Plan, err = l.newestPlan(ctx, state.Start); err != nil {
		return nil, err
	}
	state.Commit, err = l.checkGap(ctx, state)
	return state, err
}

// blank is what a checkpoint's first entry carries forward.
func blank() *entry { return &entry{version: 1, conf: map[string]string{}} }

func (l *Log) newestPlan(ctx context.Context, start offsets.Offsets) (*entry, *batch.Plan, error) {
	e, plan, err := l.readPlan(ctx, l.tailBatch)
	if err != nil {
		return nil, nil, vanished(err)
	}
	if plan.Foreign {
		if err := l.checkState(ctx); err != nil {
			return nil, nil, err
		}
		if err := l.completeStart(ctx, plan, start); err != nil {
			return nil, nil, err
		}
	}
	return e, plan, nil
}

// vanished takes an entry that was listed and is not there for what it is: purged by a run that went on.
func vanished(err error) error {
	if !errors.Is(err, objectstore.ErrNotFound) {
		return err
	}
	return &batch.Fault{Class: batch.Fenced, Message: "an entry was removed while it was being read: another run is active", Err: err, Hint: "nothing to do: the other run goes on"}
}

// checkState refuses what a stateful query of Spark's has left: going on without its state would be wrong.
func (l *Log) checkState(ctx context.Context) error {
	keys, err := l.store.List(ctx, stateProbe, "")
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s is the checkpoint of a Spark query with state (%s)", l.store, keys[0]),
		Hint: "sluice continues queries without aggregation, deduplication or joins of streams: go on with Spark, or start a new query with a checkpoint of its own"}
}

// completeStart gives a plan of Spark's the start that it does not hold.
func (l *Log) completeStart(ctx context.Context, plan *batch.Plan, start offsets.Offsets) error {
	if plan.Batch == 0 {
		if start == nil {
			return l.noStart(0, originKey)
		}
		startFrom(plan, start)
		return nil
	}
	before, _, err := l.readPlan(ctx, plan.Batch-1)
	if errors.Is(err, objectstore.ErrNotFound) {
		return l.noStart(plan.Batch, planKey(plan.Batch-1))
	}
	if err != nil {
		return err
	}
	startFrom(plan, before.end)
	return nil
}

// errNoStart is wrapped where the object that holds the start of a plan of Spark's is missing.
var errNoStart = errors.New("where it starts is not known")

func (l *Log) noStart(n int64, missing string) error {
	return l.damaged(planKey(n), fmt.Errorf("it is by Spark and %w: %s is missing", errNoStart, missing), "restore "+missing+" from a backup")
}

// checkGap returns the newest marker, looked for once more if there is a gap below the newest plan: the markers were
// listed before the plans, so it may only show that another run went on meanwhile. A gap below a plan of ours is for the
// table to explain; below one of Spark's it is refused, for nothing vouches for the batches in between.
func (l *Log) checkGap(ctx context.Context, state *batch.LogState) (int64, error) {
	plan := state.Plan
	if state.Commit >= plan.Batch-1 {
		return state.Commit, nil
	}
	markers, err := l.list(ctx, markersDir)
	if err != nil {
		return 0, err
	}
	l.markers = markers
	commit := newest(markers)
	if commit >= plan.Batch-1 || !plan.Foreign {
		return commit, nil
	}
	found := "there is none"
	if commit != batch.None {
		found = "the newest is " + markerKey(commit)
	}
	return 0, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s has %s, but no %s (%s)", l.store, planKey(plan.Batch), markerKey(plan.Batch-1), found),
		Hint: fmt.Sprintf("restore what was deleted; if the table has batch %d (sluice verify), write %s again with the content of another marker", plan.Batch-1, markerKey(plan.Batch-1))}
}

// ReadPlan reads the plan of one batch; nil if it is not there (purged, or never written).
func (l *Log) ReadPlan(ctx context.Context, n int64) (*batch.Plan, error) {
	_, plan, err := l.readPlan(ctx, n)
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil, nil
	}
	if err == nil && plan.Foreign {
		var start offsets.Offsets
		if n == 0 {
			start, err = l.origin(ctx)
		}
		if err == nil {
			err = l.completeStart(ctx, plan, start)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read plan %d: %w", n, err)
	}
	return plan, nil
}

// Plans reads the newest plans, newest first, at most count. The oldest entry, if Spark wrote it, is left out: its start
// is no longer there.
func (l *Log) Plans(ctx context.Context, count int) ([]*batch.Plan, error) {
	numbers, err := l.list(ctx, plansDir)
	if err != nil {
		return nil, err
	}
	var plans []*batch.Plan
	for _, n := range slices.Backward(numbers) {
		if len(plans) == count {
			break
		}
		plan, err := l.ReadPlan(ctx, n)
		if n == numbers[0] && errors.Is(err, errNoStart) {
			break
		}
		if err != nil {
			return nil, err
		}
		if plan != nil { // nil: purged meanwhile
			plans = append(plans, plan)
		}
	}
	return plans, nil
}

// readPlan reads an entry and the plan in it; a plan of Spark's has no start yet. ErrNotFound if it is not there.
func (l *Log) readPlan(ctx context.Context, n int64) (*entry, *batch.Plan, error) {
	text, _, err := l.store.Get(ctx, planKey(n))
	if err != nil {
		return nil, nil, err
	}
	e, err := parseEntry(text)
	if err != nil {
		return nil, nil, l.damaged(planKey(n), err, damagedHint)
	}
	plan, err := e.plan(n, text)
	if err != nil {
		return nil, nil, l.damaged(planKey(n), err, damagedHint)
	}
	return e, plan, nil
}

// newestMark reads the newest marker below or at n that this Log knows, which the next one carries forward.
func (l *Log) newestMark(ctx context.Context) (*marker, error) {
	if l.mark != nil {
		return l.mark, nil
	}
	n := newest(l.markers)
	if n == batch.None {
		return &marker{version: 1}, nil
	}
	text, _, err := l.store.Get(ctx, markerKey(n))
	if err != nil {
		return nil, vanished(err)
	}
	mark, err := parseMarker(text)
	if err != nil {
		return nil, l.damaged(markerKey(n), err, damagedHint)
	}
	return mark, nil
}
