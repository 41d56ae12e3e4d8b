//go:build interop && linux

package cmd_test

import (
	"path/filepath"
	"testing"
)

// What a real Spark has left is where a new query begins, in a table that Spark wrote to and in one of its own: every record is in
// the first once, whoever read it, whether or not Spark came to mark its last batch as done.
func TestAQueryBeginsWhereARealSparkHasStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	s := startSpark(t, dir, "--iceberg")
	if made := s.ask(t, "sql", map[string]any{"statement": "CREATE NAMESPACE lake.sales"}); made.Error != "" {
		t.Fatal(made.Error)
	}
	for name, unmarked := range map[string]bool{"marked": false, "unmarked": true} {
		t.Run(name, func(t *testing.T) {
			x := onTable(t, s, dir, name)
			x.fill(10)
			x.sparksTurn()
			spark, id := x.checkpointFolder(), x.id()
			if unmarked {
				x.unmark()
			}
			before := tree(t, spark)
			x.fill(6)
			x.pipeline = x.with("--checkpoint", filepath.Join(dir, "_checkpoints", "after "+name), "--name", "after_"+name)
			from := []string{"--from", "spark", "--spark-checkpoint", spark}
			x.do(t, "import", from...).wants(0).has("import", "state", "new", "written", false)
			x.do(t, "import", append(from, "--yes")...).wants(0).has("import", "written", true)
			if x.id() == id {
				t.Error("the query is Spark's, and not a new one")
			}
			x.sluicesTurn()
			x.fill(5)
			x.sluicesTurn()
			x.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
			for path, text := range before {
				if after := tree(t, spark)[path]; after != text {
					t.Errorf("%s was changed", path)
				}
			}
			if other := x.do(t, "import", append(from, "--yes")...).wants(0).last("import"); other["state"] != "done" {
				t.Errorf("again: got %v", other)
			}
		})
	}
}
