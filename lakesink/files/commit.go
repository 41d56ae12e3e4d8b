package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"sluice/batch"
)

// Commit makes a batch part of the folder by creating its manifest, and only while the batch before it is the newest one
// there. It returns what the folder says afterwards. A batch of the same plan that is there before anything was offered is
// success: an earlier run put it there. Once an offer has gone out only the offer's own manifest is: another of the same plan
// is that of another run which replays the plan at this moment, and to that one this run has lost (Fenced).
//
// No answer is believed: after an offer the folder is read again. A name that is free proves little by itself, since
// manifests of long ago are made one with others; so the offer counts only if it is met on the way back from the newest
// manifest.
//
// Fenced: another run applied the batch or went beyond it. Inconsistent: folder and batch do not fit together.
// UnknownOutcome: the manifest may be there and the folder could not be read; nothing was deleted and the next run finds
// out. After any other error the batch was not in the folder when it was last read.
//
// A commit of dead letters may follow any earlier batch. One that is there already must be of the same records
// (Inconsistent).
//
// Once the first offer has gone out, cancelling ctx only keeps further ones from being made.
func (f *Folder) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	d := &deal{folder: f, commit: c, attempt: uuid.NewString()}
	s, newest, err := d.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s to commit batch %d: %w", f.options.Location, c.Plan.Batch, err)
	}
	for attempt := 1; ; attempt++ {
		there, err := d.ours(ctx, s, newest)
		if err == nil && !there {
			_, there, err = d.standing(s, newest, true)
		}
		switch {
		case err != nil:
			return nil, err
		case there:
			return d.published(ctx, s, newest)
		}
		if attempt > f.options.Attempts {
			return nil, d.giveUp()
		}
		if attempt > 1 {
			if err := f.options.Sleep(ctx, f.options.Backoff(attempt-1)); err != nil {
				return nil, errors.Join(d.giveUp(), err)
			}
		}
		if err := d.offer(ctx, s, newest); err != nil {
			return nil, err
		}
		if s, newest, err = d.reload(ctx); err != nil {
			return nil, err
		}
	}
}

// deal is the attempt to make one batch part of the folder.
type deal struct {
	folder *Folder
	commit *batch.Commit
	// attempt is in every manifest that this deal offers; text is the last of them, which is offered again as it is where
	// the batch that it follows, previous, is still the newest.
	attempt  string
	text     []byte
	previous int64
	// spark is what Spark wrote before the batch, as text has it, and sparkID the turn's id; nil and 0 for nothing.
	spark   *Turn
	sparkID int64
	// offers counts them; answer is what the store said to the last one.
	offers int
	answer error
}

// read is a reading of the folder with the query's newest manifest.
func (d *deal) read(ctx context.Context) (*state, *Manifest, error) {
	for attempt := 1; ; attempt++ {
		s, err := d.folder.look(ctx)
		if err != nil || s.schema == nil {
			return s, nil, err
		}
		newest, err := d.folder.tip(ctx, s, d.commit.Query)
		if err == nil {
			err = s.crossed
		}
		if errors.Is(err, fs.ErrNotExist) && attempt < lookAttempts {
			continue
		}
		return s, newest, err
	}
}

// standing says where the batch stands: whether it is there, else what it would follow. All that forbids to go on is an
// error. whole says that the batch's files are made, and with what columns.
func (d *deal) standing(s *state, newest *Manifest, whole bool) (applied *batch.Applied, there bool, err error) {
	c := d.commit
	if s.schema == nil || c.TableUUID != "" && s.schema.Folder != c.TableUUID {
		return nil, false, d.otherFolder(s)
	}
	if applied, err = s.applied(newest); err != nil {
		return nil, false, d.folder.damaged(manifestKey(newest.Query, newest.Batch), err)
	}
	switch n := c.Plan.Batch; {
	case c.DeadLetters == nil && c.Plan.Accepted.Covers(applied): // somebody has decided about exactly this state
	case applied.Batch == n && c.Plan.Is(applied.Plan) && d.offers == 0:
		return applied, true, d.sameLetters(applied)
	case applied.Batch == n && applied.Plan != "" && !c.Plan.Is(applied.Plan):
		return nil, false, d.otherPlan(applied)
	case applied.Batch >= n:
		return nil, false, d.overtaken(applied)
	case c.DeadLetters != nil: // batches without dead letters leave no trace in their folder
	case applied.Batch < n-1:
		return nil, false, d.gap(applied)
	default:
		if err := d.follows(applied.Ledger); err != nil {
			return nil, false, err
		}
	}
	for i := 0; whole && i < len(c.Results); i++ {
		if err := d.folder.sameColumns(s.schema, c.Results[i].SchemaID); err != nil {
			return nil, false, err
		}
	}
	return applied, false, nil
}

// follows checks that the plan starts where the folder says that the batch before it ended, in every partition: numbers
// alone would let a plan through that was made from another checkpoint. It knows nothing of batches that Spark wrote.
func (d *deal) follows(ledger *batch.Ledger) error {
	plan := d.commit.Plan
	if ledger == nil || ledger.Batch != plan.Batch-1 {
		return nil
	}
	before := plan.Before()
	for _, tp := range before.Partitions() {
		if account, ok := ledger.Accounts[tp]; ok && account.Next != before[tp] {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("batch %d starts at offset %d of %s, but %s has that partition up to %d: two checkpoints claim the same query", plan.Batch, before[tp], tp, d.folder.options.Location, account.Next),
				Hint:    "nothing was committed; find the other checkpoint (a copy of this one?) and keep the one whose plan the folder has"}
		}
	}
	return nil
}

// ours says whether our manifest is among the query's batches: the newest, or met on the way back from it, where another run
// has built on it. What it follows must still be there: somebody may have emptied the folder meanwhile.
func (d *deal) ours(ctx context.Context, s *state, newest *Manifest) (bool, error) {
	if d.offers == 0 || newest == nil || s.schema.Folder != newest.Folder {
		return false, nil
	}
	if n := d.commit.Plan.Batch; newest.Batch-n >= keptAlone { // there may be a range, and then it decides
		at, err := d.folder.inRange(ctx, d.commit.Query, n)
		if err == nil {
			return at.Attempt == d.attempt, nil
		}
		if _, rangeErr := d.folder.rangeOf(ctx, d.commit.Query, n); rangeErr == nil {
			return false, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, d.unsettled(err)
		}
	}
	at := newest
	for at != nil && at.Batch > d.commit.Plan.Batch {
		before, err := d.folder.before(ctx, at)
		if err != nil {
			return false, d.unsettled(err)
		}
		at = before
	}
	if at == nil || at.Attempt != d.attempt {
		return false, nil
	}
	if _, err := d.folder.before(ctx, at); errors.Is(err, fs.ErrNotExist) {
		return false, &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("batch %d is in %s, and the manifest of batch %d, which it follows, is gone since", at.Batch, d.folder.options.Location, at.Previous),
			Hint:    fmt.Sprintf("somebody removes objects of %s while a run writes there: stop that, and bring back what was removed", bookFolder)}
	} else if err != nil {
		return false, d.unsettled(err)
	}
	return true, nil
}

// offer creates the manifest on one reading of the folder. What the store answers is remembered and not believed.
func (d *deal) offer(ctx context.Context, s *state, newest *Manifest) error {
	if ctx.Err() != nil {
		return errors.Join(d.giveUp(), context.Cause(ctx))
	}
	previous := batch.None
	if newest != nil {
		previous = newest.Batch
	}
	moved, err := d.takeOver(ctx, s)
	if err != nil {
		return fmt.Errorf("take over what Spark has written: %w", err)
	}
	if d.text == nil || d.previous != previous || moved {
		text, err := d.manifest(s, newest)
		if err != nil {
			return fmt.Errorf("prepare the manifest of batch %d: %w", d.commit.Plan.Batch, err)
		}
		d.text, d.previous = text, previous
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.folder.options.Timeout)
	defer cancel()
	if err := d.folder.checkSpark(ctx, s, d.commit.Query); err != nil {
		return err
	}
	if err := d.folder.proved(ctx); err != nil {
		return fmt.Errorf("prepare the manifest of batch %d: %w", d.commit.Plan.Batch, err)
	}
	d.offers++
	d.answer = d.folder.options.Objects.Own(ctx, manifestKey(d.commit.Query, d.commit.Plan.Batch), d.text)
	return nil
}

// takeOver reads what is to be known of the files that Spark wrote before the batch. moved says that they are others than in the
// manifest that was offered last.
func (d *deal) takeOver(ctx context.Context, s *state) (moved bool, err error) {
	switch {
	case s.turn == nil:
		moved = d.spark != nil
		d.spark, d.sparkID = nil, 0
	case d.spark == nil || d.sparkID != s.turn.id:
		if d.spark, err = d.folder.describeAll(ctx, s.schema, s.turn); err != nil {
			return false, err
		}
		d.sparkID, moved = s.turn.id, true
	}
	return moved, nil
}

func (d *deal) manifest(s *state, newest *Manifest) ([]byte, error) {
	c := d.commit
	m := &Manifest{Spark: d.spark, Folder: s.schema.Folder, Query: c.Query, Name: c.Name, Batch: c.Plan.Batch, Previous: batch.None, Plan: c.Plan.Hash, Run: c.Run,
		Attempt: d.attempt, WrittenMs: d.folder.options.Now().UnixMilli(), Schema: s.schema.ID, Counts: countsOf(c.Results), Files: []batch.DataFile{}, Altered: c.Altered, Accepted: c.Plan.Accepted, Losses: c.Losses()}
	m.V = m.version()
	var prior *batch.Ledger
	if newest != nil {
		var err error
		if prior, err = newest.ledger(); err != nil {
			return nil, err
		}
		m.Previous, m.Alone = newest.Batch, aloneBefore(newest, m.Batch)
	}
	listed := map[string]bool{}
	for i := range c.Results {
		for _, file := range c.Results[i].Files {
			if listed[file.Path] {
				return nil, fmt.Errorf("file %s is listed twice", file.Path)
			}
			listed[file.Path] = true
			m.Files = append(m.Files, file)
		}
	}
	ledger := c.Ledger(prior)
	ledger.Snapshot, ledger.Sequence = 0, 0
	var err error
	if m.Ledger, err = ledger.Properties(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err == nil && m.Spark != nil && len(text) > mostRangeBytes {
		err = d.folder.tooLong()
	}
	return text, err
}

// reloads is how often the folder is read after an offer before the outcome is called unknown.
const reloads = 5

// reload reads the folder after an offer, also if ctx has been cancelled: until then nobody knows what happened.
func (d *deal) reload(ctx context.Context) (*state, *Manifest, error) {
	detached := context.WithoutCancel(ctx)
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if ctx.Err() != nil {
				break // the grace is over
			}
			if err := d.folder.options.Sleep(detached, d.folder.options.Backoff(attempt)); err != nil {
				return nil, nil, err
			}
		}
		limited, cancel := context.WithTimeout(detached, d.folder.options.Timeout)
		s, newest, err := d.read(limited)
		cancel()
		if err == nil || batch.ClassOf(err) == batch.Inconsistent {
			return s, newest, err
		}
		failure = err
	}
	return nil, nil, d.unsettled(failure)
}

// unsettled is the end of a deal that cannot find out what became of its offer.
func (d *deal) unsettled(failure error) error {
	return &batch.Fault{Class: batch.UnknownOutcome,
		Message: fmt.Sprintf("batch %d may or may not be in %s: its manifest was offered and the folder cannot be read", d.commit.Plan.Batch, d.folder.options.Location),
		Hint:    "run again when the store answers: the next run finds out and goes on; nothing was deleted",
		Err:     errors.Join(d.answer, failure)}
}

// giveUp is the end of an attempt that found the folder without the batch.
func (d *deal) giveUp() error {
	message := fmt.Sprintf("batch %d is not in %s: its manifest was not accepted in %d attempts", d.commit.Plan.Batch, d.folder.options.Location, d.offers)
	if d.offers == 0 {
		message = fmt.Sprintf("batch %d was not offered to %s", d.commit.Plan.Batch, d.folder.options.Location)
	}
	return &batch.Fault{Class: batch.Failed, Message: message, Err: d.answer, Hint: "run again: the batch is written once more"}
}

// otherFolder is a folder that took the place of the one that the batch was made for.
func (d *deal) otherFolder(s *state) error {
	is := "there is none now"
	if s.schema != nil {
		is = "it is " + s.schema.Folder + " now"
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the folder %s is not the one that batch %d was made for: its UUID was %s, and %s (emptied and made again?)", d.folder.options.Location, d.commit.Plan.Batch, d.commit.TableUUID, is),
		Hint:    "bring the old folder back, or run again: the next run says what the choices are"}
}

func (d *deal) otherPlan(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s has batch %d from another plan (%.12s) than this one (%.12s): two checkpoints claim the same query", d.folder.options.Location, a.Batch, a.Plan, d.commit.Plan.Hash),
		Hint:    "find the other checkpoint (a copy of this one?) and keep the one whose plan the folder has"}
}

func (d *deal) overtaken(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Fenced,
		Message: fmt.Sprintf("another run has applied batch %d to %s: this run, which has batch %d in hand, was overtaken", a.Batch, d.folder.options.Location, d.commit.Plan.Batch),
		Hint:    "nothing was harmed; let the other run finish"}
}

func (d *deal) gap(a *batch.Applied) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s has batch %d of query %s as its newest, so batch %d cannot follow", d.folder.options.Location, a.Batch, d.commit.Query, d.commit.Plan.Batch),
		Hint:    "run again: the next run compares folder and checkpoint and says what to do"}
}

// sameLetters compares what a batch that is in a folder of dead letters put there with what this attempt would: nothing to
// compare in any other folder.
func (d *deal) sameLetters(applied *batch.Applied) error {
	offered := d.commit.DeadLetters
	if offered == nil {
		return nil
	}
	var there batch.Letters
	if applied.Ledger.Letters != nil {
		there = *applied.Ledger.Letters
	}
	if there == *offered {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s has %d dead letters of batch %d and this run has %d, which are not the same records: since that batch was cut short the job or the rows' table was changed, or Kafka has lost records",
			d.folder.options.Location, there.Count, d.commit.Plan.Batch, offered.Count),
		Hint: "change it back and run again, so that the batch is finished as it was begun; or move that batch's manifest away and go on with another deadLetter.path"}
}
