package kafkasrc

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/offsets"
)

// dated is a topic whose records have the times given, by partition, in milliseconds.
func dated(t *testing.T, partitions int32, stamps map[int32][]int64) broker {
	t.Helper()
	b := newBroker(t, kfake.SeedTopics(partitions, "orders"))
	for partition, all := range stamps {
		for _, ms := range all {
			if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Timestamp: time.UnixMilli(ms)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

func parsed(t *testing.T, text string) offsets.Offsets {
	t.Helper()
	o, err := offsets.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Each partition has a time of its own: https://issues.apache.org/jira/browse/SPARK-26848
func TestStartAtATimeForEachPartition(t *testing.T) {
	b := dated(t, 3, map[int32][]int64{0: {1000, 2000, 3000}, 1: {1000, 2000, 3000}, 2: {1000}})
	start := func(times string, latest bool) (offsets.Offsets, error) {
		options := b.options(topics("orders"))
		options.Starting = Starting{Times: parsed(t, times), EndIfNone: latest}
		return mustOpen(t, options).Start(t.Context())
	}
	for times, want := range map[string]string{
		`{"orders":{"0":0,"1":2000,"2":1000}}`:    `{"orders":{"0":0,"1":1,"2":0}}`,
		`{"orders":{"0":3000,"1":2001,"2":1}}`:    `{"orders":{"0":2,"1":2,"2":0}}`,
		`{"orders":{"0":3001,"1":1000,"2":5000}}`: `{"orders":{"0":3,"1":0,"2":1}}`,
	} {
		if got, err := start(times, true); err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v, want %s", times, got, err, want)
		}
	}
	_, err := start(`{"orders":{"0":3001,"1":1000,"2":5000}}`, false)
	wantFault(t, err, batch.NotSetUp, "nothing of its time or later is in orders-0 (1970-01-01T00:00:03.001Z), orders-2 (1970-01-01T00:00:05Z)")
	_, err = start(`{"orders":{"0":1,"1":1},"refunds":{"0":1}}`, true)
	wantFault(t, err, batch.NotSetUp, "no time is given for orders-2", "times are given for refunds-0")
}

func TestTheBoundIsANumberForEveryPartitionThatHasOne(t *testing.T) {
	b := dated(t, 3, map[int32][]int64{0: {1000, 2000, 3000}, 1: {1000}})
	now := time.UnixMilli(4000)
	bound := func(ending Ending) (offsets.Offsets, error) {
		options := b.options(topics("orders"))
		options.Ending = ending
		s := mustOpen(t, options)
		view, err := s.View(t.Context(), batch.ReadCommitted, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Bound(t.Context(), batch.ReadCommitted, view, parsed(t, `{"orders":{"0":1},"gone":{"4":7}}`), now)
	}
	for name, c := range map[string]struct {
		ending Ending
		want   offsets.Offsets
	}{
		"none":                   {Ending{}, nil},
		"offsets":                {Ending{Offsets: parsed(t, `{"orders":{"0":2,"1":-1,"2":9},"gone":{"4":7}}`)}, parsed(t, `{"orders":{"0":2,"2":9},"gone":{"4":7}}`)},
		"a time":                 {Ending{Timestamp: time.UnixMilli(1500)}, parsed(t, `{"orders":{"0":1}}`)},
		"between two of Kafka's": {Ending{Timestamp: time.UnixMilli(2000).Add(time.Microsecond)}, parsed(t, `{"orders":{"0":2}}`)},
		"a time to come":         {Ending{Timestamp: time.UnixMilli(4001)}, offsets.Offsets{tp("orders", 0): Ahead, tp("orders", 1): Ahead, tp("orders", 2): Ahead}},
		"a time for each": {Ending{Times: parsed(t, `{"orders":{"0":3000,"1":0,"2":5000},"gone":{"4":5000}}`)},
			offsets.Offsets{tp("orders", 0): 2, tp("orders", 1): 0, tp("orders", 2): Ahead}},
	} {
		if got, err := bound(c.ending); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
	}
	_, err := bound(Ending{Offsets: parsed(t, `{"orders":{"0":2,"7":1}}`)})
	wantFault(t, err, batch.NotSetUp, "no offset is given for gone-4, orders-1, orders-2", "offsets are given for orders-7")
	_, err = bound(Ending{Times: parsed(t, `{"orders":{"0":2}}`)})
	wantFault(t, err, batch.NotSetUp, "no time is given for gone-4, orders-1, orders-2")
}

// Where the record to end at may be behind an open transaction, the end is not known yet.
func TestATimeToEndAtIsAheadWhileATransactionHoldsRecordsBack(t *testing.T) {
	b := dated(t, 1, map[int32][]int64{0: {1000}})
	tx := b.begin(t, "tx")
	tx.produce("orders", "of now")
	options := b.options(topics("orders"))
	options.Ending = Ending{Timestamp: time.UnixMilli(1 << 44)}
	s := mustOpen(t, options)
	view, err := s.View(t.Context(), batch.ReadCommitted, nil)
	if err != nil {
		t.Fatal(err)
	}
	if held := view.Blocked(); held == 0 {
		t.Fatal("nothing is held back")
	}
	got, err := s.Bound(t.Context(), batch.ReadCommitted, view, nil, time.UnixMilli(1<<45))
	if want := (offsets.Offsets{tp("orders", 0): Ahead}); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestSeveralWaysToBeginOrToEndAreRefused(t *testing.T) {
	each := offsets.Offsets{tp("orders", 0): 1}
	for _, o := range []Options{
		{Starting: Starting{Times: each, Timestamp: time.UnixMilli(1)}},
		{Starting: Starting{Times: each, Offsets: each}},
		{Ending: Ending{Times: each, Timestamp: time.UnixMilli(1)}},
		{Ending: Ending{Offsets: offsets.Offsets{tp("orders", 0): offsets.Earliest}}},
	} {
		o.Client, o.Subscription = map[string]string{"bootstrap.servers": "localhost:1"}, topics("orders")
		if o.Validate() == nil {
			t.Errorf("got no error for %+v, %+v", o.Starting, o.Ending)
		}
	}
}

// A small piece of a large record batch counts for what it is, however much was fetched for it: a limit in bytes that went by
// what was fetched would shrink batches further and further.
func TestTheBytesOfAPieceAreItsPartOfTheRecordBatch(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	var records []*kgo.Record
	for range 100 {
		records = append(records, &kgo.Record{Topic: "orders", Value: make([]byte, 1000)})
	}
	if err := b.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, b.options(topics("orders")))
	count := func(from, until int64) (inside, fetched int64) {
		r := read(t, s, b.piece(t, "orders", 0, from, until))
		for {
			if _, err := r.Next(t.Context()); err != nil {
				return r.RecordBytes(), r.ReadBytes()
			}
		}
	}
	whole, _ := count(0, 100)
	tenth, fetched := count(50, 60)
	if whole == 0 || tenth < whole/10-10 || tenth > whole/10+10 || fetched < tenth {
		t.Errorf("got %d bytes of all, %d of a tenth, for which %d were fetched", whole, tenth, fetched)
	}
}
