package decode

import (
	"fmt"

	"sluice/columns"
)

// Rows may take much more room than their records: a wide schema has a value for each of its columns in every row, and
// lists of short numbers are larger in columns than as text. So records become as many batches as it takes, each of about
// sliceBytes, whatever the schema is. Few do: the records that a reader hands out at once are some hundred kilobytes.
const (
	sliceBytes = 1 << 20
	// keptBytes is how much room columns keep from one batch to the next. One huge record must not keep its memory for
	// the rest of a run.
	keptBytes = 4 << 20
)

// What a record is taken to add to the columns until they are looked at again, besides the width of a row: so much for each
// of its bytes, and so much for a dead letter. It is more than nearly all records add; looking at every column after every
// record would take as long as decoding it.
const (
	bytesPerByte   = 64
	bytesPerRecord = 256
)

// gauge is where a Typed stands in records.
type gauge struct {
	records *columns.Records
	// next is the first record that is not decoded.
	next int
	// width is what a record adds without its bytes, left what may be added before the columns have to be looked at.
	width, left int
	// letters are the columns of dead letters, nil if there are none.
	letters []columns.Array
}

// begin takes records in hand.
func (t *Typed) begin(records *columns.Records) error {
	for _, f := range t.framed {
		clear(f.missing)
	}
	if (t.options.Headers || t.framed != nil) && records.Headers.Len != records.Rows {
		return fmt.Errorf("decode %s-%d: %d records come with %d header lists", records.Topic, records.Partition, records.Rows, records.Headers.Len)
	}
	t.at.records, t.at.next = records, 0
	return nil
}

// filled is the columns that are filled from values and keys.
func (t *Typed) filled() []columns.Array {
	if t.readsKeys() {
		return t.rows.Columns[:t.width+1]
	}
	return t.rows.Columns[:t.width]
}

// clear empties the batch. Columns that have become huge are made anew.
func (t *Typed) clear() {
	filled := t.filled()
	if columns.Held(filled) > keptBytes {
		copy(filled, columns.Make(t.schema[:len(filled)]))
	}
	for i := range filled {
		filled[i].Reset()
	}
	if columns.Held(t.own) > keptBytes {
		t.own = columns.Make(t.schema)
	}
	t.kept = t.kept[:0]
	t.rows.Nulled, t.rows.Dropped = 0, 0
	t.rows.Bad, t.rows.Reasons, t.rows.Examples = 0, nil, t.rows.Examples[:0]
	t.at.left = sliceBytes
}

// full says whether the batch is to end. It looks at all columns.
func (t *Typed) full() bool {
	g := &t.at
	taken := columns.Size(t.filled()) + columns.Size(g.letters)
	g.left = max(sliceBytes-taken, sliceBytes/16) // else the end would be looked for with every record
	return taken >= sliceBytes
}
