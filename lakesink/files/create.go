package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
)

// Fits checks that the folder takes rows of the schema. It writes nothing. What stands in the way is one Inconsistent fault
// that lists everything; a folder that is not there is a NotSetUp fault.
func (f *Folder) Fits(ctx context.Context, rows columns.Schema) error {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	s, err := f.look(ctx)
	if err != nil {
		return late(ctx, err)
	}
	return f.fits(s, rows)
}

func (f *Folder) fits(s *state, rows columns.Schema) error {
	if s.schema == nil {
		return f.gone()
	}
	_, differences := fit(s.schema.Columns, rows)
	laidOut := f.laidOut(s.schema)
	if len(differences)+len(laidOut) > 0 {
		return f.misfit(differences, laidOut)
	}
	return f.fitsSpark(s.schema)
}

// fitsSpark looks at the first and the last file that Spark has written and no manifest has: what they are like need not be found
// out with a batch in hand.
func (f *Folder) fitsSpark(s *Schema) error {
	t := f.sparks()
	if t == nil || len(t.files) == 0 {
		return nil
	}
	if _, err := f.describeSparks(s, &t.files[0]); err != nil {
		return err
	}
	_, err := f.describeSparks(s, &t.files[len(t.files)-1])
	return err
}

// Differences lists what keeps the folder from taking rows of the schema; nothing where there is no folder.
func (f *Folder) Differences(ctx context.Context, rows columns.Schema) ([]string, error) {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	s, err := f.look(ctx)
	if err != nil || s.schema == nil {
		return nil, late(ctx, err)
	}
	_, differences := fit(s.schema.Columns, rows)
	return append(differences, f.laidOut(s.schema)...), nil
}

// Create makes the folder if it is not there, and checks that it takes rows of the schema, as Fits does. It may be repeated
// and raced: of several that make it one succeeds, and the others find what that one made.
func (f *Folder) Create(ctx context.Context, rows columns.Schema) error {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	s, err := f.look(ctx)
	if err == nil && s.schema == nil {
		if s, err = f.create(ctx, rows); err != nil {
			err = fmt.Errorf("make folder %s: %w", f.options.Location, err)
		}
	}
	if err != nil {
		return late(ctx, err)
	}
	return f.fits(s, rows)
}

// begun is what a new folder is: its columns and partitions.
func (f *Folder) begun(rows columns.Schema) (*Schema, error) {
	all, by := []columns.Field(rows), f.options.PartitionBy
	spark := f.sparks()
	var err error
	if spark != nil {
		if all, by, err = f.beginWith(rows, spark); err != nil {
			return nil, err
		}
	}
	last := 0
	s := &Schema{Folder: uuid.NewString(), By: f.options.CreatedBy, Columns: newColumns(all, &last), Spark: spark != nil}
	if s.Partitions, err = newPartitions(by, s.Columns); err == nil {
		_, err = orderOf(f.options.SortBy, s.Columns, nil)
	}
	if err != nil {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("folder %s cannot be made: %v", f.options.Location, err), Hint: "correct the job; nothing was made"}
	}
	s.V = s.version()
	return s, f.fitsSpark(s) // before anything is made
}

// Makeable says whether a folder that is not there yet can be made for rows of the schema: an Inconsistent fault where Spark has
// it, a NotSetUp fault where it cannot be laid out as the options say. rows may be nil, where nobody knows them.
func (f *Folder) Makeable(ctx context.Context, rows columns.Schema) error {
	if err := f.sparkless(); err != nil {
		return err
	}
	if err := f.foreignSpark(ctx); err != nil || rows == nil {
		return err
	}
	_, err := f.begun(rows)
	return err
}

// create believes neither success nor failure: what is there afterwards counts.
func (f *Folder) create(ctx context.Context, rows columns.Schema) (*state, error) {
	if err := f.Makeable(ctx, rows); err != nil {
		return nil, err
	}
	if err := f.proved(ctx); err != nil {
		return nil, err
	}
	began, err := f.begun(rows)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(began)
	if err != nil {
		return nil, err
	}
	owned := f.options.Objects.Own(ctx, folderKey, text)
	s, err := f.look(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.schema == nil && owned != nil:
		return nil, owned
	case s.schema == nil:
		return nil, f.gone()
	}
	return s, nil
}

// Evolution says what Evolve would alter so that the folder takes rows of the schema; nothing where there is no folder. What
// cannot be altered is one Inconsistent fault that lists everything.
func (f *Folder) Evolution(ctx context.Context, rows columns.Schema) ([]string, error) {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	s, err := f.look(ctx)
	if err != nil || s.schema == nil {
		return nil, late(ctx, err)
	}
	_, changes, err := f.wider(s.schema, rows)
	return changes, err
}

// wider is the folder's columns as rows need them, and what is altered by that; no changes where it takes them.
func (f *Folder) wider(schema *Schema, rows columns.Schema) ([]Column, []string, error) {
	to, changes, differences := evolved(schema.Columns, rows)
	laidOut, clashes := f.laidOut(schema), schema.clashes(to)
	hint := "a folder of files gets new columns and optional ones, and never other types; change the job, or write to another folder, which is another query"
	if len(differences)+len(clashes) == 0 {
		hint = layoutHint
	}
	if differences = slices.Concat(differences, laidOut, clashes); len(differences) == 0 {
		return to, changes, nil
	}
	return nil, nil, &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s does not take the rows, and sluice does not alter it so that it would: %s", f.options.Location, strings.Join(differences, "; ")),
		Hint:    hint}
}

// Evolve makes the folder take rows of the schema: columns are added, also inside of others, and made optional. Files that
// are there stay as they are: readers find nulls in them for a new column. It returns a reading of the folder as it is
// afterwards, and what was altered. It is safe to repeat and to race: a change is an object with the next number, created
// only if there is none. Fenced: commit's batch is not the next one any more. UnknownOutcome: the folder may have been
// altered, which harms nothing, and could not be read afterwards.
func (f *Folder) Evolve(ctx context.Context, c *batch.Commit, rows columns.Schema) (*batch.Table, []string, error) {
	var done []string
	for attempt := 1; ; attempt++ {
		d := &deal{folder: f, commit: c}
		s, newest, err := d.read(ctx)
		if err != nil {
			return nil, nil, err
		}
		if s.schema == nil {
			return nil, nil, f.gone()
		}
		to, changes, err := f.wider(s.schema, rows)
		if err != nil {
			return nil, nil, err
		}
		if len(changes) == 0 {
			t, err := f.table(ctx, c.Query)
			return t, done, err
		}
		if applied, there, err := d.standing(s, newest, false); err != nil || there {
			if err == nil {
				err = d.overtaken(applied)
			}
			return nil, nil, err
		}
		if attempt > f.options.Attempts {
			return nil, nil, &batch.Fault{Class: batch.Failed, Hint: "run again; if it repeats, see whether this user may write there",
				Message: fmt.Sprintf("the columns of %s were not altered for batch %d in %d attempts", f.options.Location, c.Plan.Batch, f.options.Attempts)}
		}
		if err := f.alter(ctx, s.schema, to); err != nil {
			return nil, nil, err
		}
		done = changes
	}
}

// alter creates the next change. Whether it or another's is there is for the next reading.
func (f *Folder) alter(ctx context.Context, from *Schema, to []Column) error {
	next := Schema{V: from.V, Folder: from.Folder, ID: from.ID + 1, By: f.options.CreatedBy, Columns: to, Partitions: from.Partitions, Spark: from.Spark}
	text, err := json.Marshal(&next)
	if err != nil {
		return err
	}
	err = f.options.Objects.Own(ctx, schemaKey(next.ID), text)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, ErrUnknown):
		return &batch.Fault{Class: batch.UnknownOutcome, Err: err,
			Message: fmt.Sprintf("the columns of %s may or may not have been altered; no row of the batch is in it", f.options.Location),
			Hint:    "run again when the store answers: the next run goes on either way"}
	}
	return fmt.Errorf("alter the columns of %s: %w", f.options.Location, err)
}
