package lakesink

import (
	"bytes"
	"context"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
	"sluice/lakesink/spill"
)

// spread sends rows to the files of their partitions, within a bound of memory that does not depend on how many partitions
// there are.
//
// While all rows have been of one partition they go straight into its file. From the second one on they are gathered until
// there are room bytes of them; then each partition's rows go to its file together, so that pages are as large as they can
// be. Of a file that is open nothing is in memory but its compressed pages. When these are more than most bytes files are
// finished: large ones, and those of partitions that no more rows come for. Partitions of few rows wait for more.
//
// Where that would make more than one small file of a partition, all that comes goes to temporary files and is merged in the end
// (overflow). Where there is no room for these the largest files are finished, which frees the most for the fewest files.
type spread struct {
	w    *Writer
	spec *partition.Spec
	// base makes the writers of files, which share its memory. Each open file takes least bytes, however few rows it has.
	base   *parquetfile.Writer
	spare  []*parquetfile.Writer
	memory int64
	room   int64
	most   int64
	least  int64

	parts map[string]*part
	// last is the partition of the row before.
	last *part
	key  []byte
	// gathered are the rows that wait, for the partitions in waiting.
	gathered columns.Batch
	waiting  []*part
	bytes    int64
	// kept and slice are memory to gather rows in, touched and grouped that to group them.
	kept, slice []columns.Array
	touched     []*part
	grouped     []int32
	// open are the partitions whose files are open, held what these take of memory.
	open []*part
	held int64
	// round counts how often rows have left, ended the partitions that are over.
	round, ended int

	// overflow takes the rows once there are too many partitions, create makes its temporary files, and spilled says what became of
	// them.
	overflow *sorted
	create   func() (spill.File, error)
	spilled  batch.Spilled
}

// part is a partition that rows came for.
type part struct {
	key string
	// rows are those of gathered; the first old of them have been there before.
	rows []int32
	old  int
	file *outFile // nil while none is open
	held int64
	// at is where in open it is, round when rows last went to the file. ended says that it has a small file, which was finished
	// before all its rows were there.
	at, round int
	ended     bool
}

func newSpread(w *Writer, spec *partition.Spec, memory int64) *spread {
	first := w.files.Sibling()
	return &spread{w: w, spec: spec, base: w.files, spare: []*parquetfile.Writer{first}, memory: memory, room: min(memory/gatheredShare, mostRoom),
		most: memory * 3 / 8, least: first.Held(), parts: map[string]*part{}, create: spill.Temporary}
}

// gatheredShare is the part of the memory for rows that wait; while some are kept they take half as much again.
const gatheredShare = 5

// mostRoom leaves room for a batch of rows below the 2 GiB that a column can hold.
const mostRoom = 1 << 30

// write takes in rows.
func (s *spread) write(ctx context.Context, rows *columns.Batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rows.Rows == 0 {
		return nil
	}
	if s.overflow != nil {
		return s.pour(ctx, rows)
	}
	if s.straight(rows) {
		p := s.only()
		s.start(p)
		defer s.weigh(p)
		return p.file.add(ctx, rows)
	}
	if err := s.part(); err != nil {
		return err
	}
	s.gather(rows)
	if s.bytes < s.room {
		return nil
	}
	return s.settle(ctx)
}

// straight reports whether the rows are of the only partition that there has been, if there has been one.
func (s *spread) straight(rows *columns.Batch) bool {
	if len(s.parts) > 1 || s.gathered.Rows > 0 {
		return false
	}
	s.partition(rows, 0)
	if len(s.parts) > 1 {
		return false
	}
	for i := 1; i < rows.Rows && !s.spec.Single(rows); i++ {
		if s.key = s.spec.AppendKey(s.key[:0], rows, i); !bytes.Equal(s.key, []byte(s.last.key)) {
			return false
		}
	}
	return true
}

func (s *spread) only() *part { return s.last }

// part prepares for rows of several partitions: a file that has gone to the store in part is finished, so that no two are on
// their way.
func (s *spread) part() error {
	var begun []*part
	for _, p := range s.open {
		if p.file.files.Groups() > 0 {
			begun = append(begun, p)
		}
	}
	return s.end(begun)
}

// partition finds the partition of a row.
func (s *spread) partition(rows *columns.Batch, row int) *part {
	s.key = s.spec.AppendKey(s.key[:0], rows, row)
	if s.last != nil && string(s.key) == s.last.key {
		return s.last
	}
	p := s.parts[string(s.key)]
	if p == nil {
		p = &part{key: string(s.key)}
		s.parts[p.key] = p
	}
	s.last = p
	return p
}

// gather adds rows to those that wait.
func (s *spread) gather(rows *columns.Batch) {
	if s.gathered.Columns == nil {
		for i := range rows.Columns {
			s.gathered.Columns = append(s.gathered.Columns, rows.Columns[i].Empty())
			s.kept = append(s.kept, rows.Columns[i].Empty())
			s.slice = append(s.slice, rows.Columns[i].Empty())
		}
	}
	order := s.group(rows)
	for i := range rows.Columns {
		s.gathered.Columns[i].AppendRows(&rows.Columns[i], order)
	}
	s.gathered.Rows += rows.Rows
	s.measure()
}

// group notes for each partition which rows of gathered are going to be its own, and returns the rows in the order in which
// they go there: those of a partition together. Rows are in the processor's cache now; when they leave they are not, and are read
// in stretches then.
func (s *spread) group(rows *columns.Batch) []int32 {
	s.touched, s.grouped = s.touched[:0], s.grouped[:0]
	for i := range rows.Rows {
		p := s.partition(rows, i)
		if len(p.rows) == p.old {
			s.touched = append(s.touched, p)
		}
		p.rows = append(p.rows, int32(i))
	}
	for _, p := range s.touched {
		if p.old == 0 {
			s.waiting = append(s.waiting, p)
		}
		for k, row := range p.rows[p.old:] {
			p.rows[p.old+k] = int32(s.gathered.Rows + len(s.grouped))
			s.grouped = append(s.grouped, row)
		}
		p.old = len(p.rows)
	}
	return s.grouped
}

func (s *spread) measure() {
	s.bytes = int64(8 * s.gathered.Rows) // what says whose they are
	for i := range s.gathered.Columns {
		s.bytes += s.gathered.Columns[i].Size()
	}
}

// settle sends rows that wait to their files: those of partitions that have at least half as many as the mean. What stays is less
// than half of the rows, or all that is left once there are too many partitions.
func (s *spread) settle(ctx context.Context) error {
	s.round++
	var leave, stay []*part
	for _, p := range s.waiting {
		if 2*len(p.rows)*len(s.waiting) < s.gathered.Rows {
			stay = append(stay, p)
		} else {
			leave = append(leave, p)
		}
	}
	if s.crowded(leave) {
		return s.flow(ctx)
	}
	for i, p := range leave {
		if err := s.send(ctx, p); err != nil {
			return err
		}
		if enough, err := s.relieve(); err != nil {
			return err
		} else if !enough {
			s.keep(append(stay, leave[i+1:]...))
			return s.flow(ctx)
		}
	}
	s.keep(stay)
	s.forget()
	return nil
}

// send adds the rows that wait for p to its file, a slice at a time.
func (s *spread) send(ctx context.Context, p *part) error {
	s.start(p)
	step := max(1, int(int64(s.gathered.Rows)*(s.room/8)/max(1, s.bytes)))
	for from := 0; from < len(p.rows); from += step {
		rows := p.rows[from:min(from+step, len(p.rows))]
		if err := p.file.add(ctx, s.sliced(rows)); err != nil {
			return err
		}
	}
	p.rows, p.old, p.round = p.rows[:0], 0, s.round
	s.weigh(p)
	return nil
}

// sliced are some of the rows that wait.
func (s *spread) sliced(rows []int32) *columns.Batch {
	for i := range s.slice {
		s.slice[i].Reset()
		s.slice[i].AppendRows(&s.gathered.Columns[i], rows)
	}
	return &columns.Batch{Rows: len(rows), Columns: s.slice}
}

// keep drops the rows that do not wait any more.
func (s *spread) keep(stay []*part) {
	for i := range s.kept {
		s.kept[i].Reset()
		for _, p := range stay {
			s.kept[i].AppendRows(&s.gathered.Columns[i], p.rows)
		}
	}
	n := 0
	for _, p := range stay {
		for k := range p.rows {
			p.rows[k] = int32(n)
			n++
		}
	}
	if n > 0 {
		s.gathered.Columns, s.kept = s.kept, s.gathered.Columns
	} else { // nothing is in them: they serve again
		for i := range s.gathered.Columns {
			s.gathered.Columns[i].Reset()
		}
	}
	s.waiting = append(s.waiting[:0], stay...)
	s.gathered.Rows = n
	s.shrink()
	s.measure()
}

// shrink lets go of what huge records needed.
func (s *spread) shrink() {
	idle := [][]columns.Array{s.kept, s.slice}
	if s.gathered.Rows == 0 {
		idle = append(idle, s.gathered.Columns)
	}
	for _, arrays := range idle {
		for i := range arrays {
			if int64(cap(arrays[i].Data)) > 2*s.room {
				arrays[i] = arrays[i].Empty()
			}
		}
	}
}

// close finishes everything.
func (s *spread) close(ctx context.Context) error {
	if s.overflow != nil {
		return s.overflow.close(ctx)
	}
	s.w.spilled = s.spilled
	for _, p := range s.waiting { // no more rows come: one file after the other is complete
		if err := s.send(ctx, p); err != nil {
			return err
		}
		if err := s.finish([]*part{p}); err != nil {
			return err
		}
	}
	return s.finish(slices.Clone(s.open))
}

func (s *spread) abort() {
	for _, p := range s.open {
		p.file.abort()
	}
	if s.overflow != nil {
		s.overflow.abort()
	}
}
