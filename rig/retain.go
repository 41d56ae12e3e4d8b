package rig

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Retained is the configuration of a topic of which nothing is removed before Retain, and of whose records each begins a segment that is
// milliseconds newer than the one before it: retention removes whole segments.
func Retained() map[string]string {
	return map[string]string{"retention.ms": "-1", "segment.ms": "1"}
}

// Age gives records times, ten milliseconds apart, of which the last is that long ago, and stores each as a batch of its own.
func (b Broker) Age(tb testing.TB, ago time.Duration, records ...*kgo.Record) {
	tb.Helper()
	last := time.Now().Add(-ago)
	client := b.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	for i, r := range records {
		r.Timestamp = last.Add(-10 * time.Millisecond * time.Duration(len(records)-1-i))
		if err := client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			tb.Fatalf("produce a record of %s to %s: %v", r.Timestamp, r.Topic, err)
		}
	}
}

// Retain has a topic keep records for so long and no longer, and returns when its partitions begin at the offsets, in their order.
func (b Broker) Retain(tb testing.TB, topic string, keep time.Duration, starts ...int64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin := kadm.NewClient(b.Client(tb))
	value := strconv.FormatInt(keep.Milliseconds(), 10)
	answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, topic)
	if err == nil {
		_, err = answers.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		tb.Fatalf("retain records of topic %s for %s: %v", topic, keep, err)
	}
	for partition, want := range starts {
		if err := begins(ctx, admin, topic, int32(partition), want); err != nil {
			tb.Fatalf("retain records of topic %s for %s: %v", topic, keep, err)
		}
	}
}

// begins asks until a partition begins at an offset: a broker removes segments when it comes round to it, and there is no request that
// waits for it.
func begins(ctx context.Context, admin *kadm.Client, topic string, partition int32, want int64) error {
	for {
		starts, err := admin.ListStartOffsets(ctx, topic)
		if err == nil {
			err = starts.Error()
		}
		if err != nil {
			return err
		}
		start, _ := starts.Lookup(topic, partition)
		switch {
		case start.Offset == want:
			return nil
		case start.Offset > want:
			return fmt.Errorf("partition %d begins at %d, want %d", partition, start.Offset, want)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("partition %d begins at %d, want %d: %w", partition, start.Offset, want, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
