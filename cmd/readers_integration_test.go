//go:build integration && linux

package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// varied appends records of every kind: without key, without value, empty, binary, and long ones.
func (k *kafka) varied(t *testing.T, topic string, partitions, each int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	first := time.Now().Truncate(time.Second) // what is old is deleted by the broker
	var records []*kgo.Record
	for p := range partitions {
		for i := range each {
			r := &kgo.Record{Topic: topic, Partition: int32(p), Timestamp: first.Add(time.Duration(i) * time.Second)}
			if i%3 > 0 {
				r.Key = fmt.Appendf(nil, "key %d", i)
			}
			switch i % 7 {
			case 0:
				r.Value = nil
			case 1:
				r.Value = []byte{}
			case 2:
				r.Value = make([]byte, random.IntN(3000))
				for j := range r.Value {
					r.Value[j] = byte(random.Uint32())
				}
			default:
				r.Value = fmt.Appendf(nil, `{"n":%d,"partition":%d}`, i, p)
			}
			records = append(records, r)
		}
	}
	k.produce(t, records...)
}

// DuckDB and PyIceberg read what run wrote: all of it, the same bytes, and with a filter as much as without.
func TestForeignReadersSeeWhatWasProduced(t *testing.T) {
	readTable, bucket := rig.Python(t), rig.S3(t)
	for name, place := range map[string]func(p *pipeline) *pipeline{
		"sql catalog":    func(p *pipeline) *pipeline { return p },
		"hadoop catalog": func(p *pipeline) *pipeline { return p.with("--catalog-type", "hadoop") },
		"bucket":         func(p *pipeline) *pipeline { return p.inBucket(bucket, "readers") },
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 3)
			p := place(reading(t, k, topic))
			k.varied(t, topic, 3, 200)
			p.run(t, "--max-offsets-per-trigger", "150", "--set", "sink.iceberg.targetFileSize=64KiB").has("summary", "batches", 4)
			k.varied(t, topic, 3, 10)
			p.run(t)
			records := k.of(func(*kgo.Record) bool { return true })
			middle := records[100].Timestamp
			filters := map[string]func(*kgo.Record) bool{
				"offset >= 20 and offset < 31":  func(r *kgo.Record) bool { return r.Offset >= 20 && r.Offset < 31 },
				"partition = 2":                 func(r *kgo.Record) bool { return r.Partition == 2 },
				"key is null":                   func(r *kgo.Record) bool { return r.Key == nil },
				"value is not null":             func(r *kgo.Record) bool { return r.Value != nil },
				"not (offset < 205)":            func(r *kgo.Record) bool { return r.Offset >= 205 },
				"topic = 'another'":             func(*kgo.Record) bool { return false },
				"topic = '" + topic + "'":       func(*kgo.Record) bool { return true },
				"offset = 7 and partition <> 1": func(r *kgo.Record) bool { return r.Offset == 7 && r.Partition != 1 },
				"timestamp >= '" + middle.UTC().Format("2006-01-02T15:04:05+00:00") + "'": func(r *kgo.Record) bool { return !r.Timestamp.Before(middle) },
			}
			args := []string{"--catalog-db", filepath.Join(p.dir, "catalog.db"), "--catalog-name", "default", "--table", tableOfTests}
			if p.flag("--catalog-type") == "hadoop" {
				args = []string{"--metadata", filepath.Join(p.dir, "sales", "orders")}
			}
			for filter := range filters {
				args = append(args, "--filter", filter)
			}
			sees(t, readTable(args...), records, filters)
		})
	}
}

// sees fails the test unless both engines saw exactly the records, and each filter passed the right number both ways.
func sees(t *testing.T, reading rig.Reading, records []*kgo.Record, filters map[string]func(*kgo.Record) bool) {
	t.Helper()
	var rows []rig.Row
	for _, r := range records {
		rows = append(rows, rig.RowOf(r))
	}
	for _, name := range []string{"duckdb", "pyiceberg"} {
		got := reading.Engines[name]
		if got.Count != int64(len(rows)) || got.Distinct != int64(len(rows)) || got.SHA256 != rig.Digest(rows) {
			t.Errorf("%s: got %d rows, %d distinct, digest %s; want %d, digest %s", name, got.Count, got.Distinct, got.SHA256, len(rows), rig.Digest(rows))
		}
		if len(got.Filters) != len(filters) {
			t.Errorf("%s: got %d filters, want %d", name, len(got.Filters), len(filters))
		}
		for _, f := range got.Filters {
			want := int64(0)
			for _, r := range records {
				if filters[f.Filter](r) {
					want++
				}
			}
			if f.Filtered != want || f.Full != want {
				t.Errorf("%s: %s: got %d filtered, %d of a full scan, want %d", name, f.Filter, f.Filtered, f.Full, want)
			}
		}
	}
}

// paste runs a line in DuckDB as a person would, after what that person has set up, and returns the number of rows.
func paste(t *testing.T, line string, setUp ...string) int {
	t.Helper()
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	script := write(t, t.TempDir(), "paste.py", `
import duckdb, importlib.resources, os, shutil, sys
# INSTALL finds the extensions of the package registry in place of those on the network.
connection = duckdb.connect(config={"extension_directory": sys.argv[1]})
version, platform = connection.sql("PRAGMA version").fetchone()[0], connection.sql("PRAGMA platform").fetchone()[0]
folder = os.path.join(sys.argv[1], version, platform)
os.makedirs(folder, exist_ok=True)
for name in ("avro", "httpfs", "iceberg"):
    shutil.copy(importlib.resources.files(f"duckdb_extension_{name}") / "extensions" / version / f"{name}.duckdb_extension", folder)
for statement in sys.argv[2:]:
    connection.execute(statement)
connection.execute(sys.stdin.read())
print(connection.to_arrow_table().num_rows)
`)
	c := exec.Command(filepath.Join(root, "rig", "python"), append([]string{script, t.TempDir()}, setUp...)...)
	c.Stdin = strings.NewReader(line) // it may be longer than an argument
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The line that run prints shows the rows when it is pasted, wherever the table is.
func TestTheLineThatRunPrintsShowsTheRows(t *testing.T) {
	rig.Python(t)
	bucket := rig.S3(t)
	for name, tc := range map[string]struct {
		place func(p *pipeline) *pipeline
		setUp []string
	}{
		"a folder":       {func(p *pipeline) *pipeline { return p }, nil},
		"hadoop catalog": {func(p *pipeline) *pipeline { return p.with("--catalog-type", "hadoop") }, nil},
		"a bucket": {func(p *pipeline) *pipeline { return p.inBucket(bucket, "paste") }, []string{
			"LOAD httpfs", "SET s3_endpoint='" + strings.TrimPrefix(bucket.Endpoint, "http://") + "'", "SET s3_use_ssl=false", "SET s3_url_style='path'"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 2)
			p := tc.place(reading(t, k, topic))
			k.fill(t, topic, 3, 0, 1)
			o := call(t, nil, slices.Concat([]string{"sluice", "run"}, p.flags)...).wants(0)
			line := regexp.MustCompile(`(?m)INSTALL iceberg;.*$`).FindString(o.stdout)
			if n := paste(t, line, tc.setUp...); n != 6 {
				t.Errorf("got %d rows of %q, want 6", n, line)
			}
		})
	}
}
