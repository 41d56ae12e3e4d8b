package rig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a real Apache Kafka cluster, of one broker or more.
type Broker struct {
	// Addr is the bootstrap address: host:port, with a comma between several.
	Addr string
}

// Kafka is the shared cluster of one broker, started on first use. Topics are not created by themselves.
func Kafka(tb testing.TB) Broker {
	tb.Helper()
	addr, err := StartKafka()
	if err != nil {
		tb.Fatal(err)
	}
	return Broker{Addr: addr}
}

// Seeds is the bootstrap address as a list, one address a broker.
func (b Broker) Seeds() []string { return strings.Split(b.Addr, ",") }

// Client is a client of the cluster; it is closed when the test ends.
func (b Broker) Client(tb testing.TB, opts ...kgo.Opt) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Seeds()...)}, opts...)...)
	if err != nil {
		tb.Fatalf("make a Kafka client for %s: %v", b.Addr, err)
	}
	tb.Cleanup(client.Close)
	return client
}

// CreateTopic creates a topic under a fresh name and returns the name once every partition has a leader that every broker
// knows. configs are topic configs (cleanup.policy, segment.ms, …), nil for the broker's defaults. The topic is deleted
// when the test ends, but stays for a look if the test failed.
func (b Broker) CreateTopic(tb testing.TB, partitions int, configs map[string]string) string {
	tb.Helper()
	topic := fresh(tb)
	b.CreateNamedTopic(tb, topic, partitions, configs)
	return topic
}

// CreateNamedTopic is CreateTopic under a given name, for a topic that is deleted and created again.
func (b Broker) CreateNamedTopic(tb testing.TB, topic string, partitions int, configs map[string]string) {
	tb.Helper()
	admin := kadm.NewClient(b.Client(tb))
	values := map[string]*string{}
	for key, value := range configs {
		values[key] = &value
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := admin.CreateTopic(ctx, int32(partitions), -1, values, topic); err != nil {
		tb.Fatalf("create topic %s: %v", topic, err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("topic %s of %s is kept", topic, b.Addr)
			return
		}
		b.DeleteTopic(tb, topic)
	})
	if err := led(ctx, b.Client(tb), topic, partitions); err != nil {
		tb.Fatalf("create topic %s: %v", topic, err)
	}
}

// DeleteTopic deletes a topic; one that is gone already is no error.
func (b Broker) DeleteTopic(tb testing.TB, topic string) {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Seeds()...))
	if err != nil {
		tb.Fatalf("make a Kafka client for %s: %v", b.Addr, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = kadm.NewClient(client).DeleteTopic(ctx, topic)
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		tb.Errorf("delete topic %s: %v", topic, err)
	}
}

// led asks every live broker until it knows a leader for every partition. Kafka tells brokers of a new topic after it has
// answered its creation, and there is no request that waits for it.
func led(ctx context.Context, client *kgo.Client, topic string, partitions int) error {
	brokers, err := kadm.NewClient(client).ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %w", err)
	}
	for _, id := range brokers.NodeIDs() {
		for {
			leaders, err := leaders(ctx, client.Broker(int(id)), topic)
			if err != nil {
				return fmt.Errorf("broker %d: %w", id, err)
			}
			if leaders == partitions {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("broker %d: %d of %d partitions have a leader: %w", id, leaders, partitions, ctx.Err())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return nil
}

// leaders is how many partitions of the topic have a leader that the broker knows.
func leaders(ctx context.Context, broker *kgo.Broker, topic string) (int, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	answer, err := broker.RetriableRequest(ctx, request)
	if err != nil {
		return 0, fmt.Errorf("read metadata of topic %s: %w", topic, err)
	}
	count := 0
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		for _, partition := range t.Partitions {
			if partition.ErrorCode == 0 && partition.Leader >= 0 {
				count++
			}
		}
	}
	return count, nil
}

// Produce writes the records, each to the partition that it names, and returns when all replicas have them. Offset and
// Timestamp of each record are then as stored.
func (b Broker) Produce(tb testing.TB, records ...*kgo.Record) {
	tb.Helper()
	client := b.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		tb.Fatalf("produce %d records: %v", len(records), err)
	}
}

// Transact writes the records in one transaction, as Produce does, and commits or aborts it. An aborted transaction leaves
// its records in the log, where a reader of committed records skips them.
func (b Broker) Transact(tb testing.TB, commit bool, records ...*kgo.Record) {
	tb.Helper()
	client := b.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(fresh(tb)))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		tb.Fatalf("begin a transaction: %v", err)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		tb.Fatalf("produce %d records in a transaction: %v", len(records), err)
	}
	if err := client.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		tb.Fatalf("end the transaction (commit %v): %v", commit, err)
	}
}
