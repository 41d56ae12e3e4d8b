package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink"
)

const (
	// worthwhile is how many manifests a rewrite has to save: whoever plans a query reads each of them, and a rewrite is a commit.
	worthwhile = 8
	// mostOutputs bounds how many manifests one rewrite writes, since all of them are open at a time.
	mostOutputs = 64
)

// Manifests is what became of the manifests of the current snapshot.
type Manifests struct {
	// Rewritten were replaced by Written; Kept stayed as they are. In a dry run Written is an
	// estimate: as many bytes as now.
	Rewritten, Written, Kept Count
	// Entries is how many data files the rewritten ones list.
	Entries int64
	// Snapshot is the id of the snapshot that has the new ones, 0 if none was made.
	Snapshot int64
	// Skipped says why nothing was rewritten, empty if something was.
	Skipped string
}

// RewriteManifests makes few manifests of many small ones, as a snapshot with the operation replace: no file is added and none
// removed, every entry keeps its snapshot id and sequence numbers. Entries of one partition come together, so that a query for
// it reads few manifests; without partitions they stay in their order, which is that of their commits. Manifests of delete files
// are left alone. Before the commit old and new entries are compared.
func (t *Table) RewriteManifests(ctx context.Context) (*Manifests, error) {
	var result *Manifests
	changed, err := t.sink.Change(ctx, lakesink.Change{Doing: "rewrite manifests", Stage: func(ctx context.Context, tbl *table.Table) (staged *lakesink.Staged, err error) {
		result, staged, err = t.stageManifests(ctx, tbl)
		return staged, err
	}})
	if err != nil {
		return nil, err
	}
	if changed == nil && result.Skipped == "" && !t.DryRun() {
		result.Skipped = "nothing would become of it"
	}
	return result, nil
}

func (t *Table) stageManifests(ctx context.Context, tbl *table.Table) (*Manifests, *lakesink.Staged, error) {
	head := tbl.CurrentSnapshot()
	if head == nil {
		return &Manifests{Skipped: noHead}, nil, nil
	}
	if why := unpublished(tbl.Metadata()); why != "" {
		return &Manifests{Skipped: why}, nil, nil
	}
	store, err := tbl.FS(ctx)
	if err != nil {
		return nil, nil, lakesink.Explain("open the store of table "+t.Name(), err)
	}
	before, err := manifestsOf(store, head)
	if err != nil {
		return nil, nil, lakesink.Explain(fmt.Sprintf("read the manifest list of snapshot %d", head.SnapshotID), err)
	}
	w := chooseManifests(before, int64(tbl.Properties().GetInt(table.ManifestTargetSizeBytesKey, table.ManifestTargetSizeBytesDefault)),
		func(spec int32) int64 { return lakesink.ManifestBytes(tbl, spec) })
	if len(w.chosen) == 0 || t.DryRun() {
		return &w.result, nil, nil
	}
	if err := w.arrange(ctx, store); err != nil {
		return nil, nil, err
	}
	staged, err := w.stage(ctx, t.sink, tbl, store)
	return &w.result, staged, err
}

// rewriting is one rewrite, planned on one snapshot.
type rewriting struct {
	result Manifests
	target int64
	// chosen are the manifests that are rewritten; outputs is into how many, by partition spec.
	chosen  []iceberg.ManifestFile
	outputs map[int32]int
	// group is the output of each entry, by its file; sum stands for all entries.
	group map[uint64]int
	sum   lakesink.EntrySum
}

// chooseManifests picks the small data manifests, by partition spec, where enough of them can be saved. Sizes are those
// that manifests of a spec are to have, target the largest.
func chooseManifests(all []iceberg.ManifestFile, target int64, size func(spec int32) int64) *rewriting {
	w := &rewriting{target: target, outputs: map[int32]int{}, group: map[uint64]int{}}
	small := map[int32][]iceberg.ManifestFile{}
	bytes := map[int32]int64{}
	for _, m := range all {
		spec := m.PartitionSpecID()
		if m.ManifestContent() == iceberg.ManifestContentData && m.Length() < size(spec)*3/4 && bytes[spec] < mostOutputs*size(spec) {
			small[spec] = append(small[spec], m)
			bytes[spec] += m.Length()
		}
	}
	for spec, manifests := range small {
		outputs := int((bytes[spec] + size(spec) - 1) / size(spec))
		if len(manifests)-outputs >= worthwhile {
			w.outputs[spec] = outputs
			w.result.Written.Files += int64(outputs)
			w.result.Written.Bytes += bytes[spec]
		}
	}
	for _, m := range all {
		if slices.Contains(small[m.PartitionSpecID()], m) && w.outputs[m.PartitionSpecID()] > 0 {
			w.chosen = append(w.chosen, m)
			w.result.Rewritten.add(m.Length())
			continue
		}
		w.result.Kept.add(m.Length())
	}
	if len(w.chosen) == 0 {
		w.result.Skipped = fmt.Sprintf("%d manifests are few: a rewrite would not save %d of them", len(all), worthwhile)
	}
	return w
}

// placed is an entry that is to be put somewhere.
type placed struct {
	file      uint64
	partition string
}

func fileKey(f iceberg.DataFile) uint64 { return maphash.String(seed, f.FilePath()) }

// arrange decides which entry goes where: entries of one partition one after the other, cut into outputs of the same number.
func (w *rewriting) arrange(ctx context.Context, store iceio.IO) error {
	entries := map[int32][]placed{}
	for _, m := range slices.Backward(w.chosen) { // a list has the newest first
		spec := m.PartitionSpecID()
		for entry, err := range m.Entries(store, true) {
			if err != nil {
				return lakesink.Explain("read manifest "+m.FilePath(), err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			entries[spec] = append(entries[spec], placed{fileKey(entry.DataFile()), lakesink.PartitionText(entry.DataFile().Partition())})
			w.sum.Add(entry)
			w.result.Entries++
		}
	}
	for spec, list := range entries {
		slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.partition, b.partition) })
		for i, p := range list {
			w.group[p.file] = i * w.outputs[spec] / len(list)
		}
	}
	return nil
}

// stage writes the new manifests and proves that they have what the old ones had.
func (w *rewriting) stage(ctx context.Context, sink *lakesink.Iceberg, tbl *table.Table, store iceio.IO) (*lakesink.Staged, error) {
	fenced, tx, err := sink.Pinned(tbl)
	if err != nil {
		return nil, err
	}
	chosen := map[string]bool{}
	for _, m := range w.chosen {
		chosen[m.FilePath()] = true
	}
	done, err := tx.RewriteManifests(ctx, table.WithManifestTargetSize(w.target),
		table.WithRewriteManifestPredicate(func(m iceberg.ManifestFile) bool { return chosen[m.FilePath()] }),
		table.WithRewriteManifestClusterBy(func(f iceberg.DataFile) any { return w.group[fileKey(f)] }))
	if err != nil {
		return nil, lakesink.Explain("rewrite the manifests of table "+sink.TableName(), err)
	}
	if done.IsNoOp() {
		return nil, nil
	}
	if err := w.check(store, tx, done); err != nil {
		return nil, err
	}
	staged, err := lakesink.StagedBy(fenced, tx)
	if err != nil {
		return nil, err
	}
	w.result.Snapshot = staged.Snapshot
	return staged, nil
}

// check compares the entries of old and new manifests, these as the new manifest list has them: file, rows, snapshot id, sequence
// numbers and row ids of each.
func (w *rewriting) check(store iceio.IO, tx *table.Transaction, done *table.RewriteManifestsResult) error {
	staged, err := tx.StagedTable()
	if err != nil {
		return err
	}
	all, err := manifestsOf(store, staged.CurrentSnapshot())
	if err != nil {
		return lakesink.Explain("read the manifest list that was just written", err)
	}
	added := map[string]bool{}
	for _, m := range done.AddedManifests {
		added[m.FilePath()] = true
	}
	var after lakesink.EntrySum
	w.result.Written = Count{}
	for _, m := range all {
		if !added[m.FilePath()] {
			continue
		}
		w.result.Written.add(m.Length())
		for entry, err := range m.Entries(store, true) {
			if err != nil {
				return lakesink.Explain("read manifest "+m.FilePath()+", which was just written", err)
			}
			after.Add(entry)
		}
	}
	kept := int64(len(all)) - w.result.Written.Files
	if after != w.sum || len(done.RewrittenManifests) != len(w.chosen) || kept != w.result.Kept.Files {
		return inconsistent(fmt.Sprintf("the rewritten manifests do not list what the old ones do: %d manifests with %d entries became others with %d, and %d of %d others are left", len(w.chosen), w.sum.Entries, after.Entries, kept, w.result.Kept.Files),
			"nothing was committed; this is a defect of the table library: leave the manifests of this table as they are", errors.New("entries differ"))
	}
	return nil
}
