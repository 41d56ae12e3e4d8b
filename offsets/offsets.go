// Package offsets is the vocabulary of positions in Kafka: a partition, the next offset to read in each partition,
// a half-open range of offsets, what a log held at one moment, and the JSON grammar they share with Spark.
//
// An offset is always the next one to read: after the record at 5 it is 6. Absent and 0 are different things.
package offsets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// TopicPartition names one partition of one topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String renders orders-3, the form that Kafka's own tools print.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// Compare orders by topic, then by partition number.
func Compare(a, b TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// Offsets maps each partition to the next offset to read.
type Offsets map[TopicPartition]int64

// Partitions lists the keys in order of topic and partition.
func (o Offsets) Partitions() []TopicPartition {
	return slices.SortedFunc(maps.Keys(o), Compare)
}

// Equal reports whether both name the same partitions at the same offsets.
func (o Offsets) Equal(other Offsets) bool { return maps.Equal(o, other) }

// Clone copies o; the copy of nil is empty, never nil.
func (o Offsets) Clone() Offsets {
	c := make(Offsets, len(o))
	maps.Copy(c, o)
	return c
}

// Topics lists the distinct topics in order.
func (o Offsets) Topics() []string {
	seen := map[string]bool{}
	for tp := range o {
		seen[tp.Topic] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Range is the half-open range [From, Until) of one partition. Offsets inside it need not all carry a record:
// compaction, aborted transactions and control markers leave gaps.
type Range struct {
	TopicPartition
	From, Until int64
}

// Len is the number of offsets in the range, at least 0. It is an upper bound on its records.
func (r Range) Len() int64 { return max(0, r.Until-r.From) }

// String renders orders-3[10,20).
func (r Range) String() string { return fmt.Sprintf("%s[%d,%d)", r.TopicPartition, r.From, r.Until) }

// Between lists the non-empty ranges from start to end in order of topic and partition. Partitions that only one of
// the two knows are left out: a plan carries the same partitions on both sides.
func Between(start, end Offsets) []Range {
	var ranges []Range
	for _, tp := range end.Partitions() {
		if from, ok := start[tp]; ok && end[tp] > from {
			ranges = append(ranges, Range{TopicPartition: tp, From: from, Until: end[tp]})
		}
	}
	return ranges
}

// Total is the number of offsets in all ranges.
func Total(ranges []Range) int64 {
	var n int64
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}
