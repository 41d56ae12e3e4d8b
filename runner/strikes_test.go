package runner_test

import (
	"math"
	"testing"

	"sluice/lakesink/laketest"
)

// strikes says at which requests of a run to strike: all of them with -full, else the first and the last of each name, so
// that every kind of request is struck. run makes a fresh world and lets a run in it go through.
func strikes(t *testing.T, run func(s *laketest.Script) (met bool, err error)) (at []int) {
	t.Helper()
	s := laketest.BreakAt(math.MaxInt, laketest.Killed)
	if met, err := run(s); met || err != nil {
		t.Fatalf("a run that nothing strikes: struck %v, %v", met, err)
	}
	effects := s.Effects()
	first, last := map[string]int{}, map[string]int{}
	for i, name := range effects {
		if _, seen := first[name]; !seen {
			first[name] = i
		}
		last[name] = i
	}
	for i, name := range effects {
		if *full || first[name] == i || last[name] == i {
			at = append(at, i)
		}
	}
	return at
}
