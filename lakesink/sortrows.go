package lakesink

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"sluice/columns"
	"sluice/lakesink/partition"
)

// sorter puts rows in the order of a table. It keeps its memory from one time to the next.
type sorter struct {
	order *partition.Order
	keys  []byte
	rows  []sortable
}

// sortable is a row, and where among the keys that of it lies. word is eight bytes of the key, the first ones in which any keys
// differ: most rows are told apart by these alone, without a look at keys that lie anywhere in memory.
type sortable struct {
	word      uint64
	begin     int
	size, row int32
}

// sort puts rows of b in order; equal ones stay as they were, if they came in the order of their numbers.
func (s *sorter) sort(b *columns.Batch, rows []int32) {
	s.keys, s.rows = s.keys[:0], s.rows[:0]
	for _, row := range rows {
		begin := len(s.keys)
		s.keys = s.order.AppendKey(s.keys, b, int(row))
		s.rows = append(s.rows, sortable{begin: begin, size: int32(len(s.keys) - begin), row: row})
	}
	same := s.common()
	for k := range s.rows {
		s.rows[k].word = word(s.key(s.rows[k])[same:])
	}
	slices.SortFunc(s.rows, func(a, b sortable) int {
		switch {
		case a.word < b.word:
			return -1
		case a.word > b.word:
			return 1
		}
		return cmp.Or(bytes.Compare(s.key(a)[same:], s.key(b)[same:]), cmp.Compare(a.row, b.row))
	})
	for k := range s.rows {
		rows[k] = s.rows[k].row
	}
}

func (s *sorter) key(r sortable) []byte { return s.keys[r.begin : r.begin+int(r.size)] }

// common is how many bytes all keys begin with.
func (s *sorter) common() int {
	if len(s.rows) == 0 {
		return 0
	}
	same := s.key(s.rows[0])
	for _, r := range s.rows[1:] {
		key := s.key(r)
		if !bytes.HasPrefix(key, same) {
			n := 0
			for n < len(key) && n < len(same) && key[n] == same[n] {
				n++
			}
			same = same[:n]
		}
	}
	return len(same)
}

// word is the first eight bytes of key as a number, filled up with zeros: where words differ keys do, in the same order.
func word(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var filled [8]byte
	copy(filled[:], key)
	return binary.BigEndian.Uint64(filled[:])
}
