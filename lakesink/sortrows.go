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
	keys        *columns.Array
	rows, other []sortable
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
	if len(s.rows) < fewRows {
		s.compare(s.rows, same)
	} else {
		s.scatter()
		s.settle(same)
	}
	rows = slices.Grow(rows[:0], len(s.rows))
	for k := range s.rows {
		rows = append(rows, s.rows[k].row)
	}
	return rows
}

// fewRows are sorted sooner by comparing them.
const fewRows = 200

// scatter puts rows in the order of their words, byte by byte from the last one on; equal ones stay as they are.
func (s *sorter) scatter() {
	var begins [8][256]int32
	for k := range s.rows {
		for i := range begins {
			begins[i][byte(s.rows[k].word>>(8*i))]++
		}
	}
	s.other = slices.Grow(s.other[:0], len(s.rows))[:len(s.rows)]
	for i := range begins {
		begin := &begins[i]
		if int(begin[byte(s.rows[0].word>>(8*i))]) == len(s.rows) {
			continue // all have the same byte
		}
		sum := int32(0)
		for b, n := range begin {
			begin[b] = sum
			sum += n
		}
		for k := range s.rows {
			b := byte(s.rows[k].word >> (8 * i))
			s.other[begin[b]] = s.rows[k]
			begin[b]++
		}
		s.rows, s.other = s.other, s.rows
	}
}

// settle puts rows in order that are in that of their words.
func (s *sorter) settle(same int) {
	for from := 0; from < len(s.rows); {
		until := from + 1
		for until < len(s.rows) && s.rows[until].word == s.rows[from].word {
			until++
		}
		if until > from+1 {
			s.compare(s.rows[from:until], same)
		}
		from = until
	}
}

// compare puts rows in order by comparing them.
func (s *sorter) compare(rows []sortable, same int) {
	slices.SortFunc(rows, func(a, b sortable) int {
		switch {
		case a.word < b.word:
			return -1
		case a.word > b.word:
			return 1
		}
		return cmp.Or(bytes.Compare(s.key(a)[same:], s.key(b)[same:]), cmp.Compare(a.row, b.row))
	})
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
