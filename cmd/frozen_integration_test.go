//go:build integration && linux

package cmd_test

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// atFetch carries something out when the next Fetch comes, and only then passes it on: when the ends are frozen, the plan is
// durable and nothing has been read.
func atFetch(proxy *faultproxy.Kafka, do func()) {
	var once sync.Once
	proxy.Follow(func(_ int, r faultproxy.Request) *faultproxy.Fault {
		if r.Verb == "Fetch" {
			once.Do(do)
		}
		return nil
	})
}

// byPattern reads two topics of a real broker, and what else there will be under their name.
func byPattern(t *testing.T) (k *kafka, proxy *faultproxy.Kafka, p *pipeline, topic string) {
	t.Helper()
	broker := rig.Kafka(t)
	k, topic = connected(t, broker.Addr), broker.CreateTopic(t, 2, nil)
	broker.CreateNamedTopic(t, topic+".b", 1, nil)
	k.makeTopic = func(t testing.TB, topic string, partitions int) {
		t.Helper()
		broker.CreateNamedTopic(t, topic, partitions, nil)
	}
	k.dropTopic = func(t testing.TB, topic string) { t.Helper(); broker.DeleteTopic(t, topic) }
	proxy, p = newPipeline(t, k).without("--subscribe").with("--subscribe-pattern", "^"+topic+".*").beforeBrokers(t)
	return k, proxy, p, topic
}

// Records, partitions and topics that appear when the ends are frozen wait for the next run, on a real broker, also where the plan
// is one that was left open. https://github.com/apache/spark/pull/52327
func TestWhatAppearsAfterTheFreezeWaitsForTheNextRun(t *testing.T) {
	t.Parallel()
	k, proxy, p, topic := byPattern(t)
	k.fill(t, topic, 10, 0, 1)
	k.fill(t, topic+".b", 10, 0)
	atFetch(proxy, func() {
		k.fill(t, topic, 5, 0)
		k.grow(t, topic, 3)
		k.fill(t, topic, 4, 2)
		k.createWith(t, topic+".c", 1)
		k.fill(t, topic+".c", 3, 0)
	})
	p.run(t, "--max-offsets-per-trigger", "7").has("summary", "rows", 30, "caughtUp", true, "lag", 12)
	proxy.Follow(nil)
	p.do(t, "status").wants(0).has("status", "lag", 12)
	p.killedAtFetch(t, 1)
	k.createWith(t, topic+".d", 1)
	k.fill(t, topic+".d", 2, 0)
	k.fill(t, topic+".c", 1, 0)
	o := p.brief().run(t)
	if batches := o.objects("batch"); len(batches) != 2 || batches[0]["numInputRows"] != 12. || batches[1]["numInputRows"] != 3. {
		t.Errorf("got batches %v, want one of 12 rows as planned and one of 3", batches)
	}
	wantRows(t, p.table(t), k.of(func(*kgo.Record) bool { return true }), false)
	p.exact(t, 45)
}

// A topic of the pattern that vanishes before a run is a loss, named, and gone on without by choice; what is left goes on, and a topic
// that comes back under its name is read from its start.
func TestATopicOfThePatternThatVanishesIsALoss(t *testing.T) {
	t.Parallel()
	k, _, p, topic := byPattern(t)
	k.fill(t, topic, 10, 0, 1)
	k.fill(t, topic+".b", 10, 0)
	p.run(t).has("summary", "rows", 30)
	k.fill(t, topic, 2, 0)
	k.deleteTopic(t, topic+".b")
	p.do(t, "run").fails(12, topic+".b-0 is gone", "--on-data-loss-missing drop")
	p.run(t, "--on-data-loss-missing", "drop").has("summary", "rows", 2, "caughtUp", true)
	p.run(t).has("summary", "batches", 0) // it is settled
	k.createWith(t, topic+".b", 1)
	k.fill(t, topic+".b", 4, 0)
	p.do(t, "run").fails(12, "topic "+topic+".b was deleted and created again")
	p.run(t, "--on-data-loss-recreated", "restart").has("summary", "rows", 4)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 36)
}
