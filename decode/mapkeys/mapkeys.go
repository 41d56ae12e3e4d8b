// Package mapkeys tells which keys of a map are the same while its entries are written into columns. Few keys are
// compared one by one; many are hashed, with a seed that nobody who sends records knows, so that no record costs more
// than time in its length.
//
// Keys are the first child of a map's entries, and a map is the keys from one position of that column to its end: the
// last map of a column, as it is being written. Keys are never null.
package mapkeys

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"sluice/columns"
)

// few is how many keys are compared one by one.
const few = 12

// Set is room for the keys of one map at a time; it grows with the largest and is used again for the next. It is not for
// concurrent use.
type Set struct {
	seed maphash.Seed
	// slots hold the numbers of keys, from 1; 0 is free. It is a power of two long, and at most half full.
	slots []int32
}

// New is a set with a seed of its own.
func New() *Set { return &Set{seed: maphash.MakeSeed()} }

// Repeated reports whether the last key of keys is among those before it, beginning with from. It is asked after every
// key, so that a map is left at its first repeated one.
func (s *Set) Repeated(keys *columns.Array, from int) bool {
	last, count := keys.Len-1, keys.Len-from
	if count <= few {
		for i := from; i < last; i++ {
			if same(keys, i, last) {
				return true
			}
		}
		return false
	}
	if count == few+1 || 2*count > len(s.slots) {
		s.make(2 * count)
		for i := from; i < last; i++ {
			s.slots[s.slot(keys, from, i)] = int32(i - from + 1)
		}
	}
	at := s.slot(keys, from, last)
	if s.slots[at] != 0 {
		return true
	}
	s.slots[at] = int32(count)
	return false
}

// Repeats reports whether any key comes twice among those from from on. It is asked once a map is whole.
func (s *Set) Repeats(keys *columns.Array, from int) bool {
	if keys.Len-from > few {
		return s.fill(keys, from)
	}
	for i := from + 1; i < keys.Len; i++ {
		for j := from; j < i; j++ {
			if same(keys, i, j) {
				return true
			}
		}
	}
	return false
}

// Last reports whether no key after i is the same. It is asked after Repeats, of the same keys.
func (s *Set) Last(keys *columns.Array, from, i int) bool {
	if keys.Len-from > few {
		return int(s.slots[s.slot(keys, from, i)]) == i-from+1
	}
	for j := i + 1; j < keys.Len; j++ {
		if same(keys, i, j) {
			return false
		}
	}
	return true
}

// fill notes the last entry of each key, and reports whether there are others.
func (s *Set) fill(keys *columns.Array, from int) (repeated bool) {
	s.make(keys.Len - from)
	for i := keys.Len - 1; i >= from; i-- {
		if at := s.slot(keys, from, i); s.slots[at] == 0 {
			s.slots[at] = int32(i - from + 1)
		} else {
			repeated = true
		}
	}
	return repeated
}

// make clears at least twice as many slots as there are keys.
func (s *Set) make(keys int) {
	size := 1 << bits.Len(uint(2*keys))
	if cap(s.slots) < size {
		s.slots = make([]int32, size)
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// slot is where key i is, or would be.
func (s *Set) slot(keys *columns.Array, from, i int) int {
	mask := len(s.slots) - 1
	for at := int(s.hash(keys, i)) & mask; ; at = (at + 1) & mask {
		if other := s.slots[at]; other == 0 || same(keys, from+int(other)-1, i) {
			return at
		}
	}
}

func (s *Set) hash(keys *columns.Array, i int) uint64 {
	word, text := at(keys, i)
	if text != nil {
		return maphash.Bytes(s.seed, text)
	}
	return maphash.Comparable(s.seed, word)
}

func same(keys *columns.Array, i, j int) bool {
	a, left := at(keys, i)
	b, right := at(keys, j)
	return a == b && bytes.Equal(left, right)
}

// at is a key as a number or, if text is not nil, as bytes.
func at(keys *columns.Array, i int) (word int64, text []byte) {
	switch {
	case keys.Kind == columns.String, keys.Kind == columns.Binary:
		return 0, keys.Bytes(i)
	case keys.Kind == columns.Bool:
		return int64(keys.Data[i>>3] >> (i & 7) & 1), nil
	case len(keys.Int64s) > 0:
		return keys.Int64s[i], nil
	case len(keys.Int32s) > 0:
		return int64(keys.Int32s[i]), nil
	}
	width := len(keys.Data) / keys.Len // fixed, uuid, and decimals of more than 18 digits
	return 0, keys.Data[i*width : (i+1)*width]
}
