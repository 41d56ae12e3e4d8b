package checkpoint_test

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
)

// Spark 4.2 fails on a plan that is not marked as done and does not say how many partitions a shuffle has. What a plan of Spark's
// says is kept.
func TestEveryPlanSaysHowManyPartitionsAShuffleHas(t *testing.T) {
	s := objectstore.NewMemory("ours")
	noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), simple(0, 0, 1)))
	if text := get(t, s, "offsets/0"); !strings.Contains(text, `"spark.sql.shuffle.partitions":"200"`) {
		t.Errorf("got %s", text)
	}
	sparks := copied(t, "spark/real-4.2.0")
	state := last(t, sparks)
	plan := &batch.Plan{Batch: 3, Start: state.Plan.End, End: state.Plan.End, Isolation: batch.ReadCommitted}
	noError(t, checkpoint.NewLog(sparks).WriteCommit(t.Context(), 2))
	noError(t, checkpoint.NewLog(sparks).WritePlan(t.Context(), plan))
	if text := get(t, sparks, "offsets/3"); !strings.Contains(text, `"spark.sql.shuffle.partitions":"7"`) {
		t.Errorf("got %s", text)
	}
}
