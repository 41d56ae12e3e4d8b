package rig

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Reading is what rig/read_table.py prints: a table as foreign engines see it.
type Reading struct {
	// Metadata is the metadata file that was read, UUID the table's.
	Metadata string `json:"metadata"`
	UUID     string `json:"uuid"`
	// Snapshot is the current snapshot, nil for a table without one.
	Snapshot *int64 `json:"snapshot"`
	// Engines holds duckdb and pyiceberg.
	Engines map[string]EngineReading `json:"engines"`
}

// EngineReading is what one engine saw.
type EngineReading struct {
	Version string `json:"version"`
	// Reads is the function that the engine read with.
	Reads string `json:"reads"`
	// Count is the number of rows, Distinct the number of different (topic, partition, offset).
	Count    int64 `json:"count"`
	Distinct int64 `json:"distinct"`
	// SHA256 is the Digest of the rows.
	SHA256 string `json:"sha256"`
	// Filters follows the order of the --filter arguments.
	Filters []FilterReading `json:"filters"`
}

// FilterReading counts the rows that pass a filter, twice.
type FilterReading struct {
	Filter string `json:"filter"`
	// Filtered is what a scan with the filter pushed down returned, Full what is left of a full scan after filtering.
	Filtered int64 `json:"filtered"`
	Full     int64 `json:"full"`
	// Files is how many of AllFiles the filtered scan planned to open; 0 of 0 if the engine does not tell.
	Files    int64 `json:"files"`
	AllFiles int64 `json:"allFiles"`
}

// Python prepares the rig's Python and returns a function that reads a table with DuckDB and with PyIceberg. Its arguments
// are those of rig/read_table.py: --catalog-db FILE --table NS.TABLE, or --metadata FOLDER; --filter EXPR; --columns A,B.
// It runs in the test's environment, where S3 has set how to reach the server.
func Python(tb testing.TB) func(args ...string) Reading {
	tb.Helper()
	must(tb, "python")
	return func(args ...string) Reading {
		tb.Helper()
		out := must(tb, "python", append([]string{"rig/read_table.py"}, args...)...)
		var reading Reading
		if err := json.Unmarshal([]byte(out), &reading); err != nil {
			tb.Fatalf("read the output of read_table.py: %v\n%s", err, out)
		}
		return reading
	}
}

// Row is what the digest of a table knows of one row.
type Row struct {
	Topic     string
	Partition int32
	Offset    int64
	// Values holds the other columns in order, usually key and value; nil is null.
	Values [][]byte
}

// RowOf is the row of a record, with its key and value.
func RowOf(record *kgo.Record) Row {
	return Row{
		Topic: record.Topic, Partition: record.Partition, Offset: record.Offset,
		Values: [][]byte{record.Key, record.Value},
	}
}

// compare orders by place, then by values, null before empty.
func compare(a, b Row) int {
	return cmp.Or(
		cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset),
		slices.CompareFunc(a.Values, b.Values, func(a, b []byte) int {
			switch {
			case a == nil && b != nil:
				return -1
			case a != nil && b == nil:
				return 1
			}
			return bytes.Compare(a, b)
		}))
}

// Digest is the sha256, in hex, that rig/read_table.py computes over the same rows. The order of rows does not matter.
func Digest(rows []Row) string {
	sum := sha256.New()
	for _, row := range slices.SortedFunc(slices.Values(rows), compare) {
		put(sum, []byte(row.Topic))
		put(sum, strconv.AppendInt(nil, int64(row.Partition), 10))
		put(sum, strconv.AppendInt(nil, row.Offset, 10))
		for _, value := range row.Values {
			put(sum, value)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// put writes a value with its length before it: 3:abc, and -1: for null.
func put(w io.Writer, value []byte) {
	length := len(value)
	if value == nil {
		length = -1
	}
	fmt.Fprintf(w, "%d:%s", length, value)
}
