package registry

import "strings"

// nearest is the name that was probably meant, empty if none is near: case, underscores and dashes do not count, and a
// third of the characters may be wrong.
func nearest(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if edits := distance(fold(name), fold(k)); edits < least || edits == least && best != "" && k < best {
			best, least = k, edits
		}
	}
	return best
}

func fold(name string) string {
	return strings.NewReplacer("_", ".", "-", ".").Replace(strings.ToLower(name))
}

// distance counts the insertions, deletions and substitutions between a and b.
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
			row[j+1] = min(substituted, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
