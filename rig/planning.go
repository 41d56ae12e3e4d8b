package rig

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Planning is what rig/plan_table.py prints: how foreign engines plan reads of a table.
type Planning struct {
	// AllManifests are those of the current snapshot, ManifestBytes their size together; ListBytes and MetadataBytes are the
	// sizes of the manifest list and of the metadata file.
	AllManifests  int   `json:"allManifests"`
	ManifestBytes int64 `json:"manifestBytes"`
	ListBytes     int64 `json:"listBytes"`
	MetadataBytes int64 `json:"metadataBytes"`
	// Plans are that of the whole table and those of the filters, in the order they were given.
	Plans []Planned `json:"plans"`
}

// Planned is one plan.
type Planned struct {
	Filter string `json:"filter"`
	// Manifests were opened and Files planned to be read, by PyIceberg, which took Plan seconds; Rows were counted by DuckDB in
	// Count seconds.
	Manifests int     `json:"manifests"`
	Files     int     `json:"files"`
	Rows      int64   `json:"rows"`
	Plan      float64 `json:"plan"`
	Count     float64 `json:"count"`
}

// Plan has PyIceberg and DuckDB plan reads of the table with this metadata file, as often as rounds says.
func Plan(tb testing.TB, metadata string, rounds int, filters ...string) Planning {
	tb.Helper()
	args := []string{"rig/plan_table.py", metadata, "--rounds", fmt.Sprint(rounds)}
	for _, f := range filters {
		args = append(args, "--filter", f)
	}
	out := must(tb, "python", args...)
	var planning Planning
	if err := json.Unmarshal([]byte(out), &planning); err != nil {
		tb.Fatalf("read the output of plan_table.py: %v\n%s", err, out)
	}
	return planning
}
