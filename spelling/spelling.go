// Package spelling finds the names that a misspelt one was likely meant to be.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest lists the candidates that name may have been meant for, best first, then by name: those that at most so many
// edits make of it, and less than all of their characters. Case, and whether parts are separated by dots, dashes or
// underscores, do not count.
func Nearest(name string, candidates []string, most int) []string {
	type scored struct {
		name  string
		edits int
	}
	var near []scored
	for _, c := range candidates {
		if max(len(name)-len(c), len(c)-len(name)) > most { // the least that distance can be
			continue
		}
		if edits := distance(fold(name), fold(c)); edits <= most && edits < max(len(name), len(c)) {
			near = append(near, scored{c, edits})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, s := range near {
		names = append(names, s.name)
	}
	return names
}

// Best is the first of Nearest, empty if none is near.
func Best(name string, candidates []string, most int) string {
	if near := Nearest(name, candidates, most); len(near) > 0 {
		return near[0]
	}
	return ""
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
