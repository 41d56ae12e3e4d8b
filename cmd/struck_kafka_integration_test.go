//go:build integration && linux

package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// brokerBlows are what happens to a broker's answers: they are late, lost, cut short, or never come. A run asks again and ends
// well, for it changes nothing at a broker. Nothing is in the table twice or missing when it is killed.
var brokerBlows = []blow{
	always(faultproxy.Delay(300*time.Millisecond), 0),
	always(faultproxy.Reset(false), 0),
	always(faultproxy.Reset(true), 0),
	always(faultproxy.CutFrame(), 0),
	always(faultproxy.Silence(false), 0),
	always(faultproxy.Silence(true), 0),
	killing(false),
	killing(true),
}

// beforeBrokers is a proxy in front of a cluster until the test ends, and a pipeline that goes through it and waits for no answer
// for longer than a second.
func (p *pipeline) beforeBrokers(t *testing.T) (*faultproxy.Kafka, *pipeline) {
	t.Helper()
	proxy, err := faultproxy.NewKafka(rig.Broker{Addr: p.kafka.addr}.Seeds()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, p.with("--bootstrap-servers", proxy.Addr, "--set", "source.kafka.request.timeout.ms=1000", "--set", "source.kafka.retry.backoff.ms=10")
}

// At each request of a run to a real broker something goes wrong once. With -full each blow at every request, otherwise four that
// are drawn, each at one that is drawn.
func TestARunStruckAtAnyRequestToABrokerLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	k := connected(t, rig.Kafka(t).Addr)
	blows := brokerBlows
	if random := drawn(t, seed); !*fullFlag {
		blows = nil
		for _, i := range random.Perm(len(brokerBlows))[:4] {
			blows = append(blows, brokerBlows[i])
		}
	}
	for _, b := range blows {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if !*fullFlag {
				// Before the first request of the run's own the client asks for versions, and for metadata.
				strikeBroker(t, k, b, 1+drawn(t, seed).IntN(12))
				return
			}
			for n := 1; strikeBroker(t, k, b, n); n++ {
			}
		})
	}
}

// strikeBroker is a run with the blow at its n-th request to a broker, and the next run. It says whether there was such a
// request.
func strikeBroker(t *testing.T, k *kafka, b blow, n int) (met bool) {
	t.Helper()
	own := &kafka{addr: k.addr, client: k.client, admin: k.admin}
	topic := rig.Broker{Addr: k.addr}.CreateTopic(t, 2, nil)
	own.fill(t, topic, struckRecords/2, 0, 1)
	proxy, p := reading(t, own, topic).with("--max-offsets-per-trigger", "5", "--min-partitions", "2").beforeBrokers(t)
	struck := p
	if b.kills {
		struck = p.brief()
	}
	r := prepared(t, program(t, struck.args("run")...))
	r.cmd.Env = append(os.Environ(), p.environ...)
	started := make(chan struct{})
	proxy.Follow(faultproxy.Nth(n, b.fault(func() {
		<-started
		_ = r.cmd.Process.Kill() // it may have ended just now
	})))
	r.start()
	close(started)
	o := r.waitFor(2 * time.Minute) // the machine may be busy
	strikes := proxy.Dealt()
	proxy.Follow(nil)
	if len(strikes) == 0 && o.code == 0 {
		if n <= 12 {
			t.Errorf("a whole run has fewer than %d requests", n)
		}
		return false
	}
	tired := b.kills && o.code == 1 && strings.Contains(o.stderr, "the lease could not be renewed") // it is short, and the machine busy
	if !tired && !slices.Contains(b.codes, o.code) {
		t.Errorf("%v: got exit code %d, want one of %v\n%s", strikes, o.code, b.codes, o.stderr)
	}
	own.fill(t, topic, lateRecords/2, 0, 1)
	p.run(t).has("summary", "caughtUp", true)
	p.exact(t, struckRecords+lateRecords)
	return true
}

// Many answers go wrong, drawn from a seed: each run ends as it should, and in the end everything is there once, for verify and
// as Kafka's own consumer reads the topic. The records are those of three producers, whose transactions lie in each other.
func TestRunsThroughABadNetworkLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	random := drawn(t, seed)
	k, topic := real(t, 2)
	proxy, p := reading(t, k, topic).with("--min-partitions", "3").beforeBrokers(t)
	dealt := map[string]int{}
	rounds := 3
	if *fullFlag {
		rounds = 40
	}
	for range rounds {
		k.layout(t, topic, random)
		proxy.Follow(badNetwork(random))
		o := p.do(t, "run", "--max-offsets-per-trigger", fmt.Sprint(1+random.IntN(40)), "--set", fmt.Sprint("source.kafka.fetch.max.bytes=", 1+random.IntN(2000)))
		for _, strike := range proxy.Dealt() {
			dealt[strike.Fault]++
		}
		proxy.Follow(nil)
		o.wants(0).has("summary", "caughtUp", true)
	}
	t.Logf("dealt %v", dealt)
	if len(dealt) == 0 {
		t.Error("nothing went wrong")
	}
	p.run(t)
	want := rig.Broker{Addr: k.addr}.Consume(t, true, topic)
	p.exact(t, len(want))
	wantRows(t, p.table(t), want, false)
}

// badNetwork is a network on which one answer of twenty goes wrong.
func badNetwork(random *rand.Rand) faultproxy.Plan {
	return faultproxy.Drawn(random.Uint64(), 0.05, faultproxy.Delay(50*time.Millisecond), faultproxy.Reset(false), faultproxy.Reset(true), faultproxy.CutFrame(), faultproxy.Silence(true))
}
