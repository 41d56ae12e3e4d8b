//go:build integration && linux

package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"sluice/rig"
)

// Readers of Hive's folders find the same rows in them as by the list.
func TestReadersOfHivesFoldersFindWhatTheListHas(t *testing.T) {
	rig.Python(t)
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	k, topic := real(t, 1)
	p := reading(t, k, topic).toFiles().with("--value-format", "json", "--value-schema", oddSchema, "--set", "sink.parquet.partitionBy=text, day, bucket(2, id)", "--set", "sink.parquet.sortBy=id DESC")
	records, want := oddOrders(t, topic)
	k.produce(t, records...)
	p.run(t, "--max-offsets-per-trigger", "11").has("summary", "rows", len(records), "batches", 3)
	p.proves(t, "proved", len(records))
	read := p.do(t, "status").wants(0).last("status")["read"].(string)
	c := exec.Command(filepath.Join(root, "rig", "python"), filepath.Join(root, "rig", "read_hive.py"), p.dir, read, "text", "day", "id", "kafka_offset")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		List, Glob, Pyarrow, Dataset [][]string
		Pruned                       []int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	known := slices.DeleteFunc(slices.Clone(want), func(row []string) bool { return row[0] == "∅" })
	for reader, rows := range map[string][2][][]string{"list": {got.List, want}, "glob": {got.Glob, want}, "pyarrow": {got.Pyarrow, want}, "dataset": {got.Dataset, known}} {
		if !reflect.DeepEqual(rows[0], rows[1]) {
			t.Errorf("%s found\n%v\nwant\n%v", reader, rows[0], rows[1])
		}
	}
	if len(got.Pruned) != 2 || got.Pruned[0] != 2 || got.Pruned[1] < 25 {
		t.Errorf("DuckDB read %v files for one value, want 2 of all", got.Pruned)
	}
}
