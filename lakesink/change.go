package lakesink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// Change is what maintenance does to a table: a commit that adds no rows and touches no ledger.
type Change struct {
	// Doing says what it is, for errors: "rewrite the manifests".
	Doing string
	// Stage prepares the commit on a fresh reading of the table, and is called again, on a newer reading, when others
	// committed first. Nil says that there is nothing to change.
	Stage func(ctx context.Context, t *table.Table) (*Staged, error)
	// Landed reports whether a reading of the table has what was staged, where that is not a snapshot of its own.
	Landed func(t *table.Table) bool
}

// Staged is a commit that is ready to be sent.
type Staged struct {
	table.TableCommit
	// Snapshot is the id of the snapshot that it adds, 0 if it adds none.
	Snapshot int64
}

// Changed is what came of a change.
type Changed struct {
	// Before is the reading on which the commit was staged, After one that has it.
	Before, After *table.Table
	// Certain says that the catalog answered yes itself, and not only that the table looks as it should.
	Certain bool
}

// Change carries out a change. It is conditional on what was staged, and no answer of the catalog is believed: the table is
// read again, and what it says decides. It returns nil where Stage found nothing to change.
//
// UnknownOutcome: the commit may have happened, and the table could not be asked: nothing may be deleted. Failed: others
// committed each time. Once a commit has gone out, cancelling ctx only keeps further ones from being made.
func (i *Iceberg) Change(ctx context.Context, c Change) (*Changed, error) {
	var snapshots []int64
	for attempt := 1; ; attempt++ {
		t, err := i.load(ctx)
		if err != nil {
			return nil, explain(fmt.Sprintf("read table %s to %s", i.TableName(), c.Doing), err)
		}
		if changed := i.earlier(t, snapshots); changed {
			return &Changed{Before: t, After: t}, nil
		}
		staged, err := c.Stage(ctx, t)
		if err != nil || staged == nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if staged.Snapshot != 0 {
			snapshots = append(snapshots, staged.Snapshot)
		}
		answer := i.sendChange(ctx, staged)
		after, err := i.reloadChange(ctx, c.Doing, answer)
		if err != nil {
			return nil, err
		}
		if i.earlier(after, snapshots) || c.Landed != nil && c.Landed(after) {
			i.removeOldMetadata(ctx, t, after)
			return &Changed{Before: t, After: after, Certain: answer == nil}, nil
		}
		if attempt >= i.options.Attempts {
			return nil, &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("table %s: %s: the commit was not accepted in %d attempts", i.TableName(), c.Doing, attempt), Err: answer,
				Hint: "nothing was changed; run it again at a time when fewer others commit to this table"}
		}
		if err := i.options.Sleep(ctx, i.options.Backoff(attempt)); err != nil {
			return nil, err
		}
	}
}

// earlier reports whether one of our snapshots is in the table.
func (i *Iceberg) earlier(t *table.Table, snapshots []int64) bool {
	return slices.ContainsFunc(snapshots, func(id int64) bool { return t.SnapshotByID(id) != nil })
}

func (i *Iceberg) sendChange(ctx context.Context, staged *Staged) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.options.Timeout)
	defer cancel()
	_, _, err := i.catalog.CommitTable(ctx, i.table, staged.Requirements, staged.Updates)
	return err
}

// reloadChange reads the table after a commit was sent, also if ctx has been cancelled.
func (i *Iceberg) reloadChange(ctx context.Context, doing string, answer error) (*table.Table, error) {
	detached := context.WithoutCancel(ctx)
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if ctx.Err() != nil {
				break
			}
			if err := i.options.Sleep(detached, i.options.Backoff(attempt)); err != nil {
				return nil, err
			}
		}
		t, err := i.loadWithin(detached)
		if err == nil {
			return t, nil
		}
		failure = err
	}
	return nil, &batch.Fault{Class: batch.UnknownOutcome, Err: errors.Join(answer, failure),
		Message: fmt.Sprintf("table %s: whether the commit to %s happened is not known: the table cannot be read", i.TableName(), doing),
		Hint:    "run it again when catalog and store answer; nothing was deleted"}
}

func (i *Iceberg) loadWithin(ctx context.Context) (*table.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, i.options.Timeout)
	defer cancel()
	return i.load(ctx)
}

// removeOldMetadata removes the metadata files that a commit dropped from the table's log, where the table asks for it. What
// cannot be removed is an orphan.
func (i *Iceberg) removeOldMetadata(ctx context.Context, before, after *table.Table) {
	if !after.Properties().GetBool(table.MetadataDeleteAfterCommitEnabledKey, table.MetadataDeleteAfterCommitEnabledDefault) {
		return
	}
	store, err := after.FS(ctx)
	if err != nil {
		return
	}
	kept := map[string]bool{after.MetadataLocation(): true}
	for entry := range after.Metadata().PreviousFiles() {
		kept[entry.MetadataFile] = true
	}
	for entry := range before.Metadata().PreviousFiles() {
		if !kept[entry.MetadataFile] {
			_ = remove(store, entry.MetadataFile)
		}
	}
}

// Pinned begins a transaction on a reading of the table that commits only while the head, the schema, the partition spec and
// the sort order are those of this reading. It returns the table as the transaction sees it as well.
func (i *Iceberg) Pinned(t *table.Table) (*table.Table, *table.Transaction, error) {
	fenced, _, err := i.fenced(t)
	if err != nil {
		return nil, nil, err
	}
	tx := fenced.NewTransaction()
	return fenced, tx, errors.Join(tx.AssertRefSnapshotID(""), tx.AssertDefaultShape())
}

// StagedBy is what a transaction of Pinned would commit.
func StagedBy(t *table.Table, tx *table.Transaction) (*Staged, error) {
	c, err := tx.TableCommit()
	if err != nil {
		return nil, err
	}
	c.Requirements = append(c.Requirements, table.AssertCurrentSchemaID(t.Schema().ID))
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	s := &Staged{TableCommit: c}
	if head := staged.CurrentSnapshot(); head != nil && t.SnapshotByID(head.SnapshotID) == nil {
		s.Snapshot = head.SnapshotID
	}
	return s, nil
}

// Catalog is the catalog that the table is in.
func (i *Iceberg) Catalog() catalog.Catalog { return i.catalog }

// FoldersOf are the folders that a table's files go to: its location, and those that its properties name elsewhere.
func FoldersOf(t *table.Table) []string { return foldersOf(t) }
