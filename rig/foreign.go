package rig

import (
	"encoding/json"
	"testing"
)

// Foreign is a table that PyIceberg has made and sluice has written to, as rig/foreign_tables.py reads it.
type Foreign struct {
	// Engines holds duckdb and pyiceberg.
	Engines map[string]ForeignRows `json:"engines"`
	Files   []ForeignFile          `json:"files"`
}

// ForeignRows is what one engine sees.
type ForeignRows struct {
	// Rows are values as text by column, nil for null.
	Rows map[string][]*string `json:"rows"`
	// Asked is how many filters were tried; Wrong are those that find other rows than there are.
	Asked int      `json:"asked"`
	Wrong []string `json:"wrong"`
}

// ForeignFile is a data file and what manifests say of it.
type ForeignFile struct {
	Path     string `json:"path"`
	Snapshot int64  `json:"snapshot"`
	Spec     int    `json:"spec"`
	Codec    string `json:"codec"`
	// Order is the id of the sort order that the file is said to be in, 0 or nil for none; Unsorted says that it is not.
	Order    *int `json:"order"`
	Unsorted bool `json:"unsorted"`
	// Counted are the columns with counts of values, Bounds those with lower bounds, and their lengths.
	Counted []string       `json:"counted"`
	Bounds  map[string]int `json:"bounds"`
}

// MakeForeign makes the tables of rig/foreign_tables.py in a SQL catalog.
func MakeForeign(tb testing.TB, catalog, folder string) {
	tb.Helper()
	must(tb, "python", "rig/foreign_tables.py", "make", catalog, folder)
}

// AlterForeign changes their schemas, partitions, sort orders and properties.
func AlterForeign(tb testing.TB, catalog, folder string) {
	tb.Helper()
	must(tb, "python", "rig/foreign_tables.py", "alter", catalog, folder)
}

// ReadForeign reads them, with DuckDB and with PyIceberg.
func ReadForeign(tb testing.TB, catalog string) map[string]Foreign {
	tb.Helper()
	out := must(tb, "python", "rig/foreign_tables.py", "read", catalog)
	var tables map[string]Foreign
	if err := json.Unmarshal([]byte(out), &tables); err != nil {
		tb.Fatalf("read the output of foreign_tables.py: %v\n%s", err, out)
	}
	return tables
}
