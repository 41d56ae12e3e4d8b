//go:build integration && linux

package cmd_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// ownSegments is the configuration of a topic in which what is produced one after the other lies in segments of its own.
func ownSegments() map[string]string { return map[string]string{"segment.ms": "1"} }

// add appends n records of a transaction to a partition, as a batch of their own.
func (x transaction) append(partition int32, n int) {
	x.t.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: x.topic, Partition: partition, Key: fmt.Append(nil, i%7), Value: fmt.Append(nil, "in a transaction ", i)})
	}
	if err := x.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		x.t.Fatal(err)
	}
}

// remove deletes the records of a partition before an offset.
func (k *kafka) remove(t *testing.T, topic string, partition int32, before int64) {
	t.Helper()
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: topic, Partition: partition, At: before})
	if answers, err := k.admin.DeleteRecords(t.Context(), o); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
}

// holes fills both partitions of a topic: a long transaction that is aborted, over many segments; three that lie in each
// other and in records of none, one of which is aborted; two whose markers follow each other; and again a long one that is
// aborted, up to the end. The log then begins inside the first one.
func (k *kafka) holes(t *testing.T, topic string) {
	t.Helper()
	var ids []string
	begin := func() transaction {
		ids = append(ids, fmt.Sprint(topic, "-", len(ids)))
		return k.begin(t, topic, ids[len(ids)-1])
	}
	for partition := range int32(2) {
		long := begin()
		for range 8 {
			long.append(partition, 50)
		}
		long.end(false)
		k.settled(t, ids[len(ids)-1])
		one, two, three := begin(), begin(), begin()
		for range 4 {
			one.append(partition, 3)
			two.append(partition, 2)
			k.fill(t, topic, 2, partition)
			three.append(partition, 1)
		}
		two.end(false)
		one.append(partition, 1)
		one.end(true)
		three.end(true)
		k.settled(t, ids[len(ids)-3:]...)
		last := begin()
		last.append(partition, 60)
		last.end(false)
		k.settled(t, ids[len(ids)-1])
		k.remove(t, topic, partition, 120)
	}
}

// Long aborted transactions over many segments, transactions in each other, ranges of markers alone, a log that begins in a
// hole: however batches are cut and wherever they begin, the table has the rows that Kafka's own consumer reads, under either
// isolation level, and every run ends. https://github.com/apache/spark/pull/22042, https://github.com/apache/spark/pull/21917,
// https://github.com/apache/pinot/issues/19161
func TestHolesOfARealLogAreReadAsKafkasOwnConsumerReadsThem(t *testing.T) {
	t.Parallel()
	broker := rig.Kafka(t)
	k, topic := connected(t, broker.Addr), broker.CreateTopic(t, 2, ownSegments())
	k.holes(t, topic)
	committed := broker.Consume(t, true, topic)
	all := broker.Consume(t, false, topic)
	if len(committed) != 2*(13+4+8) || len(all) <= len(committed)+2*300 {
		t.Fatalf("Kafka's own consumer reads %d records, %d with those of aborted transactions", len(committed), len(all))
	}
	inside := fmt.Sprintf(`{"%s":{"0":250,"1":410}}`, topic) // in the hole, and between transactions
	for name, c := range map[string]struct {
		more []string
		want []*kgo.Record
	}{
		"in one batch":                  {nil, committed},
		"from inside, in seven tasks":   {[]string{"--starting-offsets", inside, "--max-offsets-per-trigger", "90", "--min-partitions", "7"}, from(committed, 250, 410)},
		"with what was given up":        {[]string{"--set", "source.kafka.isolation.level=read_uncommitted", "--max-offsets-per-trigger", "111"}, all},
		"37 at a time in small answers": {[]string{"--set", "source.kafka.fetch.max.bytes=100", "--max-offsets-per-trigger", "37"}, committed},
	} {
		t.Run(name, func(t *testing.T) {
			p := reading(t, k, topic).with(c.more...)
			p.run(t).has("summary", "caughtUp", true, "lag", 0, "blocked", nil, "rows", len(c.want))
			wantRows(t, p.table(t), c.want, false)
			p.exact(t, len(c.want))
			p.run(t).has("summary", "batches", 0)
		})
	}
}

// from leaves out the records of each partition before an offset.
func from(records []*kgo.Record, starts ...int64) []*kgo.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *kgo.Record) bool { return r.Offset < starts[r.Partition] })
}

// What an open transaction holds back is told by plan, status, run and the report of a batch, and is read when it ends.
// https://github.com/dpkp/kafka-python/issues/1707
func TestWhatAnOpenTransactionHoldsBackIsToldEverywhere(t *testing.T) {
	t.Parallel()
	k, topic := real(t, 2)
	p := reading(t, k, topic)
	k.fill(t, topic, 5, 0, 1)
	open := k.begin(t, topic, topic+"-open")
	open.append(1, 4)
	k.fill(t, topic, 3, 1)
	p.do(t, "plan").wants(0).has("plan", "blocked", 7, "records", 10)
	p.run(t).has("batch", "sluice.blocked", 7).has("summary", "rows", 10, "blocked", 7, "caughtUp", true)
	p.do(t, "status").wants(0).has("status", "blocked", 7, "lag", 0)
	p.do(t, "plan").wants(0).has("plan", "blocked", 7, "records", 0)
	p.run(t).has("summary", "batches", 0, "blocked", 7)
	open.end(false)
	k.settled(t, topic+"-open")
	p.run(t).has("summary", "rows", 3, "blocked", nil)
	p.exact(t, 13)
}

// killedAtFetch starts the program and kills it when it asks for records for the n-th time, so that its plan is there and
// its rows are not.
func (p *pipeline) killedAtFetch(t *testing.T, n int) {
	t.Helper()
	proxy, err := faultproxy.NewKafka(p.kafka.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	r := prepared(t, program(t, p.brief().with("--bootstrap-servers", proxy.Addr).args("run")...))
	r.cmd.Env = append(os.Environ(), p.environ...)
	proxy.Follow(faultproxy.Nth(n, faultproxy.Kill(true, func() { _ = r.cmd.Process.Kill() }).Of("Fetch")))
	r.start()
	if r.wait().code != -1 || len(proxy.Dealt()) != 1 {
		t.Fatalf("got exit code %d after %v\n%s", r.code, proxy.Dealt(), r.stderr)
	}
}

// A log is compacted between plan and replay: records of the planned range, its last ones too, are gone for newer ones of
// their keys and for tombstones. The replay has what is left, as Kafka's own consumer reads it, up to the end of the plan
// and no further. https://github.com/hupe1980/krafka/issues/43
func TestAPlanOfALogThatIsCompactedMeanwhileEnds(t *testing.T) {
	t.Parallel()
	broker := rig.Kafka(t)
	k, topic := connected(t, broker.Addr), broker.CreateTopic(t, 1, rig.Compacted())
	p := reading(t, k, topic).brief()
	k.fill(t, topic, 20, 0)
	p.run(t).has("summary", "rows", 20)
	want := broker.Consume(t, true, topic)

	broker.Transact(t, true, keyed(topic, 10, 60)...)
	broker.Transact(t, false, keyed(topic, 0, 40)...)
	k.fill(t, topic, 30, 0) // k0 to k29
	p.killedAtFetch(t, 1)
	planned := int64(20 + 50 + 1 + 40 + 1 + 30)
	broker.Produce(t, tombstones(topic, 15, 40)...)
	broker.Produce(t, keyed(topic, 25, 30)...)
	broker.Compact(t, topic)
	left := slices.DeleteFunc(broker.Consume(t, true, topic), func(r *kgo.Record) bool { return r.Offset < 20 || r.Offset >= planned })
	if n := len(left); n == 0 || n > 40 {
		t.Fatalf("%d of 122 records are left", n)
	}
	p.killedAtFetch(t, 1) // and once more, on what is there now
	p.run(t, "--max-batches", "1").has("batch", "sluice.rows", len(left), "sluice.offsets", int(planned-20))
	wantRows(t, p.table(t), append(want, left...), false)
	rest := slices.DeleteFunc(broker.Consume(t, true, topic), func(r *kgo.Record) bool { return r.Offset < planned })
	p.run(t).has("summary", "rows", len(rest), "caughtUp", true)
	wantRows(t, p.table(t), slices.Concat(want, left, rest), false)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0)
}

// keyed are records of the keys k<from> to k<until-1>.
func keyed(topic string, from, until int) (records []*kgo.Record) {
	for i := from; i < until; i++ {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, "k", i), Value: fmt.Append(nil, "newer ", i)})
	}
	return records
}

// tombstones are those of keyed without values.
func tombstones(topic string, from, until int) []*kgo.Record {
	records := keyed(topic, from, until)
	for _, r := range records {
		r.Value = nil
	}
	return records
}
