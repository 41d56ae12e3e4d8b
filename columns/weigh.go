package columns

// AddSizes adds to each of sizes, which has one for each row of a, how many bytes the row's values take. It depends on the values
// alone, not on how or where they are held.
func (a *Array) AddSizes(sizes []int64) {
	if a.Repeat {
		one, size := *a, []int64{0}
		one.Repeat, one.Len = false, 1
		one.AddSizes(size)
		addEach(sizes, size[0])
		return
	}
	switch a.Kind {
	case Bool:
		addEach(sizes, 1)
	case Int32, Date, Float32:
		addEach(sizes, 4)
	case Decimal:
		if len(a.Int64s) == 0 {
			addEach(sizes, 16)
			return
		}
		addEach(sizes, 8)
	case Fixed, UUID:
		if a.Len > 0 {
			addEach(sizes, int64(len(a.Data)/a.Len))
		}
	case String, Binary:
		a.addSpans(sizes, func(from, until int32) int64 { return 4 + int64(until-from) })
	case List, Map:
		inside := make([]int64, a.Children[0].Len+1)
		a.Children[0].AddSizes(inside[1:])
		for i := range inside[1:] { // of all elements before
			inside[i+1] += inside[i]
		}
		a.addSpans(sizes, func(from, until int32) int64 { return 4 + inside[until] - inside[from] })
	case Struct:
		for i := range a.Children {
			a.Children[i].AddSizes(sizes)
		}
	default:
		addEach(sizes, 8)
	}
}

func addEach(sizes []int64, n int64) {
	for i := range sizes {
		sizes[i] += n
	}
}

func (a *Array) addSpans(sizes []int64, size func(from, until int32) int64) {
	if len(a.Offsets) < 2 { // a column that never got a value has none
		addEach(sizes, 4)
		return
	}
	for i := range sizes {
		sizes[i] += size(a.Offsets[i], a.Offsets[i+1])
	}
}
