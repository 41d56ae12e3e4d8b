package lakesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// merged is a group of manifests and what took their place, with the newest first.
type merged struct{ inputs, outputs []iceberg.ManifestFile }

// merge makes few manifests of many small ones in a snapshot that is yet to be committed. Earlier merges, made for
// offers that came to nothing, are used again.
func (o *offer) merge(ctx context.Context, t *table.Table, policy *merging, earlier []*merged) error {
	if policy == nil {
		return nil
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	all, err := o.list(fs)
	if err != nil {
		return err
	}
	list := o.again(all, earlier)
	partitioned := specsToMerge(t)
	for _, inputs := range policy.choose(list, o.snapshot.SnapshotID, partitioned) {
		w := &mergeWriter{table: t, fs: fs, policy: policy, snapshot: o.snapshot.SnapshotID, spec: t.Metadata().PartitionSpecByID(int(inputs[0].PartitionSpecID()))}
		m, err := w.merge(ctx, inputs)
		if err != nil {
			return err
		}
		if m != nil {
			o.merges = append(o.merges, m)
			list = m.replace(list)
		}
	}
	if len(o.merges) == 0 {
		return nil
	}
	return o.relist(fs, t, list)
}

// again makes earlier merges whose manifests are all still there part of this snapshot. It returns the list with these made.
func (o *offer) again(list []iceberg.ManifestFile, earlier []*merged) []iceberg.ManifestFile {
	for _, m := range slices.Backward(earlier) {
		there := map[string]bool{}
		for _, f := range list {
			there[f.FilePath()] = true
		}
		if slices.ContainsFunc(m.inputs, func(f iceberg.ManifestFile) bool { return !there[f.FilePath()] }) {
			continue
		}
		renewed := m.of(o.snapshot.SnapshotID)
		o.merges = append(o.merges, renewed)
		list = renewed.replace(list)
	}
	return list
}

// of is the merge as one of another snapshot: the files are the same.
func (m *merged) of(snapshot int64) *merged {
	renewed := &merged{inputs: m.inputs}
	for _, f := range m.outputs {
		renewed.outputs = append(renewed.outputs, iceberg.NewManifestFile(f.Version(), f.FilePath(), f.Length(), f.PartitionSpecID(), snapshot).
			SequenceNum(f.SequenceNum(), f.MinSequenceNum()).AddedFiles(f.AddedDataFiles()).ExistingFiles(f.ExistingDataFiles()).DeletedFiles(f.DeletedDataFiles()).
			AddedRows(f.AddedRows()).ExistingRows(f.ExistingRows()).DeletedRows(f.DeletedRows()).Partitions(f.Partitions()).Build())
	}
	return renewed
}

// replace is a manifest list with the merge made, in the place of its newest manifest.
func (m *merged) replace(list []iceberg.ManifestFile) []iceberg.ManifestFile {
	gone := map[string]bool{}
	for _, f := range m.inputs {
		gone[f.FilePath()] = true
	}
	var changed []iceberg.ManifestFile
	for _, f := range list {
		if !gone[f.FilePath()] {
			changed = append(changed, f)
		} else if f.FilePath() == m.inputs[0].FilePath() {
			changed = append(changed, m.outputs...)
		}
	}
	return changed
}

// mergeWriter writes the merge of one group of manifests. It holds them and what it makes of them in memory, compressed; entries
// pass one by one.
type mergeWriter struct {
	table    *table.Table
	fs       iceio.IO
	policy   *merging
	snapshot int64
	spec     *iceberg.PartitionSpec
	// inputs are the manifests and contents their bytes.
	inputs   []iceberg.ManifestFile
	contents [][]byte
	// sum stands for the entries of the inputs, count for their number in each partition.
	sum   EntrySum
	count map[string]int64
}

// errUnfit is that of a manifest that the library reads and cannot write.
var errUnfit = errors.New("the manifest cannot be written again")

// merge makes the manifests. It makes none, nil, where the library does not write what it read, or the list counts other files:
// then they stay as they are.
func (w *mergeWriter) merge(ctx context.Context, inputs []iceberg.ManifestFile) (*merged, error) {
	w.inputs = inputs
	if err := w.fetch(ctx); err != nil {
		return nil, err
	}
	made, err := w.arrange()
	if errors.Is(err, errUnfit) || err == nil && (len(made) >= len(inputs) || !w.counted()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &merged{inputs: inputs}
	places, err := w.table.LocationProvider()
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	for k, b := range slices.Backward(made) {
		path := places.NewMetadataLocation(fmt.Sprintf("%s-m%d.avro", id, k))
		f, err := b.writer.ToManifestFile(path, int64(b.Len()))
		if err != nil {
			return nil, err
		}
		if err := writeTo(w.fs, path, b.Bytes()); err != nil {
			return nil, fmt.Errorf("write manifest %s: %w", path, err)
		}
		m.outputs = append(m.outputs, f)
	}
	return m, nil
}

// counted says that the manifests had as many files as the manifest list says, where it says so.
func (w *mergeWriter) counted() bool {
	var files int64
	for _, m := range w.inputs {
		added, existing := int64(m.AddedDataFiles()), int64(m.ExistingDataFiles())
		if added < 0 || existing < 0 || added+existing == 0 {
			return true
		}
		files += added + existing
	}
	return files == w.sum.Entries
}

// fetches is how many manifests are read at a time.
const fetches = 8

func (w *mergeWriter) fetch(ctx context.Context) error {
	w.contents = make([][]byte, len(w.inputs))
	var group errgroup.Group
	group.SetLimit(fetches)
	for k, m := range w.inputs {
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if w.contents[k], err = readAll(w.fs, m.FilePath()); err != nil {
				return fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func readAll(fs iceio.IO, path string) (content []byte, err error) {
	if whole, ok := fs.(iceio.ReadFileIO); ok {
		return whole.ReadFile(path)
	}
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// arrange writes the entries, those of the oldest manifest first. Where they have partitions and are enough for several
// manifests they are written once more, with the entries of a partition together.
func (w *mergeWriter) arrange() ([]*mergeBuffer, error) {
	w.count = map[string]int64{}
	made, err := w.write(func(e iceberg.ManifestEntry) int {
		w.sum.Add(e)
		w.count[PartitionText(e.DataFile().Partition())]++
		return 0
	})
	if err != nil || w.spec.IsUnpartitioned() {
		return made, w.check(made, err)
	}
	var size int64
	for _, b := range made {
		size += int64(b.Len())
	}
	if place, several := w.places(size); several {
		made, err = w.write(func(e iceberg.ManifestEntry) int { return place[PartitionText(e.DataFile().Partition())] })
	}
	return made, w.check(made, err)
}

// places cuts the partitions, in their order, into manifests of a piece at least, where size is that of all entries.
func (w *mergeWriter) places(size int64) (place map[string]int, several bool) {
	keys := make([]string, 0, len(w.count))
	for key := range w.count {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	least := max(1, w.sum.Entries*w.policy.piece()/max(1, size))
	place = make(map[string]int, len(keys))
	at, held, left := 0, int64(0), w.sum.Entries
	for _, key := range keys {
		if held >= least && left >= least {
			at, held = at+1, 0
		}
		place[key] = at
		held, left = held+w.count[key], left-w.count[key]
	}
	return place, at > 0
}

// mergeBuffer is a manifest that is being made.
type mergeBuffer struct {
	bytes.Buffer
	writer *iceberg.ManifestWriter
}

// write makes manifests of the entries, each in that of its place, or, where that has the target size, in another one.
func (w *mergeWriter) write(place func(iceberg.ManifestEntry) int) ([]*mergeBuffer, error) {
	var made [][]*mergeBuffer
	for k, m := range slices.Backward(w.inputs) {
		err := entriesOf(m, w.contents[k], func(e iceberg.ManifestEntry) error {
			at := place(e)
			for len(made) <= at {
				made = append(made, nil)
			}
			last := len(made[at]) - 1
			if last < 0 || int64(made[at][last].Len()) >= w.policy.target {
				b, err := w.open()
				if err != nil {
					return err
				}
				made[at], last = append(made[at], b), last+1
			}
			if err := made[at][last].writer.Existing(e); err != nil {
				return fmt.Errorf("%w: %w", errUnfit, err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	all := slices.Concat(made...)
	for _, b := range all {
		if err := b.writer.Close(); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnfit, err)
		}
	}
	return all, nil
}

func (w *mergeWriter) open() (*mergeBuffer, error) {
	b := &mergeBuffer{}
	writer, err := iceberg.NewManifestWriter(w.table.Metadata().Version(), &b.Buffer, *w.spec, w.table.Schema(), w.snapshot)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	}
	b.writer = writer
	return b, nil
}

// entriesOf hands out the live entries of a manifest.
func entriesOf(m iceberg.ManifestFile, content []byte, use func(iceberg.ManifestEntry) error) error {
	r, err := iceberg.NewManifestReader(m, bytes.NewReader(content))
	for err == nil {
		var e iceberg.ManifestEntry
		if e, err = r.ReadEntry(); err != nil {
			break
		}
		if e.Status() == iceberg.EntryStatusDELETED {
			continue
		}
		if err := use(e); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	if r != nil {
		err = errors.Join(ignoring(err, io.EOF), r.Close())
	}
	if err != nil {
		return fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
	}
	return nil
}

func ignoring(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// check proves that the new manifests list what the old ones do, by reading them as others will.
func (w *mergeWriter) check(made []*mergeBuffer, err error) error {
	if err != nil {
		return err
	}
	var sum EntrySum
	for _, b := range made {
		if _, err := b.writer.ToManifestFile("", int64(b.Len())); err != nil {
			return fmt.Errorf("%w: %w", errUnfit, err)
		}
		f := iceberg.NewManifestFile(w.table.Metadata().Version(), "that was just made", int64(b.Len()), int32(w.spec.ID()), w.snapshot).Build()
		err := entriesOf(f, b.Bytes(), func(e iceberg.ManifestEntry) error {
			if e.Status() != iceberg.EntryStatusEXISTING {
				return errUnfit
			}
			sum.Add(e)
			return nil
		})
		if err != nil {
			return fmt.Errorf("%w: %w", errUnfit, err)
		}
	}
	if sum != w.sum {
		return fmt.Errorf("%w: entries differ", errUnfit)
	}
	return nil
}
