package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/demo"
)

// produced reads all records of a topic: value by key and place in the log.
func produced(t *testing.T, addr, topic string, n int) map[string]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	records := map[string]string{}
	for len(records) < n {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records[fmt.Sprintf("%s %d/%d", r.Key, r.Partition, r.Offset)] = string(r.Value)
		})
	}
	return records
}

func TestTheSameCallsMakeTheSameRecordsAndLaterOnesGoOn(t *testing.T) {
	var all []map[string]string
	for range 2 {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		addr := strings.Join(cluster.ListenAddrs(), ",")
		for _, c := range []struct{ count, want string }{{"7", "orders: orders 1 to 7\n"}, {"5", "orders: orders 8 to 12\n"}} {
			var out bytes.Buffer
			if err := run([]string{addr, "orders", c.count}, &out); err != nil || out.String() != c.want {
				t.Fatalf("got %q, %v, want %q", &out, err, c.want)
			}
		}
		all = append(all, produced(t, addr, "orders", 12))
	}
	if !maps.Equal(all[0], all[1]) {
		t.Errorf("got\n%v\nand\n%v", all[0], all[1])
	}
	values := map[string]bool{}
	for _, value := range all[0] {
		values[value] = true
	}
	for i := range 12 {
		if o := demo.OrderOf(i); !values[string(o.Value)] {
			t.Errorf("order %d is not in the topic", i)
		}
	}
}

func TestWhatIsNoNumberIsNamed(t *testing.T) {
	for _, args := range [][]string{nil, {"a:1", "orders"}, {"a:1", "orders", "0"}, {"a:1", "orders", "many"}} {
		if err := run(args, nil); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}
