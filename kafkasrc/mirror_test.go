package kafkasrc

import (
	"context"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

func mustShow(t *testing.T, m *Mirror) map[offsets.TopicPartition]offsets.Committed {
	t.Helper()
	shown, err := m.Shown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

func TestAMirrorShowsWhatWasCommittedAndOtherToolsSeeIt(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(3, "orders"))
	m := mustOpen(t, b.options(topics("orders"))).Mirror("lag-orders")
	if shown := mustShow(t, m); len(shown) != 0 {
		t.Errorf("got %v of a group that is not there", shown)
	}
	want := map[offsets.TopicPartition]offsets.Committed{
		tp("orders", 0): {Next: 12, Epoch: 0, Note: "sluice batch 3 of query 7"}, tp("orders", 1): {Next: 0, Epoch: -1, Note: "sluice batch 3 of query 7"}}
	for range 2 {
		if err := m.Show(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	if shown := mustShow(t, m); !maps.Equal(shown, want) {
		t.Errorf("got %v, want %v", shown, want)
	}
	b.produce(t, "orders", 0, 15)
	lags, err := b.admin.Lag(t.Context(), "lag-orders")
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := lags["lag-orders"].Lag.Lookup("orders", 0); !ok || l.Lag != 3 || lags["lag-orders"].State != "Empty" {
		t.Errorf("got lag %+v, state %s, want a lag of 3 of a group without members", l, lags["lag-orders"].State)
	}
}

func TestAGroupThatOthersUseIsNotCommittedTo(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	b.produce(t, "orders", 0, 1)
	c, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.ConsumerGroup("loader"), kgo.ConsumeTopics("orders"), kgo.ClientID("the-loader"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := c.PollRecords(t.Context(), 1).NumRecords(); n != 1 {
		t.Fatalf("the member read %d records, want 1", n)
	}
	m := mustOpen(t, b.options(topics("orders"))).Mirror("loader")
	err = m.Show(t.Context(), map[offsets.TopicPartition]offsets.Committed{tp("orders", 0): {Next: 1, Epoch: -1}})
	wantFault(t, err, batch.NotSetUp, "group loader has members")
	if hint := batch.HintOf(err); !strings.Contains(hint, "source.consumerGroup") {
		t.Errorf("got hint %q", hint)
	}
	wantFault(t, m.Check(t.Context()), batch.NotSetUp, "group loader has members", "the-loader")
	if shown := mustShow(t, m); len(shown) != 0 {
		t.Errorf("got %v, want nothing committed", shown)
	}
}

func TestWhatKeepsAMirrorFromCommittingIsNamedWithWhatToDo(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	m := mustOpen(t, b.options(topics("orders"))).Mirror("lag-orders")
	var code atomic.Int32
	b.replace(kmsg.OffsetCommit, func(r kmsg.Request) kmsg.Response {
		req := r.(*kmsg.OffsetCommitRequest)
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range req.Topics {
			partition := kmsg.OffsetCommitResponseTopicPartition{Partition: topic.Partitions[0].Partition, ErrorCode: int16(code.Load())}
			resp.Topics = append(resp.Topics, kmsg.OffsetCommitResponseTopic{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kmsg.OffsetCommitResponseTopicPartition{partition}})
		}
		return resp
	})
	for _, c := range []struct {
		answer *kerr.Error
		hint   string
	}{
		{kerr.GroupAuthorizationFailed, "the ACL Read on group lag-orders"},
		{kerr.TopicAuthorizationFailed, "the ACL Read on the topic"},
		{kerr.UnknownMemberID, "choose a name for source.consumerGroup"},
		{kerr.GroupIDNotFound, "group of another kind"},
		{kerr.UnknownTopicOrPartition, "has been deleted"},
	} {
		code.Store(int32(c.answer.Code))
		err := m.Show(t.Context(), map[offsets.TopicPartition]offsets.Committed{tp("orders", 0): {Next: 1, Epoch: -1}})
		wantFault(t, err, batch.NotSetUp, "lag-orders")
		if hint := batch.HintOf(err); !strings.Contains(hint, c.hint) {
			t.Errorf("%s: got hint %q, want it to say %q", c.answer.Message, hint, c.hint)
		}
	}
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := m.Shown(expired); err == nil || !strings.Contains(err.Error(), "the coordinator of group lag-orders did not answer in time") || batch.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// Brokers make the topic of all groups' offsets when they are first asked for a group.
func TestAMirrorWaitsForTheFirstCoordinatorOfACluster(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	var refusals atomic.Int32
	b.replace(kmsg.FindCoordinator, func(r kmsg.Request) kmsg.Response {
		if refusals.Add(1) > 3 {
			return nil
		}
		req := r.(*kmsg.FindCoordinatorRequest)
		resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
		for _, key := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, kmsg.FindCoordinatorResponseCoordinator{Key: key, NodeID: -1, ErrorCode: kerr.CoordinatorNotAvailable.Code})
		}
		return resp
	})
	s := mustOpen(t, b.options(topics("orders")))
	if err := s.Mirror("lag-others").Check(t.Context()); err != nil || refusals.Load() < 4 {
		t.Errorf("got %v after the coordinator was asked for %d times, want more than 3", err, refusals.Load())
	}
	refusals.Store(0)
	m := s.Mirror("lag-orders")
	want := map[offsets.TopicPartition]offsets.Committed{tp("orders", 0): {Next: 1, Epoch: -1, Note: "here"}}
	if err := m.Show(t.Context(), want); err != nil {
		t.Error(err)
	}
	if shown := mustShow(t, m); !maps.Equal(shown, want) {
		t.Errorf("got %v, want %v", shown, want)
	}
	if refusals.Load() < 4 {
		t.Errorf("the coordinator was asked for %d times, want more than 3", refusals.Load())
	}
}

func TestAMirrorWithoutTheRightToItsGroupIsToldSoBeforeARun(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	m := mustOpen(t, b.options(topics("orders"))).Mirror("lag-orders")
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("got %v of a group that is not there yet", err)
	}
	if err := m.Show(t.Context(), map[offsets.TopicPartition]offsets.Committed{tp("orders", 0): {Next: 1, Epoch: -1}}); err != nil {
		t.Fatal(err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Error(err)
	}
	const describeAlone = 1 << kadm.OpDescribe
	b.replace(kmsg.DescribeGroups, func(r kmsg.Request) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
		resp.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: "lag-orders", State: "Empty", AuthorizedOperations: describeAlone}}
		return resp
	})
	wantFault(t, m.Check(t.Context()), batch.NotSetUp, "the ACL Read on group lag-orders is missing")
}
