package rig

import (
	"encoding/json"
	"fmt"
	"strings"
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
	out := must(tb, "python", planning("rig/plan_table.py", metadata, rounds, filters)...)
	var result Planning
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		tb.Fatalf("read the output of plan_table.py: %v\n%s", err, out)
	}
	return result
}

// SparkPlanned is one plan of a real Spark's, as rig/spark_plan.py prints it.
type SparkPlanned struct {
	Filter string `json:"filter"`
	// Tasks of a scan of all columns were planned in Plan seconds; Rows were counted in Count seconds.
	Tasks int     `json:"tasks"`
	Rows  int64   `json:"rows"`
	Plan  float64 `json:"plan"`
	Count float64 `json:"count"`
}

// PlanInSpark has a real Spark do what Plan has PyIceberg and DuckDB do. It needs Java and Maven.
func PlanInSpark(tb testing.TB, metadata string, rounds int, filters ...string) []SparkPlanned {
	tb.Helper()
	out := must(tb, "spark", append([]string{"--iceberg"}, planning("rig/spark_plan.py", metadata, rounds, filters)...)...)
	_, text, found := strings.Cut(out, "planned: ") // Spark prints too
	var plans []SparkPlanned
	if err := json.Unmarshal([]byte(text), &plans); !found || err != nil {
		tb.Fatalf("read the output of spark_plan.py: %v\n%s", err, out)
	}
	return plans
}

// planning are the arguments of a script that plans.
func planning(script, metadata string, rounds int, filters []string) []string {
	args := []string{script, metadata, "--rounds", fmt.Sprint(rounds)}
	for _, f := range filters {
		args = append(args, "--filter", f)
	}
	return args
}
