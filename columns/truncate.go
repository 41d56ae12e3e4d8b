package columns

// TruncateAll leaves the first n rows of every column.
func TruncateAll(arrays []Array, n int) {
	for i := range arrays {
		arrays[i].Truncate(n)
	}
}

// Truncate drops the rows from n on, and with them what a row that was never closed has left in the columns inside a.
// That takes a row back of which only some columns and elements were appended. It costs as much as what it drops. a has
// at least n rows and does not repeat.
func (a *Array) Truncate(n int) {
	switch a.Kind {
	case List, Map:
		elements := 0
		if len(a.Offsets) > 0 {
			elements = int(a.Offsets[n])
			a.Offsets = a.Offsets[:n+1]
		}
		a.Children[0].Truncate(elements)
	case Struct:
		TruncateAll(a.Children, n)
	default:
		a.truncateValues(n)
	}
	a.truncateValidity(n)
	a.Len = n
}

func (a *Array) truncateValues(n int) {
	switch a.Kind {
	case Bool:
		a.Data = truncateBits(a.Data, n)
	case Int32, Date:
		a.Int32s = a.Int32s[:n]
	case Int64, Time, Timestamp, TimestampTZ:
		a.Int64s = a.Int64s[:n]
	case Float32:
		a.Float32s = a.Float32s[:n]
	case Float64:
		a.Float64s = a.Float64s[:n]
	case String, Binary:
		if len(a.Offsets) > 0 {
			a.Data = a.Data[:a.Offsets[n]]
			a.Offsets = a.Offsets[:n+1]
		}
	case Decimal:
		if len(a.Int64s) > 0 {
			a.Int64s = a.Int64s[:n]
			return
		}
		a.truncateFixed(n)
	case Fixed, UUID:
		a.truncateFixed(n)
	}
}

func (a *Array) truncateFixed(n int) {
	if a.Len > 0 {
		a.Data = a.Data[:len(a.Data)/a.Len*n]
	}
}

func (a *Array) truncateValidity(n int) {
	if len(a.Validity) == 0 {
		return
	}
	for i := n; i < a.Len; i++ {
		if !a.Valid(i) {
			a.Nulls--
		}
	}
	a.Validity = truncateBits(a.Validity, n)
	if a.Nulls == 0 {
		a.Validity = a.Validity[:0]
	}
}

// truncateBits leaves n bits; those behind them in the last byte are zero, since values are set by or.
func truncateBits(bits []byte, n int) []byte {
	whole := (n + 7) >> 3
	if whole > len(bits) {
		return bits
	}
	bits = bits[:whole]
	if n&7 != 0 {
		bits[whole-1] &= 1<<(n&7) - 1
	}
	return bits
}
