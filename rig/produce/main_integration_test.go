//go:build integration

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/demo"
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

// Orders are seconds apart, so that of many the last are in the future.
func TestOrdersOfTheFutureAreTaken(t *testing.T) {
	broker := rig.Kafka(t)
	topic := fmt.Sprintf("produce-%08x", rand.Uint32())
	client := broker.Client(t, kgo.DefaultProduceTopic(topic))
	if _, err := prepare(context.Background(), kadm.NewClient(client), topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.DeleteTopic(t, topic) })
	first := 100_000_000
	if at := demo.OrderOf(first).Time; time.Until(at) < 24*time.Hour {
		t.Fatalf("order %d is of %s, and so of no use to this test", first, at)
	}
	if err := fill(context.Background(), client, topic, first, 10); err != nil {
		t.Error(err)
	}
}

// Somebody made the topic with the broker's own limits.
func TestAnErrorSaysHowManyOrdersAreThere(t *testing.T) {
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, 3, nil)
	client := broker.Client(t, kgo.DefaultProduceTopic(topic))
	now := int(time.Since(demo.OrderOf(0).Time) / (3 * time.Second))
	err := fill(context.Background(), client, topic, now-atOnce, 3*atOnce)
	want := fmt.Sprintf("append orders %d to %d to %s: ", now+1, now+atOnce, topic)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("; %d before them were appended", atOnce)) {
		t.Errorf("got %v, want %s…", err, want)
	}
}
