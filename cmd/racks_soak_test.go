//go:build integration && soak && linux

package cmd_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// fetches counts the Fetch requests by the address of the broker.
func fetches(proxy *faultproxy.Kafka) map[string]int {
	counts := map[string]int{}
	proxy.Follow(func(_ int, r faultproxy.Request) *faultproxy.Fault {
		if r.Verb == "Fetch" {
			counts[r.Object]++
		}
		return nil
	})
	return counts
}

// With client.rack records come from the replica in that rack, and from the leader where there is none, or no more: each once.
// (KIP-392)
func TestBrokersInTheRackOfARunAreReadFrom(t *testing.T) {
	c := rig.NewCluster(t, 3)
	topic := c.Assigned(t, nil, []int32{1, 2, 3})
	k := connected(t, c.Addr)
	k.filled(t, topic, 1000, 1)
	for rack, near := range map[string]int{"rack-1": 1, "rack-2": 2, "rack-3": 3, "rack-9": 1, "": 1} {
		t.Run("rack "+rack, func(t *testing.T) {
			proxy, p := reading(t, k, topic).beforeBrokers(t)
			if rack != "" {
				p = p.with("--set", "source.kafka.client.rack="+rack)
			}
			counts := fetches(proxy)
			p.run(t, "--set", "source.kafka.fetch.max.bytes=5000").has("summary", "rows", 1000)
			proxy.Follow(nil)
			t.Logf("%v", counts)
			if all := counts[c.Address(1)] + counts[c.Address(2)] + counts[c.Address(3)]; counts[c.Address(near)] < all-1 || all < 5 { // the leader tells where it is near
				t.Errorf("got %v, want all but one of broker %d at %s", counts, near, c.Address(near))
			}
			p.wantKafkas(t, c, topic)
		})
	}
	t.Run("a follower that dies", func(t *testing.T) {
		topic := c.Assigned(t, nil, []int32{1, 2, 3})
		k.connect(t)
		k.filled(t, topic, 3000, 1)
		p := reading(t, k, topic).with("--set", "source.kafka.client.rack=rack-2")
		during(t, p, 3*time.Minute, func() { c.Kill(t, 2) }).wants(0).has("summary", "rows", 3000)
		c.Start(t, 2)
		p.wantKafkas(t, c, topic)
	})
	t.Run("a follower that hangs", func(t *testing.T) {
		topic := c.Assigned(t, nil, []int32{1, 2, 3})
		k.connect(t)
		k.filled(t, topic, 3000, 1)
		p := reading(t, k, topic).with("--set", "source.kafka.client.rack=rack-2")
		during(t, p, 3*time.Minute, func() { c.Pause(t, 2) }).wants(0).has("summary", "rows", 3000)
		c.Resume(t, 2)
		p.wantKafkas(t, c, topic)
	})
	// A follower learns of the high watermark later than producers do: that it has nothing more yet is no end, and no loss
	// (https://github.com/apache/kafka/pull/12877).
	t.Run("followers that lag", func(t *testing.T) {
		topic := c.Assigned(t, nil, []int32{1, 2, 3}, []int32{2, 3, 1})
		k.connect(t)
		p := reading(t, k, topic).with("--set", "source.kafka.client.rack=rack-3", "--set", "source.kafka.fetch.max.bytes=5000")
		for i := range 15 {
			k.filled(t, topic, 40, 2)
			open := k.begin(t, topic, fmt.Sprint(topic, "-", i))
			open.append(0, 3)
			open.end(i%2 == 0)
			k.settled(t, fmt.Sprint(topic, "-", i))
			p.run(t).has("summary", "caughtUp", true, "blocked", nil)
		}
		p.wantKafkas(t, c, topic)
	})
}
