package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// Predicate is a condition on one column, as rig/check_statistics.py reads it.
type Predicate struct {
	// Column is a path: s.a is field a of struct s.
	Column string `json:"column"`
	// Op is =, <>, <, <=, >, >=, in, prefix, null, notnull, nan or notnan.
	Op string `json:"op"`
	// Values are in the text form of rig/check_statistics.py.
	Values []string `json:"values,omitempty"`
}

// Comparison is what rig/check_statistics.py prints: for each reader and predicate how a scan with the predicate pushed down
// compares with a full scan that was filtered afterwards.
type Comparison struct {
	// Files counts the data files of the table.
	Files int `json:"files"`
	// SQL holds the predicates as DuckDB read them.
	SQL []string `json:"predicates"`
	// PyIceberg reads through manifests and Arrow, IcebergScan is DuckDB's reader of tables, ReadParquet its reader of files.
	PyIceberg   []*Difference `json:"pyiceberg"`
	IcebergScan []*Difference `json:"iceberg_scan"`
	ReadParquet []*Difference `json:"read_parquet"`
}

// Difference counts the rows that a pushed-down predicate lost and those that it let through wrongly, of the Rows that pass
// it in memory. Files is how many files PyIceberg planned to open.
type Difference struct {
	Rows  int `json:"rows"`
	Lost  int `json:"lost"`
	Extra int `json:"extra"`
	Files int `json:"files"`
}

// CompareScans runs rig/check_statistics.py on a table, told to it by the arguments of rig/read_table.py. id names a
// column without nulls and duplicates.
func CompareScans(tb testing.TB, id string, predicates []Predicate, table ...string) Comparison {
	tb.Helper()
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	request, err := json.Marshal(map[string]any{"id": id, "predicates": predicates})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "rig", "python"), append([]string{"rig/check_statistics.py"}, table...)...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("compare scans: %v\n%s", err, stderr.Bytes())
	}
	var got Comparison
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		tb.Fatalf("read the output of check_statistics.py: %v", err)
	}
	return got
}
