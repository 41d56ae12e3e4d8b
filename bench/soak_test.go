//go:build integration && soak

package main

import (
	"context"
	"path/filepath"
	"testing"
)

// Metadata that grew with the number of commits was the first thing to be found wrong with a table that is committed to
// every minute. The bytes decide here; the times are shown, for they depend on who else is using the machine.
func TestSoakCommitNumberTenThousandCostsWhatNumberTenDid(t *testing.T) {
	versions := []int64{10, 100, 1000, 10_000}
	steps, err := commitMany(context.Background(), filepath.Join(t.TempDir(), "lake"), versions[len(versions)-1]+window)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ageMeasures {
		first := m.value(steps[versions[0] : versions[0]+window])
		for _, v := range versions {
			value := m.value(steps[v : v+window])
			t.Logf("%s at version %s: %s %s, %s times that at version %d", m.name, thousands(v), short(value), m.unit, short(value/first), versions[0])
			if m.flat && value > targetFlat*first {
				t.Errorf("%s at version %s: got %s %s, want at most %g times the %s at version %d", m.name, thousands(v), short(value), m.unit, targetFlat, short(first), versions[0])
			}
		}
	}
}
