package protobuf

import (
	"sluice/columns"
	"sluice/decode/malformed"
)

// element reads one element of a list, or many that stand together.
func (p *Parser) element(f *field, a *columns.Array, w wire, until int) bool {
	elements := &a.Children[0]
	switch {
	case w == f.wire && f.reads == readsMessage:
		row := elements.Len
		if !p.whole(f, a.Children[:1], row, until) {
			return p.at(step{index: row - started(a)})
		}
		return true
	case w == f.wire:
		return p.value(f, elements, until) || p.at(step{index: elements.Len - started(a)})
	case w == wireBytes && f.packable:
		return p.packed(f, a, until)
	}
	return p.mismatch(f, w, p.i)
}

// started is the number of the first element of a list or map that is not closed.
func started(a *columns.Array) int {
	if len(a.Offsets) == 0 {
		return 0
	}
	return int(a.Offsets[len(a.Offsets)-1])
}

func (p *Parser) packed(f *field, a *columns.Array, until int) bool {
	size, ok := p.length(until)
	if !ok {
		return false
	}
	elements := &a.Children[0]
	for end := p.i + size; p.i < end; {
		if !p.value(f, elements, end) {
			return p.at(step{index: elements.Len - started(a)})
		}
	}
	return true
}

// whole reads a message that nothing else is merged into.
func (p *Parser) whole(f *field, a []columns.Array, row, until int) bool {
	return p.embedded(f, a, row, until) && p.finish(f, a, row)
}

// entry reads one entry of a map. A key that comes again is seen to when the map is closed.
func (p *Parser) entry(f *field, a *columns.Array, w wire, until int) bool {
	if w != wireBytes {
		return p.mismatch(f, w, p.i)
	}
	entries := &a.Children[0]
	row := entries.Len
	f.node.begin()
	end, ok := p.enter(f, until)
	if !ok || !p.message(f.node, entries.Children, row, end) || !p.close(f.node, entries.Children, row) {
		return p.at(step{index: row - started(a)})
	}
	p.depth--
	f.node.open = false
	entries.AppendStruct()
	return true
}

// close ends the row of a message: what was not met is absent, lists and messages inside end.
func (p *Parser) close(n *node, a []columns.Array, row int) bool {
	for k := range n.width {
		f, c := &n.fields[k], &a[k]
		ok := true
		switch {
		case f.shape == shapeOne && f.node == nil:
			ok = c.Len != row || p.missing(f, a[k:k+1], row)
		case f.shape == shapeOne && f.node.open:
			ok = p.finish(f, a[k:k+1], row)
		case f.shape == shapeList, f.shape == shapeMap:
			ok = p.closeSpan(f, c)
		default:
			ok = p.missing(f, a[k:k+1], row)
		}
		if !ok {
			return p.at(step{name: f.name})
		}
	}
	return true
}

// missing appends what a field is that the record does not have.
func (p *Parser) missing(f *field, a []columns.Array, row int) bool {
	if f.absent == absentMessage {
		f.node.begin()
		return p.finish(f, a, row)
	}
	if p.room -= f.leaves; p.room < 0 {
		return p.tooMany()
	}
	switch {
	case f.absent == absentMalformed:
		return p.fail(malformed.Missing, p.i, "the field is not there, and it is required")
	case f.absent == absentNull:
		a[0].AppendNothing(f.column)
		return true
	case f.wire == wireBytes:
		p.room -= len(f.text) / 8
		return p.text(f, &a[0], f.text, p.i)
	}
	return p.number(f, &a[0], f.zero, p.i)
}

// finish closes a message in the column that is all of a.
func (p *Parser) finish(f *field, a []columns.Array, row int) bool {
	n, c := f.node, &a[0]
	n.open = false
	switch n.known {
	case knownWrapper:
		return p.close(n, a, row)
	case knownTimestamp:
		return p.timestamp(n, c)
	case knownDuration:
		return p.duration(f, c)
	case knownJSON:
		return p.document(n, c)
	case knownDate:
		return p.date(n, c)
	case knownTimeOfDay:
		return p.timeOfDay(n, c)
	case knownDecimal:
		return p.decimal(f, c)
	case knownEmpty:
		c.AppendBool(true)
		return true
	}
	if !p.close(n, c.Children, row) {
		return false
	}
	c.AppendStruct()
	return true
}

// closeSpan ends a list or a map, which are never null.
func (p *Parser) closeSpan(f *field, a *columns.Array) bool {
	if p.room--; p.room < 0 {
		return p.tooMany()
	}
	if f.shape == shapeMap {
		f.lastWins(a)
	}
	a.AppendSpan()
	return true
}

// lastWins leaves of the entries of a map that have the same key the last.
func (f *field) lastWins(a *columns.Array) {
	entries := &a.Children[0]
	from := started(a)
	if !f.keys.Repeats(&entries.Children[0], from) {
		return
	}
	if f.spare == nil {
		spare := f.column.Array()
		f.spare = &spare.Children[0]
	}
	kept := f.spare
	kept.Reset()
	entry := columns.Type{Kind: columns.Struct, Fields: f.column.Fields}
	for i := from; i < entries.Len; i++ {
		if f.keys.Last(&entries.Children[0], from, i) {
			copyRow(kept, entries, i, &entry)
		}
	}
	entries.Truncate(from)
	for i := range kept.Len {
		copyRow(entries, kept, i, &entry)
	}
}

// copyRow appends row i of a column to another of the same type.
func copyRow(to, from *columns.Array, i int, t *columns.Type) {
	if !from.Valid(i) {
		to.AppendNothing(t)
		return
	}
	switch t.Kind {
	case columns.Bool:
		to.AppendBool(from.Data[i>>3]>>(i&7)&1 == 1)
	case columns.Int32, columns.Date:
		to.AppendInt32(from.Int32s[i])
	case columns.Float32:
		to.AppendFloat32(from.Float32s[i])
	case columns.Float64:
		to.AppendFloat64(from.Float64s[i])
	case columns.String, columns.Binary:
		to.AppendBytes(from.Bytes(i))
	case columns.Fixed, columns.UUID:
		copyFixed(to, from, i)
	case columns.Decimal:
		if t.Precision > columns.WideDecimal {
			copyFixed(to, from, i)
		} else {
			to.AppendInt64(from.Int64s[i])
		}
	case columns.List, columns.Map, columns.Struct:
		copyNested(to, from, i, t)
	default:
		to.AppendInt64(from.Int64s[i])
	}
}

func copyFixed(to, from *columns.Array, i int) {
	width := len(from.Data) / from.Len
	to.AppendFixed(from.Data[i*width : (i+1)*width])
}

func copyNested(to, from *columns.Array, i int, t *columns.Type) {
	if t.Kind == columns.Struct {
		for k := range t.Fields {
			copyRow(&to.Children[k], &from.Children[k], i, &t.Fields[k].Type)
		}
		to.AppendStruct()
		return
	}
	inner := &t.Fields[0].Type
	if t.Kind == columns.Map {
		inner = &columns.Type{Kind: columns.Struct, Fields: t.Fields}
	}
	for k, until := from.Span(i); k < until; k++ {
		copyRow(&to.Children[0], &from.Children[0], k, inner)
	}
	to.AppendSpan()
}
