// Package demo is what a first look at sluice needs besides sluice: a Kafka broker inside of the process, and orders
// that arrive in it.
//
// The broker listens on the loopback interface and keeps everything in memory: it is gone with the process. It speaks
// the protocol of Kafka, so the program reads it as it would any other. Order i is the same in every run.
package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is where orders arrive, Partitions how many partitions it has. Orders of a customer are in one partition.
const (
	Topic      = "orders"
	Partitions = 3
)

// Broker is the embedded broker.
type Broker struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	arrived int
}

// Start starts a broker with an empty topic on a free port.
func Start() (*Broker, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(Partitions, Topic), kfake.ClusterID("sluice-demo"))
	if err != nil {
		return nil, fmt.Errorf("start embedded broker: %w", err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic(Topic))
	if err != nil {
		cluster.Close()
		return nil, fmt.Errorf("start producer of orders: %w", err)
	}
	return &Broker{cluster: cluster, client: client}, nil
}

// Addr is the bootstrap address, host:port.
func (b *Broker) Addr() string { return strings.Join(b.cluster.ListenAddrs(), ",") }

// Arrived counts the orders so far.
func (b *Broker) Arrived() int { return b.arrived }

// Arrive appends the next n orders, order i as of(i), and returns once all are in the log.
func (b *Broker) Arrive(ctx context.Context, n int, of func(i int) Order) error {
	records := make([]*kgo.Record, n)
	for i := range records {
		o := of(b.arrived + i)
		records[i] = &kgo.Record{Key: []byte(o.Customer), Value: o.Value, Timestamp: o.Time}
	}
	if err := b.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("append orders: %w", err)
	}
	b.arrived += n
	return nil
}

// OnFetch calls see for every request to read records, before it is answered, until see returns false. While see runs,
// the broker answers nobody.
func (b *Broker) OnFetch(see func() bool) {
	b.cluster.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		if !see() {
			b.cluster.DropControl()
		}
		return nil, nil, false
	})
}

// Close ends the broker and all connections to it.
func (b *Broker) Close() {
	b.client.Close()
	b.cluster.Close()
}
