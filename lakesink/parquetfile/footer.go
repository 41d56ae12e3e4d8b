package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Summary is what a finished file holds.
type Summary struct {
	Rows, Bytes int64
	// GroupOffsets are where the row groups begin.
	GroupOffsets []int64
	Columns      []ColumnSummary
}

// ColumnSummary is what a finished file holds of one column of values.
type ColumnSummary struct {
	// ID is the field id, Path the names from the table's column to the values.
	ID   int
	Path []string
	// Nested says that the column lies inside a list or map, where table formats have no bounds.
	Nested bool
	// Bytes are compressed and include page headers. Values include nulls.
	Bytes, Values, Nulls, NaNs int64
	// Lower and Upper are the smallest and largest value in PLAIN form without length, nil if there is none; NaN is left out. Cut says
	// that only the first bytes of a longer value are there: 64, or as many as the column's options ask for.
	Lower, Upper       []byte
	LowerCut, UpperCut bool
}

// footer gathers what is written behind the row groups.
type footer struct {
	groups  []format.RowGroup
	columns [][]format.ColumnIndex
	offsets [][]format.OffsetIndex
	rows    int64
}

// flushGroup writes the open row group.
func (w *Writer) flushGroup() error {
	if w.rows == 0 {
		return nil
	}
	if err := w.flushPages(); err != nil {
		return err
	}
	group := format.RowGroup{NumRows: w.rows, FileOffset: w.offset, Ordinal: int16(len(w.footer.groups))}
	indexes := make([]format.ColumnIndex, len(w.layout.leaves))
	offsets := make([]format.OffsetIndex, len(w.layout.leaves))
	for i, l := range w.layout.leaves {
		metadata, err := w.flushChunk(l)
		if err != nil {
			return err
		}
		group.TotalByteSize += metadata.TotalUncompressedSize
		group.TotalCompressedSize += metadata.TotalCompressedSize
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: metadata})
		offsets[i].PageLocations = l.chunk.pages
		if !l.chunk.noIndex && !l.options.NoStatistics {
			indexes[i] = l.chunk.index
			indexes[i].BoundaryOrder = l.chunk.order(l.kind)
		}
		l.close(&metadata, w.blocks)
	}
	for i, l := range w.layout.leaves { // behind the chunks, which readers fetch together
		if err := w.flushFilter(l, &group.Columns[i].MetaData); err != nil {
			return err
		}
	}
	f := &w.footer
	f.groups, f.columns, f.offsets = append(f.groups, group), append(f.columns, indexes), append(f.offsets, offsets)
	f.rows += w.rows
	w.rows = 0
	return nil
}

// flushChunk writes a leaf's part of the row group: the dictionary if pages refer to one, then the pages.
func (w *Writer) flushChunk(l *leaf) (format.ColumnMetaData, error) {
	c := &l.chunk
	m := format.ColumnMetaData{Type: l.kind, PathInSchema: l.names, Codec: w.codec.format(), NumValues: c.entries,
		TotalUncompressedSize: c.uncompressed, TotalCompressedSize: c.compressed, Statistics: l.statistics()}
	if l.spent != nil {
		m.DictionaryPageOffset = w.offset
		if err := w.flushDictionary(l, &m); err != nil {
			return m, err
		}
	}
	m.DataPageOffset = w.offset
	for i := range c.pages {
		c.pages[i].Offset += w.offset
	}
	for e, n := range c.encodings {
		if e := format.Encoding(e); n > 0 {
			m.Encoding = append(m.Encoding, e)
			m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DataPage, Encoding: e, Count: n})
		}
	}
	if !slices.Contains(m.Encoding, format.Plain) && l.spent != nil {
		m.Encoding = append(m.Encoding, format.Plain) // of the dictionary
	}
	if l.maxDef > 0 || l.maxRep > 0 {
		m.Encoding = append(m.Encoding, format.RLE)
	}
	for _, b := range c.blocks {
		if err := w.write(b); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (w *Writer) flushDictionary(l *leaf, m *format.ColumnMetaData) error {
	header := format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(l.spent.count()), Encoding: format.Plain})}
	if err := w.frame(l, &header, l.spent.plain); err != nil {
		return err
	}
	m.TotalUncompressedSize += int64(w.header.Len() + len(l.spent.plain))
	m.TotalCompressedSize += int64(w.framed())
	m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	if err := w.write(w.header.Bytes()); err != nil {
		return err
	}
	return w.write(w.compressed)
}

// statistics has bounds where they are exact: readers that answer min and max from the footer take them for values. A chunk
// with NaN has none, as parquet-java leaves them out: for Spark and DuckDB NaN is above every number, and they would not look
// for it in a chunk whose largest number is too small.
func (l *leaf) statistics() format.Statistics {
	s := format.Statistics{NullCount: l.chunk.nulls}
	lo, loCut := l.chunkBounds.lower()
	hi, hiCut := l.chunkBounds.upper()
	if !loCut && !hiCut && max(len(lo), len(hi)) <= prefixBytes && nans(l.chunkBounds) == 0 && !l.options.NoStatistics {
		s.MinValue, s.MaxValue = lo, hi
	}
	return s
}

// close adds the chunk to what is known of the file and makes room for the next.
func (l *leaf) close(m *format.ColumnMetaData, pool *blockPool) {
	l.file.compressed += m.TotalCompressedSize
	l.file.values += l.chunk.entries
	l.file.nulls += l.chunk.nulls
	l.file.bounds.merge(l.chunkBounds)
	l.chunkBounds.reset()
	l.chunk.reset(pool)
	l.spent = nil
	if l.dict != nil {
		l.dict.reset()
	}
}

// Rows counts the rows of the file so far.
func (w *Writer) Rows() int64 { return w.footer.rows + w.rows }

// Groups counts the finished row groups of the file.
func (w *Writer) Groups() int { return len(w.footer.groups) }

// Close writes what is still open and the footer, and describes the file. The output itself is left to its owner.
func (w *Writer) Close() (*Summary, error) {
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return nil, w.err
	}
	s := &Summary{Rows: w.footer.rows, Bytes: w.offset}
	for _, g := range w.footer.groups {
		s.GroupOffsets = append(s.GroupOffsets, g.FileOffset)
	}
	for _, l := range w.layout.leaves {
		s.Columns = append(s.Columns, l.summary())
	}
	w.err, w.out = errClosed, nil // the writer may live on, the output need not
	return s, nil
}

var errClosed = fmt.Errorf("the file is closed")

func (l *leaf) summary() ColumnSummary {
	c := ColumnSummary{ID: l.id, Path: l.names, Nested: l.maxRep > 0, Bytes: l.file.compressed, Values: l.file.values, Nulls: l.file.nulls,
		NaNs: nans(l.file.bounds)}
	c.Lower, c.LowerCut = l.file.bounds.lower()
	c.Upper, c.UpperCut = l.file.bounds.upper()
	return c
}

func (w *Writer) finish() error {
	if err := w.flushGroup(); err != nil {
		return err
	}
	if err := w.writeIndexes(); err != nil {
		return err
	}
	m := format.FileMetaData{Version: 2, Schema: w.layout.elements, NumRows: w.footer.rows, RowGroups: w.footer.groups, CreatedBy: w.options.CreatedBy}
	for _, key := range slices.Sorted(maps.Keys(w.options.Metadata)) {
		m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: key, Value: w.options.Metadata[key]})
	}
	for range w.layout.leaves {
		m.ColumnOrders = append(m.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	n, err := w.writeThrift(&m)
	if err != nil {
		return fmt.Errorf("write the footer: %w", err)
	}
	return w.write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
}

// writeIndexes writes the page index: all column indexes, then all offset indexes.
func (w *Writer) writeIndexes() error {
	for g := range w.footer.groups {
		for i := range w.footer.groups[g].Columns {
			c := &w.footer.groups[g].Columns[i]
			if len(w.footer.columns[g][i].NullPages) == 0 {
				continue
			}
			at := w.offset
			n, err := w.writeThrift(&w.footer.columns[g][i])
			if err != nil {
				return fmt.Errorf("write a column index: %w", err)
			}
			c.ColumnIndexOffset, c.ColumnIndexLength = at, int32(n)
		}
	}
	for g := range w.footer.groups {
		for i := range w.footer.groups[g].Columns {
			c := &w.footer.groups[g].Columns[i]
			at := w.offset
			n, err := w.writeThrift(&w.footer.offsets[g][i])
			if err != nil {
				return fmt.Errorf("write an offset index: %w", err)
			}
			c.OffsetIndexOffset, c.OffsetIndexLength = at, int32(n)
		}
	}
	return nil
}

// writeThrift encodes a structure of the footer and returns its size.
func (w *Writer) writeThrift(v any) (int, error) {
	var b bytes.Buffer
	var protocol thrift.CompactProtocol
	if err := thrift.NewEncoder(protocol.NewWriter(&b)).Encode(v); err != nil {
		return 0, err
	}
	return b.Len(), w.write(b.Bytes())
}
