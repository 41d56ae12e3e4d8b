package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// gcEnabled is the property by which a table forbids that files are deleted.
const gcEnabled = "gc.enabled"

// Maintain expires old snapshots of a table that we created, once ExpireEvery of them have come together beyond the
// KeepSnapshots that stay: the metadata grows with every live snapshot, and with it the cost of each commit. It is a
// transaction of its own and touches no ledger. An error harms nothing: the next commit leads to another try.
func (i *Iceberg) Maintain(ctx context.Context, _ *batch.Applied) error {
	i.mu.Lock()
	t := i.newest
	i.mu.Unlock()
	if i.options.ExpireEvery <= 0 || t != nil && !i.due(t) {
		return nil
	}
	t, err := i.load(ctx)
	if err != nil {
		return fmt.Errorf("read table %s to expire snapshots: %w", i.TableName(), err)
	}
	if !i.due(t) {
		return nil
	}
	if err := i.expire(ctx, t); err != nil {
		return fmt.Errorf("expire snapshots of table %s: %w", i.TableName(), err)
	}
	return nil
}

// due needs no memory of earlier runs: the number of snapshots says it.
func (i *Iceberg) due(t *table.Table) bool {
	_, own := t.Properties()[createdBy]
	return (own || i.options.MaintainForeign) && t.Properties().GetBool(gcEnabled, true) &&
		len(t.Metadata().Snapshots()) >= i.options.KeepSnapshots+i.options.ExpireEvery
}

// expire removes all but the newest snapshots, and what only they refer to. Where all there are were appends, those that expire
// leave no data file behind. Then metadata alone is deleted, which costs the same however large the table is. Otherwise the
// library looks for the data files too, through every manifest that stays.
func (i *Iceberg) expire(ctx context.Context, t *table.Table) error {
	fenced, _, err := i.fenced(t)
	if err != nil {
		return err
	}
	appends := i.onlyAppendsExpire(t)
	tx := fenced.NewTransaction()
	if err := tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(i.options.KeepSnapshots), table.WithPostCommit(!appends)); err != nil {
		return err
	}
	after, err := tx.Commit(ctx)
	if err != nil || !appends {
		return err
	}
	store, err := fenced.FS(ctx)
	if err != nil {
		return err
	}
	return deleteMetadata(store, t, after)
}

// onlyAppendsExpire reports whether all snapshots are appends, and those that expire of the main branch. One that was rolled
// back is not: its data files go with it. Nor is one that stays and has removed files, which only those that expire still have.
func (i *Iceberg) onlyAppendsExpire(t *table.Table) bool {
	h := historyOf(t)
	for _, s := range h.snapshots {
		if s.Summary == nil || s.Summary.Operation != table.OpAppend {
			return false
		}
	}
	return len(h.snapshots) == len(t.Metadata().Snapshots())
}

// deleteMetadata removes the manifest lists of snapshots that are gone, and the manifests that no other list has.
func deleteMetadata(store iceio.IO, before, after *table.Table) error {
	kept := map[string]bool{}
	var expired []table.Snapshot
	for _, s := range before.Metadata().Snapshots() {
		if after.SnapshotByID(s.SnapshotID) == nil {
			expired = append(expired, s)
			continue
		}
		manifests, err := s.Manifests(store)
		if err != nil {
			return fmt.Errorf("read the manifest list of snapshot %d: %w", s.SnapshotID, err)
		}
		for _, m := range manifests {
			kept[m.FilePath()] = true
		}
	}
	var failures []error
	for _, s := range expired {
		manifests, err := s.Manifests(store)
		if err != nil {
			failures = append(failures, fmt.Errorf("read the manifest list of snapshot %d: %w", s.SnapshotID, err))
			continue
		}
		failures = append(failures, deleteManifests(store, manifests, kept), remove(store, s.ManifestList))
	}
	return errors.Join(failures...)
}

func deleteManifests(store iceio.IO, manifests []iceberg.ManifestFile, kept map[string]bool) error {
	var failures []error
	for _, m := range manifests {
		if path := m.FilePath(); !kept[path] {
			kept[path] = true // once is enough
			failures = append(failures, remove(store, path))
		}
	}
	return errors.Join(failures...)
}

func remove(store iceio.IO, path string) error {
	if err := store.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
