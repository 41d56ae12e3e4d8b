package verify

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/iceberg-go/table"
)

// readRemovals finds the rows that others deleted, as far as the history tells: into c.removed what can be named offset
// by offset, and into c.unresolved how many more rows may have been deleted.
func (c *court) readRemovals(ctx context.Context) error {
	c.removed = c.rows.like()
	if c.rowsUnread {
		return nil
	}
	for i := range c.history.chain {
		s := &c.history.chain[i]
		if s.Summary == nil || (s.Summary.Operation != table.OpDelete && s.Summary.Operation != table.OpOverwrite) || s.ParentSnapshotID == nil {
			continue
		}
		gone, err := c.removedBy(ctx, s)
		if err != nil {
			return err
		}
		if gone != nil && gone.total() > 0 {
			c.note("%s deleted %s of topics that ledgers cover; their offsets are known and accounted for", describe(s), count(gone.total(), "row"))
			c.removed.addAll(gone)
		}
	}
	if n := c.masked.total(); n > 0 {
		c.note("delete files hide %s in the table's files; their offsets are known and accounted for", count(n, "row"))
	}
	c.removed.atLeast(c.masked)
	return nil
}

// removedBy compares the rows of the files that a snapshot changed before and after it. It returns nil where it cannot,
// because its parent or files have expired.
func (c *court) removedBy(ctx context.Context, s *table.Snapshot) (*rowSet, error) {
	parent := c.history.metadata.SnapshotByID(*s.ParentSnapshotID)
	if parent == nil {
		return nil, c.unreadDeletion(ctx, s, fmt.Errorf("its parent, snapshot %d, has expired", *s.ParentSnapshotID))
	}
	before, err := c.reader.files(ctx, parent)
	if err != nil {
		return nil, c.unreadDeletion(ctx, s, err)
	}
	after, err := c.reader.files(ctx, s)
	if err != nil {
		return nil, c.unreadDeletion(ctx, s, err)
	}
	before, after = changed(before, after)
	had, err := c.readAll(ctx, before)
	if err != nil {
		return nil, c.unreadDeletion(ctx, s, err)
	}
	has, err := c.readAll(ctx, after)
	if err != nil {
		return nil, c.unreadDeletion(ctx, s, err)
	}
	return had.minus(has), nil
}

// changed leaves of two lists what is not in both.
func changed(before, after []dataFile) (onlyBefore, onlyAfter []dataFile) {
	balance := map[string]int{}
	for i := range after {
		balance[after[i].key()]++
	}
	for _, f := range before {
		if k := f.key(); balance[k] > 0 {
			balance[k]--
		} else {
			onlyBefore = append(onlyBefore, f)
		}
	}
	for _, f := range after {
		if k := f.key(); balance[k] > 0 {
			balance[k]--
			onlyAfter = append(onlyAfter, f)
		}
	}
	return onlyBefore, onlyAfter
}

// readAll counts the rows of files.
func (c *court) readAll(ctx context.Context, files []dataFile) (*rowSet, error) {
	rows := c.rows.like()
	scan := c.reader.scan(nil)
	defer scan.Close()
	return rows, parallel(ctx, c.reader.workers, len(files), func(ctx context.Context, i int) error {
		if err := c.reader.read(ctx, scan, files[i].task, gather(rows)); err != nil {
			return &fileError{files[i].path(), err}
		}
		return nil
	})
}

type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("read %s: %v", e.path, e.err) }
func (e *fileError) Unwrap() error { return e.err }

// unreadDeletion notes a deletion that cannot be followed up, with the most rows that it can have removed.
func (c *court) unreadDeletion(ctx context.Context, s *table.Snapshot, cause error) error {
	if err := c.onlyGone(ctx, cause); err != nil {
		return err
	}
	most := deletedAtMost(s)
	if most == 0 {
		return nil
	}
	many := "an unknown number of"
	if most < math.MaxInt64 {
		many = fmt.Sprintf("at most %d", most)
	}
	if c.unresolved > math.MaxInt64-most {
		c.unresolved = math.MaxInt64
	} else {
		c.unresolved += most
	}
	c.limit(Limit{Kind: DeletionsUnread, What: "which rows " + describe(s) + " deleted",
		Why: fmt.Sprintf("it deleted %s rows, and they cannot be looked at: %v", many, cause)})
	return nil
}

// onlyGone returns nil if what could not be read is gone or damaged, an error if the store could not be asked.
func (c *court) onlyGone(ctx context.Context, cause error) error {
	path := ""
	var manifest *manifestError
	var file *fileError
	switch {
	case errors.As(cause, &manifest):
		path = manifest.path
	case errors.As(cause, &file):
		path = file.path
	default:
		return ctx.Err()
	}
	_, err := c.reader.damage(ctx, path, cause)
	return err
}

// deletedAtMost is how many rows a snapshot can have removed, by its summary.
func deletedAtMost(s *table.Snapshot) int64 {
	equality, err1 := number(s, "added-equality-deletes")
	positions, err2 := number(s, "added-position-deletes")
	records, err3 := number(s, "deleted-records")
	if err1 != nil || err2 != nil || err3 != nil || equality > 0 {
		return math.MaxInt64
	}
	return positions + records
}
