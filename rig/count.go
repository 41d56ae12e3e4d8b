package rig

import (
	"encoding/json"
	"testing"
)

// Counted is what a foreign engine counted in a table: its rows, and the different records that they come from.
type Counted struct{ Rows, Records int64 }

// UnmarshalJSON reads the pair that rig/count_tables.py prints.
func (c *Counted) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&c.Rows, &c.Records})
}

// CountTables has DuckDB and PyIceberg count every table of some SQL catalogs, each in a SQLite file: a map for each file, by
// table, then by engine.
func CountTables(tb testing.TB, files ...string) []map[string]map[string]Counted {
	tb.Helper()
	out := must(tb, "python", append([]string{"rig/count_tables.py"}, files...)...)
	var counts []map[string]map[string]Counted
	if err := json.Unmarshal([]byte(out), &counts); err != nil || len(counts) != len(files) {
		tb.Fatalf("read the output of count_tables.py: %d catalogs of %d, %v", len(counts), len(files), err)
	}
	return counts
}
