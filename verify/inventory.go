package verify

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// dataFile is one entry of a manifest.
type dataFile struct {
	task table.FileScanTask
	// snapshot added it, manifest lists it.
	snapshot int64
	manifest string
	// partition and offset are the bounds that the entry gives for those columns.
	partition, offset extent
}

func (f *dataFile) path() string { return f.task.File.FilePath() }

// rows is how many rows its entry claims, in words.
func (f *dataFile) rows() string { return count(f.task.File.Count(), "row") }

// deleted says whether delete files apply to it.
func (f *dataFile) deleted() bool {
	return len(f.task.DeleteFiles)+len(f.task.EqualityDeleteFiles)+len(f.task.DeletionVectorFiles) > 0
}

// key tells apart files that hold different rows: the path, and the delete files that apply.
func (f *dataFile) key() string {
	parts := []string{}
	for _, list := range [][]iceberg.DataFile{f.task.DeleteFiles, f.task.EqualityDeleteFiles, f.task.DeletionVectorFiles} {
		for _, d := range list {
			part := d.FilePath()
			if d.ContentOffset() != nil {
				part += fmt.Sprint("@", *d.ContentOffset())
			}
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return strings.Join(append([]string{f.path()}, parts...), "\n")
}

// manifestError says which manifest or manifest list could not be read.
type manifestError struct {
	path string
	rows int64 // -1 if unknown
	err  error
}

func (e *manifestError) Error() string { return fmt.Sprintf("read manifest %s: %v", e.path, e.err) }
func (e *manifestError) Unwrap() error { return e.err }

// files lists the data files of a snapshot with the delete files that apply to them, in the manifests' order.
func (r *reader) files(ctx context.Context, s *table.Snapshot) ([]dataFile, error) {
	manifests, err := s.Manifests(r.store)
	if err != nil {
		return nil, &manifestError{s.ManifestList, -1, err}
	}
	var files []dataFile
	deletes := false
	for _, m := range manifests {
		for entry, err := range m.Entries(r.store, true) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil {
				return nil, &manifestError{m.FilePath(), m.AddedRows() + m.ExistingRows(), err}
			}
			if entry.DataFile().ContentType() == iceberg.EntryContentData {
				files = append(files, r.entry(entry, m.FilePath()))
			} else {
				deletes = true
			}
		}
	}
	if deletes {
		err = r.attachDeletes(ctx, s, files)
	}
	return files, err
}

func (r *reader) entry(entry iceberg.ManifestEntry, manifest string) dataFile {
	file := entry.DataFile()
	f := dataFile{snapshot: entry.SnapshotID(), manifest: manifest,
		partition: r.bounds(file, r.columns.Partition), offset: r.bounds(file, r.columns.Offset)}
	f.task = table.FileScanTask{File: iceberg.DataFileWithoutColumnStats(file), Length: file.FileSizeBytes(), FirstRowID: file.FirstRowID()}
	if sequence := entry.SequenceNum(); sequence >= 0 {
		f.task.DataSequenceNumber = &sequence
	}
	return f
}

// bounds decodes an int's or long's bounds (Iceberg spec, single-value serialization: 4 or 8 bytes, little-endian).
func (r *reader) bounds(file iceberg.DataFile, column string) extent {
	field, ok := r.table.Schema().FindFieldByName(column)
	if !ok {
		return extent{}
	}
	lower, ok1 := wholeNumber(file.LowerBoundValues()[field.ID])
	upper, ok2 := wholeNumber(file.UpperBoundValues()[field.ID])
	return extent{lower, upper, ok1 && ok2}
}

func wholeNumber(b []byte) (int64, bool) {
	switch len(b) {
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

// attachDeletes takes from iceberg-go's planning which delete files apply to which data file.
func (r *reader) attachDeletes(ctx context.Context, s *table.Snapshot, files []dataFile) error {
	tasks, err := r.table.Scan(table.WithSnapshotID(s.SnapshotID)).PlanFiles(ctx)
	if err != nil {
		return fmt.Errorf("find the delete files of snapshot %d: %w", s.SnapshotID, err)
	}
	planned := make(map[string]*table.FileScanTask, len(tasks))
	for i := range tasks {
		planned[tasks[i].File.FilePath()] = &tasks[i]
	}
	for i := range files {
		if t := planned[files[i].path()]; t != nil {
			files[i].task.DeleteFiles = t.DeleteFiles
			files[i].task.EqualityDeleteFiles = t.EqualityDeleteFiles
			files[i].task.DeletionVectorFiles = t.DeletionVectorFiles
		}
	}
	return nil
}
