package rig

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// Filtered is what DuckDB finds in the Bloom filters of a column: Lost values are denied though they are there, of those that are
// Absent from a row group Excluded are denied.
type Filtered struct{ Lost, Absent, Excluded int }

// CheckFilters runs rig/check_filters.py on a Parquet file. The result is by column.
func CheckFilters(tb testing.TB, file string) map[string]Filtered {
	tb.Helper()
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "rig", "python"), filepath.Join(root, "rig", "check_filters.py"), file)
	out, err := cmd.Output()
	var found map[string]Filtered
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		tb.Fatalf("check the filters of %s: %v\n%s", file, err, stderrOf(err))
	}
	return found
}

func stderrOf(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}
