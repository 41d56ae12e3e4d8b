package kafkasrc

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

func TestViewEndsAtTheLastStableOffsetAndTellsTheHighWatermark(t *testing.T) { // https://github.com/dpkp/kafka-python/issues/1707
	b := newBroker(t, kfake.SeedTopics(1, "orders"), kfake.ClusterID("the-cluster"))
	b.produce(t, "orders", 0, 6)
	open := b.begin(t, "writer")
	open.produce("orders", "x")
	b.produce(t, "orders", 0, 3)
	s := mustOpen(t, b.options(topics("orders")))
	view := mustView(t, s, nil)
	if got, want := view.Partitions[tp("orders", 0)], (offsets.Bounds{Start: 0, End: 6, HighWatermark: 10, LeaderEpoch: 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	id := b.piece(t, "orders", 0, 0, 0).TopicID
	if view.ClusterID != "the-cluster" || view.TopicIDs["orders"] != id || len(id) != 22 {
		t.Errorf("got cluster %q and topic ids %v, want the-cluster and %q", view.ClusterID, view.TopicIDs, id)
	}
	view, err := s.View(t.Context(), batch.ReadUncommitted, nil)
	if err != nil || view.Partitions[tp("orders", 0)].End != 10 {
		t.Errorf("uncommitted: got %+v, %v, want end 10", view, err)
	}
	open.end(true)
	if got := mustView(t, s, nil).Ends().String(); got != `{"orders":{"0":11}}` {
		t.Errorf("after the commit: got %s", got)
	}
}

func TestAnEndBelowWhatWasReachedIsAskedAgain(t *testing.T) { // https://github.com/apache/spark/pull/23324
	known := offsets.Offsets{tp("orders", 0): 8, tp("orders", 1): 4}
	for name, c := range map[string]struct {
		stale int32
		want  string
	}{
		"for a moment": {2, `{"orders":{"0":9,"1":4}}`},
		"for good":     {1 << 20, `{"orders":{"0":5,"1":4}}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t, kfake.SeedTopics(2, "orders"))
			b.produce(t, "orders", 0, 9)
			b.produce(t, "orders", 1, 4)
			options := b.options(topics("orders"))
			options.Client["isolation.level"] = "read_uncommitted"
			s := mustOpen(t, options)
			var metadata, asked atomic.Int32
			b.watch(kmsg.Metadata, func(kmsg.Request) { metadata.Add(1) })
			isStale := first(c.stale)
			b.replace(kmsg.ListOffsets, func(req kmsg.Request) kmsg.Response {
				topics := req.(*kmsg.ListOffsetsRequest).Topics
				if p := topics[0].Partitions[0]; p.Timestamp != latestOffset || p.Partition != 0 || !isStale() {
					return nil
				}
				asked.Add(1)
				resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
				t := kmsg.NewListOffsetsResponseTopic()
				t.Topic = topics[0].Topic
				for _, p := range topics[0].Partitions {
					a := kmsg.NewListOffsetsResponseTopicPartition()
					a.Partition, a.Offset = p.Partition, map[int32]int64{0: 5, 1: 4}[p.Partition]
					t.Partitions = append(t.Partitions, a)
				}
				resp.Topics = append(resp.Topics, t)
				return resp
			})
			if got := mustView(t, s, known).Ends().String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if want := min(c.stale, 6); asked.Load() != want || metadata.Load() < want {
				t.Errorf("the stale end was told %d times with %d metadata requests, want %d of each", asked.Load(), metadata.Load(), want)
			}
		})
	}
}

func TestSubscriptionsMatchWhatTheySay(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(2, "orders", "my-orders-2", "payments"))
	for want, subscription := range map[string]Subscription{
		"orders-0 orders-1":                                                   topics("orders"),
		"my-orders-2-0 my-orders-2-1 orders-0 orders-1":                       {Pattern: "orders"},
		"my-orders-2-0 my-orders-2-1":                                         {Pattern: `^my-\w+`},
		"orders-0 orders-1 payments-0 payments-1":                             {Pattern: "^(orders|payments)$"},
		"orders-1 payments-0":                                                 {Assign: []offsets.TopicPartition{tp("payments", 0), tp("orders", 1)}},
		"my-orders-2-0 my-orders-2-1 orders-0 orders-1 payments-0 payments-1": {Pattern: ".*"},
	} {
		view := mustView(t, mustOpen(t, b.options(subscription)), nil)
		var got []string
		for _, tp := range view.Ends().Partitions() {
			got = append(got, tp.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: got %v, want %s", subscription, got, want)
		}
		if topics := view.Ends().Topics(); !slices.Equal(slices.Sorted(maps.Keys(view.TopicIDs)), topics) {
			t.Errorf("%+v: got ids of %v, want those of %v", subscription, view.TopicIDs, topics)
		}
	}
}

func TestAPatternNeverMatchesInternalTopics(t *testing.T) {
	s := &Source{options: Options{Subscription: Subscription{Pattern: "."}}, pattern: regexp.MustCompile(".")}
	one := map[int32]leader{0: {}}
	got := s.match(map[string]*topic{"__consumer_offsets": {internal: true, partitions: one}, "__mine": {partitions: one}})
	if want := []offsets.TopicPartition{tp("__mine", 0)}; !slices.Equal(got.partitions, want) {
		t.Errorf("got %v, want %v", got.partitions, want)
	}
}

func TestTroubleWithOtherTopicsIsNoneOfAPatterns(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders", "payments"))
	options := b.options(Subscription{Pattern: "^orders"})
	options.Limits.Control = time.Second
	s := mustOpen(t, options)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "payments", Err: kerr.LeaderNotAvailable, Count: -1})
	if got := mustView(t, s, nil).Ends().String(); got != `{"orders":{"0":0}}` {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders", "payments"), kfake.AllowAutoTopicCreation())
	for _, c := range []struct {
		subscription Subscription
		texts        []string
	}{
		{topics("ordres", "payments", "nothing-like-it"), []string{"topic ordres does not exist (there is orders)", "topic nothing-like-it does not exist"}},
		{Subscription{Pattern: "^shipments"}, []string{`"^shipments" matches no topic`}},
		{Subscription{Assign: []offsets.TopicPartition{tp("orders", 0), tp("orders", 1), tp("orders", 7), tp("refunds", 0)}}, []string{"orders-1", "orders-7", "refunds"}},
	} {
		s := mustOpen(t, b.options(c.subscription))
		_, err := s.View(t.Context(), batch.ReadCommitted, nil)
		wantFault(t, err, batch.NotSetUp, c.texts...)
		_, err = s.Start(t.Context())
		wantFault(t, err, batch.NotSetUp, c.texts...)
	}
	there, err := b.admin.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := there.Names(); !slices.Equal(got, []string{"orders", "payments"}) {
		t.Errorf("topics are %v now: looking must not create any", got)
	}
}

func TestWhatTheQueryHasReadAndIsGoneIsLeftOut(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	known := offsets.Offsets{tp("orders", 0): 0, tp("orders", 1): 9, tp("refunds", 0): 3}
	for _, subscription := range []Subscription{
		topics("orders", "refunds"), {Pattern: "orders|refunds"}, {Assign: []offsets.TopicPartition{tp("orders", 0), tp("orders", 1), tp("refunds", 0)}},
	} {
		if got := mustView(t, mustOpen(t, b.options(subscription)), known).Ends().String(); got != `{"orders":{"0":0}}` {
			t.Errorf("%+v: got %s", subscription, got)
		}
	}
}

func TestATopicThatIsMissingForAMomentIsWaitedFor(t *testing.T) { // https://github.com/apache/spark/pull/38911
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	s := mustOpen(t, b.options(topics("orders")))
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "orders", Err: kerr.UnknownTopicOrPartition, Count: 4})
	if got := mustView(t, s, offsets.Offsets{tp("orders", 0): 0}).Ends().String(); got != `{"orders":{"0":0}}` {
		t.Errorf("got %s", got)
	}
}

func TestMissingRightsNameTheACL(t *testing.T) {
	for key, operation := range map[kmsg.Key]string{kmsg.Metadata: "Describe", kmsg.ListOffsets: "Describe", kmsg.Fetch: "Read"} {
		b := newBroker(t, kfake.SeedTopics(1, "orders"))
		b.produce(t, "orders", 0, 1)
		s := mustOpen(t, b.options(topics("orders")))
		piece := b.piece(t, "orders", 0, 0, 1)
		b.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: "orders", Err: kerr.TopicAuthorizationFailed, Count: -1})
		_, err := s.View(t.Context(), batch.ReadCommitted, nil)
		if key == kmsg.Fetch {
			_, err = drain(read(t, s, piece))
		}
		wantFault(t, err, batch.NotSetUp, "ACL "+operation, "topic orders")
	}
}

func TestAnswersThatMayPassAreAskedAgain(t *testing.T) {
	for _, err := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable,
		kerr.LeaderNotAvailable, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError,
	} {
		t.Run(err.Message, func(t *testing.T) {
			b := newBroker(t, kfake.SeedTopics(3, "orders"))
			b.produce(t, "orders", 1, 2)
			s := mustOpen(t, b.options(topics("orders")))
			fault := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "orders", Partitions: []int32{1}, Err: err, Count: 3})
			if got := mustView(t, s, nil).Ends().String(); got != `{"orders":{"0":0,"1":2,"2":0}}` || fault.Hits() != 3 {
				t.Errorf("got %s after %d faults", got, fault.Hits())
			}
		})
	}
}

func TestAnAnswerThatNeverComesIsAnErrorThatNamesThePartition(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(3, "orders"))
	options := b.options(topics("orders"))
	options.Limits.Control = 30 * time.Millisecond
	s := mustOpen(t, options)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "orders", Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	_, err := s.View(t.Context(), batch.ReadCommitted, nil)
	wantFault(t, err, batch.Failed, "orders-1", "NOT_LEADER", b.ListenAddrs()[0])
}

func TestAFaultyLeaderMovesTheQuestion(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(6, "orders"))
	for p := range int32(6) {
		b.produce(t, "orders", p, int(p))
	}
	s := mustOpen(t, b.options(topics("orders")))
	mustView(t, s, nil)
	b.ShufflePartitionLeaders()
	if got, want := mustView(t, s, nil).Ends().String(), `{"orders":{"0":0,"1":1,"2":2,"3":3,"4":4,"5":5}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestManyPartitionsTakeFewRequests(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(100, "a", "b", "c"))
	s := mustOpen(t, b.options(topics("a", "b", "c")))
	var requests atomic.Int32
	b.watch(kmsg.ListOffsets, func(kmsg.Request) { requests.Add(1) })
	b.watch(kmsg.Metadata, func(kmsg.Request) { requests.Add(1) })
	if view := mustView(t, s, nil); len(view.Partitions) != 300 {
		t.Errorf("got %d partitions, want 300", len(view.Partitions))
	}
	if got := requests.Load(); got > 10 { // starts, ends and high watermarks of three brokers, and metadata
		t.Errorf("took %d requests, want at most 10", got)
	}
}

func TestAReaderOfAnUnknownIsolationIsRefused(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	s := mustOpen(t, b.options(topics("orders")))
	if _, err := s.Read(t.Context(), &batch.Task{Isolation: "snapshot"}); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("got %v", err)
	}
	if _, err := s.View(t.Context(), "", nil); err == nil {
		t.Error("a view without an isolation level succeeded")
	}
}

func TestOptionsReportAllFaultsAtOnce(t *testing.T) {
	err := Options{
		Client: map[string]string{
			"bootstrap.server": "a:1", "group.id": "g", "auto.offset.reset": "latest", "request.timeout.ms": "soon",
			"security.protocol": "SASL_SSL", "isolation.level": "snapshot", "ssl.keystore.key": "secret!", "fetch.max.bytes": "-1",
		},
		Subscription: Subscription{Topics: []string{"or ders"}, Pattern: "(?=x)"},
		Starting:     Starting{Latest: true, Timestamp: time.UnixMilli(1)},
		FetchBytes:   -1,
	}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"bootstrap.server: is unknown to sluice; did you mean bootstrap.servers?", "bootstrap.servers: is required", "group.id: cannot be set",
		"auto.offset.reset: cannot be set", "request.timeout.ms", "sasl.mechanism: is required with SASL", "isolation.level: want read_committed", "fetch.max.bytes",
		`topic "or ders"`, "2 of subscribe", "(?=x)", "at most one", "fetch size -1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret!") {
		t.Errorf("error tells a secret: %v", err)
	}
	var fault *batch.Fault
	if errors.As(err, &fault) {
		t.Errorf("got a fault, want a plain error for faulty options: %v", err)
	}
}

func TestPropertiesThatAreUnknownNameTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"bootstrap_servers": "bootstrap.servers", "Security.Protocol": "security.protocol", "isolation.levl": "isolation.level",
		"ssl.truststore.locaton": "ssl.truststore.location", "something.else": "",
	} {
		err := Options{Client: map[string]string{name: "x"}}.Validate()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("client property %s: is unknown", name)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to name %s", name, err, want)
		}
	}
}

func TestFetchSizePropertiesComeBeforeTheOption(t *testing.T) {
	b := newBroker(t)
	options := b.options(topics("orders"))
	options.FetchBytes = 1 << 24
	options.Client["fetch.max.bytes"], options.Client["max.partition.fetch.bytes"] = "3000", "2000"
	if got := mustOpen(t, options).options.FetchBytes; got != 2000 {
		t.Errorf("got fetch size %d, want 2000", got)
	}
	delete(options.Client, "fetch.max.bytes")
	options.Client["max.partition.fetch.bytes"] = "200000000"
	if got := mustOpen(t, options).options.MaxBatchBytes; got != 200_000_000 {
		t.Errorf("got batch limit %d, want it raised to 200000000", got)
	}
}
