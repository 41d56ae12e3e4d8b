//go:build interop && linux

package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/rig"
)

// A real Spark that is given the folder reads what the manifests say, and not a file that an attempt left behind. It needs
// Java and a JVM's time: make interop.
func TestSparkReadsExactlyTheFilesThatCount(t *testing.T) {
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	k := embedded(t, "orders")
	p := filed(t, k).with("--set", "sink.parquet.sparkMetadata=true", "--max-offsets-per-trigger", "3")
	k.fill(t, "orders", 20, 0, 1)
	p.run(t).wants(0).has("summary", "rows", 40, "batches", 14) // past a compaction of Spark's log
	left, err := os.ReadFile(p.dataFiles(t)[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, "part-99-0-0-left-behind.zstd.parquet"), left, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	read := func() (got struct{ Rows, Distinct, Filtered int }) {
		t.Helper()
		c := exec.Command(filepath.Join(root, "rig", "spark"), filepath.Join(root, "rig", "spark_read.py"), p.dir)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, line, _ := strings.Cut(string(out), "read: ")
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return got
	}
	if got := read(); got.Rows != 40 || got.Distinct != 40 || got.Filtered != 30 {
		t.Errorf("Spark reads %+v, want 40 rows", got)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "_spark_metadata")); err != nil {
		t.Fatal(err)
	}
	if got := read(); got.Rows <= 40 {
		t.Errorf("without its log Spark reads %+v, which is what the log is for", got)
	}
}
