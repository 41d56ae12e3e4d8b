package rig

import (
	"encoding/json"
	"testing"
)

// Left is a snapshot that PyIceberg's expiry has left. Parent is nil where it has cut the parent off.
type Left struct {
	ID       int64  `json:"id"`
	Parent   *int64 `json:"parent"`
	Sequence int64  `json:"sequence"`
}

// Expire writes to a table of a SQL catalog as another writer and expires its history, with PyIceberg, and lists the
// snapshots that are left, oldest first. Its options are those of rig/expire_table.py: --append, --rewrite, --keep.
func Expire(tb testing.TB, catalog, table string, options ...string) []Left {
	tb.Helper()
	out := must(tb, "python", append([]string{"rig/expire_table.py", "--catalog-db", catalog, "--table", table}, options...)...)
	var left []Left
	if err := json.Unmarshal([]byte(out), &left); err != nil {
		tb.Fatalf("read the output of expire_table.py: %v\n%s", err, out)
	}
	return left
}
