package parquetfile

import (
	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// leaf is a column of values: where they come from, the page that is being filled, and what is known of the chunk and
// the file so far.
type leaf struct {
	names  []string
	steps  []step
	column int // of the rows
	id     int
	kind   format.Type
	width  int
	from   columns.Type
	text   bool
	maxDef uint8
	maxRep uint8
	encode encoder // nil for booleans
	// options are how the values are written, filter is nil without a Bloom filter.
	options ColumnOptions
	filter  *filter

	dict  *dictionary // nil while values are written plainly
	spent *dictionary // the one that pages of the chunk refer to
	page  *page       // shared with the same leaf of siblings
	chunk chunk
	// file and chunkBounds gather what pages leave behind.
	chunkBounds bounds
	file        columnTotals
	scratch     []byte
}

// columnTotals is what a leaf amounts to in the whole file.
type columnTotals struct {
	compressed, values, nulls int64
	bounds                    bounds
}

func newLeaf(f *Field, at place, kind format.Type, width int) *leaf {
	from := f.source()
	l := &leaf{names: at.names, steps: at.steps, column: at.column, id: f.ID, kind: kind, width: width, from: from,
		text: f.Type.Kind == columns.String, maxDef: at.def, maxRep: at.rep, options: f.Options}
	if kind != format.Boolean {
		l.encode = newEncoder(from, kind, width)
	}
	l.chunkBounds, l.file.bounds = l.newBounds(), l.newBounds()
	return l
}

func (l *leaf) newBounds() bounds {
	b := newBounds(l.from, l.kind, l.width)
	if bytes, ok := b.(*byteBounds); ok {
		bytes.most = max(prefixBytes, l.options.BoundBytes)
	}
	return b
}

// flat leaves are columns of the rows themselves.
func (l *leaf) flat() bool { return len(l.steps) == 1 }

// root is the column of the rows that the steps begin at, nil if the rows have none.
func (l *leaf) root(rows *columns.Batch) *columns.Array {
	if l.column == Nowhere {
		return nil
	}
	return &rows.Columns[l.column]
}

// append adds the rows from to until to the page.
func (l *leaf) append(rows *columns.Batch, from, until int, e *entries) error {
	l.page.rows += until - from
	a := l.root(rows)
	if !l.flat() {
		return l.appendNested(a, from, until, e)
	}
	switch {
	case a == nil:
		l.nulls(until-from, 0)
	case a.Repeat:
		return l.appendRepeat(a, until-from)
	case len(a.Validity) == 0:
		l.present(until - from)
		l.put(a, from, until)
	default:
		return l.appendNullable(a, from, until)
	}
	return nil
}

// present adds the levels of n values of a column without lists.
func (l *leaf) present(n int) {
	l.page.entries += n
	l.page.defs = l.page.defs.add(n, int32(l.maxDef))
}

func (l *leaf) nulls(n int, def uint8) {
	l.page.entries += n
	l.page.nulls += int64(n)
	l.page.defs = l.page.defs.add(n, int32(def))
}

// appendNullable goes through the column in stretches of values and of nulls.
func (l *leaf) appendNullable(a *columns.Array, from, until int) error {
	for from < until {
		valid := a.Valid(from)
		end := from + 1
		for end < until && a.Valid(end) == valid {
			end++
		}
		switch {
		case valid:
			l.present(end - from)
			l.put(a, from, end)
		case l.maxDef == 0:
			return nullError(l.names[0])
		default:
			l.nulls(end-from, 0)
		}
		from = end
	}
	return nil
}

func (l *leaf) appendRepeat(a *columns.Array, n int) error {
	if !a.Valid(0) {
		if l.maxDef == 0 {
			return nullError(l.names[0])
		}
		l.nulls(n, 0)
		return nil
	}
	l.present(n)
	l.putRepeat(a, n)
	return nil
}

// appendNested shreds, then adds levels entry by entry and values in the longest stretches that lie together.
func (l *leaf) appendNested(a *columns.Array, from, until int, e *entries) error {
	values, err := e.shred(a, l.steps, from, until)
	if err != nil {
		return err
	}
	p := l.page
	p.entries += len(e.at)
	for k, def := range e.defs {
		p.defs = p.defs.add(1, int32(def))
		if l.maxRep > 0 {
			p.reps = p.reps.add(1, int32(e.reps[k]))
		}
	}
	for k := 0; k < len(e.at); {
		at := int(e.at[k])
		if at == absent {
			p.nulls++
			k++
			continue
		}
		n := 1
		for k+n < len(e.at) && int(e.at[k+n]) == at+n {
			n++
		}
		l.put(values, at, at+n)
		k += n
	}
	return nil
}

// put adds the present values from to until of a.
func (l *leaf) put(a *columns.Array, from, until int) {
	switch {
	case l.dict != nil:
		l.putNumbers(a, from, until)
		return
	case l.encode == nil:
		for i := from; i < until; i++ {
			l.page.bits.add(bit(a.Data, i))
		}
	default:
		begin := len(l.page.values)
		l.page.values = l.encode(l.page.values, a, from, until)
		if l.filter != nil {
			l.filterIn(a, from, until, l.page.values[begin:])
		}
	}
	l.page.bounds.observe(a, from, until)
}

// filterIn adds values to the Bloom filter; plain are the same ones.
func (l *leaf) filterIn(a *columns.Array, from, until int, plain []byte) {
	if l.kind == format.ByteArray {
		l.filter.addTexts(a, from, until)
	} else {
		l.filter.addPlain(plain, l.kind, l.width)
	}
}

// putRepeat adds the single value of a n times. With a dictionary that costs nothing however large n is.
func (l *leaf) putRepeat(a *columns.Array, n int) {
	if l.dict != nil {
		l.scratch = l.encode(l.scratch[:0], a, 0, 1)
		l.putNumber(l.scratch, n)
		l.page.bounds.observe(a, 0, 1)
		return
	}
	for range n {
		if l.encode == nil {
			l.page.bits.add(bit(a.Data, 0))
		} else {
			l.page.values = l.encode(l.page.values, a, 0, 1)
		}
	}
	if l.filter != nil {
		l.scratch = l.encode(l.scratch[:0], a, 0, 1)
		l.filterIn(a, 0, 1, l.scratch)
	}
	l.page.bounds.observe(a, 0, 1)
}

// weight estimates the bytes that the rows from to until add to the page.
func (l *leaf) weight(rows *columns.Batch, from, until int) int {
	a := l.root(rows)
	if a == nil {
		return 0
	}
	if l.dict != nil && a.Repeat {
		return (until - from) >> 3
	}
	return l.weightOf(a, l.steps, from, until)
}

func (l *leaf) weightOf(a *columns.Array, steps []step, from, until int) int {
	if from == until {
		return 0 // a column that never got a value has no offsets
	}
	if a.Repeat {
		one := *a
		one.Repeat = false
		return (until - from) * l.weightOf(&one, steps, 0, 1)
	}
	if len(steps) == 1 {
		if l.kind == format.ByteArray {
			return int(a.Offsets[until]-a.Offsets[from]) + 4*(until-from)
		}
		return max(1, l.width) * (until - from)
	}
	s := steps[0]
	levels := until - from
	if s.spread {
		if len(a.Offsets) <= until {
			return levels // a column of nothing but nulls may have no offsets
		}
		from, until = int(a.Offsets[from]), int(a.Offsets[until])
		a = &a.Children[0]
		if !s.keyValue {
			return levels + l.weightOf(a, steps[1:], from, until)
		}
	}
	if s.child == Nowhere {
		return levels
	}
	return levels + l.weightOf(&a.Children[s.child], steps[1:], from, until)
}
