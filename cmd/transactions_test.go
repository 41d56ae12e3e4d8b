package cmd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transaction is one of a producer of its own, which is still open.
type transaction struct {
	t      testing.TB
	client *kgo.Client
	topic  string
}

func (k *kafka) begin(t testing.TB, topic, id string) transaction {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.addr, ",")...), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err == nil {
		t.Cleanup(client.Close)
		err = client.BeginTransaction()
	}
	if err != nil {
		t.Fatal(err)
	}
	return transaction{t, client, topic}
}

// add is a record of the transaction as it is stored, which must be at the offset.
func (x transaction) add(offset int64) *kgo.Record {
	x.t.Helper()
	return x.addTo(0, offset)
}

// addTo is add in a partition.
func (x transaction) addTo(partition int32, offset int64) *kgo.Record {
	x.t.Helper()
	r := &kgo.Record{Topic: x.topic, Partition: partition, Value: fmt.Append(nil, offset)}
	if err := x.client.ProduceSync(context.Background(), r).FirstErr(); err != nil || r.Offset != offset {
		x.t.Fatalf("stored at %d, want %d: %v", r.Offset, offset, err)
	}
	return r
}

func (x transaction) end(commit bool) {
	x.t.Helper()
	if err := x.client.EndTransaction(context.Background(), kgo.TransactionEndTry(commit)); err != nil {
		x.t.Fatal(err)
	}
}

// oneLog is a topic of one partition and a pipeline that reads it.
func oneLog(t *testing.T, topic string) (*kafka, *pipeline) {
	t.Helper()
	k := embedded(t)
	if err := k.cluster.CreateTopic(topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	return k, newPipeline(t, k).with("--subscribe", topic)
}

// Markers and aborted records have offsets and are no rows: a range that ends in them, or has nothing else, is done when
// it has been read to its end, and is no loss (https://github.com/apache/spark/pull/22042,
// https://github.com/apache/spark/pull/21917, https://github.com/apache/hudi/issues/8258,
// https://github.com/apache/pinot/issues/19161). An open transaction holds back what is behind it, and the run says so
// (https://github.com/dpkp/kafka-python/issues/1707, https://github.com/twmb/franz-go/issues/581).
func TestTransactionsAreReadToTheirStableEnd(t *testing.T) {
	t.Parallel()
	k, p := oneLog(t, "tx")
	one, two := k.begin(t, "tx", "one"), k.begin(t, "tx", "two")
	committed := []*kgo.Record{one.add(0)}
	aborted := two.add(1)
	two.end(false) // 2
	committed = append(committed, one.add(3))
	one.end(true) // 4

	p.run(t, "--max-offsets-per-trigger", "4", "--max-batches", "1").has("batch", "sluice.offsets", 4, "sluice.rows", 2).has("summary", "rows", 2, "lag", 1)
	wantRows(t, p.table(t), committed, false)
	p.run(t).has("summary", "batches", 1, "rows", 0, "records", 0, "files", 0, "caughtUp", true, "lag", 0) // the marker alone
	o := p.run(t).has("summary", "batches", 0, "caughtUp", true, "blocked", nil)
	if said := strings.ToLower(o.stderr); strings.Contains(said, "warn") || strings.Contains(said, "lost") {
		t.Errorf("got log %s", o.stderr)
	}

	three := k.begin(t, "tx", "three")
	committed = append(committed, three.add(5))
	three.end(true) // 6
	open := k.begin(t, "tx", "four")
	held := []*kgo.Record{open.add(7), {Topic: "tx", Value: []byte("8")}, {Topic: "tx", Value: []byte("9")}}
	k.produce(t, held[1:]...)
	k.grow(t, "tx", 2)
	other := k.begin(t, "tx", "five")
	first := &kgo.Record{Topic: "tx", Partition: 1, Value: []byte("stable")}
	k.produce(t, first)
	committed = append(committed, first)
	beside := []*kgo.Record{other.addTo(1, 1), other.addTo(1, 2)}
	plan := p.do(t, "plan").wants(0).has("plan", "records", 3, "blocked", 5).last("plan")
	if got := fmt.Sprint(plan["ranges"]); got != "[map[blocked:3 from:5 partition:0 records:2 topic:tx until:7] map[blocked:2 from:0 partition:1 records:1 topic:tx until:1]]" {
		t.Errorf("got ranges %s", got)
	}
	p.run(t).has("summary", "batches", 1, "rows", 2, "caughtUp", true, "blocked", 5)
	wantRows(t, p.table(t), committed, false)
	o = p.run(t).has("summary", "batches", 0, "caughtUp", true, "blocked", 5)
	const named = "tx-0 3 from offset 7; tx-1 2 from offset 1"
	if !strings.Contains(o.stderr, "open transactions hold back") || !strings.Contains(o.stderr, named) {
		t.Errorf("the run says nothing of it: %s", o.stderr)
	}
	plan = p.do(t, "plan").wants(0).has("plan", "records", 0, "blocked", 5).last("plan")
	if notes := fmt.Sprint(plan["notes"]); !strings.Contains(notes, named) {
		t.Errorf("got notes %s, want %s", notes, named)
	}
	status := p.do(t, "status").wants(0).has("status", "blocked", 5, "lag", 0, "logLag", 5).last("status")
	if got := fmt.Sprint(status["partitions"]); got != "[map[blocked:3 end:7 lag:0 logEnd:10 logLag:3 next:7 partition:0 state:heldBack topic:tx] map[blocked:2 end:1 lag:0 logEnd:3 logLag:2 next:1 partition:1 state:heldBack topic:tx]]" {
		t.Errorf("got partitions %s", got)
	}
	if o := p.text(t, "status").wants(0); !strings.Contains(o.stdout, "held back     5 offsets") || !strings.Contains(o.stdout, "  held back\n") {
		t.Errorf("got\n%s", o.stdout)
	}
	open.end(true) // 10
	p.run(t).has("summary", "rows", 3, "blocked", 2)
	committed = append(committed, held...)
	wantRows(t, p.table(t), committed, false)
	other.end(true) // 3
	p.run(t).has("summary", "rows", 2, "blocked", nil)
	committed = append(committed, beside...)
	wantRows(t, p.table(t), committed, false)
	p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", 9)

	dirty := newPipeline(t, k).with("--subscribe", "tx")
	dirty.run(t, "--set", "source.kafka.isolation.level=read_uncommitted").has("summary", "rows", 10)
	wantRows(t, dirty.table(t), append(committed, aborted), false)
}

// However the batches are cut, ranges that begin, end or lie within an aborted transaction give each record once.
func TestBatchesMayBeCutAnywhereInATransaction(t *testing.T) {
	t.Parallel()
	k, _ := oneLog(t, "tx")
	bad := k.begin(t, "tx", "bad")
	for offset := range int64(3) {
		bad.add(offset)
	}
	bad.end(false) // 3
	good := k.begin(t, "tx", "good")
	want := []*kgo.Record{good.add(4)}
	good.end(true) // 5
	for limit := 1; limit <= 6; limit++ {
		p := newPipeline(t, k).with("--subscribe", "tx")
		p.run(t, "--max-offsets-per-trigger", fmt.Sprint(limit)).has("summary", "batches", (5+limit)/limit, "rows", 1, "caughtUp", true, "lag", 0)
		wantRows(t, p.table(t), want, false)
		p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved")
	}
}
