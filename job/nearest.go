package job

import "strings"

// Nearest is the candidate that is a few edits away from a misspelt name: one, or a fourth of its length. Empty if none
// is. Case does not count.
func Nearest(name string, candidates []string) string {
	near := nearest(name, candidates)
	if near != "" && distance(strings.ToLower(name), strings.ToLower(near)) > max(1, len(name)/4) {
		return ""
	}
	return near
}

// nearest is the candidate that a misspelt name probably meant, empty if none is near. Case does not count.
func nearest(name string, candidates []string) string {
	if len(name) > longestName {
		return ""
	}
	best, least := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d < least && d < max(len(name), len(c)) {
			best, least = c, d
		}
	}
	return best
}

// longestName bounds the work of nearest: no key is longer.
const longestName = 100

// distance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
