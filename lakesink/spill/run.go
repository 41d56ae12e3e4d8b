package spill

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/s2"

	"sluice/columns"
)

// Disk is where runs go. It is used by one goroutine; the zero value is ready.
type Disk struct {
	// Create makes a file for a run; the default is Temporary.
	Create func() (File, error)
	// Written is how many bytes were written to all runs.
	Written int64

	// block and packed are memory for one block at a time.
	block, packed []byte
}

// Run is rows in order, in a file.
type Run struct {
	disk   *Disk
	file   File
	blocks []block
	end    int64
	// first and last are keys.
	first, last []byte
	// columns are empty ones of the types that rows have.
	columns []columns.Array
	largest int64
}

// block is where in the file some rows are.
type block struct {
	at          int64
	packed, raw int
	sum         uint32
}

// NewRun starts a run.
func (d *Disk) NewRun() (*Run, error) {
	create := d.Create
	if create == nil {
		create = Temporary
	}
	file, err := create()
	if err != nil {
		return nil, err
	}
	return &Run{disk: d, file: file}, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append adds rows, of which none comes before those that are there, as a block: whoever reads them has as many in memory.
// It keeps nothing of rows.
func (r *Run) Append(rows *columns.Batch) error {
	d := r.disk
	d.block = appendBlock(d.block[:0], rows)
	most := s2.MaxEncodedLen(len(d.block))
	if most < 0 {
		return fmt.Errorf("%d rows take %d bytes: too many for a block", rows.Rows, len(d.block))
	}
	d.packed = slices.Grow(d.packed[:0], most)[:most]
	packed := s2.Encode(d.packed, d.block)
	if _, err := r.file.Write(packed); err != nil {
		return err
	}
	r.blocks = append(r.blocks, block{r.end, len(packed), len(d.block), crc32.Checksum(packed, castagnoli)})
	r.end += int64(len(packed))
	d.Written += int64(len(packed))
	r.largest = max(r.largest, int64(len(d.block)))
	r.note(rows)
	d.letGo()
	return nil
}

// note keeps what is to be known of the rows beforehand.
func (r *Run) note(rows *columns.Batch) {
	keys := keysOf(rows)
	if r.columns == nil {
		r.first = slices.Clone(keys.Bytes(0))
		for i := range rows.Columns {
			r.columns = append(r.columns, rows.Columns[i].Empty())
		}
	}
	r.last = append(r.last[:0], keys.Bytes(rows.Rows-1)...)
}

// keptBytes is what is kept of memory for a block when one of huge records has been there.
const keptBytes = 1 << 20

func (d *Disk) letGo() {
	if cap(d.block) > keptBytes {
		d.block = nil
	}
	if cap(d.packed) > keptBytes {
		d.packed = nil
	}
}

// MergeBytes is about how much memory the run takes while it is merged with others: a block, as bytes and in part as numbers besides.
func (r *Run) MergeBytes() int64 { return 2 * r.largest }

// Close gives up the file, and with it the rows.
func (r *Run) Close() error { return r.file.Close() }

// read reads block n into rows; raw is memory for it, which rows alias afterwards.
func (r *Run) read(n int, rows *columns.Batch, raw []byte) ([]byte, error) {
	d, b := r.disk, &r.blocks[n]
	d.packed = slices.Grow(d.packed[:0], b.packed)[:b.packed]
	if _, err := r.file.ReadAt(d.packed, b.at); err != nil {
		return raw, err
	}
	if crc32.Checksum(d.packed, castagnoli) != b.sum {
		return raw, errBlock
	}
	raw = slices.Grow(raw[:0], b.raw)[:b.raw]
	raw, err := s2.Decode(raw, d.packed)
	if err == nil {
		err = readBlock(rows, raw)
	}
	d.letGo()
	return raw, err
}
