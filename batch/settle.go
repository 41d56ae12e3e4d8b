package batch

import (
	"fmt"
	"slices"

	"sluice/columns"
)

// mostApart bounds what a batch may bring where it is kept apart: a record may have MostNewColumns by itself, and with them
// be no row in the end.
const mostApart = 10 * MostNewColumns

// Settle chooses what becomes columns of fields that were kept apart: of several types of a field the one that was seen
// first, and with it the types that have room for it; likewise of names that differ by case only, and of two paths that are
// the same with dots in names. Records that have something else are no rows then. schema is what the rows have already. More
// than MostNewColumns columns are a BadRecords fault.
//
// The choice follows from the records alone if unknown is in the order of the plan.
func Settle(unknown []Unknown, schema []columns.Field) ([]Unknown, error) {
	s := settling{taken: map[string]bool{}}
	s.take(schema, "")
	chosen := s.choose(unknown, "")
	if s.columns > MostNewColumns {
		return nil, refuse(s.last.At, fmt.Sprintf("has a field %s, with which the batch would add more than %d columns to the table", shown([]string{s.last.Name}), MostNewColumns), mapped)
	}
	return chosen, nil
}

type settling struct {
	// taken are the paths that columns have.
	taken map[string]bool
	// columns counts the new ones; last is the one that was one too many.
	columns int
	last    Unknown
}

func (s *settling) take(fields []columns.Field, prefix string) {
	for i := range fields {
		path := prefix + fields[i].Name
		s.taken[path] = true
		s.take(fields[i].Type.Fields, path+".")
	}
}

func (s *settling) choose(found []Unknown, prefix string) (chosen []Unknown) {
	for _, u := range found {
		path := prefix + u.Name
		if !u.Known && s.taken[path] || slices.ContainsFunc(chosen, func(c Unknown) bool { return SameButCase(c.Name, u.Name) }) {
			continue
		}
		s.taken[path] = true
		before := len(u.Fields)
		if u.Fields = s.choose(u.Fields, path+"."); before > 0 && len(u.Fields) == 0 {
			continue // nothing of it was left
		}
		if !u.Known {
			if s.columns++; s.columns == MostNewColumns+1 {
				s.last = u
			}
		}
		chosen = append(chosen, u)
	}
	return chosen
}
