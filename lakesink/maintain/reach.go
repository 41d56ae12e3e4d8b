package maintain

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"sluice/lakesink"
)

// readers is how many manifests are read side by side: each is a request or two that a store takes its time for.
const readers = 8

// reach is everything that a table refers to, in any of its snapshots. A manifest is read once, however many snapshots have it.
type reach struct {
	store iceio.IO
	name  string

	mu sync.Mutex
	// files are canonical addresses, names the last parts of them.
	files, names addresses
	snapshots    map[int64]bool
	manifests    map[string]bool
}

func newReach(name string, store iceio.IO) *reach {
	return &reach{store: store, name: name, files: addresses{}, names: addresses{}, snapshots: map[int64]bool{}, manifests: map[string]bool{}}
}

func (r *reach) add(address string) {
	if address == "" {
		return
	}
	c := canonical(address)
	r.files.add(c)
	r.names.add(path.Base(c))
}

// addTable adds all that a reading of the table refers to. What an earlier reading had stays: a file that was referred to a
// moment ago is left to the next time.
func (r *reach) addTable(ctx context.Context, t *table.Table) error {
	m := t.Metadata()
	r.add(t.MetadataLocation())
	for entry := range m.PreviousFiles() {
		r.add(entry.MetadataFile)
	}
	for s := range m.Statistics() {
		r.add(s.StatisticsPath)
	}
	for s := range m.PartitionStatistics() {
		r.add(s.StatisticsPath)
	}
	return r.addSnapshots(ctx, m.Snapshots())
}

// addSnapshots adds what snapshots refer to, also the files that they removed: who reads changes asks for them.
func (r *reach) addSnapshots(ctx context.Context, snapshots []table.Snapshot) error {
	fresh, err := r.freshManifests(ctx, snapshots)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, m := range fresh {
		g.Go(func() error { return r.addManifest(ctx, m) })
	}
	return g.Wait()
}

// freshManifests adds manifest lists and what they name, and returns the manifests that nobody has read yet.
func (r *reach) freshManifests(ctx context.Context, snapshots []table.Snapshot) ([]iceberg.ManifestFile, error) {
	var fresh []iceberg.ManifestFile
	for i := range snapshots {
		s := &snapshots[i]
		if r.snapshots[s.SnapshotID] {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		manifests, err := manifestsOf(r.store, s)
		if err != nil {
			return nil, r.unreadable(fmt.Sprintf("the manifest list of snapshot %d", s.SnapshotID), err)
		}
		r.add(s.ManifestList)
		for _, m := range manifests {
			if !r.manifests[m.FilePath()] {
				r.manifests[m.FilePath()] = true
				r.add(m.FilePath())
				fresh = append(fresh, m)
			}
		}
		r.snapshots[s.SnapshotID] = true
	}
	return fresh, nil
}

// manifestsOf are the manifests of a snapshot. Very old writers of format version 1 put their names into the metadata, which the
// library does not read: a table would seem to be empty.
func manifestsOf(store iceio.IO, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	if s.ManifestList == "" {
		return nil, errors.New("it has none: its manifests are named in the table's metadata, in a form of format version 1 that is not read here")
	}
	return s.Manifests(store)
}

func (r *reach) addManifest(ctx context.Context, m iceberg.ManifestFile) error {
	for entry, err := range m.Entries(r.store, false) {
		if err != nil {
			return r.unreadable("manifest "+m.FilePath(), err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		file := entry.DataFile()
		r.mu.Lock()
		r.add(file.FilePath())
		if at := file.ReferencedDataFile(); at != nil {
			r.add(*at)
		}
		r.mu.Unlock()
	}
	return nil
}

// unreadable ends an action before it deletes anything: who does not know all that a table refers to knows no orphan.
func (r *reach) unreadable(what string, err error) error {
	return lakesink.Explain(fmt.Sprintf("find out what table %s refers to: read %s", r.name, what), err)
}

// liveIn are the canonical addresses of the files that manifests have and do not only remove.
func (r *reach) liveIn(ctx context.Context, manifests []iceberg.ManifestFile) (addresses, error) {
	live := addresses{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, m := range manifests {
		g.Go(func() error {
			for entry, err := range m.Entries(r.store, true) {
				if err != nil {
					return r.unreadable("manifest "+m.FilePath(), err)
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				r.mu.Lock()
				live.add(canonical(entry.DataFile().FilePath()))
				r.mu.Unlock()
			}
			return nil
		})
	}
	return live, g.Wait()
}
