package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log of Spark's that is ahead of the checkpoint is that of another query's turn, or the checkpoint is an old one. One with files of
// sluice's own is that of a folder that was restored, where there are choices.
func TestAFolderThatSparkHasCarriedOnIsNoticed(t *testing.T) {
	t.Parallel()
	const sparks = `{"path":"file:///lake/part-00000-2cf5b6f5-3a5c-4f43-a2b5-0d8c2d1b6f11-c000.snappy.parquet","size":1,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}`
	own := strings.Replace(sparks, "part-00000-2cf5b6f5-3a5c-4f43-a2b5-0d8c2d1b6f11-c000.snappy.parquet", "part-1-0-0-2cf5b6f5-3a5c-4f43-a2b5-0d8c2d1b6f11.zstd.parquet", 1)
	for name, c := range map[string]struct {
		entry string
		code  int
	}{"Spark's file": {sparks, 13}, "a file of ours": {own, 0}, "no file": {"", 13}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := filed(t, k).with("--set", "sink.parquet.sparkMetadata=true")
			k.fill(t, "orders", 4, 0)
			p.run(t).has("summary", "rows", 4)
			log := strings.TrimRight("v1\n"+strings.Replace(c.entry, "/lake/", p.dir+"/", 1), "\n")
			if err := os.WriteFile(filepath.Join(p.dir, "_spark_metadata", "1"), []byte(log), 0o644); err != nil {
				t.Fatal(err)
			}
			o := p.do(t, "run")
			if c.code != 0 {
				o.fails(13, "has batch 1 of this query, applied by Spark", "the checkpoint that Spark used")
				p.do(t, "run", "--lost-rows", "reread").fails(13, "applied by Spark")
				return
			}
			o.wants(0)
		})
	}
}
