package cmd_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onFetch calls do, once, before the broker answers a Fetch. The broker answers others meanwhile.
func (k *kafka) onFetch(do func()) {
	var once sync.Once
	k.cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		once.Do(func() {
			done := make(chan struct{})
			go func() { defer close(done); do() }()
			k.cluster.SleepControl(func() { <-done })
		})
		return nil, nil, false
	})
}

// https://github.com/apache/spark/pull/38911: a topic that came back smaller during a run kept the run looking for
// partitions that were gone. Here it ends, each time, without a row; the plan is kept.
func TestATopicThatComesBackSmallerEndsTheRun(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 100, 0, 1)
	k.onFetch(func() {
		if _, err := k.admin.DeleteTopic(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
		if err := k.cluster.CreateTopic("orders", 1, nil); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		p.do(t, "run").fails(12, "orders", "created again")
	}
	if p.table(t).CurrentSnapshot() != nil {
		t.Error("the table has a snapshot")
	}
	if found := filesIn(t, filepath.Join(p.checkpoint(), "offsets"), "*"); len(found) != 1 || len(filesIn(t, filepath.Join(p.checkpoint(), "commits"), "*")) != 0 {
		t.Errorf("got plans %v, want the one that was made, open", found)
	}
}

// https://github.com/apache/iceberg/issues/11805: offsets of a consumer group expired and the query began anew. A group is
// neither asked nor told: where the query is, the checkpoint and the table say.
func TestNoConsumerGroupIsAskedOrTold(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--starting-offsets", "latest", "--name", "orders")
	p.run(t)
	k.fill(t, "orders", 10, 0, 1)
	var elsewhere kadm.Offsets
	elsewhere.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 7})
	elsewhere.Add(kadm.Offset{Topic: "orders", Partition: 1, At: 0})
	if answers, err := k.admin.CommitOffsets(t.Context(), "orders", elsewhere); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	var asked atomic.Int32
	for _, key := range []kmsg.Key{kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.ConsumerGroupHeartbeat} {
		k.cluster.ControlKey(key.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			k.cluster.KeepControl()
			asked.Add(1)
			return nil, nil, false
		})
	}
	p.run(t, "--max-offsets-per-trigger", "6", "--max-batches", "1")
	p.run(t).has("summary", "records", 14)
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were about a group", n)
	}
	p.wantAll(t, "orders")
}

// https://github.com/PySport/ingestify/issues/93: cron starts a run while the one before is at work. The second one stands
// back at once and reads nothing; after a kill -9 of the first, the next one goes on when the lease has run out.
func TestASecondStartReadsNothingAndAKilledRunIsOvertaken(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--set", "run.lease=1s")
	k.fill(t, "orders", 20, 0, 1)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	first := started(t, child(p.args("run")...))
	<-held
	var fetches atomic.Int32
	k.cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	p.do(t, "run", "--wait", "0s").fails(11, "is in use by run")
	if n := fetches.Load(); n != 0 {
		t.Errorf("the run that stood back sent %d fetches", n)
	}
	if err := first.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	first.wait().wants(-1)
	close(release)
	p.run(t).has("summary", "firstBatch", 0, "records", 40, "caughtUp", true)
	p.wantAll(t, "orders")
}

// https://github.com/apache/spark/pull/52327: a run that died after planning, and partitions that were added before the
// next one, left a query that failed the same way for ever.
func TestPartitionsThatAreAddedAfterAPlanWaitForTheNext(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0, 1)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	first := started(t, child(append(p.args("run"), "--set", "run.lease=1s")...))
	<-held
	if err := first.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	first.wait()
	close(release)
	k.grow(t, "orders", 3)
	k.fill(t, "orders", 5, 2)
	k.fill(t, "orders", 3, 0)
	p.do(t, "plan").wants(0).has("plan", "action", "replay")
	o := p.run(t)
	batches := o.objects("batch")
	if len(batches) != 2 || batches[0]["numInputRows"] != 20. || batches[1]["numInputRows"] != 8. {
		t.Errorf("got batches %v, want one of 20 rows as planned and one of 8", batches)
	}
	p.run(t).has("summary", "batches", 0)
	p.wantAll(t, "orders")
}

// https://github.com/apache/iceberg/issues/13536: a first run began at the end of the topic and said nothing. It begins at
// the beginning, and plan says where before anything is read.
func TestAFirstRunReadsWhatIsThereAndPlanSaysSo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0)
	o := p.do(t, "plan").wants(0).has("plan", "action", "start", "records", 10)
	if ranges, ok := o.last("plan")["ranges"].([]any); !ok || len(ranges) != 1 || at(ranges[0], "from") != 0. || at(ranges[0], "until") != 10. {
		t.Errorf("got ranges %v, want [0,10) of one partition", o.last("plan")["ranges"])
	}
	p.run(t).has("summary", "records", 10)
	p.run(t).has("summary", "batches", 0, "caughtUp", true)
	p.wantAll(t, "orders")
}

// https://github.com/estuary/flow/issues/3092: the end of a partition fell below what was read, for a moment, while leadership
// moved. The run asks again and goes on; records are neither read again nor taken for lost.
func TestAnEndThatFallsForAMomentIsNotBelieved(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 52, 0)
	p.run(t)
	k.fill(t, "orders", 5, 0)
	var stale atomic.Int32
	k.cluster.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		asked := req.(*kmsg.ListOffsetsRequest)
		if asked.Topics[0].Partitions[0].Timestamp != -1 || stale.Add(1) > 4 { // two rounds of both levels
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = asked.Topics[0].Topic
		for _, partition := range asked.Topics[0].Partitions {
			answer := kmsg.NewListOffsetsResponseTopicPartition()
			answer.Partition, answer.Offset = partition.Partition, map[int32]int64{0: 46}[partition.Partition]
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	p.run(t).has("summary", "records", 5, "rows", 5, "caughtUp", true)
	if stale.Load() <= 4 {
		t.Errorf("the end was asked for %d times, want it to be asked again", stale.Load())
	}
	p.wantAll(t, "orders")
}
