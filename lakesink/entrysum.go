package lakesink

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/apache/iceberg-go"
)

// EntrySum stands for a set of manifest entries, in whatever order they are met: file, size, rows, partition, snapshot id,
// sequence numbers and first row id of each. Sums compare within one process.
type EntrySum struct {
	// Entries is how many there are.
	Entries int64
	sum     uint64
}

var entrySeed = maphash.MakeSeed()

// Add counts an entry in.
func (s *EntrySum) Add(e iceberg.ManifestEntry) {
	or := func(p *int64, none int64) int64 {
		if p == nil {
			return none
		}
		return *p
	}
	file := e.DataFile()
	s.Entries++
	s.sum += maphash.String(entrySeed, fmt.Sprintln(file.FilePath(), file.SpecID(), file.Count(), file.FileSizeBytes(), PartitionText(file.Partition()),
		e.SnapshotID(), e.SequenceNum(), or(e.FileSequenceNum(), 0), or(file.FirstRowID(), -1)))
}

// PartitionText is a partition's values, by field id, as text that sorts with them, as far as that is easy: it only brings
// together what belongs together.
func PartitionText(values map[int]any) string {
	if len(values) == 0 {
		return ""
	}
	ids := make([]int, 0, len(values))
	for id := range values {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var text []byte
	for _, id := range ids {
		text = fmt.Appendf(text, "%d=%s\x00", id, ordered(values[id]))
	}
	return string(text)
}

func ordered(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int32:
		return fmt.Sprintf("%020d", int64(v)+1<<62)
	case int64:
		return fmt.Sprintf("%020d", uint64(v)+1<<63)
	case iceberg.Date:
		return fmt.Sprintf("%020d", int64(v)+1<<62)
	case iceberg.Timestamp:
		return fmt.Sprintf("%020d", uint64(v)+1<<63)
	}
	return fmt.Sprint(v)
}
