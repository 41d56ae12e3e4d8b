package lakesink

import (
	"bytes"
	"cmp"
	"slices"

	"sluice/columns"
	"sluice/lakesink/spill"
)

// sorter puts rows in order. It keeps its memory from one time to the next.
type sorter struct {
	keys *columns.Array
	rows []sortable
}

// sortable is a row, and where among the keys that of it lies. word is eight bytes of the key, the first ones in which any keys
// differ: most rows are told apart by these alone, without a look at keys that lie anywhere in memory.
type sortable struct {
	word       uint64
	begin, end int32
	row        int32
}

// sort puts the rows with these keys in order, and returns their numbers; equal ones stay as they are.
func (s *sorter) sort(keys *columns.Array, rows []int32) []int32 {
	s.keys, s.rows = keys, slices.Grow(s.rows[:0], keys.Len)
	for row := range keys.Len {
		s.rows = append(s.rows, sortable{begin: keys.Offsets[row], end: keys.Offsets[row+1], row: int32(row)})
	}
	same := s.common()
	for k := range s.rows {
		s.rows[k].word = spill.Word(s.key(s.rows[k])[same:])
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
	rows = slices.Grow(rows[:0], len(s.rows))
	for k := range s.rows {
		rows = append(rows, s.rows[k].row)
	}
	return rows
}

func (s *sorter) key(r sortable) []byte { return s.keys.Data[r.begin:r.end] }

// common is how many bytes all keys begin with.
func (s *sorter) common() int {
	if len(s.rows) == 0 {
		return 0
	}
	same := s.key(s.rows[0])
	for _, r := range s.rows[1:] {
		if key := s.key(r); !bytes.HasPrefix(key, same) {
			same = same[:spill.Common(key, same)]
		}
	}
	return len(same)
}
