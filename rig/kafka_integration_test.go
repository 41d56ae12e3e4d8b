//go:build integration

package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// read returns the values of one partition from its start to its end offset, as a reader of the isolation level sees them.
func read(t *testing.T, b Broker, topic string, partition int32, isolation kgo.IsolationLevel) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	start := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}
	client := b.Client(t, kgo.ConsumePartitions(start), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords())
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, partition)
	var values []string
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			next = record.Offset + 1
			if !record.Attrs.IsControl() {
				values = append(values, string(record.Value))
			}
		})
	}
	return values
}

func numbered(topic string, partition int32, from, until int) []*kgo.Record {
	var records []*kgo.Record
	for n := from; n < until; n++ {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, n)})
	}
	return records
}

func TestKafkaGivesBackWhatWasProducedToEachPartition(t *testing.T) {
	b := Kafka(t)
	topic := b.CreateTopic(t, 2, nil)
	b.Produce(t, append(numbered(topic, 0, 0, 3), numbered(topic, 1, 3, 4)...)...)
	for partition, want := range [][]string{{"0", "1", "2"}, {"3"}} {
		if got := read(t, b, topic, int32(partition), kgo.ReadUncommitted()); !slices.Equal(got, want) {
			t.Errorf("partition %d: got %q, want %q", partition, got, want)
		}
	}
}

func TestAbortedTransactionsAreThereForUncommittedReadersOnly(t *testing.T) {
	b := Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	b.Transact(t, true, numbered(topic, 0, 0, 2)...)
	b.Transact(t, false, numbered(topic, 0, 2, 4)...)
	b.Transact(t, true, numbered(topic, 0, 4, 5)...)
	if got, want := read(t, b, topic, 0, kgo.ReadCommitted()), []string{"0", "1", "4"}; !slices.Equal(got, want) {
		t.Errorf("committed: got %q, want %q", got, want)
	}
	if got, want := read(t, b, topic, 0, kgo.ReadUncommitted()), []string{"0", "1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("uncommitted: got %q, want %q", got, want)
	}
}

func TestCompactLeavesTheNewestRecordOfEachKey(t *testing.T) {
	b := Kafka(t)
	topic := b.CreateTopic(t, 1, Compacted())
	for n := range 5 {
		b.Produce(t,
			&kgo.Record{Topic: topic, Key: []byte("same"), Value: fmt.Append(nil, "same ", n)},
			&kgo.Record{Topic: topic, Key: fmt.Append(nil, "own ", n), Value: fmt.Append(nil, "own ", n)})
	}
	b.Compact(t, topic)
	want := []string{"own 0", "own 1", "own 2", "own 3", "same 4", "own 4", ""}
	if got := read(t, b, topic, 0, kgo.ReadUncommitted()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATopicIsCreatedAgainUnderItsNameWithAnotherID(t *testing.T) {
	b := Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	id := func() string {
		details, err := kadm.NewClient(b.Client(t)).ListTopics(context.Background(), topic)
		if err != nil {
			t.Fatal(err)
		}
		return details[topic].ID.String()
	}
	first := id()
	b.DeleteTopic(t, topic)
	b.CreateNamedTopic(t, topic, 1, nil)
	if second := id(); second == first {
		t.Errorf("got id %s twice", first)
	}
}

func TestAnAbsentTopicIsNotCreatedByProducingToIt(t *testing.T) {
	client := Kafka(t).Client(t, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))
	err := client.ProduceSync(context.Background(), &kgo.Record{Topic: fresh(t), Value: []byte("v")}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v, want an unknown topic", err)
	}
}

func TestAClusterLosesABrokerAndGoesOn(t *testing.T) {
	c := NewCluster(t, 3)
	topic := c.CreateTopic(t, 1, nil)
	c.Produce(t, numbered(topic, 0, 0, 1)...)
	killed := c.Leader(t, topic, 0)
	c.Kill(t, killed)
	c.Produce(t, numbered(topic, 0, 1, 2)...)
	if leader := c.Leader(t, topic, 0); leader == killed {
		t.Errorf("broker %d is dead and leads", leader)
	}
	if got, want := read(t, c.Broker, topic, 0, kgo.ReadUncommitted()), []string{"0", "1"}; !slices.Equal(got, want) {
		t.Errorf("with broker %d dead: got %q, want %q", killed, got, want)
	}
	c.Start(t, killed)
	c.Stop(t, killed%3+1)
	c.Pause(t, killed)
	c.Resume(t, killed)
	c.Produce(t, numbered(topic, 0, 2, 3)...)
	if got, want := read(t, c.Broker, topic, 0, kgo.ReadUncommitted()), []string{"0", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("with broker %d stopped: got %q, want %q", killed%3+1, got, want)
	}
}
