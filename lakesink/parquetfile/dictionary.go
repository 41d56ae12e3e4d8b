package parquetfile

import (
	"bytes"
	"hash/maphash"

	"github.com/parquet-go/parquet-go/format"

	"sluice/columns"
)

// dictionary numbers the distinct values of a column chunk in the order in which they come, which alone decides what is
// written. Every column begins with one, on trial: as soon as enough values have come to tell, or the page ends, one that does not
// repeat its values is undone.
type dictionary struct {
	// plain has the values one after the other in PLAIN form, starts where each begins and, last, where they end.
	plain  []byte
	starts []uint32
	// slots is a hash table of numbers plus one with linear probing, of a power of two and at most half full; hashes are those of
	// the values.
	slots  []int32
	hashes []uint32
	// numbered counts the values that were given a number, tried their bytes while the dictionary is on trial; settled says that it
	// is not any more.
	numbered, tried int
	settled         bool
}

const (
	// maxDictionaryBytes bounds a dictionary: a column with so many values is not one that a dictionary helps.
	maxDictionaryBytes = 64 << 10
	// trialValues are enough to tell whether values repeat.
	trialValues = 2048
	// leastRepeats is how often the values of a trial have to come on average for the dictionary to stay.
	leastRepeats = 2

	leastSlots = 16
)

// seed is of the hash table alone: numbers do not depend on it. It keeps records from being made to collide.
var seed = maphash.MakeSeed()

func newDictionary(settled bool) *dictionary { return &dictionary{settled: settled} }

func (d *dictionary) count() int { return max(0, len(d.starts)-1) }

// value is that of a number, in PLAIN form.
func (d *dictionary) value(n int32) []byte { return d.plain[d.starts[n]:d.starts[n+1]] }

// index is the number of a value, and whether it is a new one.
func (d *dictionary) index(value []byte) (n int32, fresh bool) {
	if 2*len(d.starts) >= len(d.slots) {
		d.grow()
	}
	hash := uint32(maphash.Bytes(seed, value))
	mask := uint32(len(d.slots) - 1)
	at := hash & mask
	for ; d.slots[at] != 0; at = (at + 1) & mask {
		if n := d.slots[at] - 1; d.hashes[n] == hash && bytes.Equal(d.value(n), value) {
			return n, false
		}
	}
	n = int32(d.count())
	d.slots[at] = n + 1
	d.hashes = append(d.hashes, hash)
	d.plain = append(d.plain, value...)
	d.starts = append(d.starts, uint32(len(d.plain)))
	return n, true
}

func (d *dictionary) grow() {
	if d.starts == nil {
		d.starts = append(d.starts, 0)
	}
	d.slots = make([]int32, max(leastSlots, 2*len(d.slots)))
	mask := uint32(len(d.slots) - 1)
	for n, hash := range d.hashes {
		at := hash & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = int32(n) + 1
	}
}

// helps says whether values have repeated enough.
func (d *dictionary) helps() bool { return leastRepeats*d.count() <= d.numbered }

// held is what the dictionary takes of memory.
func (d *dictionary) held() int64 {
	if d == nil {
		return 0
	}
	return int64(cap(d.plain) + 4*(cap(d.starts)+cap(d.slots)+cap(d.hashes)))
}

// reset empties the dictionary for another chunk.
func (d *dictionary) reset() {
	clear(d.slots)
	d.plain, d.hashes, d.numbered = d.plain[:0], d.hashes[:0], 0
	if d.starts != nil {
		d.starts = d.starts[:1]
	}
}

// open is the size of the open page: of one whose dictionary is on trial that which it has without.
func (l *leaf) open() int {
	if l.dict == nil {
		return l.page.size()
	}
	return l.page.size() + l.dict.tried
}

// putNumbers adds the present values from to until of a by their numbers.
func (l *leaf) putNumbers(a *columns.Array, from, until int) {
	l.scratch = l.encode(l.scratch[:0], a, from, until)
	for rest := l.scratch; len(rest) > 0; {
		n := l.plainLen(rest)
		l.putNumber(rest[:n], 1)
		rest = rest[n:]
	}
	l.page.bounds.observe(a, from, until)
}

// putNumber adds a value, in PLAIN form, n times.
func (l *leaf) putNumber(value []byte, n int) {
	number, fresh := l.dict.index(value)
	l.page.indexes = l.page.indexes.add(n, number)
	l.dict.numbered += n
	if !l.dict.settled {
		l.dict.tried += n * len(value)
	}
	if fresh && l.filter != nil {
		l.filter.addOne(value, l.kind, l.width)
	}
}

// plainLen is the length of the first of values in PLAIN form.
func (l *leaf) plainLen(values []byte) int {
	if l.kind != format.ByteArray {
		return l.width
	}
	return 4 + int(uint32(values[0])|uint32(values[1])<<8|uint32(values[2])<<16|uint32(values[3])<<24)
}

// settle ends the trial of a dictionary, if it is on trial still: one that does not help is undone, which it can be while all that
// was numbered is in the open page.
func (l *leaf) settle() {
	d := l.dict
	if d == nil || d.settled {
		return
	}
	d.settled, d.tried = true, 0
	if d.helps() {
		return
	}
	p := l.page
	for _, r := range p.indexes {
		for range r.n {
			p.values = append(p.values, d.value(r.value)...)
		}
	}
	p.indexes, l.dict = p.indexes[:0], nil
}
