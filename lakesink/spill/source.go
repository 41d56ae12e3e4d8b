package spill

import (
	"bytes"
	"encoding/binary"

	"sluice/columns"
)

// source is one of the sequences of rows that are merged.
type source struct {
	run  *Run // nil for rows in memory
	next int  // block of run
	raw  []byte
	rows *columns.Batch
	// order says in which order the rows are to be read, nil as they are.
	order []int32
	at, n int
	// key is what the row at hand is sorted by, word eight bytes of it behind those that all keys begin with.
	key  []byte
	word uint64
	done bool
}

// load reads the next block.
func (s *source) load() (err error) {
	if s.run == nil || s.next == len(s.run.blocks) {
		s.done = true
		return nil
	}
	s.raw, err = s.run.read(s.next, s.rows, s.raw)
	s.next++
	s.at, s.n = 0, s.rows.Rows
	return err
}

// row is the number of the row at hand.
func (s *source) row() int32 {
	if s.order != nil {
		return s.order[s.at]
	}
	return int32(s.at)
}

// look takes up the row at hand; keys have same bytes in common.
func (s *source) look(same int) {
	k := keysOf(s.rows)
	row := s.row()
	s.key = k.Data[k.Offsets[row]:k.Offsets[row+1]]
	s.word = Word(s.key[same:])
}

// ends are the first and the last key.
func (s *source) ends() (first, last []byte) {
	if s.run != nil {
		return s.run.first, s.run.last
	}
	k := keysOf(s.rows)
	return k.Bytes(int(s.order[0])), k.Bytes(int(s.order[len(s.order)-1]))
}

// Word is the first eight bytes of key as a number, filled up with zeros: where words differ keys do, in the same order.
func Word(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var filled [8]byte
	copy(filled[:], key)
	return binary.BigEndian.Uint64(filled[:])
}

// Common is how many bytes a and b both begin with.
func Common(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	for k := range n {
		if a[k] != b[k] {
			return k
		}
	}
	return n
}
