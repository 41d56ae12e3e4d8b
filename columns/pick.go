package columns

import "slices"

// Pick is a row of one of several columns.
type Pick struct {
	// From is which of the columns, Row which of its rows.
	From, Row int32
}

// mostSources is of how many columns rows can be picked without an allocation for each column.
const mostSources = 64

// AppendPicks adds to a the rows that picks say, of columns of its type. a does not repeat. Data behind 32-bit offsets must not grow
// beyond 2 GiB: that is up to the caller.
func (a *Array) AppendPicks(from []*Array, picks []Pick) {
	picks = once(from, picks)
	switch a.Kind {
	case List, Map:
		a.pickAllSpans(from, picks)
	case Struct:
		for i := range a.Children {
			a.Children[i].AppendPicks(childrenOf(from, i), picks)
		}
	case String, Binary:
		a.pickAllTexts(from, picks)
	default:
		a.pickAllFixedWidth(from, picks)
	}
	a.pickAllValidity(from, picks)
}

// once points picks of columns that repeat to their only row.
func once(from []*Array, picks []Pick) []Pick {
	if !slices.ContainsFunc(from, func(a *Array) bool { return a.Repeat }) {
		return picks
	}
	picks = slices.Clone(picks)
	for k, p := range picks {
		if from[p.From].Repeat {
			picks[k].Row = 0
		}
	}
	return picks
}

func childrenOf(from []*Array, i int) []*Array {
	children := make([]*Array, len(from))
	for k, a := range from {
		children[k] = &a.Children[i]
	}
	return children
}

func (a *Array) pickAllValidity(from []*Array, picks []Pick) {
	if len(a.Validity) == 0 && !slices.ContainsFunc(from, func(a *Array) bool { return len(a.Validity) > 0 }) {
		a.Len += len(picks)
		return
	}
	for _, p := range picks {
		if from[p.From].Valid(int(p.Row)) {
			a.appendValid()
		} else {
			a.appendNull()
		}
	}
}

func (a *Array) pickAllFixedWidth(from []*Array, picks []Pick) {
	switch a.Kind {
	case Bool:
		for k, p := range picks {
			a.appendBit(a.Len+k, from[p.From].Data[p.Row>>3]>>(p.Row&7)&1)
		}
	case Int32, Date:
		a.Int32s = pickedOf(a.Int32s, from, func(a *Array) []int32 { return a.Int32s }, picks)
	case Int64, Time, Timestamp, TimestampTZ:
		a.Int64s = pickedOf(a.Int64s, from, func(a *Array) []int64 { return a.Int64s }, picks)
	case Float32:
		a.Float32s = pickedOf(a.Float32s, from, func(a *Array) []float32 { return a.Float32s }, picks)
	case Float64:
		a.Float64s = pickedOf(a.Float64s, from, func(a *Array) []float64 { return a.Float64s }, picks)
	case Decimal:
		if slices.ContainsFunc(from, func(a *Array) bool { return len(a.Int64s) > 0 }) {
			a.Int64s = pickedOf(a.Int64s, from, func(a *Array) []int64 { return a.Int64s }, picks)
			return
		}
		a.pickAllFixed(from, picks)
	case Fixed, UUID:
		a.pickAllFixed(from, picks)
	}
}

// pickedOf adds to dst the values that picks say.
func pickedOf[T any](dst []T, from []*Array, values func(*Array) []T, picks []Pick) []T {
	var few [mostSources][]T
	all := few[:0]
	for _, a := range from {
		all = append(all, values(a))
	}
	at := len(dst)
	dst = slices.Grow(dst, len(picks))[:at+len(picks)]
	for k, p := range picks {
		dst[at+k] = all[p.From][p.Row]
	}
	return dst
}

func (a *Array) pickAllFixed(from []*Array, picks []Pick) {
	for _, p := range picks {
		src := from[p.From]
		width := len(src.Data)
		if !src.Repeat {
			width /= src.Len
		}
		a.Data = append(a.Data, src.Data[width*int(p.Row):width*int(p.Row)+width]...)
	}
}

// pickAllOffsets continues the offsets of a by the lengths of the rows.
func (a *Array) pickAllOffsets(from []*Array, picks []Pick) {
	var few [mostSources][]int32
	all := few[:0]
	for _, src := range from {
		all = append(all, src.Offsets)
	}
	a.startOffsets()
	at := len(a.Offsets)
	last := a.Offsets[at-1]
	a.Offsets = slices.Grow(a.Offsets, len(picks))[:at+len(picks)]
	for k, p := range picks {
		if offsets := all[p.From]; int(p.Row)+1 < len(offsets) { // a column that never got a value has none
			last += offsets[p.Row+1] - offsets[p.Row]
		}
		a.Offsets[at+k] = last
	}
}

func (a *Array) pickAllTexts(from []*Array, picks []Pick) {
	a.pickAllOffsets(from, picks)
	a.Data = slices.Grow(a.Data, int(a.Offsets[len(a.Offsets)-1])-len(a.Data))
	for _, p := range picks {
		src := from[p.From]
		if int(p.Row)+1 < len(src.Offsets) {
			a.Data = append(a.Data, src.Data[src.Offsets[p.Row]:src.Offsets[p.Row+1]]...)
		}
	}
}

// pickAllSpans adds lists. Their elements are picked a bounded number at a time.
func (a *Array) pickAllSpans(from []*Array, picks []Pick) {
	a.pickAllOffsets(from, picks)
	children := childrenOf(from, 0)
	elements := make([]Pick, 0, 1024)
	for _, p := range picks {
		src := from[p.From]
		if int(p.Row)+1 >= len(src.Offsets) {
			continue
		}
		for i := src.Offsets[p.Row]; i < src.Offsets[p.Row+1]; i++ {
			if len(elements) == cap(elements) {
				a.Children[0].AppendPicks(children, elements)
				elements = elements[:0]
			}
			elements = append(elements, Pick{p.From, i})
		}
	}
	a.Children[0].AppendPicks(children, elements)
}
