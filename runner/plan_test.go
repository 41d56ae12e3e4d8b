package runner

import (
	"math/rand/v2"
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

func tp(partition int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: "t", Partition: partition}
}

func at(positions ...int64) offsets.Offsets {
	o := offsets.Offsets{}
	for i, p := range positions {
		o[tp(int32(i))] = p
	}
	return o
}

// holding is a view of one topic whose partitions hold [start, end).
func holding(bounds ...[2]int64) *offsets.View {
	v := &offsets.View{TopicIDs: map[string]string{"t": "id-1"}, Partitions: map[offsets.TopicPartition]offsets.Bounds{}}
	for i, b := range bounds {
		v.Partitions[tp(int32(i))] = offsets.Bounds{Start: b[0], End: b[1], HighWatermark: b[1], LeaderEpoch: 4}
	}
	return v
}

func TestNextPlanCutsTheBacklogToTheLimit(t *testing.T) {
	for _, tc := range []struct {
		name       string
		reached    offsets.Offsets
		view       *offsets.View
		limit      int64
		start, end offsets.Offsets
	}{
		{"all of it without a limit", at(0, 5), holding([2]int64{0, 10}, [2]int64{0, 8}), 0, at(0, 5), at(10, 8)},
		{"a new partition starts at its log's start", at(100), holding([2]int64{0, 110}, [2]int64{20, 30}), 10, at(100, 20), at(105, 25)},
		{"an end that went backwards never rewinds", at(100, 0), holding([2]int64{0, 90}, [2]int64{0, 40}), 10, at(100, 0), at(100, 10)},
		{"offset 0 is a position like any other", at(0), holding([2]int64{0, 3}), 2, at(0), at(2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := nextPlan(0, tc.reached, tc.view, tc.limit)
			if !plan.Start.Equal(tc.start) || !plan.End.Equal(tc.end) {
				t.Errorf("got %v to %v, want %v to %v", plan.Start, plan.End, tc.start, tc.end)
			}
			if err := plan.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNextPlanIsNoneWhereNothingIsNew(t *testing.T) {
	for _, view := range []*offsets.View{holding([2]int64{0, 10}), holding([2]int64{0, 7}), holding([2]int64{0, 10}, [2]int64{4, 4})} {
		if plan := nextPlan(3, at(10), view, 5); plan != nil {
			t.Errorf("got %v, want no plan", plan.Ranges())
		}
	}
}

func TestNextPlanCarriesTopicIDsAndEpochs(t *testing.T) {
	plan := nextPlan(2, at(0), holding([2]int64{0, 10}), 5)
	if plan.TopicIDs["t"] != "id-1" || plan.LeaderEpochs[tp(0)] != 4 || plan.Batch != 2 {
		t.Errorf("got %+v", plan)
	}
}

// Rate-limited batches to a frozen end read every offset once, whatever the limit.
func TestPlansToTheFrozenEndTileTheBacklog(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := 1 + random.IntN(6)
		view, reached, left := holding(), offsets.Offsets{}, int64(0)
		for p := range int32(n) {
			start := random.Int64N(50)
			end := start + random.Int64N(60)
			view.Partitions[tp(p)] = offsets.Bounds{Start: start, End: end, HighWatermark: end}
			left += end - start
			if random.IntN(3) > 0 {
				reached[tp(p)] = start
			}
		}
		limit := 1 + random.Int64N(40)
		for number := int64(0); ; number++ {
			plan := nextPlan(number, reached, view, limit)
			if plan == nil {
				break
			}
			if got := plan.Offsets(); got > limit || got == 0 {
				t.Fatalf("batch of %d offsets, limit %d", got, limit)
			}
			for tp, from := range reached {
				if plan.Start[tp] != from {
					t.Fatalf("%s starts at %d, the batch before ended at %d", tp, plan.Start[tp], from)
				}
			}
			left -= plan.Offsets()
			reached = plan.End
		}
		if left != 0 {
			t.Fatalf("%d offsets left unread", left)
		}
	}
}

func TestSplitTasksTileThePlan(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		plan := &batch.Plan{Batch: 1, Hash: "h", Start: offsets.Offsets{}, End: offsets.Offsets{}, Isolation: batch.ReadCommitted}
		for p := range int32(1 + random.IntN(8)) {
			from := random.Int64N(1000)
			plan.Start[tp(p)], plan.End[tp(p)] = from, from+random.Int64N(1<<random.IntN(22))
		}
		most := 1 + plan.Offsets()/(1+random.Int64N(40))
		tasks := splitTasks(plan, "q", &batch.Table{SchemaID: 3, SpecID: 2}, Cutting{1 + random.IntN(8), random.IntN(20), most})
		results := make([]batch.TaskResult, len(tasks))
		smallest, largest := plan.Offsets(), int64(0)
		for i, task := range tasks {
			results[i] = batch.TaskResult{Version: 1, Batch: 1, Plan: "h", Index: task.Index, SchemaID: 3, SpecID: 2}
			var size int64
			for _, piece := range task.Pieces {
				results[i].Pieces = append(results[i].Pieces, batch.PieceResult{Piece: piece, Position: piece.Until})
				size += piece.Range().Len()
			}
			smallest, largest = min(smallest, size), max(largest, size)
		}
		if err := batch.Covers(plan, tasks, results); err != nil {
			t.Fatalf("%v in %d tasks: %v", plan.Ranges(), len(tasks), err)
		}
		if len(tasks) > 0 && (largest-smallest > 1 || largest > most) {
			t.Fatalf("tasks of %d to %d offsets, at most %d", smallest, largest, most)
		}
	}
}

func TestSplitTasksSharesAHotPartition(t *testing.T) {
	plan := &batch.Plan{Start: at(0), End: at(1_000_000)}
	tasks := splitTasks(plan, "q", &batch.Table{}, Cutting{Workers: 4})
	if len(tasks) != 4 || tasks[3].Pieces[0].From != 750_000 {
		t.Errorf("got %d tasks: %+v", len(tasks), tasks)
	}
}

func TestSplitTasksKeepsSmallBatchesInOneFile(t *testing.T) {
	plan := &batch.Plan{Start: at(0, 0, 0), End: at(500, 0, 700)}
	if tasks := splitTasks(plan, "q", &batch.Table{}, Cutting{Workers: 4}); len(tasks) != 1 || len(tasks[0].Pieces) != 2 {
		t.Errorf("got %+v", tasks)
	}
	if tasks := splitTasks(plan, "q", &batch.Table{}, Cutting{Workers: 4, MinPartitions: 3}); len(tasks) != 3 {
		t.Errorf("with at least 3 asked for, got %d", len(tasks))
	}
}
