//go:build integration && linux

package cmd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// seeds are the addresses of the brokers.
func (k *kafka) seeds() []string { return strings.Split(k.addr, ",") }

// settled returns when the transactions of a producer have their markers in the log: the broker answers the end of one
// before it writes them, and the next producer of that id after.
func (k *kafka) settled(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		client, err := kgo.NewClient(kgo.SeedBrokers(k.seeds()...), kgo.TransactionalID(id))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := client.ProducerID(t.Context()); err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
}

// layout appends transactions of several producers, committed and aborted and lying in each other, with records of no
// transaction between them, in an order that the seed decides. It returns what a reader of committed records sees.
func (k *kafka) layout(t *testing.T, topic string, random *rand.Rand) (committed []*kgo.Record) {
	t.Helper()
	type producer struct {
		transaction
		pending []*kgo.Record
	}
	var open []*producer
	var ids []string
	add := func(x *producer) {
		r := &kgo.Record{Topic: topic, Partition: int32(random.IntN(2)), Value: fmt.Append(nil, random.Uint32())}
		if err := x.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		x.pending = append(x.pending, r)
	}
	for i := range 30 {
		switch what := random.IntN(6); {
		case what == 0 || len(open) == 0 && what < 3:
			ids = append(ids, fmt.Sprint(topic, "-", i))
			x := &producer{transaction: k.begin(t, topic, ids[len(ids)-1])}
			add(x)
			open = append(open, x)
		case what == 1:
			r := &kgo.Record{Topic: topic, Partition: int32(random.IntN(2)), Value: fmt.Append(nil, "plain", i)}
			k.produce(t, r)
			committed = append(committed, r)
		case what == 2:
			x := open[0]
			open = open[1:]
			if commit := random.IntN(2) == 0; commit {
				committed = append(committed, x.pending...)
				x.end(true)
			} else {
				x.end(false)
			}
		case len(open) > 0:
			add(open[random.IntN(len(open))])
		}
	}
	for _, x := range open {
		x.end(false)
	}
	k.settled(t, ids...)
	return committed
}

// However transactions lie in the log of a real broker and however batches are cut, each committed record is in each
// kind of table once, and a range of nothing but markers ends (https://github.com/apache/spark/pull/22042,
// https://github.com/apache/spark/pull/21917).
func TestTransactionsOfARealBrokerInEveryKindOfTable(t *testing.T) {
	seed := seed(t)
	everywhere(t, func(t *testing.T, k *kafka, topic string, p *pipeline) {
		committed := k.layout(t, topic, drawn(t, seed))
		for _, cut := range []string{"3", "1", "7"} {
			p.run(t, "--max-offsets-per-trigger", cut, "--max-batches", "8").has("summary", "deadLetters", 0)
		}
		p.run(t).has("summary", "caughtUp", true, "lag", 0, "blocked", nil)
		p.exact(t, len(committed))

		held := k.begin(t, topic, topic+"-held")
		r := &kgo.Record{Topic: topic, Value: []byte("held")}
		if err := held.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		k.fill(t, topic, 2, 0, 1)
		p.run(t).has("summary", "rows", 2, "caughtUp", true, "blocked", 3) // what is in the other partition
		p.run(t).has("summary", "batches", 0, "blocked", 3)
		committed = append(committed, r)
		held.end(true)
		k.settled(t, topic+"-held")
		p.run(t).has("summary", "blocked", nil, "rows", 3)
		p.exact(t, len(committed)+4)
	})
}
