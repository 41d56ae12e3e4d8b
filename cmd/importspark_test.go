package cmd_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// leftBySpark is a query of Spark's in a folder of its own, and a job with an empty checkpoint for what comes after it.
func leftBySpark(t *testing.T, folder string) (l *legacy, spark string) {
	t.Helper()
	l = takeOver(t, folder)
	spark = filepath.Join(t.TempDir(), "spark")
	if err := os.Rename(l.checkpoint(), spark); err != nil {
		t.Fatal(err)
	}
	return l, spark
}

func (l *legacy) imports(spark string, more ...string) *outcome {
	l.t.Helper()
	return l.do(l.t, "import", slices.Concat([]string{"--from", "spark", "--spark-checkpoint", spark}, more)...)
}

// from lists the committed records from where a query of Spark's stopped.
func (l *legacy) from(stop map[int32]int64) []*kgo.Record {
	end := maps.Clone(l.ends[l.open])
	end[cut] = l.next(cut)
	return slices.DeleteFunc(l.between(stop, end), func(r *kgo.Record) bool { return l.aborted[r] })
}

// The table says whether Spark's last plan, which is not marked as done, is in it: a new query begins behind it, or at its start.
func TestAQueryBeginsWhereSparkHasStopped(t *testing.T) {
	t.Parallel()
	for i, folder := range ofSpark {
		for name, applied := range map[string]int{"its last batch is not in the table": 0, "its last batch is in the table": 1} {
			if applied == i%2 {
				continue
			}
			t.Run(folder+", "+name, func(t *testing.T) {
				t.Parallel()
				l, spark := leftBySpark(t, folder)
				l.wrote(l.open - 1 + applied)
				stop := l.ends[l.open-1+applied]
				before := tree(t, spark)
				words := []string{"the start of batch", "the end of batch"}[applied]
				o := l.imports(spark).wants(0).has("import", "state", "new", "written", false)
				if reached := at(o.last("import"), "reached").(string); !strings.HasPrefix(reached, words) {
					t.Errorf("it says that Spark reached %q, want %q", reached, words)
				}
				for _, one := range o.last("import")["partitions"].([]any) {
					p := int32(at(one, "partition").(float64))
					if there, ok := stop[p]; ok && at(one, "next") != float64(there) || !ok && (at(one, "offset") != -1. || at(one, "next") != 0.) {
						t.Errorf("got %v, Spark stopped at %v", one, stop)
					}
				}
				l.imports(spark, "--yes").wants(0).has("import", "written", true)
				id := at(l.imports(spark, "--yes").wants(0).has("import", "state", "done").last("import"), "queryId")
				if id == l.id() {
					t.Error("it is the query of Spark's, and not a new one")
				}
				rest := l.from(stop)
				l.run(t).has("summary", "queryId", id, "firstBatch", 0, "rows", len(rest), "caughtUp", true)
				wantRows(t, l.table(t), slices.Concat(l.upTo(l.open-1+applied), rest), false)
				l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "unattributed", len(l.upTo(l.open-1+applied)))
				if after := tree(t, spark); !maps.Equal(after, before) {
					t.Errorf("Spark's checkpoint was changed: %v, was %v", after, before)
				}
			})
		}
	}
}

// tree is the content of all files below a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, path := range files(t, dir, "*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = string(text)
	}
	return found
}

// Where no table tells what became of the last batch, a person has to.
func TestAnOpenBatchOfSparksThatNothingTellsOfIsAskedAbout(t *testing.T) {
	t.Parallel()
	for said, ahead := range map[string]int{"applied": 0, "not-applied": 1} {
		l, spark := leftBySpark(t, "v1")
		l.imports(spark, "--yes").fails(13, "batch 2 was planned and is not marked as done", "no output that was asked knows the query", "--last-batch applied begins at", "--spark-output FOLDER")
		if _, err := os.Stat(l.checkpoint()); !os.IsNotExist(err) {
			t.Errorf("something was written: %v", err)
		}
		l.imports(spark, "--yes", "--last-batch", said).wants(0)
		rest := l.from(l.ends[l.open-ahead])
		l.run(t).has("summary", "rows", len(rest))
		wantRows(t, l.table(t), rest, false)
		l.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved")
	}
}

// The log of Spark's files says which batches are there, and a file of Spark's is no checkpoint.
func TestTheFilesOfAQueryOfSparksTellWhereItStopped(t *testing.T) {
	t.Parallel()
	l, spark := leftBySpark(t, "v1")
	out := t.TempDir()
	l.imports(spark, "--spark-output", out).fails(10, "no log of Spark's sink of files")
	for _, name := range []string{"0", "1", "2"} {
		if err := os.MkdirAll(filepath.Join(out, "_spark_metadata"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, "_spark_metadata", name), []byte("v1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := l.imports(spark, "--spark-output", out).wants(0)
	if reached := at(o.last("import"), "reached").(string); !strings.HasPrefix(reached, "the end of batch 2") {
		t.Errorf("got %q", reached)
	}
	l.imports(out).fails(10, "holds no checkpoint of Spark's")
	l.imports(filepath.Join(l.dir, "none")).fails(10, "holds no checkpoint of Spark's", "checkpointLocation")
}

func TestWhatCannotBeImportedFromSparkIsRefused(t *testing.T) {
	t.Parallel()
	l, spark := leftBySpark(t, "v1")
	metadata := strings.Split(l.read(spark, "offsets/2"), "\n")[1]
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(spark, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(spark, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.with("--checkpoint", spark).do(t, "import", "--from", "spark", "--spark-checkpoint", spark).fails(13, "are the same folder", "sluice run takes it over")
	write("offsets/3", "v1\n"+metadata+"\n{\"clicks\":{\"0\":3}}\n{\"orders\":{\"0\":9}}")
	write("commits/3", "v1\n{}")
	l.imports(spark).fails(13, "a query with 2 sources: 0 is Kafka, clicks; 1 is Kafka, orders", "--spark-source POSITION")
	l.imports(spark, "--spark-source", "0").fails(10, "no offset of any partition that the job reads", "clicks")
	write("offsets/2", "v1\n"+metadata+"\n{\"clicks\":{\"0\":1}}\n{\"orders\":{\"0\":5}}")
	o := l.imports(spark, "--spark-source", "1").wants(0)
	if place := at(o.last("import"), "place").(string); !strings.HasSuffix(place, ", source 1") {
		t.Errorf("the place is %q", place)
	}
	write("state/0/0/1.delta", "x")
	l.imports(spark, "--spark-source", "1", "--yes").fails(13, "the query keeps state", "startingOffsets")
}
