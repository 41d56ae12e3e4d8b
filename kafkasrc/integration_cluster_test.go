//go:build integration

package kafkasrc

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/offsets"
	"sluice/rig"
)

func TestRealBrokersThatDieRestartAndHang(t *testing.T) {
	t.Parallel()
	c := rig.NewCluster(t, 3)
	for name, do := range map[string]struct{ fail, mend func(leader int) }{
		"killed":    {func(id int) { c.Kill(t, id) }, func(id int) { c.Start(t, id) }},
		"restarted": {func(id int) { c.Restart(t, id) }, func(int) {}},
		"hung":      {func(id int) { c.Pause(t, id) }, func(id int) { c.Resume(t, id) }},
	} {
		t.Run(name, func(t *testing.T) {
			topic := c.CreateTopic(t, 1, nil)
			records := numbered(topic, 0, 200, 100)
			produceEach(t, c.Broker, records)
			options := realOptions(c.Broker, topics(topic))
			options.FetchBytes = 1
			options.Client["request.timeout.ms"] = "2000"
			s := mustOpen(t, options)
			planned := pieceNow(t, s, topic)
			leader := c.Leader(t, topic, 0)
			defer do.mend(leader)
			rows, err := midway(t, read(t, s, planned), 50, func() { do.fail(leader) })
			if err != nil || len(rows) != 200 {
				t.Fatalf("got %d rows, %v, want 200", len(rows), err)
			}
			for i, r := range rows {
				if r.offset != int64(i) {
					t.Fatalf("row %d is at %d", i, r.offset)
				}
			}
			if end := mustView(t, s, offsets.Offsets{tp(topic, 0): 200}).Partitions[tp(topic, 0)].End; end != 200 {
				t.Errorf("the end is %d, want 200", end)
			}
		})
	}
}

func TestRealBrokerThatIsAloneRestartsWhileItIsRead(t *testing.T) {
	t.Parallel()
	c := rig.NewCluster(t, 1)
	topic := c.CreateTopic(t, 1, nil)
	produceEach(t, c.Broker, numbered(topic, 0, 200, 100))
	options := realOptions(c.Broker, topics(topic))
	options.FetchBytes = 1
	s := mustOpen(t, options)
	rows, err := midway(t, read(t, s, pieceNow(t, s, topic)), 50, func() { c.Kill(t, 1); c.Start(t, 1) })
	if err != nil || len(rows) != 200 {
		t.Errorf("got %d rows, %v, want 200", len(rows), err)
	}
}

// BenchmarkRealRead reads a million records of about 230 bytes of JSON, in batches as a busy producer makes them, with as
// many readers at once as there are cores: fetching, decompressing and decoding, and nothing more.
func BenchmarkRealRead(b *testing.B) {
	const rows, perPartition = 1_000_000, 250_000
	kafka := rig.Kafka(b)
	topic := kafka.CreateTopic(b, rows/perPartition, nil)
	client := kafka.Client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerLinger(20*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	log, valueBytes := ordersLog(b, "none", 10_000, 1000)
	sample, err := drain(newTestReader(log, 0, pieceOf(0, 10_000)))
	if err != nil {
		b.Fatal(err)
	}
	for n := range rows {
		r := sample[n%len(sample)]
		client.Produce(b.Context(), &kgo.Record{Topic: topic, Partition: int32(n / perPartition), Key: r.key, Value: r.value}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := client.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s := mustOpen(b, realOptions(kafka, topics(topic)))
	view := mustView(b, s, nil)
	b.SetBytes(valueBytes * rows / 10_000)
	b.ReportAllocs()
	for b.Loop() {
		var pieces []batch.Piece
		for tp, bounds := range view.Partitions {
			for from := bounds.Start; from < bounds.End; from += 31_250 {
				pieces = append(pieces, batch.Piece{Topic: topic, Partition: tp.Partition, From: from, Until: min(bounds.End, from+31_250)})
			}
		}
		work := make(chan batch.Piece, len(pieces))
		for _, p := range pieces {
			work <- p
		}
		close(work)
		var total atomic.Int64
		var readers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			readers.Go(func() {
				for p := range work {
					r := read(b, s, p)
					total.Add(int64(count(b, r)))
					if err := r.Close(); err != nil {
						b.Error(err)
					}
				}
			})
		}
		readers.Wait()
		if total.Load() != rows {
			b.Fatalf("got %d rows, want %d", total.Load(), rows)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
