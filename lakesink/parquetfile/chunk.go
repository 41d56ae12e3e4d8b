package parquetfile

import (
	"bytes"

	"github.com/parquet-go/parquet-go/format"
)

// blockBytes is the unit in which finished pages are kept until their row group is complete. Blocks are reused, so a
// row group costs what its compressed pages take and nothing is copied to grow.
const blockBytes = 64 << 10

// blockPool hands out blocks and takes them back.
type blockPool struct{ free [][]byte }

func (p *blockPool) get() []byte {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	return make([]byte, 0, blockBytes)
}

func (p *blockPool) put(b []byte) { p.free = append(p.free, b[:0]) }

// chunk holds the finished pages of a leaf in the open row group.
type chunk struct {
	blocks                   [][]byte
	compressed, uncompressed int64
	entries, nulls           int64
	rows                     int64
	encodings                [format.RLEDictionary + 1]int32 // data pages by encoding
	pages                    []format.PageLocation
	index                    format.ColumnIndex
	noIndex                  bool
}

// add keeps a page. Without a pool it takes exactly what it needs.
func (c *chunk) add(header, body []byte, pool *blockPool) {
	if pool == nil {
		c.blocks = append(c.blocks, append(append(make([]byte, 0, len(header)+len(body)), header...), body...))
		return
	}
	c.fill(header, pool)
	c.fill(body, pool)
}

func (c *chunk) fill(b []byte, pool *blockPool) {
	for len(b) > 0 {
		k := len(c.blocks) - 1
		if k < 0 || len(c.blocks[k]) == cap(c.blocks[k]) {
			c.blocks = append(c.blocks, pool.get())
			k++
		}
		n := min(len(b), cap(c.blocks[k])-len(c.blocks[k]))
		c.blocks[k] = append(c.blocks[k], b[:n]...)
		b = b[n:]
	}
}

func (c *chunk) reset(pool *blockPool) {
	if pool == nil {
		*c = chunk{}
		return
	}
	for _, b := range c.blocks {
		pool.put(b)
	}
	*c = chunk{blocks: c.blocks[:0]}
}

// closePage takes in a page of size bytes that was just added: where it lies and what is in it, for the page index.
func (c *chunk) closePage(p *page, encoding format.Encoding, size int, text bool) {
	c.encodings[encoding]++
	c.pages = append(c.pages, format.PageLocation{Offset: c.compressed, CompressedPageSize: int32(size), FirstRowIndex: c.rows})
	c.compressed += int64(size)
	c.entries += int64(p.entries)
	c.nulls += p.nulls
	c.rows += int64(p.rows)
	empty := p.nulls == int64(p.entries)
	lo, loCut := p.bounds.lower()
	hi, hiCut := p.bounds.upper()
	if loCut {
		lo = Floor(lo, text, indexBytes)
	}
	if hiCut {
		hi = Ceiling(hi, text, indexBytes)
	}
	if !empty && (lo == nil || hi == nil) || nans(p.bounds) > 0 {
		c.noIndex = true // NaN, or a value that nothing short is above
	}
	c.index.NullPages = append(c.index.NullPages, empty)
	c.index.NullCounts = append(c.index.NullCounts, p.nulls)
	c.index.MinValues = append(c.index.MinValues, lo)
	c.index.MaxValues = append(c.index.MaxValues, hi)
}

// indexBytes is the length to which the page index cuts long values, in bytes or code points.
const indexBytes = 16

// order says how the pages' bounds follow each other where that is plain from their bytes: for byte arrays only.
func (c *chunk) order(kind format.Type) format.BoundaryOrder {
	if kind != format.ByteArray || len(c.pages) < 2 {
		return format.Unordered
	}
	for k := 1; k < len(c.pages); k++ {
		if c.index.NullPages[k-1] || c.index.NullPages[k] || bytes.Compare(c.index.MinValues[k-1], c.index.MinValues[k]) > 0 ||
			bytes.Compare(c.index.MaxValues[k-1], c.index.MaxValues[k]) > 0 {
			return format.Unordered
		}
	}
	return format.Ascending
}
