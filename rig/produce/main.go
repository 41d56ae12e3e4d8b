// Command produce appends sample orders to a topic, for rig/kafka produce: JSON values, keyed by customer. Order i is always
// the same, and the orders of one call go on after the records that are in the topic, so that the same calls on an empty
// topic make the same records.
//
//	produce BOOTSTRAP TOPIC COUNT
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/demo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rig/kafka produce:", err)
		os.Exit(1)
	}
}

// patience bounds everything: a broker of the rig answers in milliseconds.
const patience = 5 * time.Minute

// atOnce is how many orders are handed to the client before it is waited for.
const atOnce = 10_000

func run(args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("want BOOTSTRAP TOPIC COUNT")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number of orders", args[2])
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(args[0], ",")...), kgo.DefaultProduceTopic(args[1]), kgo.UnknownTopicRetries(-1))
	if err != nil {
		return err
	}
	defer client.Close()
	first, err := prepare(ctx, kadm.NewClient(client), args[1])
	if err != nil {
		return fmt.Errorf("prepare topic %s: %w", args[1], err)
	}
	if err := fill(ctx, client, args[1], first, n); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: orders %d to %d\n", args[1], first+1, first+n)
	return err
}

// fill appends n orders from number first on, counted from 0. An error says how many of them are there all the same.
func fill(ctx context.Context, client *kgo.Client, topic string, first, n int) error {
	for from := first; from < first+n; from += atOnce {
		until := min(from+atOnce, first+n)
		if err := client.ProduceSync(ctx, orders(from, until)...).FirstErr(); err != nil {
			return fmt.Errorf("append orders %d to %d to %s: %w; %d before them were appended, and some of these may have been", from+1, until, topic, err, from-first)
		}
	}
	return nil
}

// settings of a topic that is made. Orders are some seconds apart, from a fixed time on: the first are older than what
// Kafka keeps by default, and would be gone in a second; from some hundred thousand on they are in the future, which
// Kafka refuses by default (KIP-937).
func settings() map[string]*string {
	return map[string]*string{"retention.ms": kadm.StringPtr("-1"), "retention.bytes": kadm.StringPtr("-1"),
		"message.timestamp.after.max.ms": kadm.StringPtr(strconv.FormatInt(math.MaxInt64, 10))}
}

// prepare creates the topic unless it is there, and returns how many records it has had.
func prepare(ctx context.Context, admin *kadm.Client, topic string) (int, error) {
	if _, err := admin.CreateTopic(ctx, demo.Partitions, -1, settings(), topic); err == nil {
		return 0, nil
	} else if !errors.Is(err, kerr.TopicAlreadyExists) {
		return 0, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	total := 0
	ends.Each(func(o kadm.ListedOffset) { total += int(o.Offset) })
	return total, err
}

func orders(from, until int) []*kgo.Record {
	var records []*kgo.Record
	for i := from; i < until; i++ {
		o := demo.OrderOf(i)
		records = append(records, &kgo.Record{Key: []byte(o.Customer), Value: o.Value, Timestamp: o.Time})
	}
	return records
}
