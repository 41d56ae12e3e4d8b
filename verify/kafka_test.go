package verify_test

import (
	"context"
	"maps"
	"slices"

	"sluice/offsets"
)

// kafka is what Kafka holds.
type kafka struct {
	view    offsets.View
	records map[offsets.TopicPartition]map[int64]bool
}

func newKafka() *kafka {
	return &kafka{view: offsets.View{TopicIDs: map[string]string{}, Partitions: map[offsets.TopicPartition]offsets.Bounds{}},
		records: map[offsets.TopicPartition]map[int64]bool{}}
}

func (k *kafka) add(tp offsets.TopicPartition, offset int64) {
	if k.records[tp] == nil {
		k.records[tp] = map[int64]bool{}
	}
	k.records[tp][offset] = true
	k.end(tp, offset+1)
}

func (k *kafka) end(tp offsets.TopicPartition, end int64) {
	b := k.view.Partitions[tp]
	b.End, b.HighWatermark = max(b.End, end), max(b.HighWatermark, end)
	k.view.Partitions[tp] = b
	k.view.TopicIDs[tp.Topic] = "id of " + tp.Topic
}

// retain drops what is before an offset.
func (k *kafka) retain(tp offsets.TopicPartition, start int64) {
	b := k.view.Partitions[tp]
	b.Start = start
	k.view.Partitions[tp] = b
	maps.DeleteFunc(k.records[tp], func(o int64, _ bool) bool { return o < start })
}

func (k *kafka) View(context.Context, []offsets.TopicPartition) (*offsets.View, error) {
	return &k.view, nil
}

func (k *kafka) Offsets(_ context.Context, r offsets.Range, found func([]int64) error) error {
	var in []int64
	for o := range k.records[r.TopicPartition] {
		if r.From <= o && o < r.Until {
			in = append(in, o)
		}
	}
	slices.Sort(in)
	for block := range slices.Chunk(in, 7) {
		if err := found(block); err != nil {
			return err
		}
	}
	return nil
}
