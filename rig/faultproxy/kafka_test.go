package faultproxy

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// behind is a cluster of two brokers, a proxy in front of it, and a client of the proxy that tries everything once.
func behind(t *testing.T) (*Kafka, *kgo.Client) {
	t.Helper()
	return behindOne(t, NewKafka)
}

// behindOne is behind a proxy that start makes.
func behindOne(t *testing.T, start func(target string) (*Kafka, error)) (*Kafka, *kgo.Client) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(4, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	for partition := range int32(4) {
		if err := cluster.MoveTopicPartition("orders", partition, partition%2); err != nil {
			t.Fatal(err)
		}
	}
	k, err := start(cluster.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Addr), kgo.RequestRetries(0), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.RecordRetries(0), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return k, client
}

// ends asks a proxied broker where the partitions end.
func ends(t *testing.T, ctx context.Context, client *kgo.Client) ([]int64, error) {
	t.Helper()
	var ends []int64
	for partition := range int32(4) {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, -1
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic, topic.Partitions = "orders", []kmsg.ListOffsetsRequestTopicPartition{p}
		req := kmsg.NewPtrListOffsetsRequest()
		req.Topics = []kmsg.ListOffsetsRequestTopic{topic}
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return ends, err
		}
		ends = append(ends, resp.Topics[0].Partitions[0].Offset)
	}
	return ends, nil
}

// Clients reach every broker of the cluster, each by a door of the proxy, and none past it.
func TestKafkaIsPassedOnAndSeen(t *testing.T) {
	k, client := behind(t)
	for partition := range int32(4) {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var verbs, brokers []string
	k.Follow(func(_ int, r Request) *Fault {
		verbs, brokers = append(verbs, r.Verb), append(brokers, r.Object)
		return nil
	})
	got, err := ends(t, t.Context(), client)
	if err != nil || !slices.Equal(got, []int64{1, 1, 1, 1}) {
		t.Errorf("got ends %v, %v, want 1 of each", got, err)
	}
	slices.Sort(brokers)
	if brokers = slices.Compact(brokers); len(brokers) != 2 || !slices.Contains(verbs, "ListOffsets") || k.Seen() < 4 {
		t.Errorf("saw %v to %v", verbs, brokers)
	}
}

func TestKafkaFaultsBreakWhatTheySay(t *testing.T) {
	for name, c := range map[string]struct {
		fault Fault
		// stored says that the record of the struck Produce is there, told that its producer knows.
		stored, told bool
	}{
		"late":                    {Delay(time.Millisecond), true, true},
		"dropped before":          {Reset(false), false, false},
		"dropped after":           {Reset(true), true, false},
		"cut":                     {CutFrame(), true, false},
		"silent":                  {Silence(false), false, false},
		"silent after it is done": {Silence(true), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			k, client := behind(t)
			if _, err := ends(t, t.Context(), client); err != nil { // so that it knows the brokers
				t.Fatal(err)
			}
			k.Follow(Nth(1, c.fault.Of("Produce")))
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if c.told {
				ctx = t.Context()
			}
			err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr()
			if (err == nil) != c.told || errors.Is(err, kgo.ErrClientClosed) {
				t.Errorf("got %v", err)
			}
			if dealt := k.Dealt(); len(dealt) != 1 || dealt[0].Fault != c.fault.Name {
				t.Errorf("dealt %v", dealt)
			}
			got, err := ends(t, t.Context(), client)
			if want := map[bool]int64{true: 1}[c.stored]; err != nil || got[0] != want {
				t.Errorf("got ends %v, %v, want %d", got, err, want)
			}
		})
	}
}
