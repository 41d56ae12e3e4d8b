//go:build integration && linux

package cmd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// aging is a topic of two partitions whose records retention by time removes, and a pipeline that has read the first five of each. Of
// the next five those at 5, 6 and 7 of partition 0 are old enough to be removed when the rest stays.
type aging struct {
	*pipeline
	broker rig.Broker
	topic  string
}

func newAging(t *testing.T) *aging {
	t.Helper()
	a := &aging{broker: rig.Kafka(t)}
	a.topic = a.broker.CreateTopic(t, 2, rig.Retained())
	a.pipeline = reading(t, connected(t, a.broker.Addr), a.topic).brief()
	for partition := range int32(2) {
		a.broker.Age(t, 2*time.Hour, a.records(partition, 5)...)
	}
	a.run(t).has("summary", "rows", 10)
	a.broker.Age(t, 2*time.Hour, a.records(0, 3)...)
	a.broker.Age(t, 0, a.records(0, 2)...)
	a.broker.Age(t, 0, a.records(1, 5)...)
	return a
}

func (a *aging) records(partition int32, n int) (records []*kgo.Record) {
	for i := range n {
		records = append(records, &kgo.Record{Topic: a.topic, Partition: partition, Value: fmt.Append(nil, "record ", i)})
	}
	return records
}

// expire has the broker remove what is older than an hour.
func (a *aging) expire(t *testing.T) {
	t.Helper()
	a.broker.Retain(t, a.topic, time.Hour, 8, 5)
}

// expired is the loss: what is gone of partition 1 was read before.
var expired = lossCase{refused: []string{"%s-0: offsets [5,8), 3 in all", "the log starts at 8"}, option: "--on-data-loss-retention skip", records: 7, lost: 3, losses: 1}

// What retention by time removes on a real broker is told with its exact range, and gone on without as each policy has it: before a
// run, between plan and fetch, and in the replay of a plan. https://github.com/apache/spark/pull/15820
func TestWhatRetentionRemovesOfARealTopicIsALoss(t *testing.T) {
	t.Parallel()
	skip, general := []string{"--on-data-loss-retention", "skip"}, []string{"--fail-on-data-loss=false"}
	t.Run("before a run", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		a.expire(t)
		expired.check(t, a.pipeline, a.topic, general)
		a.settled(t)
	})
	t.Run("between plan and fetch, and before the replay", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		proxy, p := a.beforeBrokers(t)
		atFetch(proxy, func() { a.expire(t) })
		p.do(t, "run").fails(12, a.topic+"-0: offsets 5 to 7 are gone (retention)", "--on-data-loss-retention skip")
		a.do(t, "plan", skip...).wants(0).has("plan", "action", "replay")
		expired.check(t, a.pipeline, a.topic, skip)
		a.settled(t)
	})
	t.Run("between plan and fetch, accepted before", func(t *testing.T) {
		t.Parallel()
		a := newAging(t)
		proxy, p := a.beforeBrokers(t)
		atFetch(proxy, func() { a.expire(t) })
		told := p.run(t, skip...).has("summary", "rows", 7, "batches", 1, "lost", 3).last("summary")["losses"].([]any)
		if len(told) != 1 || at(told[0], "from") != 5. || at(told[0], "until") != 8. || at(told[0], "cause") != "retention" {
			t.Errorf("got losses %v, want offsets 5 to 7", told)
		}
		a.settled(t)
	})
}

// settled fails the test unless the table has what was read before the loss and what is left after it, once, and the query goes on.
func (a *aging) settled(t *testing.T) {
	t.Helper()
	a.broker.Age(t, 0, a.records(0, 2)...)
	a.run(t).has("summary", "rows", 2, "lost", nil)
	a.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 19, "lost", 3, "duplicates", 0, "missing", 0, "unexpected", 0)
}
