package runner_test

import (
	"context"
	"fmt"
	"testing"

	"sluice/lakesink/laketest"
	"sluice/layout"
)

// newPartitionedWorld has a raw table whose rows are spread over days, buckets and topics.
func newPartitionedWorld(t *testing.T) *lakeWorld {
	w := newLakeWorld(t)
	w.partitionBy = []layout.Term{{Transform: layout.Day, Column: "timestamp"}, {Transform: layout.Bucket, Width: 3, Column: "offset"}, {Transform: layout.Identity, Column: "topic"}}
	return w
}

// A partitioned table is struck like any other. Without -full the modes take turns.
func TestARunOnAPartitionedTableStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	for k, how := range laketest.Modes() {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			for i := 0; ; i++ {
				if !*full && i%len(laketest.Modes()) != k {
					continue
				}
				w, s := newPartitionedWorld(t), laketest.BreakAt(i, how)
				met, err := w.struck(context.Background(), s, true)
				if err != nil {
					t.Errorf("%v: %v", s.Broken(), err)
				}
				if !met {
					return
				}
				if partitions := w.partitions(t); len(partitions) < 3 {
					t.Errorf("rows are in the partitions %v alone", partitions)
				}
			}
		})
	}
}

// partitions counts the live files of each partition.
func (w *lakeWorld) partitions(t *testing.T) map[string]int {
	t.Helper()
	tasks, err := w.table(t).Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, task := range tasks {
		found[fmt.Sprint(task.File.SpecID(), task.File.Partition())]++
	}
	return found
}

// Columns that records bring, and dead letters that become rows, find their partitions.
func TestAPartitionedTableGrowsAndTakesReplays(t *testing.T) {
	w := newGrowingWorld(t)
	w.partitionBy = []layout.Term{{Transform: layout.Bucket, Width: 2, Column: "p"}, {Transform: layout.Day, Column: "kafka_timestamp"}}
	w.drain(t, nil)
	w.arrive()
	w.drain(t, nil)
	if err := w.judge(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.judgeContent(); err != nil {
		t.Error(err)
	}

	letters := newLakeWorld(t)
	letters.partitionBy = []layout.Term{{Transform: layout.Bucket, Width: 3, Column: "kafka_offset"}, {Transform: layout.Truncate, Width: 3, Column: "value"}}
	letters.value = func(partition int32, offset int64) []byte {
		if offset%4 == 2 {
			return []byte{0xff, byte(offset)}
		}
		return fmt.Appendf(nil, "%d/%d", partition, offset)
	}
	letters.mutate = valued(lenient)
	letters.drain(t, nil)
	rows, n := letters.rows(t), letters.lettersIn(t, "ops.dead")
	got, err := letters.replay(letters.catalog, all)
	if err != nil || got.Rows != n || letters.rows(t) != rows+n {
		t.Errorf("got %+v, %v, want %d dead letters to be rows", got, err, n)
	}
	if err := letters.judge(t.Context()); err != nil {
		t.Error(err)
	}
}
