package maintain

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// deleted is which rows the delete files of a snapshot may be for, by what their metadata say (specification, Scan Planning). It
// errs on one side: a delete file that it has for a data file may be for others alone.
type deleted struct {
	// named are files of positions and deletion vectors that name a data file, by its path; loose are those that do not, by
	// spec and partition.
	named map[string][]dated
	loose map[int32]map[string][]dated
	// equality are the greatest data sequence numbers of deletes by equality, by spec and partition. Those in a spec without
	// partitions are for all files.
	equality   map[int32]map[string]int64
	everywhere int64
}

// dated is a delete file with its data sequence number.
type dated struct {
	file     iceberg.DataFile
	sequence int64
}

// pathColumn is the field id of file_path in a file of positions (specification, Reserved Field IDs).
const pathColumn = 2147483546

func noDeletes() *deleted {
	return &deleted{named: map[string][]dated{}, loose: map[int32]map[string][]dated{}, equality: map[int32]map[string]int64{}, everywhere: -1}
}

func deletesIn(store iceio.IO, manifests []iceberg.ManifestFile) (*deleted, error) {
	d := noDeletes()
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for e, err := range m.Entries(store, true) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.FilePath(), err)
			}
			d.add(e)
		}
	}
	return d, nil
}

func (d *deleted) add(e iceberg.ManifestEntry) {
	f := e.DataFile()
	spec, key, is := f.SpecID(), partitionKey(f.Partition()), dated{f, e.SequenceNum()}
	switch of := namedBy(f); {
	case f.ContentType() == iceberg.EntryContentEqDeletes:
		if len(f.Partition()) == 0 {
			d.everywhere = max(d.everywhere, is.sequence)
		}
		if d.equality[spec] == nil {
			d.equality[spec] = map[string]int64{}
		}
		d.equality[spec][key] = max(d.equality[spec][key], is.sequence)
	case of != "":
		d.named[of] = append(d.named[of], is)
	default:
		if d.loose[spec] == nil {
			d.loose[spec] = map[string][]dated{}
		}
		d.loose[spec][key] = append(d.loose[spec][key], is)
	}
}

// namedBy is the data file that a delete file is for, empty if it may be for several.
func namedBy(f iceberg.DataFile) string {
	if of := f.ReferencedDataFile(); of != nil {
		return *of
	}
	least, greatest := string(f.LowerBoundValues()[pathColumn]), string(f.UpperBoundValues()[pathColumn])
	if least == greatest && strings.HasSuffix(least, ".parquet") { // a bound that was cut is no path of a file
		return least
	}
	return ""
}

// byEquality reports whether rows of a data file may be deleted by equality. Deletes of another spec are taken for deletes of any
// partition, for files of positions too: those are of no spec that the data file is in, and nobody should say what they mean.
func (d *deleted) byEquality(f iceberg.DataFile, sequence int64) bool {
	if d.everywhere > sequence {
		return true
	}
	for spec, partitions := range d.equality {
		for key, newest := range partitions {
			if newest > sequence && (spec != f.SpecID() || key == partitionKey(f.Partition())) {
				return true
			}
		}
	}
	for spec, partitions := range d.loose {
		for _, files := range partitions {
			if spec != f.SpecID() && len(since(files, sequence)) > 0 {
				return true
			}
		}
	}
	return false
}

// byPosition are the files of positions that may have rows of a data file, and its deletion vectors.
func (d *deleted) byPosition(f iceberg.DataFile, sequence int64) (positions, vectors []iceberg.DataFile) {
	all := append(since(d.named[f.FilePath()], sequence), since(d.loose[f.SpecID()][partitionKey(f.Partition())], sequence)...)
	for _, found := range all {
		if table.IsDeletionVector(found) {
			vectors = append(vectors, found)
		} else {
			positions = append(positions, found)
		}
	}
	if len(vectors) > 0 { // a vector has taken over what was there before
		positions = nil
	}
	return positions, vectors
}

// since are delete files that are not older than a data file.
func since(files []dated, sequence int64) (found []iceberg.DataFile) {
	for _, f := range files {
		if f.sequence >= sequence {
			found = append(found, f.file)
		}
	}
	return found
}
