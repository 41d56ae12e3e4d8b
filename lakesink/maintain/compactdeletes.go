package maintain

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// deleted is which rows the delete files of a snapshot may be for, by what their metadata say alone. It errs on one side: a
// file that it clears has no deletes (specification, Scan Planning), one that it does not may have none either.
type deleted struct {
	// named are data files that a delete file names.
	named map[string]bool
	// equality and position are the greatest data sequence numbers of delete files, by spec and partition. Those of the first kind
	// in a spec without partitions are for all files.
	equality, position map[int32]map[string]int64
	everywhere         int64
}

// pathColumn is the field id of file_path in a file of positions (specification, Reserved Field IDs).
const pathColumn = 2147483546

func deletesIn(store iceio.IO, manifests []iceberg.ManifestFile) (*deleted, error) {
	d := &deleted{named: map[string]bool{}, equality: map[int32]map[string]int64{}, position: map[int32]map[string]int64{}, everywhere: -1}
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
	if f.ContentType() == iceberg.EntryContentEqDeletes {
		if len(f.Partition()) == 0 {
			d.everywhere = max(d.everywhere, e.SequenceNum())
		}
		note(d.equality, f, e.SequenceNum())
		return
	}
	if of := f.ReferencedDataFile(); of != nil {
		d.named[*of] = true
		return
	}
	least, greatest := string(f.LowerBoundValues()[pathColumn]), string(f.UpperBoundValues()[pathColumn])
	if least == greatest && strings.HasSuffix(least, ".parquet") { // a bound that was cut is no path of a file
		d.named[least] = true
		return
	}
	note(d.position, f, e.SequenceNum())
}

func note(in map[int32]map[string]int64, f iceberg.DataFile, sequence int64) {
	if in[f.SpecID()] == nil {
		in[f.SpecID()] = map[string]int64{}
	}
	key := partitionKey(f.Partition())
	if newest, ok := in[f.SpecID()][key]; !ok || sequence > newest {
		in[f.SpecID()][key] = sequence
	}
}

// mayApply reports whether some row of a data file may be deleted. Deletes of another spec are taken for deletes of any partition.
func (d *deleted) mayApply(f iceberg.DataFile, sequence int64) bool {
	if d.named[f.FilePath()] || d.everywhere > sequence {
		return true
	}
	return newest(d.equality, f) > sequence || newest(d.position, f) >= sequence
}

func newest(in map[int32]map[string]int64, f iceberg.DataFile) int64 {
	most := int64(-1)
	for spec, partitions := range in {
		if spec != f.SpecID() {
			for _, sequence := range partitions {
				most = max(most, sequence)
			}
			continue
		}
		if sequence, ok := partitions[partitionKey(f.Partition())]; ok {
			most = max(most, sequence)
		}
	}
	return most
}
