package lakesink

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// Commit makes a batch part of the table: its files, the ledger and the summary at once, and only while the batch before
// it is the newest one there. It returns what the table says afterwards. A batch of the same plan that is there before
// anything was offered is success: an earlier run put it there. Once an offer has gone out only the offer's own snapshot
// is: a snapshot of the same plan that is not ours is that of another run which replays the plan at this moment, and to
// that one this run has lost (Fenced), whether or not its own offer is still on its way.
//
// Fenced: another run applied the batch or went beyond it. Inconsistent: table and batch do not fit together.
// UnknownOutcome: the commit may have happened and the table could not be asked; nothing was deleted and the next run
// finds out. After any other error the batch was not in the table when it was last read.
//
// A commit of dead letters may follow any earlier batch. One that is there already must be of the same records: else the
// batch was read under other settings since, and a record would be in both tables, or in none (Inconsistent).
//
// Once the first offer has gone out, cancelling ctx only keeps further ones from being made.
func (i *Iceberg) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	d := &deal{sink: i, commit: c}
	t, err := i.load(ctx)
	if err != nil {
		return nil, explain(fmt.Sprintf("read table %s to commit batch %d", i.TableName(), c.Plan.Batch), err)
	}
	for {
		applied, there, err := d.standing(t)
		if err != nil || there {
			return applied, err
		}
		if d.moved(t); d.gaveUp() || d.lockedOut() || isRefusal(d.answer) {
			return nil, d.giveUp()
		}
		if d.tired {
			t, err = d.rest(ctx)
		} else if err = d.send(ctx, t, applied); err == nil {
			t, err = d.reload(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// deal is the attempt to make one batch part of the table.
type deal struct {
	sink   *Iceberg
	commit *batch.Commit
	// offers are all that went out, by snapshot: any of them may turn out to have been accepted.
	offers []*offer
	// answer is what the catalog said to the last one, nil for yes.
	answer error
	// accepted is the table as the catalog returned it with a yes.
	accepted *table.Table
	// ledger is the newest that a reading had.
	ledger *batch.Ledger
	contest
}

// standing reads from the table where the batch stands: whether it is there, else what it would follow. All that forbids to go on is an error.
func (d *deal) standing(t *table.Table) (applied *batch.Applied, there bool, err error) {
	c := d.commit
	if uuid := t.Metadata().TableUUID().String(); c.TableUUID != "" && uuid != c.TableUUID {
		return nil, false, d.otherTable(t, uuid)
	}
	applied, err = appliedOf(t, c.Query)
	if err != nil {
		return nil, false, d.sink.unreadable(err)
	}
	applied.Ledger = d.remembered(applied.Ledger)
	if o := d.ours(t, applied); o != nil {
		return applied, true, errors.Join(o.landed(t), d.kept(t, o))
	}
	switch n := c.Plan.Batch; {
	case c.Decision().Covers(applied): // somebody has decided about exactly this state
	case applied.RolledBack:
		return nil, false, d.rolledBack(applied)
	case applied.Batch == n && c.Plan.Is(applied.Plan) && len(d.offers) == 0:
		return applied, true, d.sameLetters(applied)
	case applied.Batch == n && applied.Plan != "" && !c.Plan.Is(applied.Plan):
		return nil, false, d.otherPlan(applied)
	case applied.Batch >= n:
		return nil, false, d.overtaken(applied)
	case c.DeadLetters != nil: // batches without dead letters leave no trace in their table
	case applied.Batch < n-1:
		return nil, false, d.gap(applied)
	default:
		if err := d.follows(applied.Ledger); err != nil {
			return nil, false, err
		}
	}
	for _, r := range c.Results {
		if err := d.sink.sameShape(t, r.SchemaID, r.SpecID); err != nil {
			return nil, false, err
		}
	}
	return applied, false, d.sink.checkClock(t)
}

// remembered is the ledger of a reading, or, where somebody removed it since the reading before, the one that was there then
// and is that of the batch before ours.
func (d *deal) remembered(ledger *batch.Ledger) *batch.Ledger {
	if ledger != nil {
		d.ledger = ledger
	} else if d.ledger != nil && d.ledger.Batch == d.commit.Plan.Batch-1 {
		return d.ledger
	}
	return ledger
}

// follows checks that the plan starts where the table says that the batch before it ended, in every partition: numbers
// alone would let a plan through that was made from another checkpoint. It knows nothing of batches that Spark applied.
func (d *deal) follows(ledger *batch.Ledger) error {
	plan := d.commit.Plan
	if ledger == nil || ledger.Batch != plan.Batch-1 {
		return nil
	}
	before := plan.Before()
	for _, tp := range before.Partitions() {
		if account, ok := ledger.Accounts[tp]; ok && account.Next != before[tp] {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("batch %d starts at offset %d of %s, but table %s has that partition up to %d: two checkpoints claim the same query", plan.Batch, before[tp], tp, d.sink.TableName(), account.Next),
				Hint:    "nothing was committed; find the other checkpoint (a copy of this one?) and keep the one whose plan the table has"}
		}
	}
	return nil
}

// ours is the offer of ours that the table took, nil if none. The ledger names it, unless another run has already
// built on it: then it is in the history.
func (d *deal) ours(t *table.Table, applied *batch.Applied) *offer {
	for _, o := range d.offers {
		if applied.Ledger != nil && applied.Ledger.Snapshot == o.snapshot.SnapshotID && !applied.RolledBack {
			return o
		}
	}
	h := historyOf(t)
	for _, o := range d.offers {
		if h.has(o.snapshot.SnapshotID) {
			return o
		}
	}
	return nil
}

// landed checks that what is in the table is what was offered. The snapshot may have been expired meanwhile.
func (o *offer) landed(t *table.Table) error {
	s := t.SnapshotByID(o.snapshot.SnapshotID)
	if s == nil || s.ManifestList == o.snapshot.ManifestList && (sameID(s.ParentSnapshotID, o.snapshot.ParentSnapshotID) || o.orphaned(t, s)) {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("snapshot %d is in the table, but not as it was committed: its parent is %s and its manifest list %s, offered were %s and %s",
			s.SnapshotID, idText(s.ParentSnapshotID), s.ManifestList, idText(o.snapshot.ParentSnapshotID), o.snapshot.ManifestList),
		Hint: "the catalog does not keep to its contract: stop all writers and compare the table's snapshots with its files"}
}

func sameID(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func idText(id *int64) string {
	if id == nil {
		return "none"
	}
	return fmt.Sprint(*id)
}

// send stages the batch on this reading of the table and sends it. Only what happens before the sending is an error:
// what the catalog answers is remembered and not believed.
func (d *deal) send(ctx context.Context, t *table.Table, applied *batch.Applied) error {
	if ctx.Err() != nil {
		return errors.Join(d.giveUp(), context.Cause(ctx))
	}
	began := d.sink.options.Now()
	defer func() { d.took, d.tired = d.sink.options.Now().Sub(began), true }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.sink.options.Timeout)
	defer cancel()
	o, err := d.sink.stage(ctx, t, d.commit, applied.Ledger, d.merges())
	if err != nil {
		return d.unprepared(ctx, t, err)
	}
	d.offers = append(d.offers, o)
	d.accepted, d.answer = o.tx.Commit(ctx)
	if d.answer != nil && o.fence.refused != nil {
		d.answer = o.fence.refused
	}
	return nil
}

// merges are those of manifests that earlier offers made.
func (d *deal) merges() (all []*merged) {
	for _, o := range d.offers {
		all = append(all, o.merges...)
	}
	return all
}

// reloads is how often the table is asked after a commit before the outcome is called unknown.
const reloads = 5

// reload reads the table after an offer, also if ctx has been cancelled: until then nobody knows what happened.
func (d *deal) reload(ctx context.Context) (*table.Table, error) {
	detached := context.WithoutCancel(ctx)
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if ctx.Err() != nil {
				break // the grace is over
			}
			if err := d.sink.options.Sleep(detached, d.sink.options.Backoff(attempt)); err != nil {
				return nil, err
			}
		}
		t, err := d.read(detached)
		if err == nil || isMissing(err) {
			return t, d.dropped(err)
		}
		failure = err
		if isLocked(err) && attempt+1 >= lockedAnswers {
			break
		}
	}
	switch {
	case d.answer == nil:
		// The table cannot be read, and the catalog's yes is all there is. It is enough here: the commit was conditional on
		// the head and on the table's UUID, so a catalog that answers yes has put exactly this snapshot there, and what the
		// answer holds is that state. The loop looks for the batch in it as in any other reading. A no is never taken so:
		// it may be that of a retry, after a first try that was accepted.
		return d.sink.onBranch(d.accepted)
	case !d.sent():
		return nil, d.giveUp()
	}
	return nil, &batch.Fault{Class: batch.UnknownOutcome,
		Message: fmt.Sprintf("batch %d may or may not be in table %s: the commit ended with an error and the table cannot be read", d.commit.Plan.Batch, d.sink.TableName()),
		Hint:    "run again when catalog and store answer: the next run finds out and goes on; nothing was deleted",
		Err:     errors.Join(d.answer, failure)}
}

// sent reports whether the catalog was asked at all.
func (d *deal) sent() bool {
	for _, o := range d.offers {
		if o.fence.sent {
			return true
		}
	}
	return false
}

func (d *deal) read(ctx context.Context) (*table.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, d.sink.options.Timeout)
	defer cancel()
	return d.sink.load(ctx)
}

func (d *deal) dropped(err error) error {
	if err == nil {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table %s was dropped while batch %d was being committed", d.sink.TableName(), d.commit.Plan.Batch),
		Hint: "bring the table back; the batch's files are still there", Err: errors.Join(d.answer, err)}
}

// giveUp is the end of an attempt that found the table without the batch.
func (d *deal) giveUp() error {
	if d.lockedOut() {
		return d.lockedFault()
	}
	if isRefusal(d.answer) {
		return d.refusedFault()
	}
	message := fmt.Sprintf("batch %d is not in table %s: the commit was not accepted in %d attempts", d.commit.Plan.Batch, d.sink.TableName(), len(d.offers))
	if len(d.offers) == 0 {
		message = fmt.Sprintf("batch %d was not offered to table %s", d.commit.Plan.Batch, d.sink.TableName())
	}
	if d.races > 0 {
		message += fmt.Sprintf(" (another writer was first %d times)", d.races)
	}
	return &batch.Fault{Class: batch.Failed, Message: message, Err: d.answer,
		Hint: "run again: the batch is written once more; if other writers commit to this table all the time, pause them for a moment"}
}

// otherTable is a table that took the place of the one that the batch was made for.
func (d *deal) otherTable(t *table.Table, uuid string) error {
	n, tableName := d.commit.Plan.Batch, d.sink.TableName()
	for _, o := range d.offers {
		if t.SnapshotByID(o.snapshot.SnapshotID) != nil {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("batch %d was made for the table with UUID %s, and the catalog has committed it to another table %s with UUID %s, as snapshot %d", n, d.commit.TableUUID, tableName, uuid, o.snapshot.SnapshotID),
				Hint:    "the catalog does not keep to its contract: stop all writers and roll that snapshot back"}
		}
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s is not the one that batch %d was made for: its UUID is %s and was %s (dropped and created again)", tableName, n, uuid, d.commit.TableUUID),
		Hint:    "nothing was committed to the new table; bring the old one back, or run again: the next run says what the choices are"}
}

func (d *deal) rolledBack(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s was rolled back: snapshot %d, which holds batch %d, is no longer in its history", d.sink.TableName(), a.Ledger.Snapshot, a.Ledger.Batch),
		Hint:    "run again: the next run says what the choices are"}
}

func (d *deal) otherPlan(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s has batch %d from another plan (%.12s) than this one (%.12s): two checkpoints claim the same query", d.sink.TableName(), a.Batch, a.Plan, d.commit.Plan.Hash),
		Hint:    "find the other checkpoint (a copy of this one?) and keep the one whose plan the table has"}
}

func (d *deal) overtaken(a *batch.Applied) error {
	by := "another run"
	if a.Plan == "" {
		by = "Spark"
	}
	return &batch.Fault{Class: batch.Fenced, Err: d.answer,
		Message: fmt.Sprintf("%s has applied batch %d to table %s: this run, which has batch %d in hand, was overtaken", by, a.Batch, d.sink.TableName(), d.commit.Plan.Batch),
		Hint:    "nothing was harmed; let the other run finish"}
}

func (d *deal) gap(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s has batch %d of query %s as its newest, so batch %d cannot follow", d.sink.TableName(), a.Batch, d.commit.Query, d.commit.Plan.Batch),
		Hint:    "run again: the next run compares table and checkpoint and says what to do"}
}
