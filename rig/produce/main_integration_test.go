//go:build integration

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// The orders have times of their own, and a broker deletes what it takes for old.
func TestOrdersStayInARealTopic(t *testing.T) {
	broker := rig.Kafka(t)
	topic := fmt.Sprintf("produce-%08x", rand.Uint32())
	if err := run([]string{broker.Addr, topic, "10"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.DeleteTopic(t, topic) })
	client := broker.Client(t, kgo.ConsumeTopics(topic))
	configs, err := kadm.NewClient(client).DescribeTopicConfigs(context.Background(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range configs[0].Configs {
		if (config.Key == "retention.ms" || config.Key == "retention.bytes") && config.MaybeValue() != "-1" {
			t.Errorf("%s: got %s, want no limit", config.Key, config.MaybeValue())
		}
	}
	if got := len(produced(t, broker.Addr, topic, 10)); got != 10 {
		t.Errorf("got %d records, want 10", got)
	}
}
