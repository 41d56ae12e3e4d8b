package parquetfile

import (
	"fmt"

	"sluice/columns"
)

// entries are the values and nulls of one leaf for some rows, as Parquet sees them (Dremel's record shredding): each
// has a repetition and a definition level, and, where it is present, its index in the column that holds it.
type entries struct {
	reps, defs []uint8
	at         []int32 // absent: -1
	// spare is swapped with the above while lists are spread.
	spare *entries
}

const absent = -1

// mostSpared is how many entries have room from one append to the next: the rows of one are a small part of a page, unless
// a single record is huge.
const mostSpared = 1 << 20

// letGo gives up what one huge record needed.
func (e *entries) letGo() {
	if cap(e.at) > mostSpared || e.spare != nil && cap(e.spare.at) > mostSpared {
		*e = entries{}
	}
}

func (e *entries) reset() { e.reps, e.defs, e.at = e.reps[:0], e.defs[:0], e.at[:0] }

func (e *entries) add(rep, def uint8, at int32) {
	e.reps, e.defs, e.at = append(e.reps, rep), append(e.defs, def), append(e.at, at)
}

// shred follows steps from the column a down to the leaf, for the rows from to until. It returns the column that holds
// the leaf's values, nil if the rows have none.
func (e *entries) shred(a *columns.Array, steps []step, from, until int) (*columns.Array, error) {
	e.reset()
	for i := from; i < until; i++ {
		e.add(0, 0, int32(i))
	}
	for k, s := range steps {
		if a == nil {
			e.fold()
			return nil, nil
		}
		if err := e.present(a, s); err != nil {
			return nil, err
		}
		if k == len(steps)-1 {
			break
		}
		a = e.descend(a, s)
	}
	if a.Repeat {
		e.fold0()
	}
	return a, nil
}

// present separates the values of a from its nulls.
func (e *entries) present(a *columns.Array, s step) error {
	if len(a.Validity) == 0 {
		if s.optional {
			for k, at := range e.at {
				if at != absent {
					e.defs[k] = s.def
				}
			}
		}
		return nil
	}
	for k, at := range e.at {
		switch {
		case at == absent:
		case a.Valid(int(at)):
			if s.optional {
				e.defs[k] = s.def
			}
		case s.optional:
			e.at[k] = absent
		default:
			return nullError(s.name)
		}
	}
	return nil
}

func nullError(name string) error { return fmt.Errorf("column %s is required and has a null", name) }

// descend goes from a to the column inside it.
func (e *entries) descend(a *columns.Array, s step) *columns.Array {
	if a.Repeat {
		e.fold0()
	}
	if s.spread {
		e.spread(a, s)
		a = &a.Children[0]
		if !s.keyValue {
			return a
		}
		if a.Repeat {
			e.fold0()
		}
	}
	if s.child == Nowhere {
		return nil
	}
	return &a.Children[s.child]
}

// spread puts the elements of each list in the place of the list. An empty one stays as an entry without value.
func (e *entries) spread(a *columns.Array, s step) {
	if e.spare == nil {
		e.spare = &entries{}
	}
	out := e.spare
	out.reset()
	for k, at := range e.at {
		if at == absent {
			out.add(e.reps[k], e.defs[k], absent)
			continue
		}
		from, until := a.Span(int(at))
		if from == until {
			out.add(e.reps[k], e.defs[k], absent)
			continue
		}
		def := e.defs[k] + 1
		out.add(e.reps[k], def, int32(from))
		for i := from + 1; i < until; i++ {
			out.add(s.rep, def, int32(i))
		}
	}
	e.reps, out.reps = out.reps, e.reps
	e.defs, out.defs = out.defs, e.defs
	e.at, out.at = out.at, e.at
}

// fold marks all values as absent.
func (e *entries) fold() {
	for k := range e.at {
		e.at[k] = absent
	}
}

// fold0 points all values at the single one that a repeated column stores.
func (e *entries) fold0() {
	for k, at := range e.at {
		if at != absent {
			e.at[k] = 0
		}
	}
}
