package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
)

// compactPlan is which files are to be compacted, and what is known of the table that it was made from.
type compactPlan struct {
	table *table.Table
	head  *table.Snapshot
	// schema is the table's columns.
	schema columns.Schema
	// options are those of the compaction, with what the table says in place of what was not given.
	options CompactOptions
	groups  []*group
	left    LeftAlone
	// skipped says why nothing is looked at.
	skipped string

	commits int
	// mu guards abandoned, which workers add to.
	mu        sync.Mutex
	abandoned Count
}

// group is files that become one.
type group struct {
	// partition tells the group's from others, label says it to people.
	partition, label string
	members          []member
	in, out          Count
	// rows are those of the files, by the metadata. deletes says that some of them may be deleted.
	rows    int64
	deletes bool

	state CompactState
	why   string
	err   error // for why, of a group that failed
	// made are the new files. sent says that they were part of a commit that went out, whatever came of it.
	made []batch.DataFile
	sent bool
}

// member is a small file. Of what the metadata say there is no more than reading it takes: a table may have very many.
type member struct {
	file     iceberg.DataFile
	sequence int64
	// positions and vectors say which of its rows are deleted.
	positions, vectors []iceberg.DataFile
	// firstRow is the id of its first row, nil where rows have none (before format version 3).
	firstRow *int64
}

// planCompaction finds the small files of the table's head and puts them together. The same table makes the same plan.
func (t *Table) planCompaction(ctx context.Context, o CompactOptions) (*compactPlan, error) {
	tbl, store, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults(t.sink.TargetFileBytes(tbl))
	p := &compactPlan{table: tbl, head: tbl.CurrentSnapshot(), options: o}
	if p.skipped = unpublished(tbl.Metadata()); p.head == nil || p.skipped != "" {
		return p, nil
	}
	if p.schema, err = lakesink.WholeColumns(tbl); err != nil {
		return nil, fmt.Errorf("compact table %s: %w", t.Name(), err)
	}
	manifests, err := p.head.Manifests(store)
	if err != nil {
		return nil, lakesink.Explain(fmt.Sprintf("read the manifests of table %s", t.Name()), err)
	}
	found, err := p.smallFiles(store, manifests, o)
	if err != nil {
		return nil, lakesink.Explain(fmt.Sprintf("read the manifests of table %s", t.Name()), err)
	}
	p.pack(found, o)
	return p, nil
}

// moves reports whether rows have ids that they keep.
func (p *compactPlan) moves() bool { return p.table.Metadata().Version() >= 3 }

// candidates are small files by their partition.
type candidates map[string][]member

func (p *compactPlan) smallFiles(store iceio.IO, manifests []iceberg.ManifestFile, o CompactOptions) (candidates, error) {
	deleted, err := deletesIn(store, manifests)
	if err != nil {
		return nil, err
	}
	spec := p.table.Spec()
	found := candidates{}
	most := o.MemoryBytes / int64(o.Workers) / 4
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		for e, err := range m.Entries(store, true) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.FilePath(), err)
			}
			f := e.DataFile()
			switch {
			case f.FileSizeBytes() >= o.MinFileBytes:
			case f.FileFormat() != iceberg.ParquetFile || len(f.KeyMetadata()) > 0:
				p.left.OtherFormats++
			case int(f.SpecID()) != spec.ID():
				p.left.OtherSpecs++
			case deleted.byEquality(f, e.SequenceNum()):
				p.left.WithDeletes++
			case p.moves() && f.FirstRowID() == nil:
				p.left.WithoutIDs++
			case largestRowGroup(f) > most:
				p.left.TooLarge++
			default:
				if err := found.add(spec, e, deleted); err != nil {
					return nil, fmt.Errorf("%s: %w", f.FilePath(), err)
				}
			}
		}
	}
	return found, nil
}

// add keeps what reading a file takes.
func (c candidates) add(spec iceberg.PartitionSpec, e iceberg.ManifestEntry, deleted *deleted) error {
	f := e.DataFile()
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, f.FilePath(), f.FileFormat(), f.Partition(), nil, nil, f.Count(), f.FileSizeBytes())
	if err != nil {
		return err
	}
	key := partitionKey(f.Partition())
	m := member{file: b.SplitOffsets(f.SplitOffsets()).Build(), sequence: e.SequenceNum(), firstRow: f.FirstRowID()}
	m.positions, m.vectors = deleted.byPosition(f, m.sequence)
	c[key] = append(c[key], m)
	return nil
}

// largestRowGroup is what the reader has to have in memory at once: the pages of a row group, compressed.
func largestRowGroup(f iceberg.DataFile) (most int64) {
	until := f.FileSizeBytes()
	for _, from := range slices.Backward(f.SplitOffsets()) {
		most, until = max(most, until-from), from
	}
	return max(most, until)
}

// partitionKey tells partitions of one spec apart.
func partitionKey(values map[int]any) string {
	ids := make([]int, 0, len(values))
	for id := range values {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var key strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&key, "%d=%T:%q;", id, values[id], fmt.Sprint(values[id]))
	}
	return key.String()
}

// openGroups bounds how many groups of a partition are looked at for room.
const openGroups = 16

// pack puts the files of each partition into groups that fill a file each: a file goes to the first group that has room, oldest
// files first, so that rows that came together stay together.
func (p *compactPlan) pack(found candidates, o CompactOptions) {
	var keys []string
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		members := found[key]
		slices.SortFunc(members, func(a, b member) int {
			return cmp.Or(cmp.Compare(a.sequence, b.sequence), strings.Compare(a.file.FilePath(), b.file.FilePath()))
		})
		label := labelOf(p.table, members[0].file)
		var open []*group
		for _, m := range members {
			at := slices.IndexFunc(open, func(g *group) bool { return g.in.Bytes+m.file.FileSizeBytes() <= o.TargetFileBytes })
			if at < 0 {
				if len(open) == openGroups {
					p.take(open[0], o)
					open = open[1:]
				}
				open, at = append(open, &group{partition: key, label: label, state: Planned}), len(open)
			}
			open[at].add(m)
		}
		for _, g := range open {
			p.take(g, o)
		}
	}
}

func (g *group) add(m member) {
	g.members = append(g.members, m)
	g.in.add(m.file.FileSizeBytes())
	g.rows += m.file.Count()
	g.deletes = g.deletes || len(m.positions)+len(m.vectors) > 0
}

// take keeps a group that is worth it.
func (p *compactPlan) take(g *group, o CompactOptions) {
	if len(g.members) >= max(2, o.MinInputFiles) || len(g.members) >= 2 && g.in.Bytes >= o.MinFileBytes {
		p.groups = append(p.groups, g)
		return
	}
	p.left.Few += int64(len(g.members))
}

// labelOf is a file's partition as its path would have it; empty without partitions.
func labelOf(t *table.Table, f iceberg.DataFile) (label string) {
	spec := t.Spec()
	if spec.NumFields() == 0 {
		return ""
	}
	defer func() {
		if recover() != nil { // a partition that the library cannot show is still one
			label = partitionKey(f.Partition())
		}
	}()
	return spec.PartitionToPath(table.GetPartitionRecord(f, spec.PartitionType(t.Schema())), t.Schema())
}

// altered says why files that were made for the plan are not what a reading of the table takes; nil if they are.
func (p *compactPlan) altered(t *table.Table) error {
	was, is := p.table.Metadata(), t.Metadata()
	switch {
	case was.TableUUID() != is.TableUUID():
		return inconsistent("the table was dropped and created again meanwhile", "nothing was changed in the new one; run it again", nil)
	case p.table.Schema().ID != t.Schema().ID, was.DefaultPartitionSpec() != is.DefaultPartitionSpec(), was.DefaultSortOrder() != is.DefaultSortOrder(), was.Version() != is.Version():
		return errAltered
	}
	return nil
}

var errAltered = errors.New("the table's schema, partition spec, sort order or format version was altered meanwhile: run it again")
