package lakesink

import (
	"cmp"
	"slices"

	"sluice/lakesink/parquetfile"
)

// start opens a file for p, if none is open.
func (s *spread) start(p *part) {
	if p.file != nil {
		return
	}
	key := []byte(p.key)
	p.file = &outFile{w: s.w, files: s.files(), key: p.key, folder: s.w.folderOf(s.spec, key), values: s.spec.JSON(key)}
	p.at, s.open = len(s.open), append(s.open, p)
}

// files is a writer for a file.
func (s *spread) files() *parquetfile.Writer {
	n := len(s.spare)
	if n == 0 {
		return s.base.Sibling()
	}
	files := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return files
}

// weigh takes in what p's file holds now.
func (s *spread) weigh(p *part) {
	held := p.file.files.Held()
	s.held += held - p.held
	p.held = held
}

// smallFileBytes is the size below which a file costs readers as much as a file of that size does (Iceberg's
// read.split.open-file-cost, Spark's spark.sql.files.openCostInBytes).
const smallFileBytes = 4 << 20

// large reports whether p's open file is worth its while as it is.
func (s *spread) large(p *part) bool {
	return p.file.files.Size() >= min(smallFileBytes, s.w.targetBytes()/2)
}

// over reports whether no more rows seem to come for p: none wait, and none went to its file with those that leave now. Rows in
// the order of what they are partitioned by leave such partitions behind.
func (s *spread) over(p *part) bool { return len(p.rows) == 0 && p.round != s.round }

// relieve finishes files where open ones hold too much, the largest first, until a third of the memory for them is free. It
// reports whether that could be done without one that is small and has more rows to come; where rows cannot go elsewhere it is.
func (s *spread) relieve() (enough bool, err error) {
	if s.held <= s.most {
		return true, nil
	}
	largest := slices.SortedFunc(slices.Values(s.open), func(a, b *part) int { return cmp.Compare(b.held, a.held) })
	if s.overflows() {
		largest = slices.DeleteFunc(largest, func(p *part) bool { return !s.large(p) && !s.over(p) })
	}
	left, n := s.held, 0
	for n < len(largest) && left > s.most*2/3 {
		left -= largest[n].held
		n++
	}
	return left <= s.most*2/3, s.end(largest[:n])
}

// end completes files while rows may yet come for them.
func (s *spread) end(parts []*part) error {
	for _, p := range parts {
		if !s.large(p) && !p.ended {
			p.ended = true
			s.ended++
		}
	}
	return s.finish(parts)
}

// finish completes files.
func (s *spread) finish(parts []*part) error {
	for _, p := range parts {
		if p.file.open != nil {
			if err := p.file.finish(); err != nil {
				return err
			}
		}
		if len(s.spare) < 16 {
			s.spare = append(s.spare, p.file.files)
		}
		s.held -= p.held
		p.file, p.held = nil, 0
		last := s.open[len(s.open)-1]
		s.open[p.at], last.at = last, p.at
		s.open = s.open[:len(s.open)-1]
	}
	return nil
}

// forget drops partitions that have neither a file nor rows, so that any number of them may come and go. Those with a small file
// are remembered: they must not get another one.
func (s *spread) forget() {
	if len(s.parts) < 2*(len(s.open)+len(s.waiting)+s.ended+1) {
		return
	}
	for key, p := range s.parts {
		if p.file == nil && len(p.rows) == 0 && !p.ended {
			delete(s.parts, key)
		}
	}
	s.last = nil
}
