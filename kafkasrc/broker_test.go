package kafkasrc

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// broker is an in-process cluster with a client to set the scene.
type broker struct {
	*kfake.Cluster
	client *kgo.Client
	admin  *kadm.Client
}

func newBroker(tb testing.TB, options ...kfake.Opt) broker {
	tb.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return broker{cluster, client, kadm.NewClient(client)}
}

func (b broker) create(tb testing.TB, topic string, partitions int32) {
	tb.Helper()
	if _, err := b.admin.CreateTopic(tb.Context(), partitions, 1, nil, topic); err != nil {
		tb.Fatal(err)
	}
}

// recreate deletes the topic, makes it again and produces to it, with a client that knows nothing of the old one.
func (b broker) recreate(tb testing.TB, topic string, count int) {
	tb.Helper()
	if _, err := b.admin.DeleteTopic(tb.Context(), topic); err != nil {
		tb.Fatal(err)
	}
	b.create(tb, topic, 1)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	broker{b.Cluster, client, kadm.NewClient(client)}.produce(tb, topic, 0, count)
}

// produce appends records with the values 0, 1, 2, …, each a batch of its own.
func (b broker) produce(tb testing.TB, topic string, partition int32, count int) {
	tb.Helper()
	for i := range count {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, i)}
		if err := b.client.ProduceSync(tb.Context(), r).FirstErr(); err != nil {
			tb.Fatal(err)
		}
	}
}

// transaction is one that is still open.
type transaction struct {
	tb     testing.TB
	client *kgo.Client
}

func (b broker) begin(tb testing.TB, id string) transaction {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	if err := client.BeginTransaction(); err != nil {
		tb.Fatal(err)
	}
	return transaction{tb, client}
}

func (t transaction) produce(topic, value string) {
	t.tb.Helper()
	r := &kgo.Record{Topic: topic, Value: []byte(value)}
	if err := t.client.ProduceSync(t.tb.Context(), r).FirstErr(); err != nil {
		t.tb.Fatal(err)
	}
}

func (t transaction) end(commit bool) {
	t.tb.Helper()
	if err := t.client.EndTransaction(t.tb.Context(), kgo.TransactionEndTry(commit)); err != nil {
		t.tb.Fatal(err)
	}
}

func (b broker) deleteRecords(tb testing.TB, topic string, partition int32, before int64) {
	tb.Helper()
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: topic, Partition: partition, At: before})
	answers, err := b.admin.DeleteRecords(tb.Context(), o)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// watch lets a function look at every request with the key, before it is handled, on the cluster's goroutine.
func (b broker) watch(key kmsg.Key, see func(kmsg.Request)) {
	b.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		see(req)
		return nil, nil, false
	})
}

// replace lets a function answer requests with the key; a nil answer leaves the request to the cluster.
func (b broker) replace(key kmsg.Key, answer func(kmsg.Request) kmsg.Response) {
	b.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		resp := answer(req)
		return resp, nil, resp != nil
	})
}

// fetchAnswer answers the only partition of a Fetch.
func fetchAnswer(req kmsg.Request, set func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition)) kmsg.Response {
	asked := req.(*kmsg.FetchRequest)
	resp := asked.ResponseKind().(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.RecordBatches, p.LogStartOffset = asked.Topics[0].Partitions[0].Partition, []byte{}, 0
	set(&asked.Topics[0].Partitions[0], &p)
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// quick are limits that no passing test reaches, with pauses that cost no time.
func quick() Limits {
	return Limits{Backoff: 50 * time.Microsecond, FetchWait: time.Millisecond, Control: 20 * time.Second, NoProgress: 20 * time.Second}
}

func (b broker) options(subscription Subscription) Options {
	return Options{
		Client:       map[string]string{"bootstrap.servers": strings.Join(b.ListenAddrs(), ",")},
		Subscription: subscription,
		Limits:       quick(),
	}
}

func mustOpen(tb testing.TB, options Options) *Source {
	tb.Helper()
	s, err := Open(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func topics(names ...string) Subscription { return Subscription{Topics: names} }

func tp(topic string, partition int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: topic, Partition: partition}
}

func mustView(tb testing.TB, s *Source, known offsets.Offsets) *offsets.View {
	tb.Helper()
	view, err := s.View(tb.Context(), s.Isolation(), known)
	if err != nil {
		tb.Fatal(err)
	}
	return view
}

// piece is a piece of a topic as a plan of this moment has it.
func (b broker) piece(tb testing.TB, topic string, partition int32, from, until int64) batch.Piece {
	tb.Helper()
	details, err := b.admin.ListTopics(tb.Context(), topic)
	if err != nil {
		tb.Fatal(err)
	}
	return batch.Piece{Topic: topic, Partition: partition, From: from, Until: until, TopicID: topicID(details[topic].ID).String(),
		LeaderEpoch: details[topic].Partitions[partition].LeaderEpoch}
}

// pieceNow is all that the view has of a topic's partition 0.
func pieceNow(tb testing.TB, s *Source, topic string) batch.Piece {
	tb.Helper()
	view := mustView(tb, s, nil)
	b := view.Partitions[tp(topic, 0)]
	return batch.Piece{Topic: topic, From: b.Start, Until: b.End, TopicID: view.TopicIDs[topic], LeaderEpoch: b.LeaderEpoch}
}

func read(tb testing.TB, s *Source, pieces ...batch.Piece) *Reader {
	tb.Helper()
	r, err := s.Read(tb.Context(), &batch.Task{Pieces: pieces, Isolation: s.Isolation()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func mustDrain(tb testing.TB, r *Reader) []row {
	tb.Helper()
	rows, err := drain(r)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func wantOffsets(tb testing.TB, rows []row, want ...int64) {
	tb.Helper()
	if got := fmt.Sprint(offsetsOf(rows)); got != fmt.Sprint(want) {
		tb.Errorf("got offsets %s, want %v", got, want)
	}
}

// first makes a condition true the first n times it is asked.
func first(n int32) func() bool {
	var asked atomic.Int32
	return func() bool { return asked.Add(1) <= n }
}

func bigRecord(topic string, value []byte) *kgo.Record {
	return &kgo.Record{Topic: topic, Value: value}
}
