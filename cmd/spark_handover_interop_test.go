//go:build interop && linux

package cmd_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// onTable is a query into a table of the catalog that Spark and sluice share.
func onTable(t *testing.T, s *spark, dir, name string) *turns {
	p := &pipeline{dir: dir, flags: []string{"--warehouse", dir, "--catalog-name", "lake", "--table", "sales." + name, "--name", name}}
	return taking(t, s, p, map[string]any{"table": "sales." + name})
}

// A query moves from Spark to sluice and back, on one checkpoint and into one Iceberg table: every record is there once, whoever
// read it, and of aborted transactions those alone that Spark, which reads uncommitted, has read.
func TestSparkAndSluiceTakeTurnsOnOneTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	s := startSpark(t, dir, "--iceberg")
	if made := s.ask(t, "sql", map[string]any{"statement": "CREATE NAMESPACE lake.sales"}); made.Error != "" {
		t.Fatal(made.Error)
	}
	t.Run("Spark begins", func(t *testing.T) {
		x := onTable(t, s, dir, "begun")
		x.fill(10)
		if last := x.sparksTurn(); last < 2 {
			t.Errorf("Spark made %d batches, want several", last+1)
		}
		for range 2 {
			x.fill(7)
			x.sluicesTurn()
			x.sluicesTurn()
			x.fill(8)
			x.sparksTurn()
			x.sparksTurn()
		}
		x.fill(5)
		x.sluicesTurn()
		x.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	})
	t.Run("each is killed before its marker", func(t *testing.T) {
		x := onTable(t, s, dir, "killed")
		x.fill(10)
		x.sparksTurn()
		for range 2 {
			x.unmark()
			x.fill(6)
			x.do(t, "plan").wants(0).has("plan", "action", "mark")
			x.sluicesTurn()
			x.unmark()
			x.fill(7)
			x.sparksTurn() // past the ledger
		}
		x.unmark()
		x.do(t, "plan").wants(0).has("plan", "action", "mark")
		x.fill(5)
		x.sluicesTurn()
		x.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	})
	t.Run("the plan that is taken over is empty", func(t *testing.T) {
		for name, lost := range map[string]bool{"empty_applied": false, "empty_lost": true} {
			x := onTable(t, s, dir, name)
			if last := x.sparksTurn(); last != 0 {
				t.Fatalf("Spark's last batch is %d, want 0", last)
			}
			x.unmark()
			action := "mark"
			if lost {
				action = "replay"
				for _, statement := range []string{"DROP TABLE lake.sales." + name + " PURGE", "CREATE TABLE lake.sales." + name +
					" (key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT) USING iceberg"} {
					if did := s.ask(t, "sql", map[string]any{"statement": statement}); did.Error != "" {
						t.Fatal(did.Error)
					}
				}
			}
			x.do(t, "plan").wants(0).has("plan", "action", action)
			x.fill(4)
			x.sluicesTurn()
			x.fill(4)
			x.sparksTurn()
			x.fill(4)
			x.sluicesTurn()
		}
	})
	t.Run("sluice begins", func(t *testing.T) {
		x := onTable(t, s, dir, "ours")
		x.sparks["sink"] = map[string]string{"check-nullability": "false"}
		x.fill(9)
		x.sluicesTurn()
		x.unmark()
		x.fill(9)
		x.sparksTurn()
		x.unmark()
		x.fill(9)
		x.sluicesTurn()
		x.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
	})
	t.Run("both read what was committed", func(t *testing.T) {
		x := onTable(t, s, dir, "committed")
		x.sparks["source"] = map[string]string{"maxOffsetsPerTrigger": "12", "kafka.isolation.level": "read_committed"}
		x.fill(9)
		x.sparksTurn()
		x.fill(9)
		x.sluicesTurn()
		x.fill(9)
		x.sparksTurn()
		x.sluicesTurn()
	})
}

// onFolder is a query into a folder with Spark's log.
func onFolder(t *testing.T, s *spark, folder string) *turns {
	p := &pipeline{dir: filepath.Dir(folder), flags: []string{"--parquet-path", folder, "--name", "lake", "--set", "sink.parquet.sparkMetadata=true"}}
	x := taking(t, s, p, map[string]any{"folder": folder})
	x.folders = []string{folder}
	return x
}

// moveTo lets the query go on in another folder.
func (x *turns) moveTo(folder string) {
	x.pipeline, x.into, x.folders = x.with("--parquet-path", folder), map[string]any{"folder": folder}, append(x.folders, folder)
}

// Spark's sink of files goes on in a folder that sluice has written, past compactions of its log and where sluice was killed before
// its marker; sluice does not go on in a folder that Spark has written to, and says so. A query that Spark has begun goes on in
// another folder, beside it.
func TestSparkAndSluiceTakeTurnsOnFoldersOfFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	s := startSpark(t, dir)
	t.Run("sluice begins", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "ours", "rows"))
		x.fill(30)
		if last := x.sluicesTurn(); last < 4 {
			t.Errorf("sluice made %d batches, want several", last+1)
		}
		x.unmark()
		x.fill(30)
		if last := x.sparksTurn(); last < 10 {
			t.Errorf("Spark came to batch %d, want one after a compaction of its log", last)
		}
		x.fill(5)
		x.do(t, "run").fails(13, "Spark has gone on writing there", "sink.parquet.path")
		x.do(t, "run", "--lost-rows", "accept").fails(13, "Spark has gone on writing there")
	})
	t.Run("Spark begins, with version 2 of its offset log", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "theirs", "rows"))
		x.sparks["conf"] = map[string]string{"spark.sql.streaming.offsetLog.formatVersion": "2"}
		x.fill(20)
		x.sparksTurn()
		x.fill(8)
		x.do(t, "run", "--lost-rows", "accept").fails(13, "is the output of a Spark query")
		x.moveTo(filepath.Join(dir, "theirs", "more"))
		n := x.sluicesTurn("--lost-rows", "accept")
		if text, err := os.ReadFile(filepath.Join(x.checkpointFolder(), "offsets", strconv.Itoa(n))); err != nil || !strings.HasPrefix(string(text), "v2\n") {
			t.Errorf("sluice wrote the plan %q, %v, want version 2", text, err)
		}
		x.fill(8)
		x.sparksTurn()
		x.fill(8)
		x.do(t, "run").fails(13, "Spark has gone on writing there")
	})
}
