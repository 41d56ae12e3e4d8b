package checkpoint_test

import (
	"errors"
	"slices"
	"testing"

	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func TestPurgeKeepsTheNewest(t *testing.T) {
	for _, c := range []struct{ retain, kept int }{{3, 3}, {0, 2}, {-5, 2}, {100, 12}} {
		s := objectstore.NewMemory("m")
		l := fill(t, s, 12)
		for n := range int64(12) {
			noError(t, l.WriteProgress(t.Context(), n, []byte("{}")))
		}
		l.Retain = c.retain
		noError(t, l.Purge(t.Context(), 11))
		for _, dir := range []string{"offsets/", "commits/", "progress/"} {
			if got := len(list(t, s, dir)); got != c.kept {
				t.Errorf("retain %d: %s has %d entries, want %d", c.retain, dir, got, c.kept)
			}
		}
		if state := last(t, s); state.Plan.Batch != 11 || state.Commit != 11 || state.Start == nil {
			t.Errorf("retain %d: got %+v", c.retain, state)
		}
	}
}

// All markers go before any plan, whatever is left of an earlier purge, and a run that has not listed lists first.
func TestPurgeRemovesMarkersFirstAndStraysToo(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 8)
	noError(t, s.Delete(t.Context(), "offsets/1", "commits/2"))
	script := storetest.NewScript(-1, storetest.NotApplied)
	l := checkpoint.NewLog(&storetest.Faults{Store: s, Script: script})
	l.Retain = 4
	noError(t, l.Purge(t.Context(), 7))
	want := []string{"delete commits/0", "delete commits/1", "delete commits/3", "delete offsets/0", "delete progress/0.json",
		"delete offsets/2", "delete progress/2.json", "delete offsets/3", "delete progress/3.json"}
	if got := script.Effects(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFailedPurgeIsFinishedByTheNext(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 8)
	for at := range 3 {
		l := checkpoint.NewLog(&storetest.Faults{Store: s, Script: storetest.NewScript(at, storetest.NotApplied)})
		l.Retain = 2
		if err := l.Purge(t.Context(), 7); !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("got %v, want the injected error", err)
		}
	}
	l := checkpoint.NewLog(s)
	l.Retain = 2
	noError(t, l.Purge(t.Context(), 7))
	if got, want := list(t, s, "offsets/"), []string{"offsets/6", "offsets/7"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
