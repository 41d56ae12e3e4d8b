package columns

// Array is one column of consecutive rows.
//
// Kind decides which of the value fields is in use. Null rows hold an unspecified value there, except that a null
// of a kind with Offsets spans no data.
type Array struct {
	Kind Kind
	// Len is the number of rows.
	Len int
	// Repeat says that a single value, stored once, stands for all Len rows (Arrow's run-end encoding with one run).
	// A topic name or a partition number costs nothing that way.
	Repeat bool
	// Nulls counts the null rows.
	Nulls int
	// Validity has bit i set (least significant first) where row i is present; empty when no row is null.
	Validity []byte

	Int32s   []int32
	Int64s   []int64
	Float32s []float32
	Float64s []float64
	// Offsets has one entry more than there are values: value i is Data[Offsets[i]:Offsets[i+1]], or the elements
	// Offsets[i] to Offsets[i+1] of the only child.
	Offsets []int32
	Data    []byte
	// Children are the columns inside a List, Map or Struct.
	Children []Array
}

// Valid reports whether row i is present.
func (a *Array) Valid(i int) bool {
	if len(a.Validity) == 0 {
		return true
	}
	if a.Repeat {
		i = 0
	}
	return a.Validity[i>>3]&(1<<(i&7)) != 0
}

// Bytes is the value of row i of a String or Binary column, nil for a null and never nil for an empty value. It aliases
// the column.
func (a *Array) Bytes(i int) []byte {
	if !a.Valid(i) {
		return nil
	}
	if a.Repeat {
		i = 0
	}
	if a.Data == nil { // every value so far is empty
		return []byte{}
	}
	return a.Data[a.Offsets[i]:a.Offsets[i+1]:a.Offsets[i+1]]
}

// Span is where the elements of row i of a List or Map lie in the child: [from, until).
func (a *Array) Span(i int) (from, until int) {
	if a.Repeat {
		i = 0
	}
	return int(a.Offsets[i]), int(a.Offsets[i+1])
}

// Reset empties a and keeps its memory and kind, so that a reused Array allocates nothing once it has grown.
func (a *Array) Reset() {
	a.Len, a.Nulls, a.Repeat, a.Validity = 0, 0, false, a.Validity[:0]
	a.Int32s, a.Int64s = a.Int32s[:0], a.Int64s[:0]
	a.Float32s, a.Float64s = a.Float32s[:0], a.Float64s[:0]
	a.Data, a.Offsets = a.Data[:0], a.Offsets[:0]
	for i := range a.Children {
		a.Children[i].Reset()
	}
}

// AppendBytes adds a present value to a String or Binary column.
func (a *Array) AppendBytes(value []byte) {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
	a.Data = append(a.Data, value...)
	a.Offsets = append(a.Offsets, int32(len(a.Data)))
	a.appendValid()
}

// AppendNullBytes adds a null to a String or Binary column.
func (a *Array) AppendNullBytes() {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
	a.Offsets = append(a.Offsets, int32(len(a.Data)))
	a.appendNull()
}

// AppendSpan closes the list of the next row: it holds the child's elements from the last span's end to its length.
func (a *Array) AppendSpan() {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
	a.Offsets = append(a.Offsets, int32(a.Children[0].Len))
	a.appendValid()
}

// AppendNullSpan adds a null list.
func (a *Array) AppendNullSpan() {
	if len(a.Offsets) == 0 {
		a.Offsets = append(a.Offsets, 0)
	}
	a.Offsets = append(a.Offsets, a.Offsets[len(a.Offsets)-1])
	a.appendNull()
}

// AppendStruct closes a present row of a Struct whose children were appended to.
func (a *Array) AppendStruct() { a.appendValid() }

// AppendPresent closes a present row of a column of fixed width whose value was appended to the kind's field.
func (a *Array) AppendPresent() { a.appendValid() }

// AppendNull closes a null row of a column of fixed width; a value, whichever, was appended to the kind's field.
func (a *Array) AppendNull() { a.appendNull() }

func (a *Array) appendValid() {
	if len(a.Validity) > 0 {
		a.growValidity()
		a.Validity[a.Len>>3] |= 1 << (a.Len & 7)
	}
	a.Len++
}

// appendNull starts the bitmap at the first null: most columns never have one.
func (a *Array) appendNull() {
	if len(a.Validity) == 0 {
		for range a.Len >> 3 {
			a.Validity = append(a.Validity, 0xff)
		}
		if a.Len&7 != 0 {
			a.Validity = append(a.Validity, 1<<(a.Len&7)-1)
		}
	}
	a.growValidity()
	a.Nulls++
	a.Len++
}

func (a *Array) growValidity() {
	if len(a.Validity) <= a.Len>>3 {
		a.Validity = append(a.Validity, 0)
	}
}

// Batch is consecutive rows of a schema, one Array a field.
type Batch struct {
	Rows    int
	Columns []Array
	// Nulled counts those of the rows whose record was malformed, so that its columns are null; Dropped counts the records
	// that a policy left out, which are no rows.
	Nulled, Dropped int
	// Rejected are the dead letters: the records that are no rows and go to another output, as rows of its columns; nil if
	// there are none.
	Rejected *Batch
	// Bad counts the malformed records, whatever became of them.
	Bad int
	// Reasons counts malformed and rejected records by why they are no rows, nil if there are none; Examples are the first
	// few of them.
	Reasons  map[string]int64
	Examples []Example
	// Rest makes the next of the batches that the same records become; nil with the last of them. Rows may be so much larger
	// than the records that all of them at once would have no room: whoever takes this batch takes the others too.
	Rest func() (*Batch, error)
}

// Next is the batch of Rest, nil after the last one. b is not valid any more then.
func (b *Batch) Next() (*Batch, error) {
	if b.Rest == nil {
		return nil, nil
	}
	return b.Rest()
}

// Example is a record that is no row.
type Example struct {
	Offset int64
	// Reason is the class of the fault, Text says what is wrong; both are safe for a terminal.
	Reason, Text string
}
