package checkpoint_test

import (
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/offsets"
)

// Nothing to keep is something that is kept: state that had become empty was not written, and the next start went by the
// state before (https://github.com/apache/kafka/pull/9534).
func TestAnEmptyPlanIsWrittenAndTakesThePlaceOfTheOneBefore(t *testing.T) {
	s := objectstore.NewMemory("m")
	l := fill(t, s, 1)
	noError(t, l.WritePlan(t.Context(), &batch.Plan{Batch: 1, Start: offsets.Offsets{}, End: offsets.Offsets{}, Isolation: batch.ReadCommitted}))
	plan := last(t, s).Plan
	if plan.Batch != 1 || plan.End == nil || len(plan.End) != 0 || len(plan.Start) != 0 {
		t.Errorf("got batch %d from %v to %v, want batch 1 of no partition", plan.Batch, plan.Start, plan.End)
	}
}

// The same of where a query begins: no partition yet is not "not asked yet".
func TestAnEmptyStartIsPinned(t *testing.T) {
	s := objectstore.NewMemory("m")
	if state := last(t, s); state.Start != nil {
		t.Fatalf("before: got %v", state.Start)
	}
	_, err := checkpoint.NewLog(s).PinStart(t.Context(), offsets.Offsets{})
	noError(t, err)
	if state := last(t, s); state.Start == nil || len(state.Start) != 0 {
		t.Errorf("got %v, want a start that is there and empty", state.Start)
	}
	later, err := checkpoint.NewLog(s).PinStart(t.Context(), offsets.Offsets{{Topic: "orders"}: 7})
	if err != nil || len(later) != 0 {
		t.Errorf("a later pin: got %v, %v, want the first one's", later, err)
	}
}

// Offset 0 is a position like any other (https://github.com/delta-io/kafka-delta-ingest/issues/67), and so is one that no
// float holds (https://github.com/apache/iceberg-go/issues/369).
func TestOffsetsOfAllSizesSurvive(t *testing.T) {
	s := objectstore.NewMemory("m")
	start := offsets.Offsets{{Topic: "orders", Partition: 0}: 0, {Topic: "orders", Partition: 1}: 1<<53 + 1, {Topic: "orders", Partition: 2}: 1<<63 - 2}
	end := start.Clone()
	end[offsets.TopicPartition{Topic: "orders", Partition: 2}]++
	l := checkpoint.NewLog(s)
	_, err := l.CreateQuery(t.Context(), "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10")
	noError(t, err)
	_, err = l.PinStart(t.Context(), start)
	noError(t, err)
	noError(t, l.WritePlan(t.Context(), &batch.Plan{Batch: 0, Start: start, End: end, Isolation: batch.ReadCommitted}))
	if state := last(t, s); !state.Start.Equal(start) || !state.Plan.Start.Equal(start) || !state.Plan.End.Equal(end) {
		t.Errorf("got start %v and plan %v to %v", state.Start, state.Plan.Start, state.Plan.End)
	}
}

// Ids of snapshots are of that size too (https://github.com/apache/iceberg/issues/12631): the one of a decision survives as it is.
func TestIdsOfSnapshotsSurvive(t *testing.T) {
	s := objectstore.NewMemory("m")
	l := fill(t, s, 1)
	for n, id := range []int64{3510441037372461004, 9007199254740993, 1<<63 - 1} {
		want := batch.Acceptance{Choice: batch.Accept, Batch: 0, Snapshot: id}
		plan := simple(int64(n+1), 0, 1)
		plan.Accepted = &want
		noError(t, l.WritePlan(t.Context(), plan))
		read, err := checkpoint.NewLog(s).ReadPlan(t.Context(), int64(n+1))
		noError(t, err)
		if read.Accepted == nil || *read.Accepted != want {
			t.Errorf("got %v, want %v", read.Accepted, &want)
		}
	}
}
