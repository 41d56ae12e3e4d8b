package runner

import (
	"math/bits"

	"sluice/batch"
	"sluice/offsets"
)

// minTaskOffsets keeps small batches in few files: a task smaller than this is not worth a file of its own.
const minTaskOffsets = 32_000

// Cutting is how a batch is cut into tasks.
type Cutting struct {
	// Workers is how many tasks run at a time.
	Workers int
	// MinPartitions is how many tasks a batch has at least (a hint, as in Spark), MaxRecordsPerPartition how many offsets a task
	// has at most; 0 for no wish.
	MinPartitions          int
	MaxRecordsPerPartition int64
}

// Tasks is the number of tasks that a batch of so many offsets is cut into.
func (c Cutting) Tasks(total int64) int {
	n := max(min(int64(max(1, c.Workers)), atMost(total, minTaskOffsets)), int64(c.MinPartitions))
	if c.MaxRecordsPerPartition > 0 {
		n = max(n, atMost(total, c.MaxRecordsPerPartition))
	}
	return int(min(n, total))
}

// atMost is how many parts of at most size there are in total.
func atMost(total, size int64) int64 { return total/size + min(1, total%size) }

// splitTasks cuts a plan into tasks of equal size: one a worker, fewer where the batch is small, more where
// somebody asks for more, or for smaller ones. The ranges are laid end to end and cut at equal distances, so a hot partition is shared by
// several tasks and the pieces of all tasks tile the plan. The same arguments give the same tasks.
func splitTasks(plan *batch.Plan, query string, shape *batch.Table, cutting Cutting) []batch.Task {
	ranges := plan.Ranges()
	total := offsets.Total(ranges)
	if total == 0 {
		return nil
	}
	n := int64(cutting.Tasks(total))
	tasks := make([]batch.Task, n)
	for i := range tasks {
		tasks[i] = batch.Task{Version: batch.FormatVersion, Query: query, Batch: plan.Batch, Plan: plan.Hash, Index: i,
			Isolation: plan.Isolation, SchemaID: shape.SchemaID, SpecID: shape.SpecID}
	}
	var laid int64 // length of the ranges before r
	at := 0        // the task that is being filled
	for _, r := range ranges {
		for from := r.From; from < r.Until; {
			for laid+from-r.From >= mark(total, n, int64(at)+1) {
				at++
			}
			until := min(r.Until, r.From+mark(total, n, int64(at)+1)-laid)
			tasks[at].Pieces = append(tasks[at].Pieces, piece(plan, r.TopicPartition, from, until))
			from = until
		}
		laid += r.Len()
	}
	return tasks
}

// mark is where task i begins on the line of all ranges: floor(total*i/n), in 128 bits.
func mark(total, n, i int64) int64 {
	high, low := bits.Mul64(uint64(total), uint64(i))
	quotient, _ := bits.Div64(high, low, uint64(n))
	return int64(quotient)
}

func piece(plan *batch.Plan, tp offsets.TopicPartition, from, until int64) batch.Piece {
	p := batch.Piece{Topic: tp.Topic, Partition: tp.Partition, From: from, Until: until, TopicID: plan.TopicIDs[tp.Topic], LeaderEpoch: -1}
	if epoch, ok := plan.LeaderEpochs[tp]; ok {
		p.LeaderEpoch = epoch
	}
	return p
}
