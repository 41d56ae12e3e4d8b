package parquetfile

// Sibling makes another writer of the same fields, which shares with w all memory that only one of them needs at a time:
// of a file that is not being appended to nothing is kept but its compressed pages. So hundreds of files may be open, if
// the rows come in stretches: each change from one writer to another ends the pages that are open. All are used by one
// goroutine.
func (w *Writer) Sibling() *Writer {
	s := &Writer{options: w.options, fields: w.fields, pageBytes: w.pageBytes, desk: w.desk,
		layout: &layout{elements: w.layout.elements, leaves: make([]*leaf, len(w.layout.leaves))}}
	for i, l := range w.layout.leaves {
		s.layout.leaves[i] = l.sibling()
	}
	return s
}

// sibling is the leaf of another file.
func (l *leaf) sibling() *leaf {
	s := *l
	s.dict, s.spent, s.chunk, s.scratch = nil, nil, chunk{}, nil
	if l.filter != nil {
		s.filter = &filter{Bloom: l.filter.Bloom, most: l.filter.most}
	}
	s.chunkBounds, s.file = l.newBounds(), columnTotals{bounds: l.newBounds()}
	return &s
}

// sit makes w the writer whose pages are open.
func (w *Writer) sit() {
	if w.at == w {
		return
	}
	if other := w.at; other.err == nil {
		other.err = other.flushPages()
	}
	w.clear()
}

// clear makes w the writer whose pages are open, and forgets what is in them.
func (w *Writer) clear() {
	w.at = w
	for i := range w.pages {
		w.pages[i].reset(w.pageBytes)
	}
}

// flushPages ends the open pages, if they are the writer's.
func (w *Writer) flushPages() error {
	if w.at != w {
		return nil
	}
	for _, l := range w.layout.leaves {
		if err := w.flushPage(l); err != nil {
			return err
		}
	}
	return nil
}

const (
	// leafBytes is about what an open file takes for each column of values, besides its pages; indexBytesOfPage what it
	// takes for each page besides the page.
	leafBytes        = 1 << 10
	indexBytesOfPage = 256
)

// boundBytes is what the bounds of a leaf take if more than usual is kept of them.
func (l *leaf) boundBytes() int64 { return int64(4 * max(0, l.options.BoundBytes-prefixBytes)) }

// Held is about how much memory the file takes while another one is appended to.
func (w *Writer) Held() int64 {
	held := int64(leafBytes * len(w.layout.leaves))
	for _, l := range w.layout.leaves {
		held += l.chunk.compressed + int64(indexBytesOfPage*len(l.chunk.pages)) + l.filter.held() + l.dict.held() + l.boundBytes()
	}
	return held
}
