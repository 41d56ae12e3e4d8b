package job

import "sluice/spelling"

// Nearest is the candidate that is a few edits away from a misspelt name: one, or a fourth of its length. Empty if none
// is. Case does not count.
func Nearest(name string, candidates []string) string {
	return spelling.Best(name, candidates, max(1, len(name)/4))
}

// nearest is the candidate that a misspelt name probably meant, empty if none is near. Where a job is read, more is
// forgiven than on the command line: there is a key for each mistake, and the list of all is long.
func nearest(name string, candidates []string) string {
	return spelling.Best(name, candidates, max(2, len(name)/3))
}
