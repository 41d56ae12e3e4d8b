package kafkasink

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/columns"
)

// Options say which topic, and how to reach it.
type Options struct {
	Topic string
	// Servers are the brokers to begin with, for commands that people are told.
	Servers string
	// Connect is how a client reaches the cluster.
	Connect []kgo.Opt
	// BufferBytes bounds the records that wait for an answer, of all writers together; a single one that is larger waits
	// alone. 1 MiB if 0.
	BufferBytes int64
	// Delivery is how long a record is tried. 2 min if 0, as with Kafka's own producer.
	Delivery time.Duration
	// Pause is how long to wait before a topic that is not there, or just made, is asked for again. 100 ms if 0.
	Pause time.Duration
}

// defaultBatchBytes is Kafka's own limit of a batch, and that of a topic whose settings do not tell another.
const defaultBatchBytes = 1_000_012

// leastBatchBytes is what a client's limit must be at least.
const leastBatchBytes = 512

// mostBytes is what a request may have: brokers take no larger ones by default (socket.request.max.bytes), and end the
// connection on one.
const mostBytes = 96 << 20

// Topic is a topic for dead letters. It is safe for several goroutines. Nothing is connected to before it is used.
type Topic struct {
	options Options

	mu     sync.Mutex
	client *kgo.Client
	// single is the client for records that no batch with others takes, used by one at a time.
	single *kgo.Client
	alone  sync.Mutex
	// known is what was read of the topic's configuration, nil until then.
	known atomic.Pointer[settings]
}

// New is the topic; whether there is one, Table says.
func New(o Options) *Topic {
	if o.BufferBytes == 0 {
		o.BufferBytes = 1 << 20
	}
	if o.Delivery == 0 {
		o.Delivery = 2 * time.Minute
	}
	if o.Pause == 0 {
		o.Pause = 100 * time.Millisecond
	}
	return &Topic{options: o}
}

// Name is the topic's.
func (t *Topic) Name() string { return t.options.Topic }

// Close ends the connections. What was not confirmed by then is given up.
func (t *Topic) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range []*kgo.Client{t.client, t.single} {
		if c != nil {
			c.Close()
		}
	}
	t.client, t.single = nil, nil
}

// connected is the client for all but records that go alone.
func (t *Topic) connected() (*kgo.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client != nil {
		return t.client, nil
	}
	limit := kgo.ProducerBatchMaxBytesFn(func(string) int32 { return t.batchBytes() })
	client, err := t.open(limit, kgo.MaxBufferedBytes(int(t.options.BufferBytes)))
	t.client = client
	return client, err
}

// large is the client for records that go alone.
func (t *Topic) large() (*kgo.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.single != nil {
		return t.single, nil
	}
	client, err := t.open(kgo.ProducerBatchMaxBytes(mostBytes), kgo.MaxBufferedRecords(1), kgo.ProducerLinger(0))
	t.single = client
	return client, err
}

// open makes a client that confirms a record when all replicas in sync have it. Compressed as little as it costs: dead
// letters are few, and what a codec holds in memory is not.
func (t *Topic) open(more ...kgo.Opt) (*kgo.Client, error) {
	options := append([]kgo.Opt{}, t.options.Connect...)
	options = append(options, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.SnappyCompression(), kgo.NoCompression()),
		kgo.RecordDeliveryTimeout(t.options.Delivery), kgo.AllowIdempotentProduceCancellation())
	client, err := kgo.NewClient(append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka client for topic %s: %w", t.options.Topic, err)
	}
	return client, nil
}

// batchBytes is what a batch may have.
func (t *Topic) batchBytes() int32 {
	if s := t.known.Load(); s != nil && s.maxBytes > 0 {
		return int32(min(defaultBatchBytes, max(leastBatchBytes, s.maxBytes)))
	}
	return defaultBatchBytes
}

// Table says whether the topic is there, with its id as UUID where the brokers have ids (KIP-516). It remembers nothing of
// any query.
func (t *Topic) Table(ctx context.Context, query string) (*batch.Table, error) {
	found, err := t.find(ctx)
	if err != nil {
		return nil, err
	}
	table := &batch.Table{Exists: found != nil, Applied: forgetful}
	if found != nil {
		table.UUID, table.Location = found.id, found.where()
	}
	return table, nil
}

// forgetful is what a topic has applied, as far as it can tell.
var forgetful = batch.Applied{Batch: batch.None, InHistory: batch.None}

// Commit has nothing to do: what a writer closed without an error is there.
func (t *Topic) Commit(ctx context.Context, commit *batch.Commit) (*batch.Applied, error) {
	applied := forgetful
	return &applied, nil
}

// Keeps says whether the topic keeps all that it gets, as far as can be told, until retention takes the oldest: a compacted
// one does not.
func (t *Topic) Keeps(ctx context.Context) (bool, error) {
	s, err := t.configured(ctx)
	return err == nil && !s.compacts, err
}

// Maintain has nothing to do: retention is the topic's own.
func (t *Topic) Maintain(ctx context.Context, applied *batch.Applied) error { return nil }

// Create makes the topic if it is not there, and checks one that is: that it may be written to, and that it keeps one
// record beside another of the same key. It is safe to repeat and to race.
func (t *Topic) Create(ctx context.Context, schema columns.Schema) error {
	if _, err := layoutOf(schema); err != nil {
		return err
	}
	found, err := t.find(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		if err = t.make(ctx, false); err != nil {
			return err
		}
		if found, err = t.await(ctx); err != nil {
			return err
		}
	}
	return t.fits(ctx, found)
}

// Probe asks for what Create does, and makes nothing.
func (t *Topic) Probe(ctx context.Context) (there bool, err error) {
	found, err := t.find(ctx)
	switch {
	case err != nil:
		return false, err
	case found == nil:
		return false, t.make(ctx, true)
	}
	return true, t.fits(ctx, found)
}

// fits checks a topic that is there.
func (t *Topic) fits(ctx context.Context, found *found) error {
	if !found.mayWrite {
		return t.refused("not allowed: the ACL Write on topic "+t.options.Topic+" is missing", "grant it to the principal that sluice connects as"+elsewhere)
	}
	s, err := t.configured(ctx)
	if err != nil {
		return err
	}
	if s.compacts {
		return t.refused("topic "+t.options.Topic+" is compacted: of the dead letters of one key it would keep the last one only",
			fmt.Sprintf("set cleanup.policy=delete (kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config cleanup.policy=delete), or name another deadLetter.topic",
				t.options.Servers, t.options.Topic))
	}
	return nil
}

func (t *Topic) refused(message, hint string) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: hint}
}
