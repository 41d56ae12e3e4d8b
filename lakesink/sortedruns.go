package lakesink

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/spill"
)

// spill makes room: rows that wait become a run.
func (s *sorted) spill(ctx context.Context) error {
	if s.failure == nil {
		order := s.sort()
		run, err := s.newRun(ctx, nil, order)
		if err == nil {
			s.runs, s.levels = append(s.runs, run), append(s.levels, 0)
			s.clear()
			err = s.lessen(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.failure = err
	}
	return s.flush(ctx)
}

// try finds out whether there can be temporary files at all.
func (s *sorted) try() error {
	run, err := s.disk.NewRun()
	if err != nil {
		s.failure = err
		return err
	}
	s.forget([]*spill.Run{run})
	return nil
}

// sort puts the rows that wait in order.
func (s *sorted) sort() []int32 {
	if s.gathered.Rows == 0 {
		return nil
	}
	s.inOrder = s.sorter.sort(&s.gathered.Columns[len(s.gathered.Columns)-2], s.inOrder)
	return s.inOrder
}

// newRun writes runs, and after them rows that wait, to another run.
func (s *sorted) newRun(ctx context.Context, runs []*spill.Run, order []int32) (*spill.Run, error) {
	merge, err := spill.NewMerge(runs, &s.gathered, order)
	if err != nil {
		return nil, s.unread(err)
	}
	run, err := s.disk.NewRun()
	if err != nil {
		return nil, err
	}
	if err := s.copyRows(ctx, merge, run); err != nil {
		s.forget([]*spill.Run{run})
		return nil, err
	}
	return run, nil
}

func (s *sorted) copyRows(ctx context.Context, merge *spill.Merge, run *spill.Run) error {
	for rows := (columns.Batch{Columns: s.slice}); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		more, err := merge.Next(&rows, s.blocks)
		if err != nil {
			return s.unread(err)
		}
		if !more {
			return nil
		}
		if err := run.Append(&rows); err != nil {
			return err
		}
	}
}

// unread is the fault of rows that were written to a temporary file and do not come back: there is no other copy of them.
func (s *sorted) unread(err error) error {
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("read sorted rows back from a temporary file in %s", os.TempDir()), Err: err,
		Hint: "run again: nothing of the batch is in the table; if it repeats, let TMPDIR name a folder on another disk"}
}

// lessen merges runs of the last ones while there are too many to be merged at once: those that were merged as often as the last
// one, or two at least.
func (s *sorted) lessen(ctx context.Context) error {
	for len(s.runs) > 1 && len(s.together(s.runs)) < len(s.runs) {
		from := len(s.runs) - 2
		for from > 0 && s.levels[from-1] == s.levels[len(s.levels)-1] && s.levels[from] == s.levels[from-1] {
			from--
		}
		some := s.together(s.runs[from:])
		run, err := s.newRun(ctx, some, nil)
		if err != nil {
			return err
		}
		s.forget(some)
		level := slices.Max(s.levels[from:from+len(some)]) + 1
		s.runs = slices.Replace(s.runs, from, from+len(some), run)
		s.levels = slices.Replace(s.levels, from, from+len(some), level)
	}
	return nil
}

// together are those of the first runs that can be merged at once, two at least.
func (s *sorted) together(runs []*spill.Run) []*spill.Run {
	var bytes int64
	for n, r := range runs {
		if bytes += r.MergeBytes(); n >= 2 && bytes > s.merging {
			return runs[:n]
		}
	}
	return runs
}

// flush writes all rows to files: at once, unless there are more runs than can be merged at once.
func (s *sorted) flush(ctx context.Context) error {
	order := s.sort()
	for len(s.runs) > 0 || len(order) > 0 {
		some := s.together(s.runs)
		last := order
		if len(some) < len(s.runs) {
			last = nil
		}
		if err := s.emit(ctx, some, last); err != nil {
			return err
		}
		s.forget(some)
		s.runs, s.levels = s.runs[len(some):], s.levels[len(some):]
		if last != nil {
			break
		}
	}
	s.clear()
	return s.finishBegun()
}

// emit merges runs, and after them rows that wait, into files.
func (s *sorted) emit(ctx context.Context, runs []*spill.Run, order []int32) error {
	merge, err := spill.NewMerge(runs, &s.gathered, order)
	if err != nil {
		return s.unread(err)
	}
	if s.spec.Fields() > 0 {
		merge.Group = partitionOf
	}
	rows := columns.Batch{Columns: s.slice[:len(s.slice)-2]}
	for {
		more, err := merge.Next(&rows, sliceBytes)
		if err != nil {
			return s.unread(err)
		}
		if !more {
			return s.finish()
		}
		if err := s.open(merge.InGroup()); err != nil {
			return err
		}
		if err := s.file.add(ctx, &rows); err != nil {
			return err
		}
	}
}

// open makes the file one of a partition, whose key is as merged rows have it.
func (s *sorted) open(group []byte) error {
	key := ""
	if len(group) > 0 {
		key = string(group[partitionSize:])
	}
	if s.file != nil && s.file.key == key {
		return nil
	}
	if err := s.finish(); err != nil {
		return err
	}
	if s.file = s.begun[key]; s.file != nil {
		delete(s.begun, key)
		return nil
	}
	s.file = &outFile{w: s.w, files: s.files, key: key}
	if len(group) > 0 {
		s.file.folder, s.file.values = s.w.folderOf(s.spec, []byte(key)), s.spec.JSON([]byte(key))
	}
	return nil
}

// finish completes the open file.
func (s *sorted) finish() error {
	file := s.file
	s.file = nil
	if file == nil || file.open == nil {
		return nil
	}
	if err := file.finish(); err != nil {
		s.file = file
		return err
	}
	return nil
}

// finishBegun completes the files that no more rows came for.
func (s *sorted) finishBegun() error {
	for _, key := range slices.Sorted(maps.Keys(s.begun)) {
		s.file = s.begun[key]
		delete(s.begun, key)
		if err := s.finish(); err != nil {
			return err
		}
	}
	return nil
}

// clear forgets the rows that wait, and lets go of what huge records needed.
func (s *sorted) clear() {
	for _, arrays := range [][]columns.Array{s.gathered.Columns, s.slice} {
		for i := range arrays {
			arrays[i].Reset()
			if int64(cap(arrays[i].Data)) > 2*s.room {
				arrays[i] = arrays[i].Empty()
			}
		}
	}
	s.gathered.Rows, s.bytes = 0, 0
}

// forget gives up runs. What is left of a file that cannot be closed goes with the process.
func (s *sorted) forget(runs []*spill.Run) {
	for _, r := range runs {
		_ = r.Close()
	}
}
