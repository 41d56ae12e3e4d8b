package spill

import (
	"bytes"

	"sluice/columns"
)

// Merge hands out the rows of several sources in order, equal ones in that of their sources. It is used by one goroutine.
type Merge struct {
	// Group is how many bytes of a key say of what group a row is: rows of two groups are not handed out together. nil means
	// that all are of one.
	Group func(key []byte) int

	sources []*source
	tree    tree
	same    int
	picks   []columns.Pick
	arrays  []*columns.Array
	numbers []int32
	group   []byte
}

// NewMerge begins to read runs, and after them rows in memory, if there are any, in the given order. It needs memory for each run
// (MergeBytes) and closes none.
func NewMerge(runs []*Run, rows *columns.Batch, order []int32) (*Merge, error) {
	m := &Merge{}
	for _, r := range runs {
		s := &source{run: r, rows: &columns.Batch{}}
		for i := range r.columns {
			s.rows.Columns = append(s.rows.Columns, r.columns[i].Empty())
		}
		m.sources = append(m.sources, s)
	}
	if len(order) > 0 {
		m.sources = append(m.sources, &source{rows: rows, order: order, n: len(order)})
	}
	m.same = common(m.sources)
	for _, s := range m.sources {
		if s.run != nil {
			if err := s.load(); err != nil {
				return nil, err
			}
		}
		if !s.done {
			s.look(m.same)
		}
	}
	m.tree = newTree(m.sources)
	return m, nil
}

// common is how many bytes all keys begin with.
func common(sources []*source) int {
	var begin []byte
	for i, s := range sources {
		first, last := s.ends()
		if i == 0 {
			begin = first
		}
		begin = begin[:min(Common(begin, first), Common(begin, last))]
	}
	return len(begin)
}

// mostRows bounds the rows that are handed out together.
const mostRows = 4096

// Next puts the next rows of one group into the columns of into, at least one and no more than take weight bytes and one row
// besides. into may have fewer columns than the rows: the first ones. It reports whether there were any. What rows come
// together depends on the rows alone, not on how they were spread over runs.
func (m *Merge) Next(into *columns.Batch, weight int64) (bool, error) {
	for i := range into.Columns {
		into.Columns[i].Reset()
	}
	into.Rows = 0
	m.picks = m.picks[:0]
	for n := 0; n < mostRows && weight > 0; n++ {
		w := m.tree.winner()
		if w < 0 {
			break
		}
		s := m.sources[w]
		if m.Group != nil && !m.sameGroup(s.key, n == 0) {
			break
		}
		row := s.row()
		m.picks = append(m.picks, columns.Pick{From: int32(w), Row: row})
		weight -= int64(weightsOf(s.rows)[row])
		if err := m.advance(s, into); err != nil {
			return false, err
		}
		m.tree.replay(w)
	}
	m.gather(into)
	return into.Rows > 0, nil
}

// sameGroup says whether a row is of the group of those before it; the first one decides which that is.
func (m *Merge) sameGroup(key []byte, first bool) bool {
	if first && !bytes.HasPrefix(key, m.group) || m.group == nil {
		m.group = append(m.group[:0], key[:m.Group(key)]...)
	}
	return bytes.HasPrefix(key, m.group)
}

// InGroup is the part of the keys of the last rows that says of what group they are.
func (m *Merge) InGroup() []byte { return m.group }

// advance goes to the next row of a source. The rows that were picked of its block are copied before another one takes its place.
func (m *Merge) advance(s *source, into *columns.Batch) error {
	if s.at++; s.at == s.n {
		m.gather(into)
		if err := s.load(); err != nil {
			return err
		}
	}
	if !s.done {
		s.look(m.same)
	}
	return nil
}

// gather copies the rows that were picked.
func (m *Merge) gather(into *columns.Batch) {
	if len(m.picks) == 0 {
		return
	}
	into.Rows += len(m.picks)
	if len(m.sources) == 1 {
		m.numbers = m.numbers[:0]
		for _, p := range m.picks {
			m.numbers = append(m.numbers, p.Row)
		}
	}
	for i := range into.Columns {
		if len(m.sources) == 1 {
			into.Columns[i].AppendRows(&m.sources[0].rows.Columns[i], m.numbers)
			continue
		}
		m.arrays = m.arrays[:0]
		for _, s := range m.sources {
			m.arrays = append(m.arrays, &s.rows.Columns[i])
		}
		into.Columns[i].AppendPicks(m.arrays, m.picks)
	}
	m.picks = m.picks[:0]
}
