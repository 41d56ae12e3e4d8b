package lakesink

import (
	"bytes"
	"context"
	"fmt"
	"reflect"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// boundEmptyText mends the manifest list of a snapshot that is yet to be committed. In its summaries of partitions the library
// leaves out a bound that is an empty text, as if there were no values, and readers then skip the manifest: a filter on
// another text finds nothing. The list is written again, in its place, if a bound was missing.
func (o *offer) boundEmptyText(ctx context.Context, t *table.Table) error {
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	texts := textPartitions(t)
	if len(texts) == 0 {
		return nil
	}
	manifests, err := o.list(fs)
	if err != nil {
		return err
	}
	mended := false
	for _, m := range manifests {
		for _, k := range texts[m.PartitionSpecID()] {
			done, err := boundText(fs, t, m, k)
			if err != nil {
				return err
			}
			mended = mended || done
		}
	}
	if !mended {
		return nil
	}
	var list bytes.Buffer
	var first int64
	if o.snapshot.FirstRowID != nil {
		first = *o.snapshot.FirstRowID
	}
	if err := iceberg.WriteManifestList(t.Metadata().Version(), &list, o.snapshot.SnapshotID, o.snapshot.ParentSnapshotID, &o.snapshot.SequenceNumber, first, manifests); err != nil {
		return fmt.Errorf("write the manifest list again: %w", err)
	}
	o.listed = 0
	return writeTo(fs, o.snapshot.ManifestList, list.Bytes())
}

// textPartitions are the positions of partition fields whose values are text, by spec.
func textPartitions(t *table.Table) map[int32][]int {
	found := map[int32][]int{}
	for _, spec := range t.Metadata().PartitionSpecs() {
		for k, f := range spec.PartitionType(t.Schema()).FieldList {
			if f.Type.Equals(iceberg.PrimitiveTypes.String) {
				found[int32(spec.ID())] = append(found[int32(spec.ID())], k)
			}
		}
	}
	return found
}

// boundText sets the bounds of a field that are missing, and reports whether it did.
func boundText(fs iceio.IO, t *table.Table, m iceberg.ManifestFile, k int) (bool, error) {
	list, ok := reflect.Indirect(reflect.ValueOf(m)).FieldByName("PartitionList").Interface().(*[]iceberg.FieldSummary)
	if !ok {
		return false, fmt.Errorf("the summary of partitions of manifest %s cannot be reached", m.FilePath())
	}
	if list == nil || k >= len(*list) {
		return false, nil
	}
	summary := &(*list)[k]
	if summary.LowerBound != nil {
		return false, nil
	}
	if summary.UpperBound == nil && summary.ContainsNull {
		if found, err := hasEmptyText(fs, t, m, k); err != nil || !found {
			return false, err
		}
	}
	empty := []byte{}
	if summary.LowerBound = &empty; summary.UpperBound == nil {
		summary.UpperBound = &empty
	}
	return true, nil
}

// hasEmptyText looks for a value beside nulls.
func hasEmptyText(fs iceio.IO, t *table.Table, m iceberg.ManifestFile, k int) (bool, error) {
	field := t.Metadata().PartitionSpecByID(int(m.PartitionSpecID())).Field(k).FieldID
	for e, err := range m.Entries(fs, true) {
		if err != nil {
			return false, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
		}
		if e.DataFile().Partition()[field] != nil {
			return true, nil
		}
	}
	return false, nil
}
