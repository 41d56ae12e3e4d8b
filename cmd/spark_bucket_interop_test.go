//go:build interop && linux

package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// sparkCount is what rig/spark_read.py prints of a path.
type sparkCount struct{ Rows, Distinct, Filtered int }

// counts reads paths with a real Spark.
func counts(t *testing.T, paths ...string) (all []sparkCount) {
	t.Helper()
	for line := range strings.Lines(onSpark(t, nil, "spark_read.py", paths...)) {
		text, ok := strings.CutPrefix(line, "read: ")
		if !ok {
			continue
		}
		var got sparkCount
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, got)
	}
	if len(all) != len(paths) {
		t.Fatalf("Spark read %d of %d paths", len(all), len(paths))
	}
	return all
}

// onSpark runs a script of the rig in its Spark, without a Kafka of the script's own. Flags are those of rig/spark.
func onSpark(t *testing.T, flags []string, script string, args ...string) string {
	t.Helper()
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(root, "rig", "spark"), append(append(flags, filepath.Join(root, "rig", script)), args...)...)
	c.Env = append(os.Environ(), "KAFKA=")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, said.String())
	}
	return string(out)
}

// A real Spark reads folders on S3, through its client s3a: by the folder's log, past a compaction of it, exactly the files that
// count, also of folders with partitions; by a glob those that an attempt left behind as well.
func TestSparkReadsFoldersOnS3(t *testing.T) {
	bucket := rig.S3(t)
	k := embedded(t, "orders", "typed")
	place := func(name string) *pipeline {
		return newPipeline(t, k).without("--warehouse", "--table").with("--parquet-path", bucket.Folder+"/"+name+"/files", "--checkpoint", bucket.Folder+"/"+name+"/state",
			"--set", "sink.parquet.sparkMetadata=true", "--max-offsets-per-trigger", "3")
	}
	p := place("plain")
	k.fill(t, "orders", 20, 0, 1)
	p.run(t).has("summary", "rows", 40, "batches", 14)
	parted := place("parted").with("--subscribe", "typed", "--value-format", "json", "--value-schema", "id INT, word STRING", "--set", "sink.parquet.partitionBy=word, bucket(2, id)")
	for i, word := range []string{"a", "b/ü", "", "100% =x"} {
		for n := range 10 {
			k.produce(t, &kgo.Record{Topic: "typed", Partition: int32(n % 2), Value: fmt.Appendf(nil, `{"id":%d,"word":%q}`, 10*i+n, word)})
		}
	}
	parted.run(t).has("summary", "rows", 40, "batches", 14)
	files := bucket.Open(t)
	var left string
	for objects := files.List(nil); left == ""; {
		object, err := objects.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(object.Key, "plain/files/part-") {
			left = object.Key
		}
	}
	if err := files.Copy(context.Background(), "plain/files/part-99-0-0-left-behind.zstd.parquet", left, nil); err != nil {
		t.Fatal(err)
	}
	at := "s3a" + strings.TrimPrefix(bucket.Folder, "s3")
	got := counts(t, at+"/plain/files", at+"/plain/files/*.parquet", at+"/parted/files", at+"/parted/files/word=*/*/*.parquet")
	all := sparkCount{40, 40, 30}
	if got[0] != all {
		t.Errorf("by its log Spark reads %+v, want %+v", got[0], all)
	}
	if got[1].Rows <= 40 || got[1].Distinct != 40 {
		t.Errorf("by a glob Spark reads %+v, want 40 places and a file that was left behind", got[1])
	}
	if got[2] != all || got[3] != all {
		t.Errorf("with partitions Spark reads %+v by its log and %+v by a glob, want %+v", got[2], got[3], all)
	}
}
