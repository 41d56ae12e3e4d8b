package columns

// Size is how many bytes the values of columns take.
func Size(arrays []Array) int {
	sum := 0
	for i := range arrays {
		a := &arrays[i]
		sum += len(a.Data) + len(a.Validity) + 4*(len(a.Offsets)+len(a.Int32s)+len(a.Float32s)) + 8*(len(a.Int64s)+len(a.Float64s))
		if len(a.Children) > 0 {
			sum += Size(a.Children)
		}
	}
	return sum
}

// Held is how many bytes columns have room for, whatever is in them.
func Held(arrays []Array) int {
	sum := 0
	for i := range arrays {
		a := &arrays[i]
		sum += cap(a.Data) + cap(a.Validity) + 4*(cap(a.Offsets)+cap(a.Int32s)+cap(a.Float32s)) + 8*(cap(a.Int64s)+cap(a.Float64s))
		if len(a.Children) > 0 {
			sum += Held(a.Children)
		}
	}
	return sum
}

// Width is how many bytes a row of columns of these types takes at least, the values of lists and texts left out.
func Width(schema []Field) int {
	sum := 0
	for i := range schema {
		switch t := &schema[i].Type; t.Kind {
		case Bool:
			sum++
		case String, Binary, List, Map, Int32, Date, Float32:
			sum += 4
		case Struct:
			sum += Width(t.Fields)
		case Fixed, UUID:
			sum += t.width()
		case Decimal:
			sum += 8
			if t.Precision > WideDecimal {
				sum += 8
			}
		default:
			sum += 8
		}
	}
	return sum
}
