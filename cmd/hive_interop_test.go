//go:build interop && linux

package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/rig"
)

// A real Spark reads a folder with partitions by its log and without it, and names the folders of the same rows as sluice does.
func TestSparkReadsHivesFolders(t *testing.T) {
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	k := embedded(t, "orders")
	p := filed(t, k).with("--value-format", "json", "--value-schema", oddSchema, "--set", "sink.parquet.partitionBy=text, day", "--set", "sink.parquet.sparkMetadata=true")
	records, want := oddOrders(t, "orders")
	k.produce(t, records...)
	p.run(t, "--max-offsets-per-trigger", "3").wants(0) // past a compaction of Spark's log
	p.proves(t, "proved", len(records))
	var got struct {
		Inferred, Texts [][]string
		Types           map[string]string
		Folders         []string
	}
	read := func() {
		t.Helper()
		c := exec.Command(filepath.Join(root, "rig", "spark"), filepath.Join(root, "rig", "spark_hive.py"), p.dir, filepath.Join(t.TempDir(), "spark"), "text", "day", "id", "kafka_offset")
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, line, _ := strings.Cut(string(out), "read: ")
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	}
	for _, without := range []bool{false, true} {
		if without {
			if err := os.RemoveAll(filepath.Join(p.dir, "_spark_metadata")); err != nil {
				t.Fatal(err)
			}
		}
		read()
		if !reflect.DeepEqual(got.Inferred, want) || !reflect.DeepEqual(got.Texts, want) {
			t.Errorf("without its log %v: Spark found\n%v\nand\n%v\nwant\n%v", without, got.Inferred, got.Texts, want)
		}
		if got.Types["day"] != "date" || got.Types["text"] != "string" {
			t.Errorf("Spark infers %v", got.Types)
		}
	}
	ours := p.levels(t)
	theirs := map[string]string{".%2E": "..", "%6Eull": "null", "%4EULL": "NULL"} // where sluice escapes more, for the sake of others
	for i := range ours {
		for from, to := range theirs {
			ours[i] = strings.Replace(ours[i], "text="+from+"/", "text="+to+"/", 1)
		}
	}
	slices.Sort(ours)
	if !slices.Equal(ours, got.Folders) {
		t.Errorf("sluice has the folders\n%q\nSpark makes\n%q", ours, got.Folders)
	}
}
