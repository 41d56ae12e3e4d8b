package columns

import "slices"

// longRun is how many consecutive rows are worth being copied together.
const longRun = 16

// AppendRows adds to a the rows of src, a column of the same type, with the given numbers. a does not repeat. Data behind
// 32-bit offsets must not grow beyond 2 GiB: that is up to the caller.
func (a *Array) AppendRows(src *Array, rows []int32) {
	if src.Repeat {
		a.appendRepeated(src, len(rows))
		return
	}
	for len(rows) > 0 {
		n := scattered(rows)
		if n > 0 {
			a.pick(src, rows[:n])
		} else {
			n = consecutive(rows)
			a.AppendRange(src, int(rows[0]), int(rows[0])+n)
		}
		rows = rows[n:]
	}
}

// consecutive is how many of the first rows follow each other.
func consecutive(rows []int32) int {
	n := 1
	for n < len(rows) && rows[n] == rows[n-1]+1 {
		n++
	}
	return n
}

// scattered is how many rows there are before a long run of consecutive ones.
func scattered(rows []int32) int {
	begin := 0
	for k := 1; k < len(rows); k++ {
		if rows[k] != rows[k-1]+1 {
			begin = k
		} else if k-begin+1 == longRun {
			return begin
		}
	}
	return len(rows)
}

// AppendRange is AppendRows for the rows from to until.
func (a *Array) AppendRange(src *Array, from, until int) {
	if src.Repeat {
		a.appendRepeated(src, until-from)
		return
	}
	if from == until {
		return
	}
	switch a.Kind {
	case List, Map:
		a.appendSpans(src, from, until)
	case Struct:
		for i := range a.Children {
			a.Children[i].AppendRange(&src.Children[i], from, until)
		}
	case String, Binary:
		a.appendTexts(src, from, until)
	default:
		a.appendFixedWidth(src, from, until)
	}
	a.appendValidity(src, from, until)
}

func (a *Array) appendFixedWidth(src *Array, from, until int) {
	switch a.Kind {
	case Bool:
		for i := from; i < until; i++ {
			a.appendBit(a.Len+i-from, src.Data[i>>3]>>(i&7)&1)
		}
	case Int32, Date:
		a.Int32s = append(a.Int32s, src.Int32s[from:until]...)
	case Int64, Time, Timestamp, TimestampTZ:
		a.Int64s = append(a.Int64s, src.Int64s[from:until]...)
	case Float32:
		a.Float32s = append(a.Float32s, src.Float32s[from:until]...)
	case Float64:
		a.Float64s = append(a.Float64s, src.Float64s[from:until]...)
	case Decimal:
		if len(src.Int64s) > 0 {
			a.Int64s = append(a.Int64s, src.Int64s[from:until]...)
			return
		}
		a.Data = append(a.Data, src.Data[16*from:16*until]...)
	case Fixed, UUID:
		width := len(src.Data) / src.Len
		a.Data = append(a.Data, src.Data[width*from:width*until]...)
	}
}

func (a *Array) appendBit(at int, bit byte) {
	if len(a.Data) <= at>>3 {
		a.Data = append(a.Data, 0)
	}
	a.Data[at>>3] |= bit << (at & 7)
}

// appendOffsets continues the offsets of a with those of src, and returns where in src they lie. A column that never got a
// value has none.
func (a *Array) appendOffsets(src *Array, from, until int) (begin, end int) {
	a.startOffsets()
	last := a.Offsets[len(a.Offsets)-1]
	if len(src.Offsets) <= until {
		for range until - from {
			a.Offsets = append(a.Offsets, last)
		}
		return 0, 0
	}
	shift := last - src.Offsets[from]
	at := len(a.Offsets)
	a.Offsets = append(a.Offsets, src.Offsets[from+1:until+1]...)
	for k := range a.Offsets[at:] {
		a.Offsets[at+k] += shift
	}
	return int(src.Offsets[from]), int(src.Offsets[until])
}

func (a *Array) appendTexts(src *Array, from, until int) {
	begin, end := a.appendOffsets(src, from, until)
	a.Data = append(a.Data, src.Data[begin:end]...)
}

func (a *Array) appendSpans(src *Array, from, until int) {
	begin, end := a.appendOffsets(src, from, until)
	a.Children[0].AppendRange(&src.Children[0], begin, end)
}

func (a *Array) appendValidity(src *Array, from, until int) {
	if len(src.Validity) == 0 && len(a.Validity) == 0 {
		a.Len += until - from
		return
	}
	for i := from; i < until; i++ {
		if src.Valid(i) {
			a.appendValid()
		} else {
			a.appendNull()
		}
	}
}

// pick is AppendRows for rows that lie anywhere; src does not repeat.
func (a *Array) pick(src *Array, rows []int32) {
	switch a.Kind {
	case List, Map:
		a.pickSpans(src, rows)
	case Struct:
		for i := range a.Children {
			a.Children[i].AppendRows(&src.Children[i], rows)
		}
	case String, Binary:
		a.pickTexts(src, rows)
	default:
		a.pickFixedWidth(src, rows)
	}
	if len(src.Validity) == 0 && len(a.Validity) == 0 {
		a.Len += len(rows)
		return
	}
	for _, row := range rows {
		if src.Valid(int(row)) {
			a.appendValid()
		} else {
			a.appendNull()
		}
	}
}

func (a *Array) pickFixedWidth(src *Array, rows []int32) {
	switch a.Kind {
	case Bool:
		for k, row := range rows {
			a.appendBit(a.Len+k, src.Data[row>>3]>>(row&7)&1)
		}
	case Int32, Date:
		a.Int32s = picked(a.Int32s, src.Int32s, rows)
	case Int64, Time, Timestamp, TimestampTZ:
		a.Int64s = picked(a.Int64s, src.Int64s, rows)
	case Float32:
		a.Float32s = picked(a.Float32s, src.Float32s, rows)
	case Float64:
		a.Float64s = picked(a.Float64s, src.Float64s, rows)
	case Decimal:
		if len(src.Int64s) > 0 {
			a.Int64s = picked(a.Int64s, src.Int64s, rows)
			return
		}
		a.pickFixed(src, 16, rows)
	case Fixed, UUID:
		a.pickFixed(src, len(src.Data)/src.Len, rows)
	}
}

// picked adds to dst the values of src with the given numbers.
func picked[T any](dst, src []T, rows []int32) []T {
	at := len(dst)
	dst = slices.Grow(dst, len(rows))[:at+len(rows)]
	for k, row := range rows {
		dst[at+k] = src[row]
	}
	return dst
}

func (a *Array) pickFixed(src *Array, width int, rows []int32) {
	a.Data = slices.Grow(a.Data, width*len(rows))
	for _, row := range rows {
		a.Data = append(a.Data, src.Data[width*int(row):width*int(row)+width]...)
	}
}

// pickOffsets continues the offsets of a by the lengths of the rows in src, and reports whether src has any.
func (a *Array) pickOffsets(src *Array, rows []int32) bool {
	a.startOffsets()
	at := len(a.Offsets)
	last := a.Offsets[at-1]
	some := len(src.Offsets) > src.Len
	a.Offsets = slices.Grow(a.Offsets, len(rows))[:at+len(rows)]
	for k, row := range rows {
		if some {
			last += src.Offsets[row+1] - src.Offsets[row]
		}
		a.Offsets[at+k] = last
	}
	return some
}

func (a *Array) pickTexts(src *Array, rows []int32) {
	if !a.pickOffsets(src, rows) {
		return
	}
	a.Data = slices.Grow(a.Data, int(a.Offsets[len(a.Offsets)-1])-len(a.Data))
	for _, row := range rows {
		a.Data = append(a.Data, src.Data[src.Offsets[row]:src.Offsets[row+1]]...)
	}
}

// pickSpans adds lists. Their elements are picked a bounded number at a time.
func (a *Array) pickSpans(src *Array, rows []int32) {
	if !a.pickOffsets(src, rows) {
		return
	}
	elements := make([]int32, 0, 1024)
	for _, row := range rows {
		for i := src.Offsets[row]; i < src.Offsets[row+1]; i++ {
			if len(elements) == cap(elements) {
				a.Children[0].AppendRows(&src.Children[0], elements)
				elements = elements[:0]
			}
			elements = append(elements, i)
		}
	}
	a.Children[0].AppendRows(&src.Children[0], elements)
}

// first is the number of the only row of a column that repeats, many times over.
var first [1024]int32

// appendRepeated adds the only value of src n times.
func (a *Array) appendRepeated(src *Array, n int) {
	one := *src
	one.Repeat, one.Len = false, 1
	for n > 0 {
		k := min(n, len(first))
		a.pick(&one, first[:k])
		n -= k
	}
}

// Size is how many bytes the values take.
func (a *Array) Size() int64 {
	n := int64(4*len(a.Int32s)+8*len(a.Int64s)+4*len(a.Float32s)+8*len(a.Float64s)+4*len(a.Offsets)) + int64(len(a.Data)+len(a.Validity))
	for i := range a.Children {
		n += a.Children[i].Size()
	}
	return n
}

// Empty makes an empty column of the same type as a.
func (a *Array) Empty() Array {
	e := Array{Kind: a.Kind}
	for i := range a.Children {
		e.Children = append(e.Children, a.Children[i].Empty())
	}
	return e
}
