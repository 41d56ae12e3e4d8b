package rig

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Compacted is the configuration of a topic that Compact can compact: every record older than a millisecond closes its
// segment when the next one comes, and the cleaner takes closed segments at once.
func Compacted() map[string]string {
	return map[string]string{
		"cleanup.policy":            "compact",
		"segment.ms":                "1",
		"min.cleanable.dirty.ratio": "0.01",
		"min.compaction.lag.ms":     "0",
		"delete.retention.ms":       "0",
	}
}

// Compact appends one record, with the key "rig", to each partition of a topic made with Compacted, so that all earlier
// records lie in closed segments, and returns when each of those that has a later one with its key is gone. What is left
// are gaps between offsets; an emptied end of a partition stays, as Kafka keeps its newest record.
func (b Broker) Compact(tb testing.TB, topic string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := b.Client(tb)
	details, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		tb.Fatalf("compact topic %s: %v", topic, err)
	}
	for partition := range details[topic].Partitions {
		b.Produce(tb, &kgo.Record{Topic: topic, Partition: partition, Key: []byte("rig"), Timestamp: time.Now().Add(time.Second)})
	}
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		tb.Fatalf("compact topic %s: %v", topic, err)
	}
	for partition, end := range ends[topic] {
		if err := b.compacted(ctx, topic, partition, end.Offset); err != nil {
			tb.Fatalf("compact topic %s: %v", topic, err)
		}
	}
}

// compacted reads the partition from its start until a reading finds no key twice.
func (b Broker) compacted(ctx context.Context, topic string, partition int32, end int64) error {
	for {
		twice, err := b.repeated(ctx, topic, partition, end)
		if err != nil || twice == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("partition %d still has %d records with a later one of their key: %w", partition, twice, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// repeated reads the partition once, up to end, and counts the records that compaction has yet to remove.
func (b Broker) repeated(ctx context.Context, topic string, partition int32, end int64) (int, error) {
	start := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Seeds()...), kgo.ConsumePartitions(start))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	keys := map[string]int{}
	for last := int64(-1); last < end-1; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return 0, fmt.Errorf("read partition %d: %w", partition, err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			keys[string(record.Key)]++
			last = record.Offset
		})
	}
	twice := 0
	for count := range maps.Values(keys) {
		twice += count - 1
	}
	return twice, nil
}
