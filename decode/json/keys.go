package json

import (
	"bytes"
	"hash/maphash"

	"sluice/columns"
)

// keySet tells whether a map has a key already. Few keys are compared one by one; many are hashed, with a seed that
// nobody who sends records knows, so that no record costs more than time in its length.
type keySet struct {
	seed maphash.Seed
	// slots hold the numbers of keys, from 1; 0 is free. It is a power of two long, and at most half full.
	slots []int32
}

func newKeySet() *keySet { return &keySet{seed: maphash.MakeSeed()} }

// few is how many keys are compared one by one.
const few = 12

// repeated reports whether the last key of keys is among those before it, beginning with from. It is called after every
// key.
func (s *keySet) repeated(keys *columns.Array, from int) bool {
	count := keys.Len - from
	if count <= few {
		for i := from; i < keys.Len-1; i++ {
			if sameKey(keys, i, keys.Len-1) {
				return true
			}
		}
		return false
	}
	if count == few+1 || 2*count > len(s.slots) {
		s.rebuild(keys, from, count)
	}
	return s.add(keys, from, keys.Len-1)
}

// rebuild makes room and adds every key but the last.
func (s *keySet) rebuild(keys *columns.Array, from, count int) {
	size := 8 * few
	for size < 4*count {
		size *= 2
	}
	size = 1 << bitsOf(size)
	if cap(s.slots) < size {
		s.slots = make([]int32, size)
	}
	s.slots = s.slots[:size]
	clear(s.slots)
	for i := from; i < keys.Len-1; i++ {
		s.add(keys, from, i)
	}
}

func bitsOf(size int) (n int) {
	for 1<<n < size {
		n++
	}
	return n
}

// add reports whether key i is there already, and adds it if it is not.
func (s *keySet) add(keys *columns.Array, from, i int) bool {
	mask := len(s.slots) - 1
	for at := int(s.hash(keys, i)) & mask; ; at = (at + 1) & mask {
		switch other := s.slots[at]; {
		case other == 0:
			s.slots[at] = int32(i - from + 1)
			return false
		case sameKey(keys, from+int(other)-1, i):
			return true
		}
	}
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
	width := len(keys.Data) / keys.Len
	return 0, keys.Data[i*width : (i+1)*width]
}
