package parquetfile

import (
	"fmt"
	"hash/crc32"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// headroom is kept free before the values of a page, so that levels, which are complete only in the end, can be put
// there without moving the values.
const headroom = 64

// page is the data page that is being filled.
type page struct {
	values  []byte // begins with headroom
	bits    booleans
	indexes runs
	defs    runs
	reps    runs
	entries int // values and nulls
	rows    int
	nulls   int64
	bounds  bounds
}

func (p *page) size() int {
	return len(p.values) + len(p.bits.data) + 8*(len(p.indexes)+len(p.defs)+len(p.reps))
}

// reset empties the page; pageBytes is its usual size.
func (p *page) reset(pageBytes int) {
	if p.values == nil || cap(p.values) > 4*pageBytes { // one huge record must not keep its memory for ever
		p.values = make([]byte, headroom)
	}
	p.values = p.values[:headroom]
	p.bits = booleans{data: p.bits.data[:0]}
	p.indexes, p.defs, p.reps = p.indexes[:0], p.defs[:0], p.reps[:0]
	p.entries, p.rows, p.nulls = 0, 0, 0
	p.bounds.reset()
}

// flushPage ends the open page of a leaf: levels, values and header go to the chunk, compressed.
//
// Pages are of version 1: every reader has known it for longest, it has no separate flag for compression to misread
// where all values are null (https://github.com/duckdb/duckdb/issues/17029), and version 2 would bring nothing that is
// used here.
func (w *Writer) flushPage(l *leaf) error {
	p := l.page
	if p.entries == 0 {
		return nil
	}
	l.settle()
	encoding := format.Plain
	if len(p.indexes) > 0 {
		encoding, l.spent = format.RLEDictionary, l.dict
	}
	body, err := w.body(l)
	if err != nil {
		return err
	}
	header := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(p.entries), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: p.nulls},
	})}
	if err := w.frame(l, &header, body); err != nil {
		return err
	}
	c := &l.chunk
	c.add(w.header.Bytes(), w.compressed, w.blocks)
	c.closePage(p, encoding, w.framed(), l.text)
	c.uncompressed += int64(w.header.Len() + len(body))
	l.chunkBounds.merge(p.bounds)
	p.reset(w.pageBytes)
	w.shrink()
	return nil
}

// body lays out a version 1 page: repetition levels, definition levels, values.
func (w *Writer) body(l *leaf) (body []byte, err error) {
	p, levels := l.page, w.levelBytes[:0]
	if l.maxRep > 0 {
		if levels, err = w.levels.levels(levels, p.reps, l.maxRep); err != nil {
			return nil, err
		}
	}
	if l.maxDef > 0 {
		if levels, err = w.levels.levels(levels, p.defs, l.maxDef); err != nil {
			return nil, err
		}
	}
	w.levelBytes = levels
	switch {
	case len(p.indexes) > 0:
		w.levelBytes, err = w.levels.indexes(levels, p.indexes, int32(l.dict.count())-1)
		return w.levelBytes, err
	case l.encode == nil:
		w.levelBytes = append(levels, p.bits.data...)
		return w.levelBytes, nil
	case len(levels) <= headroom:
		begin := headroom - len(levels)
		copy(p.values[begin:], levels)
		return p.values[begin:], nil
	}
	w.levelBytes = append(levels, p.values[headroom:]...)
	return w.levelBytes, nil
}

// frame compresses a page and makes its header; both are left in w.
func (w *Writer) frame(l *leaf, header *format.PageHeader, body []byte) (err error) {
	if len(body) > math.MaxInt32 {
		return fmt.Errorf("column %s: a record makes a page of %d bytes, more than Parquet can hold", l.names[0], len(body))
	}
	if w.compressed, err = w.codec.compress(w.compressed[:0], body); err != nil {
		return fmt.Errorf("compress a page of column %s: %w", l.names[0], err)
	}
	header.UncompressedPageSize = int32(len(body))
	header.CompressedPageSize = int32(len(w.compressed))
	header.CRC = int32(crc32.ChecksumIEEE(w.compressed))
	w.header.Reset()
	if err := w.headerEncoder.Encode(header); err != nil {
		return fmt.Errorf("encode a page header of column %s: %w", l.names[0], err)
	}
	return nil
}

// framed is the size of the page that frame made.
func (w *Writer) framed() int { return w.header.Len() + len(w.compressed) }

// shrink lets go of what one huge record needed, so that it does not keep its memory for the rest of the run.
func (w *Writer) shrink() {
	if cap(w.compressed) > 8*w.pageBytes {
		w.compressed = nil
	}
	if cap(w.levelBytes) > 8*w.pageBytes {
		w.levelBytes = nil
	}
}
