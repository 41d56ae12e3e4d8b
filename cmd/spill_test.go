package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows that are to be sorted and that memory does not hold go to TMPDIR, of which nothing is left. Without it, or without room in it,
// the run makes more files, and says so once.
func TestSortedRowsThatMemoryDoesNotHoldGoToTheFolderForTemporaryFiles(t *testing.T) {
	k := embedded(t, "orders")
	k.bulky(t, 1800)
	small := filepath.Join(t.TempDir(), "small")
	if os.Geteuid() == 0 {
		disk(t, small, 1<<20)
	}
	const said = "rows were more than memory holds and could not be kept"
	for name, c := range map[string]struct {
		dir  string
		told int
	}{"room": {t.TempDir(), 0}, "too little or none": {small, 1}} {
		t.Setenv("TMPDIR", c.dir)
		p := newPipeline(t, k).brief().with("--set", "sink.iceberg.sortBy=[value]", "--memory", "144MiB")
		o := p.run(t)
		o.has("summary", "batches", 1, "records", 1800)
		p.wantAll(t, "orders")
		files := len(filesIn(t, p.dir, "*.parquet"))
		spilled := o.last("summary")["spilledBytes"]
		if got := strings.Count(o.stderr, said); got != c.told || c.told == 0 && (files > 2 || spilled == nil) || c.told > 0 && (files <= 2 || !strings.Contains(o.stderr, small)) {
			t.Errorf("%s: %d files, %v bytes in temporary files, and it said\n%s", name, files, spilled, o.stderr)
		}
		if left, err := filepath.Glob(filepath.Join(c.dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}
