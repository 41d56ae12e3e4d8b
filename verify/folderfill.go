package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"sluice/batch"
)

// A folder with partitions keeps some columns in the names of folders alone. For the libraries that read its files each such
// column is put behind the file's own, in memory, with its one value from the manifest: a page of a dictionary and one of
// indexes for each row group, and a footer that knows of them. Not a byte of what the file has is read for it but its footer.

// filling is a column that a file lacks, with the value that all its rows have.
type filling struct {
	column *folderColumn
	// plain is the value as Parquet's PLAIN encoding has it, nil for null.
	plain []byte
}

// fillings are the columns that are not in a file.
func (s *folderSchema) fillings(file *batch.DataFile) ([]filling, error) {
	var all []filling
	for _, p := range s.Partitions {
		c := s.leftOut(&p)
		if c == nil {
			continue
		}
		value, ok := file.Partition[p.ID]
		if !ok {
			return nil, fmt.Errorf("%s has no value for the partition %s", file.Path, p.Name)
		}
		plain, err := c.plain(value)
		if err != nil {
			return nil, fmt.Errorf("%s has the value %.100s for the partition %s: %w", file.Path, value, p.Name, err)
		}
		all = append(all, filling{c, plain})
	}
	return all, nil
}

// leftOut is the column that a level stands for; nil if the files have its source.
func (s *folderSchema) leftOut(p *folderPartition) *folderColumn {
	for i := range s.Columns {
		if s.Columns[i].ID == p.Source && p.Transform == "identity" {
			return &s.Columns[i]
		}
	}
	return nil
}

// filledFile is a file with more columns: its own bytes up to the footer, then tail.
type filledFile struct {
	icebergio.File
	*io.SectionReader
	kept int64
	tail []byte
}

// fill opens a file and puts columns into it.
func fill(f icebergio.File, columns []filling) (icebergio.File, error) {
	m, kept, err := footerOf(f)
	if err != nil {
		return nil, err
	}
	filled := &filledFile{File: f, kept: kept}
	for i := range columns {
		if err := filled.add(m, &columns[i]); err != nil {
			return nil, err
		}
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), m)
	if err != nil {
		return nil, err
	}
	filled.tail = append(append(filled.tail, text...), append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), "PAR1"...)...)
	filled.SectionReader = io.NewSectionReader(filledBytes{filled}, 0, kept+int64(len(filled.tail)))
	return filled, nil
}

// footerOf reads the footer of a Parquet file, and where it begins.
func footerOf(f icebergio.File) (*format.FileMetaData, int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	end := make([]byte, 8)
	if size < 12 {
		return nil, 0, errors.New("it is too short for a Parquet file")
	}
	if _, err := f.ReadAt(end, size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != "PAR1" || length > size-12 {
		return nil, 0, errors.New("it does not end as a Parquet file does")
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, size-8-length); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	m := &format.FileMetaData{}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), text, m); err != nil {
		return nil, 0, fmt.Errorf("its footer cannot be read: %w", err)
	}
	if len(m.Schema) == 0 {
		return nil, 0, errors.New("its footer has no columns")
	}
	return m, size - 8 - length, nil
}

// add puts a column behind what is there.
func (f *filledFile) add(m *format.FileMetaData, c *filling) error {
	element := c.column.element()
	m.Schema[0].NumChildren = thrift.New(m.Schema[0].NumChildren.V + 1)
	m.Schema = append(m.Schema, element)
	m.ColumnOrders = append(m.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	for g := range m.RowGroups {
		group := &m.RowGroups[g]
		chunk, err := f.chunk(c, &element, group.NumRows)
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: chunk})
	}
	return nil
}

// chunk puts the column's part of a row group behind what is there.
func (f *filledFile) chunk(c *filling, element *format.SchemaElement, rows int64) (format.ColumnMetaData, error) {
	begin := len(f.tail)
	m := format.ColumnMetaData{Type: element.Type.V, PathInSchema: []string{element.Name}, Codec: format.Uncompressed, NumValues: rows}
	var page []byte
	if !c.column.Required {
		page = appendRun(page, rows, c.plain != nil)
	}
	encoding := format.Plain
	switch {
	case c.plain == nil:
	case element.Type.V == format.Boolean:
		encoding = format.RLE
		page = appendRun(page, rows, c.plain[0] == 1)
	default:
		encoding = format.RLEDictionary
		m.DictionaryPageOffset = f.end()
		dictionary := format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain})}
		if err := f.page(&dictionary, c.plain); err != nil {
			return m, err
		}
		page = append(binary.AppendUvarint(append(page, 1), uint64(rows)<<1), 0)
	}
	m.DataPageOffset, m.Encoding = f.end(), []format.Encoding{encoding, format.Plain, format.RLE}
	err := f.page(&format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(rows), Encoding: encoding,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}, page)
	m.TotalCompressedSize = int64(len(f.tail) - begin)
	m.TotalUncompressedSize = m.TotalCompressedSize
	return m, err
}

// appendRun adds so many equal bits in the hybrid encoding of run lengths, with its length before it.
func appendRun(dst []byte, n int64, set bool) []byte {
	run := append(binary.AppendUvarint(nil, uint64(n)<<1), map[bool]byte{true: 1}[set])
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(run))), run...)
}

func (f *filledFile) end() int64 { return f.kept + int64(len(f.tail)) }

func (f *filledFile) page(header *format.PageHeader, body []byte) error {
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(body)), int32(len(body))
	text, err := thrift.Marshal(new(thrift.CompactProtocol), header)
	f.tail = append(append(f.tail, text...), body...)
	return err
}

// Read, ReadAt and Seek are those of the longer file.
func (f *filledFile) Read(b []byte) (int, error)             { return f.SectionReader.Read(b) }
func (f *filledFile) ReadAt(b []byte, at int64) (int, error) { return f.SectionReader.ReadAt(b, at) }
func (f *filledFile) Seek(at int64, whence int) (int64, error) {
	return f.SectionReader.Seek(at, whence)
}

// Stat is the file's, with its size.
func (f *filledFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return madeInfo{info.Name(), f.SectionReader.Size()}, nil
}

// filledBytes are the bytes of both.
type filledBytes struct{ *filledFile }

func (f filledBytes) ReadAt(b []byte, at int64) (n int, err error) {
	if at < f.kept {
		own := b[:min(int64(len(b)), f.kept-at)]
		if n, err = f.File.ReadAt(own, at); n < len(own) {
			return n, err
		}
	}
	if n == len(b) {
		return n, nil
	}
	more, err := bytes.NewReader(f.tail).ReadAt(b[n:], at+int64(n)-f.kept)
	return n + more, err
}
