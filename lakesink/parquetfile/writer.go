// Package parquetfile writes Parquet files from columns: what a reader or decoder left in columns.Array goes into pages
// without ever becoming a row or a boxed value. It knows nothing of tables; what a table format needs to know of a file
// (sizes, counts, bounds by field id) is in the Summary.
//
// The bytes follow the Parquet specification (https://parquet.apache.org/docs/file-format/): version 1 data pages, PLAIN
// values, dictionaries for columns whose values repeat, field ids on every node, a page index. Other encodings of integers would
// save a few percent, but Iceberg's reader for Spark refuses them before version 1.10
// (https://github.com/apache/iceberg/pull/13391). The structures and the run-length
// encoding are those of parquet-go, which also reads the files back in the tests; its writers were measured to take
// about as long for boxing values as for everything else but compression.
package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"sluice/columns"
)

// Options are how files are written. The zero value of a field stands for its default.
type Options struct {
	// Codec compresses pages; the default is zstd. Level is zstd's or gzip's; the default is the fastest.
	Codec Codec
	Level int
	// PageBytes is the size to which pages are filled before compression; the default is 256 KiB. Pages are smaller
	// where the open ones would take more than a quarter of MemoryBytes, or one more than a 16th.
	PageBytes int
	// PageRows is how many rows a page has at most; the default is 65,536.
	PageRows int
	// DictionaryBytes is the size at which a dictionary is given up; the default is 64 KiB.
	DictionaryBytes int
	// BloomBytes is how large a Bloom filter is at most, a power of two; the default is 1 MiB. All of them take no more than an
	// eighth of MemoryBytes.
	BloomBytes int
	// RowGroupBytes is the size to which row groups are filled before compression; the default is 128 MiB.
	RowGroupBytes int64
	// MemoryBytes bounds what is held for the open row group, as its finished pages are kept compressed until it is
	// complete; the default is 64 MiB. A single record may exceed it.
	MemoryBytes int64
	// CreatedBy names the writing program; Metadata is kept in the footer for people.
	CreatedBy string
	Metadata  map[string]string
}

func (o Options) withDefaults() Options {
	if o.PageBytes == 0 {
		o.PageBytes = usualPageBytes
	}
	if o.RowGroupBytes == 0 {
		o.RowGroupBytes = 128 << 20
	}
	if o.PageRows == 0 {
		o.PageRows = 64 << 10
	}
	if o.DictionaryBytes == 0 {
		o.DictionaryBytes = maxDictionaryBytes
	}
	if o.BloomBytes == 0 {
		o.BloomBytes = 1 << 20
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 64 << 20
	}
	if o.CreatedBy == "" {
		o.CreatedBy = "sluice version 1.0.0 (build unknown)"
	}
	return o
}

// Writer writes one file after the other, all of the same fields. It is used by one goroutine and keeps its memory from
// file to file.
type Writer struct {
	options   Options
	fields    []Field
	layout    *layout
	pageBytes int

	out    io.Writer
	offset int64
	begins bool  // what every file begins with is yet to be written
	err    error // the first failure; everything after it fails too

	begun  bool // the first rows have come, and columns have their dictionaries
	footer footer
	rows   int64 // of the open row group

	blocks *blockPool // nil for a sibling, whose chunks take no more than they need
	*desk
}

// desk is what files that are written in turn share: the codec, and memory that only one of them needs at a time.
type desk struct {
	codec         codec
	entries       entries
	levels        levelEncoder
	levelBytes    []byte
	compressed    []byte
	header        bytes.Buffer
	headerEncoder *thrift.Encoder
	// pages are the open pages of the writer at the desk, one a leaf.
	pages []page
	at    *Writer
}

// NewWriter makes a writer for fields, which must not be empty. Begin starts its first file.
func NewWriter(fields []Field, options Options) (*Writer, error) {
	options = options.withDefaults()
	codec, err := newCodec(options.Codec, options.Level)
	if err != nil {
		return nil, err
	}
	w := &Writer{options: options, fields: fields, layout: newLayout(fields), blocks: &blockPool{}, desk: &desk{codec: codec}}
	if len(w.layout.leaves) == 0 {
		return nil, errors.New("a Parquet file needs at least one column")
	}
	w.pageBytes = w.pageSize()
	w.addFilters()
	var protocol thrift.CompactProtocol
	w.headerEncoder = thrift.NewEncoder(protocol.NewWriter(&w.header))
	w.pages, w.at = make([]page, len(w.layout.leaves)), w
	for i, l := range w.layout.leaves {
		l.page = &w.pages[i]
		l.page.bounds = l.newBounds()
		l.page.reset(w.pageBytes)
	}
	return w, nil
}

// pageSize is that of the options, as far as memory allows: what a page becomes, compressed, has to have room besides.
func (w *Writer) pageSize() int {
	memory := int(min(w.options.MemoryBytes, math.MaxInt32))
	return min(w.options.PageBytes, max(minPageBytes, memory/(4*len(w.layout.leaves))), max(usualPageBytes, memory/16))
}

// addFilters gives the columns their Bloom filters. While one is made it takes up to twice its size.
func (w *Writer) addFilters() {
	n := 0
	for _, l := range w.layout.leaves {
		if l.options.Bloom != nil {
			n++
		}
	}
	for _, l := range w.layout.leaves {
		l.filter = newFilter(l.options.Bloom, l.kind, min(w.options.BloomBytes, int(min(w.options.MemoryBytes, math.MaxInt32))/(16*max(1, n))))
	}
}

// Reuse makes the writer good for other files, if they have the same fields and settings; the program's name and the
// metadata may differ. It reports whether it did. What the writer holds in memory serves again, which is worth more than
// all that a task allocates besides.
func (w *Writer) Reuse(fields []Field, options Options) bool {
	options = options.withDefaults()
	same := options
	same.CreatedBy, same.Metadata = w.options.CreatedBy, w.options.Metadata
	if !reflect.DeepEqual(same, w.options) || !reflect.DeepEqual(fields, w.fields) {
		return false
	}
	w.options, w.err = options, errClosed // until the next file begins
	w.clear()
	return true
}

// minPageBytes is the size below which pages cost more than they save, usualPageBytes that which they have if nobody says more.
const minPageBytes, usualPageBytes = 8 << 10, 256 << 10

// Begin starts a file. Whatever was written since the last Close is forgotten. Nothing is written to out before the first
// row group is complete.
func (w *Writer) Begin(out io.Writer) error {
	w.out, w.offset, w.begins, w.err, w.begun, w.rows = out, int64(len(magic)), true, nil, false, 0
	w.footer = footer{}
	for _, l := range w.layout.leaves {
		l.reset(w)
		l.file.compressed, l.file.values, l.file.nulls = 0, 0, 0
		l.file.bounds.reset()
	}
	return nil
}

const magic = "PAR1"

// reset forgets the open page and chunk.
func (l *leaf) reset(w *Writer) {
	if w.at == w {
		l.page.reset(w.pageBytes)
	}
	l.chunk.reset(w.blocks)
	l.chunkBounds.reset()
	l.dict, l.spent = nil, nil
	if l.filter != nil {
		l.filter.reset()
	}
}

// chunkRows bounds the rows that are added to the columns in turn.
const chunkRows = 8 << 10

// Append adds rows from the given one on, as many as make a small part of a page, at least one, and returns the first
// that is left. It keeps nothing of rows. Row groups end when they are full.
func (w *Writer) Append(rows *columns.Batch, from int) (next int, err error) {
	if w.err != nil {
		return from, w.err
	}
	w.sit()
	if from == 0 || !w.begun {
		if w.err = w.check(rows); w.err != nil {
			return from, w.err
		}
		w.start(rows)
	}
	next = w.slice(rows, from)
	w.err = w.append(rows, from, next)
	return next, w.err
}

// start gives each column a dictionary: one that is constant in the first rows keeps it, the others have it on trial.
func (w *Writer) start(rows *columns.Batch) {
	if w.begun {
		return
	}
	for _, l := range w.layout.leaves {
		if a := l.root(rows); a != nil && l.encode != nil && !l.options.NoDictionary && (l.kind == format.ByteArray || a.Repeat) {
			l.dict = newDictionary(a.Repeat && l.flat())
		}
	}
	w.begun = true
}

// check finds columns that do not fit the rows before anything is read beyond an end.
func (w *Writer) check(rows *columns.Batch) error {
	for _, l := range w.layout.leaves {
		if l.column >= len(rows.Columns) {
			return fmt.Errorf("column %s is number %d of the rows, which have %d", l.names[0], l.column, len(rows.Columns))
		}
		if a := l.root(rows); a != nil && a.Len != rows.Rows {
			return fmt.Errorf("column %s has %d values for %d rows", l.names[0], a.Len, rows.Rows)
		}
	}
	return nil
}

// slice finds the end of the rows that may be added at once.
func (w *Writer) slice(rows *columns.Batch, from int) int {
	limit := w.pageBytes / 4
	low, high := from+1, min(from+min(chunkRows, w.roomOfPages()), rows.Rows) // low fits, or is a single row
	if w.weight(rows, from, high) <= limit {
		return high
	}
	for low < high {
		middle := (low + high + 1) / 2
		if w.weight(rows, from, middle) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// roomOfPages is how many rows every open page still takes.
func (w *Writer) roomOfPages() int {
	most := 0
	for _, l := range w.layout.leaves {
		most = max(most, l.page.rows)
	}
	return w.options.PageRows - most
}

func (w *Writer) weight(rows *columns.Batch, from, until int) int {
	n := 0
	for _, l := range w.layout.leaves {
		n += l.weight(rows, from, until)
	}
	return n
}

func (w *Writer) append(rows *columns.Batch, from, until int) error {
	for _, l := range w.layout.leaves {
		if l.dict != nil && until == from+1 && l.weight(rows, from, until) > w.options.DictionaryBytes { // a huge record: slices of several are smaller
			if err := w.giveUp(l); err != nil {
				return err
			}
		}
		if err := l.append(rows, from, until, &w.entries); err != nil {
			return err
		}
		if l.dict != nil && (l.dict.numbered >= trialValues || len(l.dict.plain) > w.options.DictionaryBytes) {
			l.settle()
		}
		full := l.dict != nil && len(l.dict.plain) > w.options.DictionaryBytes
		if l.open() >= w.pageBytes || l.page.rows >= w.options.PageRows || full {
			if err := w.flushPage(l); err != nil {
				return err
			}
		}
		if full {
			l.dict = nil // the rest of the file is written plainly
		}
	}
	w.entries.letGo()
	w.rows += int64(until - from)
	if w.groupIsFull() {
		return w.flushGroup()
	}
	return nil
}

// giveUp ends the use of a dictionary: the rest of the file is written plainly.
func (w *Writer) giveUp(l *leaf) error {
	if l.settle(); l.dict == nil {
		return nil // it was undone
	}
	err := w.flushPage(l)
	l.dict = nil
	return err
}

// groupIsFull is asked after every few rows, so that a run of huge records cannot overshoot by more than one of them
// (https://github.com/apache/parquet-java/issues/2697).
func (w *Writer) groupIsFull() bool {
	var uncompressed, held int64
	for _, l := range w.layout.leaves {
		uncompressed += l.chunk.uncompressed + int64(l.page.size())
		held += l.chunk.compressed + int64(l.page.size()) + l.filter.held() + l.dict.held()
	}
	return uncompressed >= w.options.RowGroupBytes || held >= w.options.MemoryBytes*3/4
}

// Size is what the file takes so far: what was written, and an estimate of the open row group.
func (w *Writer) Size() int64 {
	size := w.offset
	for _, l := range w.layout.leaves {
		size += l.chunk.compressed
		if w.at == w {
			size += int64(float64(l.page.size()) * l.ratio())
		}
	}
	return size
}

// ratio is how far the leaf's finished pages could be compressed.
func (l *leaf) ratio() float64 {
	if l.chunk.uncompressed == 0 {
		return 0.3
	}
	return float64(l.chunk.compressed) / float64(l.chunk.uncompressed)
}

func (w *Writer) write(b []byte) error {
	if w.begins {
		w.begins = false
		if _, err := io.WriteString(w.out, magic); err != nil {
			return err
		}
	}
	n, err := w.out.Write(b)
	w.offset += int64(n)
	return err
}
