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
		if edits := distance(fold(name), fold(c)); edits <= max(1, len(name)/4) {
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

// distance counts the insertions, deletions and substitutions between a and b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
