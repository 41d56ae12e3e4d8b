package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink"
)

// Expiry is what became of old snapshots.
type Expiry struct {
	// Snapshots went, Kept stayed; Refs are branches and tags that had outlived their own limit.
	Snapshots, Kept int
	Refs            []string
	// Old is how many were older than the limit, whether they went or stayed.
	Old int
	// Held says for whose bookkeeping more snapshots stayed than the limits ask for.
	Held []Held
	// Data are data and delete files that nothing refers to any more, Metadata manifests, their lists and statistics.
	Data, Metadata Count
	// Skipped says why nothing was looked at, empty if it was.
	Skipped string
}

// Expire removes old snapshots from the table's history, and then the files that no other snapshot has. What bookkeeping needs
// stays: the history from each head to the snapshot of every ledger, to the newest batch of every Spark query and of every
// committer of Flink's. So do the heads of branches and tags. In a table with gc.enabled=false nothing is done.
//
// Files are deleted once the table, read again, has not the snapshots any more. An error after that leaves orphans.
func (t *Table) Expire(ctx context.Context, o ExpireOptions) (*Expiry, error) {
	var e *expiring
	stage := func(ctx context.Context, tbl *table.Table) (staged *lakesink.Staged, err error) {
		e, err = t.plan(ctx, tbl, o)
		if err != nil || t.DryRun() || e.idle() {
			return nil, err
		}
		return e.staged(tbl, t.catalog().CatalogType()), nil
	}
	changed, err := t.sink.Change(ctx, lakesink.Change{Doing: "expire snapshots", Stage: stage, Landed: func(tbl *table.Table) bool { return e.gone(tbl) }})
	if err != nil {
		return nil, err
	}
	if changed == nil {
		e.count(e.files)
		return &e.result, nil
	}
	return &e.result, e.remove(ctx, changed.After)
}

// expiring is one expiry, planned on one reading of the table.
type expiring struct {
	*retention
	result Expiry
	table  *Table
	store  iceio.IO
	live   *reach
	// files are what the snapshots that go refer to and no other does.
	files []unreferred
}

// unreferred is a file that nothing will refer to.
type unreferred struct {
	path  string
	bytes int64
	data  bool
}

func (t *Table) plan(ctx context.Context, tbl *table.Table, o ExpireOptions) (*expiring, error) {
	e := &expiring{table: t, retention: &retention{}}
	if e.result.Skipped = notCollected(tbl); e.result.Skipped != "" {
		return e, nil
	}
	var err error
	if e.retention, err = retained(tbl.Metadata(), o, t.options.Now()); err != nil {
		return nil, err
	}
	e.result.Snapshots, e.result.Refs, e.result.Held = len(e.expired), e.refs, e.held
	e.result.Old = e.old
	e.result.Kept = len(tbl.Metadata().Snapshots()) - len(e.expired)
	if e.idle() {
		return e, nil
	}
	if e.store, err = tbl.FS(ctx); err != nil {
		return nil, lakesink.Explain(fmt.Sprintf("open the store of table %s", t.Name()), err)
	}
	return e, e.find(ctx, tbl)
}

func (e *expiring) idle() bool { return len(e.expired) == 0 && len(e.refs) == 0 }

// staged is the commit. It holds only while every branch and tag is where it was: what they lead to decided what may go. That
// there is no new one can be asked only of the catalogs whose commits are checked in this process.
func (e *expiring) staged(tbl *table.Table, in catalog.Type) *lakesink.Staged {
	m := tbl.Metadata()
	c := table.TableCommit{Identifier: tbl.Identifier(), Requirements: []table.Requirement{table.AssertTableUUID(m.TableUUID())}}
	for name, ref := range m.Refs() {
		c.Requirements = append(c.Requirements, table.AssertRefSnapshotID(name, &ref.SnapshotID))
	}
	if in != catalog.REST {
		c.Requirements = append(c.Requirements, noNewRefs(maps.Collect(m.Refs())))
	}
	for _, name := range e.refs {
		c.Updates = append(c.Updates, table.NewRemoveSnapshotRefUpdate(name))
	}
	if len(e.expired) > 0 {
		c.Updates = append(c.Updates, table.NewRemoveSnapshotsUpdate(e.expired, false))
	}
	return &lakesink.Staged{TableCommit: c}
}

// noNewRefs is the requirement that a table has no other branches and tags than these: a new one may lead to what goes.
type noNewRefs map[string]table.SnapshotRef

// GetType names it.
func (noNewRefs) GetType() string { return "assert-no-new-refs" }

// Validate checks it.
func (r noNewRefs) Validate(m table.Metadata) error {
	for name := range m.Refs() {
		if _, known := r[name]; !known {
			return fmt.Errorf("requirement failed: %q is a new branch or tag", name)
		}
	}
	return nil
}

// gone reports whether a reading of the table has nothing of what was to go.
func (e *expiring) gone(tbl *table.Table) bool {
	for name := range tbl.Metadata().Refs() {
		if slices.Contains(e.refs, name) {
			return false
		}
	}
	return !slices.ContainsFunc(e.expired, func(id int64) bool { return tbl.SnapshotByID(id) != nil })
}

// find finds the files that only the snapshots which go refer to.
func (e *expiring) find(ctx context.Context, tbl *table.Table) error {
	var goes, stays []table.Snapshot
	for _, s := range tbl.Metadata().Snapshots() {
		if slices.Contains(e.expired, s.SnapshotID) {
			goes = append(goes, s)
		} else {
			stays = append(stays, s)
		}
	}
	e.live = newReach(e.table.Name(), e.store)
	fresh, err := e.live.freshManifests(ctx, stays)
	if err != nil {
		return err
	}
	if err := e.candidates(ctx, tbl, goes); err != nil {
		return err
	}
	return e.spare(ctx, fresh)
}

// candidates adds the lists and statistics of snapshots, the manifests that no other snapshot has, and the files in these. Of
// what cannot be found any more nothing is left to remove.
func (e *expiring) candidates(ctx context.Context, tbl *table.Table, goes []table.Snapshot) error {
	met := addresses{}
	for i := range goes {
		s := &goes[i]
		manifests, err := manifestsOf(e.store, s)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return e.live.unreadable(fmt.Sprintf("the manifest list of snapshot %d", s.SnapshotID), err)
		}
		e.files = append(e.files, unreferred{s.ManifestList, sizeOf(e.store, s.ManifestList), false})
		for _, m := range manifests {
			if c := canonical(m.FilePath()); !e.live.files.has(c) && !met.has(c) {
				met.add(c)
				e.files = append(e.files, unreferred{m.FilePath(), m.Length(), false})
				if err := e.entries(ctx, m, met); err != nil {
					return err
				}
			}
		}
	}
	e.statistics(tbl, goes)
	return nil
}

// entries adds the files of a manifest that goes.
func (e *expiring) entries(ctx context.Context, m iceberg.ManifestFile, met addresses) error {
	for entry, err := range m.Entries(e.store, false) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return e.live.unreadable("manifest "+m.FilePath(), err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		file := entry.DataFile()
		if c := canonical(file.FilePath()); !met.has(c) {
			met.add(c)
			e.files = append(e.files, unreferred{file.FilePath(), file.FileSizeBytes(), true})
		}
	}
	return nil
}

func (e *expiring) statistics(tbl *table.Table, goes []table.Snapshot) {
	going := map[int64]bool{}
	for _, s := range goes {
		going[s.SnapshotID] = true
	}
	add := func(snapshot int64, path string, bytes int64) {
		if going[snapshot] {
			e.files = append(e.files, unreferred{path, bytes, false})
		} else {
			e.live.add(path)
		}
	}
	for s := range tbl.Metadata().Statistics() {
		add(s.SnapshotID, s.StatisticsPath, s.FileSizeInBytes)
	}
	for s := range tbl.Metadata().PartitionStatistics() {
		add(s.SnapshotID, s.StatisticsPath, s.FileSizeInBytes)
	}
}

// sizeOf is what a manifest list takes, 0 if the store does not say.
func sizeOf(store iceio.IO, path string) int64 {
	n, err := lakesink.StoredSize(store, path)
	if err != nil {
		return 0
	}
	return n
}

// spare takes out of the files that go those that are live in a manifest which stays. A file that a snapshot has only removed
// is not live in it. Manifests are not read where no data file goes.
func (e *expiring) spare(ctx context.Context, manifests []iceberg.ManifestFile) error {
	if !slices.ContainsFunc(e.files, func(f unreferred) bool { return f.data }) {
		manifests = nil
	}
	live, err := e.live.liveIn(ctx, manifests)
	if err != nil {
		return err
	}
	e.files = slices.DeleteFunc(e.files, func(f unreferred) bool {
		c := canonical(f.path)
		return live.has(c) || e.live.files.has(c)
	})
	return nil
}

// remove deletes what nothing refers to, also not what has been committed since the plan was made.
func (e *expiring) remove(ctx context.Context, after *table.Table) error {
	var since []table.Snapshot
	for _, s := range after.Metadata().Snapshots() {
		if !e.live.snapshots[s.SnapshotID] {
			since = append(since, s)
		}
	}
	fresh, err := e.live.freshManifests(ctx, since)
	if err != nil {
		return err
	}
	if err := e.spare(ctx, fresh); err != nil {
		return err
	}
	gone, err := removeAll(ctx, e.store, e.files)
	e.count(gone)
	if err != nil {
		return fmt.Errorf("%d of %d files of expired snapshots of table %s are left, and nothing refers to them; the next removal of orphans takes them: %w",
			len(e.files)-len(gone), len(e.files), e.table.Name(), err)
	}
	return nil
}

func (e *expiring) count(files []unreferred) {
	for _, f := range files {
		if f.data {
			e.result.Data.add(f.bytes)
		} else {
			e.result.Metadata.add(f.bytes)
		}
	}
}

// removedAtOnce is how many files are removed between two looks at whether to go on.
const removedAtOnce = 500

// removeAll removes files and returns those that are gone.
func removeAll(ctx context.Context, store iceio.IO, files []unreferred) (gone []unreferred, err error) {
	for chunk := range slices.Chunk(files, removedAtOnce) {
		if ctx.Err() != nil {
			return gone, context.Cause(ctx)
		}
		paths := make([]string, len(chunk))
		for i, f := range chunk {
			paths[i] = f.path
		}
		done, err := lakesink.RemoveFiles(ctx, store, paths)
		for _, f := range chunk {
			if slices.Contains(done, f.path) {
				gone = append(gone, f)
			}
		}
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}
