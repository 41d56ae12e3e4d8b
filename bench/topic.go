package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// batchBytes is the size to which record batches are filled before compression, about 1,000 orders: what a producer
// with a linger of some ten milliseconds makes.
const batchBytes = 256 << 10

// provide makes sure that the topic of the corpus is there, whole. What is there already is not produced again.
func provide(ctx context.Context, broker string, c corpus) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(max(batchBytes, int32(c.Random)+1024)), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedBytes(64<<20))
	if err != nil {
		return fmt.Errorf("make a Kafka client for %s: %w", broker, err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	whole, err := isWhole(ctx, admin, c)
	if err != nil || whole {
		return err
	}
	if err := create(ctx, admin, c); err != nil {
		return err
	}
	if err := produce(ctx, client, c); err != nil {
		return fmt.Errorf("produce topic %s: %w", c.topic(), err)
	}
	if whole, err = isWhole(ctx, admin, c); err == nil && !whole {
		err = fmt.Errorf("topic %s does not hold what was produced", c.topic())
	}
	return err
}

// isWhole reports whether every partition of the topic begins at 0 and ends where the corpus does.
func isWhole(ctx context.Context, admin *kadm.Client, c corpus) (bool, error) {
	starts, err := admin.ListStartOffsets(ctx, c.topic())
	if err != nil {
		return false, fmt.Errorf("read the start of topic %s: %w", c.topic(), err)
	}
	ends, err := admin.ListEndOffsets(ctx, c.topic())
	if err != nil {
		return false, fmt.Errorf("read the end of topic %s: %w", c.topic(), err)
	}
	for p := range c.Partitions {
		start, known := starts.Lookup(c.topic(), p)
		end, ended := ends.Lookup(c.topic(), p)
		if !known || !ended || start.Err != nil || end.Err != nil || start.Offset != 0 || end.Offset != c.each() {
			return false, nil
		}
	}
	return true, nil
}

// create makes the topic, in place of one that was left unfinished. Its records have old timestamps and stay for ever.
func create(ctx context.Context, admin *kadm.Client, c corpus) error {
	if err := remove(ctx, admin, c); err != nil {
		return err
	}
	forever := "-1"
	for {
		_, err := admin.CreateTopic(ctx, c.Partitions, -1, map[string]*string{"retention.ms": &forever, "retention.bytes": &forever}, c.topic())
		if err == nil {
			return nil
		}
		if !errors.Is(err, kerr.TopicAlreadyExists) { // until the broker has forgotten the one before
			return fmt.Errorf("create topic %s: %w", c.topic(), err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func remove(ctx context.Context, admin *kadm.Client, c corpus) error {
	if _, err := admin.DeleteTopic(ctx, c.topic()); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", c.topic(), err)
	}
	return nil
}

// discard deletes the topic of the corpus.
func discard(ctx context.Context, broker string, c corpus) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return fmt.Errorf("make a Kafka client for %s: %w", broker, err)
	}
	defer client.Close()
	return remove(ctx, kadm.NewClient(client), c)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// produce writes the partitions in turn, a stretch of each, so that every partition gets full batches.
func produce(ctx context.Context, client *kgo.Client, c corpus) error {
	makers := make([]*orders, c.Partitions)
	for p := range makers {
		makers[p] = newOrders(int32(p), c.Random)
	}
	var failure firstError
	const stretch = 1000
	for at := int64(0); at < c.each(); at += stretch {
		for _, maker := range makers {
			for range min(stretch, c.each()-at) {
				client.Produce(ctx, maker.record(c.topic()), func(_ *kgo.Record, err error) { failure.keep(err) })
			}
		}
		if err := failure.get(); err != nil {
			return err
		}
	}
	return errors.Join(client.Flush(ctx), failure.get())
}

func (o *orders) record(topic string) *kgo.Record {
	key, value, at := o.next()
	return &kgo.Record{Topic: topic, Partition: o.partition, Key: slices.Clone(key), Value: slices.Clone(value), Timestamp: at}
}

// firstError keeps the first error that several goroutines meet.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
