package rig

import (
	"encoding/json"
	"testing"
)

// SmallReading is what one engine sees of a table of rig/small_tables.py: how many rows, and a digest of all of them.
type SmallReading struct {
	Count  int    `json:"count"`
	SHA256 string `json:"sha256"`
}

// MakeSmall makes the tables of rig/small_tables.py in a SQL catalog: many small files of tables whose schemas were altered in
// between.
func MakeSmall(tb testing.TB, catalog, folder string) {
	tb.Helper()
	must(tb, "python", "rig/small_tables.py", "make", catalog, folder)
}

// ReadSmall reads them, each by table and engine.
func ReadSmall(tb testing.TB, catalog string) map[string]map[string]SmallReading {
	tb.Helper()
	out := must(tb, "python", "rig/small_tables.py", "read", catalog)
	var tables map[string]map[string]SmallReading
	if err := json.Unmarshal([]byte(out), &tables); err != nil {
		tb.Fatalf("read the output of small_tables.py: %v\n%s", err, out)
	}
	return tables
}
