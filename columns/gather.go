package columns

// AppendRows adds to a the rows of src, a column of the same type, with the given numbers. a does not repeat. Data behind
// 32-bit offsets must not grow beyond 2 GiB: that is up to the caller.
func (a *Array) AppendRows(src *Array, rows []int32) {
	for k := 0; k < len(rows); {
		from, n := int(rows[k]), 1
		for k+n < len(rows) && int(rows[k+n]) == from+n {
			n++
		}
		a.AppendRange(src, from, from+n)
		k += n
	}
}

// AppendRange is AppendRows for the rows from to until.
func (a *Array) AppendRange(src *Array, from, until int) {
	if src.Repeat {
		one := *src
		one.Repeat, one.Len = false, 1
		for range until - from {
			a.AppendRange(&one, 0, 1)
		}
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
			at := a.Len + i - from
			if len(a.Data) <= at>>3 {
				a.Data = append(a.Data, 0)
			}
			a.Data[at>>3] |= src.Data[i>>3] >> (i & 7) & 1 << (at & 7)
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
	for _, o := range src.Offsets[from+1 : until+1] {
		a.Offsets = append(a.Offsets, o+shift)
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
