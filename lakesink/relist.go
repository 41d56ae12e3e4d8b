package lakesink

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// relist writes the snapshot's manifest list anew, under a name that was not used before, and takes away the one that nobody has
// heard of. In format version 3 a list gives row ids to manifests that have none yet, those of a merge among them, as the
// reference implementation does: the snapshot then takes more ids than it has new rows.
func (o *offer) relist(fs iceio.IO, t *table.Table, manifests []iceberg.ManifestFile) error {
	places, err := t.LocationProvider()
	if err != nil {
		return err
	}
	s := *o.snapshot
	s.ManifestList = places.NewMetadataLocation(fmt.Sprintf("snap-%d-1-%s.avro", s.SnapshotID, uuid.NewString()))
	var list bytes.Buffer
	if err := writeList(&list, t.Metadata().Version(), &s, manifests); err != nil {
		return fmt.Errorf("write the manifest list again: %w", err)
	}
	if err := writeTo(fs, s.ManifestList, list.Bytes()); err != nil {
		return fmt.Errorf("write manifest list %s: %w", s.ManifestList, err)
	}
	_ = remove(fs, o.snapshot.ManifestList) // else it is an orphan
	o.snapshot, o.fence.changed, o.listed = &s, &s, 0
	return nil
}

// writeList writes a manifest list that takes the place of the one which the library wrote for the snapshot.
func writeList(out io.Writer, version int, s *table.Snapshot, manifests []iceberg.ManifestFile) (err error) {
	var w *iceberg.ManifestListWriter
	switch version {
	case 1:
		w, err = iceberg.NewManifestListWriterV1(out, s.SnapshotID, s.ParentSnapshotID)
	case 2:
		w, err = iceberg.NewManifestListWriterV2(out, s.SnapshotID, s.SequenceNumber, s.ParentSnapshotID)
	default:
		if s.FirstRowID == nil || s.AddedRows == nil {
			return errors.New("the new snapshot has no row ids")
		}
		w, err = iceberg.NewManifestListWriterV3(out, s.SnapshotID, s.SequenceNumber, *s.FirstRowID, s.ParentSnapshotID)
		if err == nil {
			*w.NextRowID() += *s.AddedRows // those are given already
		}
	}
	if err == nil {
		err = errors.Join(w.AddManifests(manifests), w.Close())
	}
	if err == nil && version >= 3 {
		rows := *w.NextRowID() - *s.FirstRowID
		s.AddedRows = &rows
	}
	return err
}

func writeTo(fs iceio.IO, path string, content []byte) error {
	store, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return fmt.Errorf("the store cannot be written to (%T)", fs)
	}
	return store.WriteFile(path, content)
}
