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

// CountTables has DuckDB and PyIceberg count every table of some catalogs: a map for each of them, by table, then by engine. A
// catalog is the SQLite file of a SQL catalog, or the address of a REST catalog and a namespace, as http://host:port#sales.
func CountTables(tb testing.TB, catalogs ...string) []map[string]map[string]Counted {
	tb.Helper()
	out := must(tb, "python", append([]string{"rig/count_tables.py"}, catalogs...)...)
	var counts []map[string]map[string]Counted
	if err := json.Unmarshal([]byte(out), &counts); err != nil || len(counts) != len(catalogs) {
		tb.Fatalf("read the output of count_tables.py: %d catalogs of %d, %v", len(counts), len(catalogs), err)
	}
	return counts
}
