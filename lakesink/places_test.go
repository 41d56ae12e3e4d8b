package lakesink

import (
	"encoding/binary"
	"testing"

	"github.com/apache/iceberg-go"

	"sluice/batch"
	"sluice/offsets"
)

// A file is opened only if its statistics allow one of the places; without statistics always.
func TestFilesThatCannotHaveAPlaceAreNotOpened(t *testing.T) {
	wanted := Places{}
	for _, o := range []int64{0, 50, 51, 900} {
		wanted.Add(offsets.TopicPartition{Topic: "t", Partition: 2}, o)
	}
	wanted.Add(offsets.TopicPartition{Topic: "t", Partition: 5}, 7)
	const partitionID, offsetID = 3, 4
	for name, c := range map[string]struct {
		partitions, offsets [2]int64
		known               bool
		want                bool
	}{
		"the place is in the middle":          {[2]int64{0, 9}, [2]int64{40, 60}, true, true},
		"it is the first":                     {[2]int64{2, 2}, [2]int64{51, 60}, true, true},
		"it is the last":                      {[2]int64{2, 2}, [2]int64{52, 900}, true, true},
		"offset 0":                            {[2]int64{2, 2}, [2]int64{0, 0}, true, true},
		"between two":                         {[2]int64{2, 2}, [2]int64{52, 899}, true, false},
		"after all":                           {[2]int64{2, 2}, [2]int64{901, 5000}, true, false},
		"another partition":                   {[2]int64{3, 4}, [2]int64{0, 5000}, true, false},
		"another partition has those offsets": {[2]int64{5, 5}, [2]int64{50, 51}, true, false},
		"no statistics":                       {known: false, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := bounded(t, c.known, map[int][2]int64{partitionID: c.partitions, offsetID: c.offsets})
			if got := wanted.mayBeIn(f, partitionID, offsetID); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// bounded is a file with the bounds of columns: of four bytes where they fit, as an int has them.
func bounded(t *testing.T, known bool, columns map[int][2]int64) iceberg.DataFile {
	t.Helper()
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, "f", iceberg.ParquetFile, nil, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if known {
		lower, upper := map[int][]byte{}, map[int][]byte{}
		for id, span := range columns {
			if id == 3 {
				lower[id], upper[id] = binary.LittleEndian.AppendUint32(nil, uint32(span[0])), binary.LittleEndian.AppendUint32(nil, uint32(span[1]))
				continue
			}
			lower[id], upper[id] = binary.LittleEndian.AppendUint64(nil, uint64(span[0])), binary.LittleEndian.AppendUint64(nil, uint64(span[1]))
		}
		b.LowerBoundValues(lower).UpperBoundValues(upper)
	}
	return b.Build()
}

func TestATableThatCannotSayWhichRecordsItHasIsAskedNothing(t *testing.T) {
	s, c := newTable(t)
	reading, err := c.LoadTable(t.Context(), s.table)
	if err != nil {
		t.Fatal(err)
	}
	p := Places{}
	p.Add(offsets.TopicPartition{Topic: topic}, 1)
	_, err = p.presentIn(t.Context(), reading, noBound)
	wantClass(t, err, batch.Inconsistent, "no column "+letterTopic)
}

func TestPlacesAreKeptByPartition(t *testing.T) {
	p := Places{}
	a, b := offsets.TopicPartition{Topic: "a"}, offsets.TopicPartition{Topic: "b"}
	p.Add(a, 1)
	p.Add(a, 1)
	p.Add(b, 2)
	if !p.Has(a, 1) || p.Has(a, 2) || p.Has(b, 1) || p.Count(a) != 1 || p.Total() != 2 || p.Count(offsets.TopicPartition{Topic: "c"}) != 0 {
		t.Errorf("got %v", p)
	}
}
