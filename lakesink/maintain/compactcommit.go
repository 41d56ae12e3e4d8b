package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink"
)

// commit makes groups part of the table that others may have changed since the plan was made. Groups of which a file is gone or
// has deletes by now are dropped, and so are all if the table was altered.
func (c *compactor) commit(ctx context.Context, groups []*group) error {
	offered := map[int64][]*group{} // by the snapshot that was offered
	stage := func(ctx context.Context, t *table.Table) (*lakesink.Staged, error) {
		left, err := c.standing(ctx, t, groups)
		if err != nil || len(left) == 0 {
			return nil, err
		}
		staged, err := c.sink.StageReplacement(ctx, t, c.replacement(left))
		if err != nil {
			return nil, lakesink.Explain("prepare a commit", err)
		}
		offered[staged.Snapshot] = left
		for _, g := range left {
			g.sent = true
		}
		return staged, nil
	}
	changed, err := c.sink.Change(ctx, lakesink.Change{Doing: "replace small files", Stage: stage})
	if err == nil && changed != nil {
		for id, left := range offered {
			if changed.After.SnapshotByID(id) != nil {
				c.plan.landed(left)
			}
		}
	}
	if err == nil || batch.ClassOf(err) != batch.UnknownOutcome {
		for _, g := range groups {
			c.settle(ctx, g, err)
		}
	}
	return err
}

func (p *compactPlan) landed(groups []*group) {
	p.commits++
	for _, g := range groups {
		g.state = Compacted
	}
}

// settle gives up the files of a group that is not in the table.
func (c *compactor) settle(ctx context.Context, g *group, err error) {
	if g.state == Compacted {
		return
	}
	if g.state == Planned {
		g.state, g.why = Dropped, "it could not be committed"
		if err != nil {
			g.why = err.Error()
		}
	}
	c.discard(ctx, g)
}

// standing finds the groups that can still be replaced in a reading of the table, and drops the others.
func (c *compactor) standing(ctx context.Context, t *table.Table, groups []*group) (left []*group, err error) {
	if err := c.plan.altered(t); err != nil {
		return nil, err
	}
	var found *deleted
	live := map[string]int64{}
	if head := t.CurrentSnapshot(); head == nil || head.SnapshotID != c.plan.head.SnapshotID {
		if found, err = c.look(ctx, t, groups, live); err != nil {
			return nil, lakesink.Explain("read the table's manifests again", err)
		}
	}
	waits := unpublished(t.Metadata())
	for _, g := range groups {
		if g.state != Planned {
			continue
		}
		if waits != "" {
			g.state, g.why = Dropped, waits
			continue
		}
		if found != nil {
			if g.why = g.lost(found, live); g.why != "" {
				g.state = Dropped
				continue
			}
		}
		left = append(left, g)
	}
	return c.present(ctx, t, left)
}

// present drops the groups whose new files are not as they were written: a compaction that was suspended may find that somebody
// took them for orphans meanwhile.
func (c *compactor) present(ctx context.Context, t *table.Table, groups []*group) (left []*group, err error) {
	store, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, f := range g.made {
			size, err := lakesink.StoredSize(store, f.Path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, lakesink.Explain("look for "+f.Path, err)
			}
			if err != nil || size != f.Bytes {
				g.state, g.why = Dropped, fmt.Sprintf("%s, which this compaction wrote, is gone: was it removed as an orphan?", f.Path)
				break
			}
		}
		if g.state == Planned {
			left = append(left, g)
		}
	}
	return left, nil
}

// look finds which files of groups a snapshot still has, and what it says of deletes.
func (c *compactor) look(ctx context.Context, t *table.Table, groups []*group, live map[string]int64) (*deleted, error) {
	head := t.CurrentSnapshot()
	if head == nil {
		return noDeletes(), nil
	}
	store, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := head.Manifests(store)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, g := range groups {
		for _, m := range g.members {
			wanted[m.file.FilePath()] = true
		}
	}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		for e, err := range m.Entries(store, true) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.FilePath(), err)
			}
			if path := e.DataFile().FilePath(); wanted[path] {
				live[path] = e.SequenceNum()
			}
		}
	}
	return deletesIn(store, manifests)
}

// lost says why a group cannot be replaced any more; empty if it can.
func (g *group) lost(found *deleted, live map[string]int64) string {
	for _, m := range g.members {
		sequence, ok := live[m.file.FilePath()]
		switch {
		case !ok:
			return fmt.Sprintf("somebody else has removed %s meanwhile", m.file.FilePath())
		case sequence != m.sequence:
			return fmt.Sprintf("somebody else has replaced %s meanwhile", m.file.FilePath())
		case found.byEquality(m.file, sequence), m.newDeletes(found):
			return fmt.Sprintf("somebody else has deleted rows of %s meanwhile", m.file.FilePath())
		}
	}
	return ""
}

// newDeletes reports whether there are files of positions for a file that were not there when it was read.
func (m *member) newDeletes(found *deleted) bool {
	positions, vectors := found.byPosition(m.file, m.sequence)
	known := map[string]bool{}
	for _, f := range slices.Concat(m.positions, m.vectors) {
		known[f.FilePath()] = true
	}
	return slices.ContainsFunc(slices.Concat(positions, vectors), func(f iceberg.DataFile) bool { return !known[f.FilePath()] })
}

// replacement is the groups' files for others. The new ones are as old as the plan: deletes by equality that were added since
// then apply to them, and earlier ones, of which none applied to the old files, do not.
func (c *compactor) replacement(groups []*group) *lakesink.Replacement {
	r := &lakesink.Replacement{Sequence: c.plan.head.SequenceNumber, Summary: iceberg.Properties{}}
	var rows int64
	for _, g := range groups {
		for _, m := range g.members {
			r.Removed, r.Deletes = append(r.Removed, m.file), append(r.Deletes, m.vectors...)
			for _, f := range m.positions {
				if namedBy(f) != "" {
					r.Deletes = append(r.Deletes, f)
				}
			}
		}
		r.Added = append(r.Added, g.made...)
		rows += g.rows
	}
	r.Summary["sluice.compacted-records"] = strconv.FormatInt(rows, 10)
	return r
}

// discardWithin bounds the removal of files that nothing needs: what is not removed is an orphan.
const discardWithin = 30 * time.Second

// discard removes the new files of a group, if it is certain that no commit names them: none that did has gone out. It goes on
// after ctx has ended.
func (c *compactor) discard(ctx context.Context, g *group) {
	made := g.made
	g.made, g.out = nil, Count{}
	if len(made) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardWithin)
	defer cancel()
	var store iceio.IO
	err := errors.New("a commit with them has gone out")
	if !g.sent {
		store, err = c.plan.table.FS(ctx)
	}
	for _, f := range made {
		if err == nil {
			if removed := store.Remove(f.Path); removed == nil || errors.Is(removed, fs.ErrNotExist) {
				continue
			}
		}
		c.plan.mu.Lock()
		c.plan.abandoned.add(f.Bytes)
		c.plan.mu.Unlock()
	}
}
