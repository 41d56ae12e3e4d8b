package lakesink

import (
	"context"
	"slices"

	"sluice/columns"
	"sluice/lakesink/partition"
)

// overflows reports whether rows can go to temporary files, as far as is known.
func (s *spread) overflows() bool { return s.spilled.Failure == "" }

// crowded reports whether files of the partitions would be too many: more than memory holds at once, or the second small one of
// a partition.
func (s *spread) crowded(parts []*part) bool {
	if !s.overflows() {
		return false
	}
	return int64(len(parts))*s.least > s.most || slices.ContainsFunc(parts, func(p *part) bool { return p.ended && p.file == nil })
}

// flow lets the rows that wait, and all that come from now on, go where sorted rows do: by partition alone, so that those of one
// stay in the order in which they came. Open files are finished, which frees their memory for it, and no partition has more than
// one small file then. Rows stay where they are if there are no temporary files.
func (s *spread) flow(ctx context.Context) error {
	none, err := partition.NewOrder(nil)
	if err != nil {
		return err
	}
	o := newSorted(s.w, s.spec, none, s.memory)
	o.files, o.disk.Create = s.files(), s.create
	if err := o.try(); err != nil {
		s.spilled = o.spilled()
		return s.settle(ctx)
	}
	if err := s.finish(slices.Clone(s.open)); err != nil {
		return err
	}
	rows := s.gathered
	s.gathered, s.kept, s.slice, s.waiting, s.bytes = columns.Batch{}, nil, nil, nil, 0
	s.parts, s.last, s.ended = map[string]*part{}, nil, 0
	s.overflow = o
	o.take(&rows)
	return s.heed(o.bound(ctx))
}

// pour adds rows to those that go to temporary files.
func (s *spread) pour(ctx context.Context, rows *columns.Batch) error {
	return s.heed(s.overflow.write(ctx, rows))
}

// heed looks whether there was room for temporary files. Where there was none all rows are in files, and those that come from now
// on are spread over others again.
func (s *spread) heed(err error) error {
	if o := s.overflow; err == nil && o.failure != nil {
		s.spilled, s.overflow = o.spilled(), nil
		s.spare = append(s.spare, o.files)
	}
	return err
}
