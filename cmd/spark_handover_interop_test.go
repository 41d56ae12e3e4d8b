//go:build interop && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sluice/rig"
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

// lists fails the test unless DuckDB finds the rows that are wanted, each once, in the files that status lists, and verify is content.
func (x *turns) lists() {
	x.t.Helper()
	statement, _ := x.do(x.t, "status").wants(0).last("status")["read"].(string)
	root, err := rig.Root()
	if err != nil {
		x.t.Fatal(err)
	}
	c := exec.Command(filepath.Join(root, "rig", "python"), filepath.Join(root, "rig", "read_folder.py"), statement)
	c.Stderr = os.Stderr
	out, err := c.Output()
	var read struct {
		Rows    [][3]any
		Seconds int
	}
	if err == nil {
		err = json.Unmarshal(out, &read)
	}
	if err != nil {
		x.t.Fatalf("DuckDB: %v\n%s", err, statement)
	}
	got := map[string]string{}
	for _, row := range read.Rows {
		got[fmt.Sprint(row[0], "/", row[1])] = fmt.Sprint(row[2])
	}
	if len(read.Rows) != len(got) || !maps.Equal(got, x.want) {
		x.t.Errorf("DuckDB finds %d rows\n%v\nwant %d\n%v", len(read.Rows), got, len(x.want), x.want)
	}
	if read.Seconds > 3000 {
		x.t.Errorf("DuckDB finds timestamps that are %d seconds apart", read.Seconds)
	}
	x.do(x.t, "peek", "--columns", "partition,offset,value").wants(0)
	x.do(x.t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "rows", len(x.want))
}

// forget takes objects of the folder away, as a process leaves it that was killed before it made them.
func (x *turns) forget(names ...string) {
	x.t.Helper()
	for _, name := range names {
		path := filepath.Join(x.folders[0], name)
		if err := os.Remove(path); err != nil {
			x.t.Fatal(err)
		}
		os.Remove(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".crc"))
	}
}

// logOf is the name of a batch in Spark's log.
func logOf(n int) string {
	if n%10 == 9 {
		return fmt.Sprintf("_spark_metadata/%d.compact", n)
	}
	return fmt.Sprintf("_spark_metadata/%d", n)
}

// A query moves from Spark to sluice and back, on one checkpoint and in one folder of files, past compactions of Spark's log: every
// record is there once for whoever goes by that log, for whoever goes by sluice's list, and for verify.
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
		x.lists()
		x.unmark()
		x.fill(5)
		x.sluicesTurn()
		x.lists()
		x.fill(30)
		x.sparksTurn()
		x.lists()
	})
	t.Run("Spark begins, with version 2 of its offset log", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "theirs", "rows"))
		x.sparks["conf"] = map[string]string{"spark.sql.streaming.offsetLog.formatVersion": "2"}
		x.fill(20)
		x.sparksTurn()
		x.do(t, "validate").wants(0)
		x.fill(8)
		n := x.sluicesTurn()
		if text, err := os.ReadFile(filepath.Join(x.checkpointFolder(), "offsets", strconv.Itoa(n))); err != nil || !strings.HasPrefix(string(text), "v2\n") {
			t.Errorf("sluice wrote the plan %q, %v, want version 2", text, err)
		}
		x.lists()
		for range 2 {
			x.fill(20)
			x.sparksTurn()
			x.lists()
			x.fill(4)
			x.sluicesTurn()
			x.lists()
		}
	})
	t.Run("each is killed where it hurts", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "killed", "rows"))
		x.fill(10)
		x.sparksTurn()
		x.unmark() // Spark: its log entry is there, the marker is not
		x.do(t, "plan").wants(0).has("plan", "action", "mark")
		x.fill(6)
		x.sluicesTurn()
		x.lists()
		x.fill(6)
		n := x.sparksTurn()
		x.unmark()
		x.forget(logOf(n)) // Spark: its files are there, the log entry is not
		x.do(t, "plan").wants(0).has("plan", "action", "replay")
		x.fill(6)
		x.sluicesTurn()
		x.lists()
		x.sparks["source"] = map[string]string{"maxOffsetsPerTrigger": "12", "kafka.isolation.level": "read_committed"} // as it read what Spark reads again
		x.fill(6)
		n = x.sluicesTurn()
		x.unmark()
		x.forget(logOf(n)) // sluice: its manifest is there, the log entry is not, and Spark carries out the batch again
		x.fill(6)
		x.sparksTurn()
		x.lists()
		x.fill(6)
		n = x.sluicesTurn()
		x.lists()
		x.unmark()
		x.forget(logOf(n), filepath.Join("_sluice", x.id(), strconv.Itoa(n)+".json")) // sluice: its files alone are there
		x.fill(6)
		x.sparksTurn()
		x.fill(6)
		x.sluicesTurn()
		x.lists()
	})
	t.Run("with partitions", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "hive", "rows"))
		x.sparks["partitionBy"] = []string{"topic", "partition"}
		x.fill(8)
		x.sparksTurn()
		x.fill(8)
		x.do(t, "run", "--set", "sink.parquet.partitionBy=partition").fails(13, "in 2 folders of partitions")
		x.sluicesTurn()
		x.lists()
		x.fill(8)
		x.sparksTurn()
		x.lists()
	})
	t.Run("in a folder beside it", func(t *testing.T) {
		x := onFolder(t, s, filepath.Join(dir, "beside", "rows"))
		x.fill(10)
		x.sparksTurn()
		x.fill(8)
		x.pipeline = x.without("--set")
		x.do(t, "run").fails(13, "is the output of a Spark query")
		x.moveTo(filepath.Join(dir, "beside", "more"))
		x.sluicesTurn("--lost-rows", "accept")
	})
}
