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
// stay in the order in which they came. Files that are open stay so, and take up the rows of their partitions in the end. Rows stay
// where they are if there are no temporary files.
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
	if err := s.part(); err != nil {
		return err
	}
	s.hand(o)
	return s.heed(o.bound(ctx))
}

// hand gives rows that wait and open files away.
func (s *spread) hand(o *sorted) {
	o.begun = map[string]*outFile{}
	for _, p := range s.open {
		o.begun[p.key] = p.file
	}
	if len(s.open) > 0 {
		o.room = s.room // they take the rest
	}
	o.take(&s.gathered)
	s.gathered, s.kept, s.slice, s.waiting, s.bytes = columns.Batch{}, nil, nil, nil, 0
	s.parts, s.last, s.ended, s.open, s.held = map[string]*part{}, nil, 0, nil, 0
	s.overflow = o
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
