package avro

import (
	"bytes"
	"hash/maphash"
	"math/bits"

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
	last, count := keys.Len-1, keys.Len-from
	if count <= few {
		for i := from; i < last; i++ {
			if bytes.Equal(keys.Bytes(i), keys.Bytes(last)) {
				return true
			}
		}
		return false
	}
	if count == few+1 || 2*count > len(s.slots) {
		s.rebuild(keys, from, count)
	}
	return s.add(keys, from, last)
}

// rebuild makes room and adds every key but the last.
func (s *keySet) rebuild(keys *columns.Array, from, count int) {
	size := 1 << bits.Len(uint(4*count))
	if cap(s.slots) < size {
		s.slots = make([]int32, size)
	}
	s.slots = s.slots[:size]
	clear(s.slots)
	for i := from; i < keys.Len-1; i++ {
		s.add(keys, from, i)
	}
}

// add reports whether key i is there already, and adds it if it is not.
func (s *keySet) add(keys *columns.Array, from, i int) bool {
	mask := len(s.slots) - 1
	for at := int(maphash.Bytes(s.seed, keys.Bytes(i))) & mask; ; at = (at + 1) & mask {
		switch other := s.slots[at]; {
		case other == 0:
			s.slots[at] = int32(i - from + 1)
			return false
		case bytes.Equal(keys.Bytes(from+int(other)-1), keys.Bytes(i)):
			return true
		}
	}
}
