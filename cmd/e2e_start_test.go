package cmd_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// from is the records of the topic from an offset in each partition.
func (k *kafka) from(topic string, starts ...int64) []*kgo.Record {
	return k.of(func(r *kgo.Record) bool {
		return r.Topic == topic && int(r.Partition) < len(starts) && r.Offset >= starts[r.Partition]
	})
}

func TestAQueryBeginsWhereStartingOffsetsSays(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	for _, tc := range []struct {
		starting string
		want     []int64
	}{
		{"earliest", []int64{0, 0}},
		{"latest", []int64{10, 10}},
		{`{"orders":{"0":7,"1":0}}`, []int64{7, 0}},
		{`{"orders":{"0":-2,"1":-1}}`, []int64{0, 10}},
		{`{"orders":{"0":10,"1":9}}`, []int64{10, 9}}, // the end itself is a place to begin
	} {
		p := newPipeline(t, k).with("--starting-offsets", tc.starting)
		p.run(t)
		wantRows(t, p.table(t), k.from("orders", tc.want...), false)
		p.with("--starting-offsets", "earliest").run(t).has("summary", "batches", 0) // it only counts at the beginning
	}
}

// What was latest at the beginning stays the beginning, also of a partition that was empty
// (https://issues.apache.org/jira/browse/FLINK-28303).
func TestLatestIsResolvedOnce(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 3, 0)
	p := newPipeline(t, k).with("--starting-offsets", "latest")
	p.run(t).has("summary", "batches", 0)
	k.fill(t, "orders", 1, 0, 1)
	p.run(t).has("summary", "records", 2)
	wantRows(t, p.table(t), k.from("orders", 3, 0), false)
}

// https://issues.apache.org/jira/browse/SPARK-19603: all that is missing or too much is named at once.
func TestStartingOffsetsNameEveryPartition(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 3, 0, 1)
	for starting, parts := range map[string][]string{
		`{"orders":{"0":1}}`:                          {"orders-1"},
		`{"orders":{"0":1,"1":1,"2":1,"5":1}}`:        {"orders-2", "orders-5"},
		`{"orders":{"0":0,"1":0},"refunds":{"0":0}}`:  {"refunds"},
		`{"orders":{"3":0},"refunds":{"0":0,"1":0}}`:  {"refunds"},
		`{"orders":{"0":4,"1":99}}`:                   {"orders-0", "4", "orders-1", "99", "3"}, // beyond the end
		`{"orders":{"0":1},"orders":{"1":1}}`:         {"orders"},
		`{"orders":{"0":-3,"1":0}}`:                   {"-3"},
		`{"orders":{"0":1.5,"1":0}}`:                  {"1.5"},
		`{"orders":{"0":9223372036854775808,"1":0}}`:  {"9223372036854775808"},
		`{"orders":[0,1]}`:                            {"orders"},
		`{"orders":{"zero":0,"1":0}}`:                 {"zero"},
		`earlyest`:                                    {"earliest"},
		`{"orders":{"0":0,"1":0}} {"orders":{"0":0}}`: {"source.startingOffsets"},
		`{"orders":{"0":"0","1":0}}`:                  {"source.startingOffsets"},
		`{"orders":{"0":0,"0":1,"1":0}}`:              {"orders"},
		`{"bad topic name":{"0":0},"orders":{"0":0}}`: {"bad topic name"},
		`{"orders":{"-1":0,"0":0,"1":0}}`:             {"-1"},
		`{"orders":{"2147483648":0,"0":0,"1":0}}`:     {"2147483648"},
		`{"orders":{"0":0,"1":0},"orders2":{"0":-1}}`: {"orders2"},
		`{"orders":{"00":0,"1":0}}`:                   {"00"},
		`null`:                                        {"source.startingOffsets"},
		`{}`:                                          {"source.startingOffsets"},
	} {
		p := newPipeline(t, k).with("--starting-offsets", starting)
		o := p.do(t, "run")
		if o.code != 64 && o.code != 10 {
			t.Errorf("%s: got exit code %d, want 64 or 10", starting, o.code)
			continue
		}
		o.fails(o.code, parts...)
		p.leftNothing(t, "it")
	}
}

func TestAQueryBeginsAtATime(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	for i := range 10 {
		k.produce(t, &kgo.Record{Topic: "orders", Partition: 0, Timestamp: millis(1_700_000_000_000 + int64(i)*1000)})
	}
	k.produce(t, &kgo.Record{Topic: "orders", Partition: 1, Timestamp: millis(1_600_000_000_000)}) // nothing as new: its end
	for at, want := range map[string]int64{"2023-11-14T22:13:20Z": 0, "2023-11-14T22:13:24Z": 4, "2023-11-14T23:13:24.001+01:00": 5, "2030-01-01T00:00:00Z": 10} {
		p := newPipeline(t, k).with("--starting-timestamp", at, "--starting-offsets-by-timestamp-strategy", "latest")
		p.run(t)
		wantRows(t, p.table(t), k.from("orders", want, 1), false)
	}
}

// As in Spark, unless the strategy is latest: all partitions that a time says nothing about are named at once.
func TestATimeThatNothingIsAsNewAsIsRefused(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.produce(t, &kgo.Record{Topic: "orders", Partition: 0, Timestamp: millis(1_700_000_000_000)})
	p := newPipeline(t, k)
	late := p.with("--starting-timestamp", "2030-01-01T00:00:00Z")
	for _, verb := range []string{"plan", "run"} {
		late.do(t, verb).fails(10, "2030-01-01T00:00:00Z", "orders-0, orders-1", "source.startingOffsetsByTimestampStrategy")
	}
	p.with("--starting-timestamp", "2023-11-14T22:13:20Z").do(t, "run").fails(10, "is in orders-1\n")
	p.leftNothing(t, "a run that was refused")
	p.run(t)
	late.run(t).has("summary", "batches", 0) // it only counts at the beginning
}
