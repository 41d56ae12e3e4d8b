package lakesink

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
	"sluice/lakesink/spill"
)

// sorted writes rows in the order of a table, those of each partition together, within a bound of memory that depends neither on
// how many rows nor on how many partitions there are.
//
// Rows are gathered until there are room bytes of them. If more come these are sorted and go to a temporary file, as a run; in
// the end the runs and what is still in memory are merged into files of the target size. Rows that are equal stay in the order
// in which they came. What files there are, and what is in them, depends on the rows alone: not on memory, nor on how rows came.
//
// Where temporary files cannot be written all that is there is merged at once into files, and what comes after it into others:
// each is in order, but there are more of them.
type sorted struct {
	w     *Writer
	spec  *partition.Spec
	order *partition.Order
	files *parquetfile.Writer
	room  int64
	// blocks is the size of a run's blocks, merging what all blocks of runs that are merged at once may take.
	blocks, merging int64

	// keys and sizes are what rows that have just come are sorted by, and how large they are.
	keys, weights columns.Array
	sizes         []int64
	incoming      []columns.Array
	sorter        sorter
	inOrder       []int32
	// gathered are the rows that wait, with the columns that package spill asks for.
	gathered columns.Batch
	bytes    int64

	disk spill.Disk
	runs []*spill.Run
	// levels are how often the rows of each run have been merged.
	levels []int
	// failure is why there are no temporary files, nil as long as there may be.
	failure error

	// slice are rows on their way to file, the partition's that is being written; begun are files that have rows already, by the
	// keys of their partitions.
	slice []columns.Array
	file  *outFile
	begun map[string]*outFile
}

// sortedShare is the part of the memory for rows that wait: as they are put in order they take half as much again, and as much of
// the memory goes to the pages of the open file. mergingShare is the part for blocks of runs, of which blocksShare is one block's.
const (
	sortedShare  = 3
	mergingShare = 8
	blocksShare  = 512
)

// A block is large enough to be read and compressed at once; sliceBytes of rows are handed to a file at a time.
const (
	leastBlock, mostBlock = 32 << 10, 256 << 10
	sliceBytes            = 256 << 10
)

func newSorted(w *Writer, spec *partition.Spec, order *partition.Order, memory int64) *sorted {
	return &sorted{w: w, spec: spec, order: order, files: w.files, room: min(memory/sortedShare, mostRoom),
		blocks: max(leastBlock, min(mostBlock, memory/blocksShare)), merging: memory / mergingShare,
		keys: spill.KeyColumn, weights: spill.WeightColumn}
}

// write takes in rows.
func (s *sorted) write(ctx context.Context, rows *columns.Batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rows.Rows == 0 {
		return nil
	}
	s.gather(rows)
	return s.bound(ctx)
}

// bound makes room where rows that wait are too many.
func (s *sorted) bound(ctx context.Context) error {
	if s.bytes < s.room {
		return nil
	}
	return s.spill(ctx)
}

// gather adds rows to those that wait, in order among themselves: they are in the processor's cache now. When they leave they are
// not, and are read in stretches then.
func (s *sorted) gather(rows *columns.Batch) {
	s.appendKeys(rows)
	s.weigh(rows)
	s.incoming = append(append(s.incoming[:0], rows.Columns...), s.keys, s.weights)
	if s.gathered.Columns == nil {
		s.gathered.Columns, s.slice = emptied(s.incoming), emptied(s.incoming)
	}
	s.inOrder = s.sorter.sort(&s.keys, s.inOrder)
	for i := range s.incoming {
		s.gathered.Columns[i].AppendRows(&s.incoming[i], s.inOrder)
	}
	s.gathered.Rows += rows.Rows
	s.measure()
}

// emptied are columns like these, without rows.
func emptied(like []columns.Array) (empty []columns.Array) {
	for i := range like {
		empty = append(empty, like[i].Empty())
	}
	return empty
}

// take makes rows the first ones that wait. It keeps them, and copies none.
func (s *sorted) take(rows *columns.Batch) {
	s.appendKeys(rows)
	s.weigh(rows)
	s.gathered = columns.Batch{Rows: rows.Rows, Columns: append(rows.Columns, s.keys, s.weights)}
	s.keys, s.weights = spill.KeyColumn, spill.WeightColumn
	s.slice = emptied(s.gathered.Columns)
	s.measure()
}

// measure finds out how much memory the rows that wait take.
func (s *sorted) measure() {
	s.bytes = sortableBytes * int64(s.gathered.Rows)
	for i := range s.gathered.Columns {
		s.bytes += s.gathered.Columns[i].Size()
	}
}

// sortableBytes is what a row takes while it is sorted, beside its columns.
const sortableBytes = 2*24 + 4

// partitionSize is what stands before the partition in a key.
const partitionSize = 4

// appendKeys makes what rows are sorted by: their partition, if there are any, preceded by its length, and the order's key.
func (s *sorted) appendKeys(rows *columns.Batch) {
	s.keys.Reset()
	s.keys.Offsets = append(s.keys.Offsets, 0)
	for row := range rows.Rows {
		key := s.keys.Data
		if s.spec.Fields() > 0 {
			begin := len(key)
			key = s.spec.AppendKey(append(key, 0, 0, 0, 0), rows, row)
			binary.BigEndian.PutUint32(key[begin:], uint32(len(key)-begin-partitionSize))
		}
		s.keys.Data = s.order.AppendKey(key, rows, row)
		s.keys.Offsets = append(s.keys.Offsets, int32(len(s.keys.Data)))
	}
	s.keys.Len = rows.Rows
}

// partitionOf is how much of a key says what partition a row is of.
func partitionOf(key []byte) int { return partitionSize + int(binary.BigEndian.Uint32(key)) }

// weigh finds out how large each row is.
func (s *sorted) weigh(rows *columns.Batch) {
	s.sizes = slices.Grow(s.sizes[:0], rows.Rows)[:rows.Rows]
	clear(s.sizes)
	for i := range rows.Columns {
		rows.Columns[i].AddSizes(s.sizes)
	}
	s.keys.AddSizes(s.sizes)
	s.weights.Reset()
	for _, size := range s.sizes {
		s.weights.AppendInt32(int32(min(size, math.MaxInt32)))
	}
}

// close writes all that is there.
func (s *sorted) close(ctx context.Context) error {
	var err error
	if len(s.begun) > 0 && len(s.runs) > 0 && s.gathered.Rows > 0 { // what these take is needed for merging
		err = s.spill(ctx)
	}
	if err == nil {
		err = s.flush(ctx)
	}
	s.w.spilled = s.spilled()
	return err
}

// spilled says what went to temporary files, and why no more did.
func (s *sorted) spilled() batch.Spilled {
	spilled := batch.Spilled{Bytes: s.disk.Written}
	if s.failure != nil {
		spilled.Failure = fmt.Sprintf("%s: %v", os.TempDir(), s.failure)
	}
	return spilled
}

// abort gives up the open file, and all rows.
func (s *sorted) abort() {
	if s.file != nil {
		s.file.abort()
	}
	for _, file := range s.begun {
		file.abort()
	}
	s.forget(s.runs)
	s.runs = nil
}
