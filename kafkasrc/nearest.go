package kafkasrc

import (
	"cmp"
	"slices"
	"strings"
)

// nearest lists the candidates that name may have been meant for, best first: those few edits away, and those that
// differ in case, dots, dashes and underscores alone.
func nearest(name string, candidates []string) []string {
	type scored struct {
		name  string
		edits int
	}
	var near []scored
	for _, c := range candidates {
		if edits := distance(fold(name), fold(c)); edits <= max(1, len(name)/3) {
			near = append(near, scored{c, edits})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, s := range near[:min(len(near), 3)] {
		names = append(names, s.name)
	}
	return names
}

func fold(name string) string {
	return strings.NewReplacer("_", ".", "-", ".").Replace(strings.ToLower(name))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b (optimal string
// alignment).
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			substituted := row[j]
			if a[i] != b[j] {
				substituted++
			}
			next[j+1] = min(substituted, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
