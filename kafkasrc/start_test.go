package kafkasrc

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/offsets"
)

// threeLogs has a partition with a head that is gone, an empty one, and a whole one.
func threeLogs(t *testing.T) broker {
	b := newBroker(t, kfake.SeedTopics(3, "orders"))
	b.produce(t, "orders", 0, 5)
	b.deleteRecords(t, "orders", 0, 3)
	b.produce(t, "orders", 2, 2)
	return b
}

func TestStartIsANumberForEveryPartition(t *testing.T) { // https://issues.apache.org/jira/browse/FLINK-28303
	b := threeLogs(t)
	explicit, err := offsets.Parse([]byte(`{"orders":{"0":4,"1":-1,"2":-2}}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, starting := range map[string]Starting{
		`{"orders":{"0":3,"1":0,"2":0}}`: {},
		`{"orders":{"0":5,"1":0,"2":2}}`: {Latest: true},
		`{"orders":{"0":4,"1":0,"2":0}}`: {Offsets: explicit},
	} {
		options := b.options(topics("orders"))
		options.Starting = starting
		got, err := mustOpen(t, options).Start(t.Context())
		if err != nil || got.String() != want {
			t.Errorf("start %+v: got %v, %v, want %s", starting, got, err, want)
		}
	}
}

func TestExplicitStartsNameEveryFaultAtOnce(t *testing.T) { // https://github.com/apache/hudi/issues/1653
	b := threeLogs(t)
	for _, c := range []struct {
		json  string
		class batch.Class
		texts []string
	}{
		{`{"orders":{"0":3}}`, batch.NotSetUp, []string{"orders-1", "orders-2", "no offset is given"}},
		{`{"orders":{"0":3,"1":0,"2":0,"7":0},"other":{"0":1}}`, batch.NotSetUp, []string{"orders-7", "other-0", "does not have"}},
		{`{"orders":{"0":3,"2":0,"7":0}}`, batch.NotSetUp, []string{"no offset is given for orders-1", "given for orders-7"}},
		{`{"orders":{"0":2,"1":1,"2":9}}`, batch.DataLoss, []string{"orders-0: 2 is below the log start 3", "orders-1: 1 is beyond the end 0", "orders-2: 9 is beyond the end 2"}},
		{`{"orders":{"0":3,"1":1,"2":0}}`, batch.NotSetUp, []string{"orders-1: 1 is beyond the end 0"}},
	} {
		wanted, err := offsets.Parse([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		options := b.options(topics("orders"))
		options.Starting = Starting{Offsets: wanted}
		_, err = mustOpen(t, options).Start(t.Context())
		wantFault(t, err, c.class, c.texts...)
	}
}

func TestStartAtATimeIsTheEndWhereNothingIsAsNew(t *testing.T) { // https://github.com/apache/hudi/issues/19658
	b := newBroker(t, kfake.SeedTopics(3, "orders"))
	for partition, stamps := range map[int32][]int64{0: {1000, 2000}, 1: {5000, 6000}} {
		for _, ms := range stamps {
			if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Timestamp: time.UnixMilli(ms)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for at, want := range map[time.Time]string{
		time.UnixMilli(3000):                       `{"orders":{"0":2,"1":0,"2":0}}`,
		time.UnixMilli(2000):                       `{"orders":{"0":1,"1":0,"2":0}}`,
		time.UnixMilli(1999).Add(time.Microsecond): `{"orders":{"0":1,"1":0,"2":0}}`,
		time.UnixMilli(2000).Add(time.Microsecond): `{"orders":{"0":2,"1":0,"2":0}}`,
		time.UnixMilli(5001):                       `{"orders":{"0":2,"1":1,"2":0}}`,
		time.UnixMilli(-5):                         `{"orders":{"0":0,"1":0,"2":0}}`,
	} {
		options := b.options(topics("orders"))
		options.Starting = Starting{Timestamp: at, EndIfNone: true}
		got, err := mustOpen(t, options).Start(t.Context())
		if err != nil || got.String() != want {
			t.Errorf("start at %v: got %v, %v, want %s", at, got, err, want)
		}
	}
}

// As in Spark, where startingOffsetsByTimestampStrategy is error by default (https://issues.apache.org/jira/browse/SPARK-35611).
func TestStartAtATimeNamesEveryPartitionWithNothingAsNew(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(3, "orders"))
	for partition, ms := range map[int32]int64{0: 1000, 1: 5000} {
		if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Timestamp: time.UnixMilli(ms)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	options := b.options(topics("orders"))
	options.Starting = Starting{Timestamp: time.UnixMilli(3000)}
	_, err := mustOpen(t, options).Start(t.Context())
	wantFault(t, err, batch.NotSetUp, "1970-01-01T00:00:03Z or later is in orders-0, orders-2")
	options.Subscription = Subscription{Assign: []offsets.TopicPartition{tp("orders", 1)}}
	got, err := mustOpen(t, options).Start(t.Context())
	if want := `{"orders":{"1":0}}`; err != nil || got.String() != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
}
