package cmd_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// wantShown has a query show each batch to a group, and a consumer of that group keep it from doing so.
func wantShown(t *testing.T, k *kafka, topic string) {
	group := topic + "-shown"
	k.fill(t, topic, 10, 0, 1)
	p := newPipeline(t, k).with("--subscribe", topic, "--max-offsets-per-trigger", "8", "--set", "source.consumerGroup="+group)
	p.run(t).has("summary", "batches", 3, "consumerGroup.name", group, "consumerGroup.commits", 3, "consumerGroup.failures", 0)
	want := map[int32]int64{0: 10, 1: 10}
	if got := k.offsetsOf(t, group); !maps.Equal(got, want) {
		t.Errorf("the group is at %v, want %v", got, want)
	}
	lags, err := k.admin.Lag(t.Context(), group)
	if err != nil || lags[group].FetchErr != nil || lags[group].Lag.Total() != 0 {
		t.Errorf("got lag %+v, %v, want 0", lags[group], err)
	}
	k.fill(t, topic, 3, 1)
	if lags, err = k.admin.Lag(t.Context(), group); err != nil || lags[group].Lag.Total() != 3 {
		t.Errorf("got lag %+v, %v, want 3", lags[group].Lag, err)
	}

	if got := p.checks(t, 0); got["consumerGroup"] != "ok" {
		t.Errorf("got %v", got)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("the-other"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.PollRecords(t.Context(), 1)
	p.do(t, "validate").wants(10)
	o := p.run(t).has("summary", "batches", 1, "caughtUp", true, "exitCode", 0, "consumerGroup.commits", 0, "consumerGroup.failures", 1)
	for _, part := range []string{"group " + group + " has members", "choose a name for source.consumerGroup"} {
		if !strings.Contains(o.stderr, part) || strings.Count(o.stderr, "level=WARN") != 1 {
			t.Errorf("got %s, want one warning that says %q", o.stderr, part)
		}
	}
	if err := c.LeaveGroupContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.run(t).has("summary", "batches", 0, "consumerGroup.commits", 1, "consumerGroup.failures", 0)
	want[1] = 13
	if got := k.offsetsOf(t, group); !maps.Equal(got, want) {
		t.Errorf("the group is at %v, want %v", got, want)
	}
}

func TestAConsumerGroupIsShownWhatTheQueryHasReached(t *testing.T) {
	t.Parallel()
	wantShown(t, embedded(t, "orders"), "orders")
}

func TestTheClientsGroupIsRefusedAndPointsToTheOneThatIsShown(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, embedded(t, "orders"))
	p.do(t, "run", "--set", "source.kafka.group.id=mine").fails(64, "source.consumerGroup names a group to show it to others")
	p.do(t, "run", "--set", "source.consumerGroup=a\tb").fails(64, "is no name for a consumer group")
	p.do(t, "run", "--set", fmt.Sprintf("source.groupId=%s", "mine")).fails(64, "consumerGroup")
}
