package protobuf

import (
	"bytes"
	"hash/maphash"

	"sluice/columns"
)

// keySet tells which entry of a map is the last of its key. Few keys are compared one by one; many are hashed, with a seed
// that nobody who sends records knows, so that no record costs more than time in its length.
type keySet struct {
	seed maphash.Seed
	// slots hold the numbers of keys, from 1; 0 is free. It is a power of two long, and at most half full.
	slots []int32
}

func newKeySet() *keySet { return &keySet{seed: maphash.MakeSeed()} }

// few is how many keys are compared one by one.
const few = 12

// repeats reports whether a key comes twice among those from from on.
func (s *keySet) repeats(keys *columns.Array, from int) bool {
	if keys.Len-from > few {
		return s.fill(keys, from)
	}
	for i := from + 1; i < keys.Len; i++ {
		for j := from; j < i; j++ {
			if sameKey(keys, i, j) {
				return true
			}
		}
	}
	return false
}

// fill notes the last entry of each key, and reports whether there are others.
func (s *keySet) fill(keys *columns.Array, from int) (repeated bool) {
	size := 128
	for size < 2*(keys.Len-from) {
		size *= 2
	}
	if cap(s.slots) < size {
		s.slots = make([]int32, size)
	}
	s.slots = s.slots[:size]
	clear(s.slots)
	for i := keys.Len - 1; i >= from; i-- {
		if at := s.slot(keys, from, i); s.slots[at] == 0 {
			s.slots[at] = int32(i - from + 1)
		} else {
			repeated = true
		}
	}
	return repeated
}

// slot is where key i is, or would be.
func (s *keySet) slot(keys *columns.Array, from, i int) int {
	mask := len(s.slots) - 1
	for at := int(s.hash(keys, i)) & mask; ; at = (at + 1) & mask {
		if other := s.slots[at]; other == 0 || sameKey(keys, from+int(other)-1, i) {
			return at
		}
	}
}

// last reports whether no entry after i has its key. It is asked after repeats, of the same keys.
func (s *keySet) last(keys *columns.Array, from, i int) bool {
	if keys.Len-from > few {
		return int(s.slots[s.slot(keys, from, i)]) == i-from+1
	}
	for j := i + 1; j < keys.Len; j++ {
		if sameKey(keys, i, j) {
			return false
		}
	}
	return true
}

func (s *keySet) hash(keys *columns.Array, i int) uint64 {
	word, text := keyAt(keys, i)
	if text != nil {
		return maphash.Bytes(s.seed, text)
	}
	return maphash.Comparable(s.seed, word)
}

func sameKey(keys *columns.Array, i, j int) bool {
	a, left := keyAt(keys, i)
	b, right := keyAt(keys, j)
	return a == b && bytes.Equal(left, right)
}

// keyAt is a key as a number or, if text is not nil, as bytes.
func keyAt(keys *columns.Array, i int) (word int64, text []byte) {
	switch {
	case keys.Kind == columns.Bool:
		return int64(keys.Data[i>>3] >> (i & 7) & 1), nil
	case keys.Kind == columns.String, keys.Kind == columns.Binary:
		return 0, keys.Bytes(i)
	case len(keys.Int64s) > 0:
		return keys.Int64s[i], nil
	case len(keys.Int32s) > 0:
		return int64(keys.Int32s[i]), nil
	}
	return 0, keys.Data[i*16 : i*16+16] // a decimal of more than 18 digits
}
