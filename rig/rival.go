package rig

import (
	"encoding/json"
	"testing"
)

// Rival changes a table of a SQL catalog as another engine does, with PyIceberg, and counts the rows that a reader of each
// branch and tag sees then. Its options are those of rig/rival_table.py.
func Rival(tb testing.TB, catalog, table string, options ...string) map[string]int64 {
	tb.Helper()
	out := must(tb, "python", append([]string{"rig/rival_table.py", "--catalog-db", catalog, "--table", table}, options...)...)
	var seen map[string]int64
	if err := json.Unmarshal([]byte(out), &seen); err != nil {
		tb.Fatalf("read the output of rival_table.py: %v\n%s", err, out)
	}
	return seen
}
