package lakesink

import (
	"encoding/json"
	"maps"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Every commit adds a manifest, and whoever plans a query reads them all: so a commit also merges small ones, as the table's
// commit.manifest* properties say, with the defaults of the reference implementation whoever made the table. The library would
// merge everything below the target size into one manifest, again and again, which writes a file's entry hundreds of times; and
// it merges nothing in tables of format version 3. Here a manifest is merged only with at least as many files as it has itself.
// An entry is thus written some more times the logarithm of the table's files, and the manifests that are not full grow from
// the newest to the oldest: between merges there are no more of them than the property says, or that logarithm.

// merging is when and how far the manifests of a table are merged.
type merging struct {
	// least is how many small manifests, the commit's own among them, lead to a merge; target is the size that a manifest is
	// to have at most.
	least  int
	target int64
}

// largestTarget bounds the memory of a merge, whatever a table asks for: it holds some manifests of the size, compressed.
const largestTarget = 32 << 20

// A reader skips manifests of other partitions than it asks for, and one of the target size would be of all: 8 MiB are some
// 150,000 files. So those of a partitioned table may end where a partition does once they have a 64th of it, 128 KiB by default.
const (
	pieces     = 64
	leastPiece = 16 << 10
)

// mergingOf is what a table asks for, nil if that is not to merge.
func mergingOf(t *table.Table) *merging {
	p := t.Properties()
	if !p.GetBool(table.ManifestMergeEnabledKey, true) {
		return nil
	}
	return &merging{least: max(2, p.GetInt(table.ManifestMinMergeCountKey, table.ManifestMinMergeCountDefault)),
		target: min(largestTarget, int64(p.GetInt(table.ManifestTargetSizeBytesKey, table.ManifestTargetSizeBytesDefault)))}
}

// piece is the size from which a manifest of a partitioned table may end where a partition does.
func (m *merging) piece() int64 { return min(m.target, max(m.target/pieces, leastPiece)) }

// ManifestBytes is the size that manifests of a partition spec are given: what the table asks for, and less where there are
// partitions, so that who asks for one reads few files of others.
func ManifestBytes(t *table.Table, spec int32) int64 {
	m := &merging{target: int64(t.Properties().GetInt(table.ManifestTargetSizeBytesKey, table.ManifestTargetSizeBytesDefault))}
	if s := t.Metadata().PartitionSpecByID(int(spec)); s != nil && !s.IsUnpartitioned() {
		return m.piece()
	}
	return m.target
}

// full says that a manifest is not merged any more.
func (m *merging) full(f iceberg.ManifestFile, partitioned bool) bool {
	if partitioned {
		return f.Length() >= m.piece()
	}
	return f.Length() >= m.target/2
}

// choose picks which of a snapshot's manifests become few, by spec, each group with the newest first as manifest lists have
// them. Own manifests of the snapshot are counted and left alone: their entries may yet get another snapshot id. Only specs that
// are in partitioned can be written; it says which of these have partitions.
func (m *merging) choose(all []iceberg.ManifestFile, snapshot int64, partitioned map[int32]bool) [][]iceberg.ManifestFile {
	small := map[int32][]iceberg.ManifestFile{}
	var specs []int32
	count := 0
	for _, f := range all {
		spec := f.PartitionSpecID()
		parts, writable := partitioned[spec]
		if f.ManifestContent() != iceberg.ManifestContentData || !writable || len(f.KeyMetadata()) > 0 || m.full(f, parts) {
			continue
		}
		count++
		if f.SnapshotID() == snapshot {
			continue
		}
		if small[spec] == nil {
			specs = append(specs, spec)
		}
		small[spec] = append(small[spec], f)
	}
	if count < m.least {
		return nil
	}
	var groups [][]iceberg.ManifestFile
	for _, spec := range specs {
		if n := run(small[spec]); n > 1 {
			groups = append(groups, small[spec][:n])
		}
	}
	return groups
}

// run is how many of the newest manifests to merge: up to the oldest one that has no more files than all newer ones together.
// What is left then grows by doubling at least, and what is merged ends up in one at least twice as large.
func run(manifests []iceberg.ManifestFile) (n int) {
	var newer int64
	for k, f := range manifests {
		files := filesIn(f)
		if k > 0 && files <= newer {
			n = k + 1
		}
		newer += files
	}
	return n
}

// entryBytes is about what a file takes in a manifest, compressed.
const entryBytes = 50

// filesIn is how many files a manifest lists. Some writers leave the counters at zero or empty: then its size tells.
func filesIn(f iceberg.ManifestFile) int64 {
	added, existing := int64(f.AddedDataFiles()), int64(f.ExistingDataFiles())
	if added < 0 || existing < 0 || added+existing == 0 {
		return max(1, f.Length()/entryBytes)
	}
	return added + existing
}

// specsToMerge are the partition specs whose manifests the library can write as they are, and whether these have partitions.
// Where a column is gone that a spec has a field of, it would leave out the values.
func specsToMerge(t *table.Table) map[int32]bool {
	specs := map[int32]bool{}
	for _, spec := range t.Metadata().PartitionSpecs() {
		whole := manifestable(&spec, t.Schema()) == nil
		for _, f := range spec.Fields() {
			for _, id := range f.SourceIDs {
				_, there := t.Schema().FindFieldByID(id)
				whole = whole && there
			}
			_, _, known := transformOf(f.Transform)
			whole = whole && known
		}
		if whole {
			specs[int32(spec.ID())] = !spec.IsUnpartitioned()
		}
	}
	return specs
}

// unmerged is the table as one in which the library merges no manifests.
func unmerged(t *table.Table) (*table.Table, error) {
	if !t.Properties().GetBool(table.ManifestMergeEnabledKey, table.ManifestMergeEnabledDefault) {
		return t, nil
	}
	metadata, err := edited(unviewed(t.Metadata()), func(whole map[string]json.RawMessage) (err error) {
		properties := maps.Clone(t.Properties())
		properties[table.ManifestMergeEnabledKey] = "false"
		whole["properties"], err = json.Marshal(properties)
		return err
	})
	if err != nil {
		return nil, err
	}
	return table.New(t.Identifier(), metadata, t.MetadataLocation(), t.FS, nil), nil
}
