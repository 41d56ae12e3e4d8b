//go:build integration && soak && linux

package cmd_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// A job of two thousand partitions in several topics stays within the memory that it has by default: a run over all of them
// empty, one with records in each, and one with records in a few. https://github.com/apache/spark/pull/32747
func TestBrokersWithTwoThousandPartitionsFitIntoTheDefaultMemory(t *testing.T) {
	const topics, each, ceiling = 4, 500, 256 * mib
	broker := rig.Kafka(t)
	k := connected(t, broker.Addr)
	var names []string
	for range topics {
		names = append(names, broker.CreateTopic(t, each, nil))
	}
	proxy, p := newPipeline(t, k).with("--subscribe", strings.Join(names, ",")).beforeBrokers(t)
	produced := 0
	fill := func(records, apart int) {
		var all []*kgo.Record
		for _, name := range names {
			for partition := 0; partition < each; partition += apart {
				for i := range records {
					all = append(all, &kgo.Record{Topic: name, Partition: int32(partition), Value: fmt.Appendf(nil, "%0100d", i)})
				}
			}
		}
		k.produce(t, all...)
		produced += len(all)
	}
	p.do(t, "plan").wants(0) // questions are repeated until all of the new partitions have leaders
	for _, step := range []struct {
		name           string
		records, apart int
		batches, rows  int
	}{
		{"empty", 0, 1, 0, 0},
		{"filled", 50, 1, 1, 50 * topics * each},
		{"nothing new", 0, 1, 0, 0},
		{"some new", 10, 50, 1, 10 * topics * each / 50},
	} {
		fill(step.records, step.apart)
		proxy.Follow(nil)
		process := program(t, p.args("run")...)
		process.Env = append(os.Environ(), "GOMAXPROCS=2")
		o := started(t, process).wait().wants(0).has("summary", "batches", step.batches, "rows", step.rows, "caughtUp", true)
		summary := o.last("summary")
		t.Logf("%s: %d requests to the broker, %v ms, %v of CPU", step.name, proxy.Seen(), summary["durationMs"], process.ProcessState.UserTime())
		if n := proxy.Seen(); n > 100 {
			t.Errorf("%s: %d requests for %d partitions", step.name, n, topics*each)
		}
		if step.batches == 0 {
			continue
		}
		if peak := at(o.last("batch"), "sluice.peakMemoryBytes").(float64); peak > ceiling {
			t.Errorf("%s: got a peak of %.0f MiB, want at most %d", step.name, peak/mib, ceiling/mib)
		} else {
			t.Logf("%s: a peak of %.0f MiB", step.name, peak/mib)
		}
	}
	p.exact(t, produced)
}
