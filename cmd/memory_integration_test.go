//go:build integration && linux

package cmd_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

const mib = 1 << 20

// What docs/job.md promises of the least memory that a job may have: the ceiling itself, and above it five times the
// size of a record batch that is larger than one Fetch asks for, as https://github.com/confluentinc/kafka-rest/issues/608
// has it.
func TestTheLeastMemoryHoldsBesideWhatIsDocumented(t *testing.T) {
	const ceiling, large = 144 * mib, 20 * mib
	broker, bucket := rig.Kafka(t), rig.S3(t)
	k := connected(t, broker.Addr)
	topic := func(size, records, batchBytes int) string {
		name := broker.CreateTopic(t, 2, map[string]string{"max.message.bytes": "62914560"})
		fillRandom(t, broker, name, records, size, batchBytes)
		return name
	}
	for name, c := range map[string]struct {
		topic string
		most  int
	}{
		"batches as producers make them":       {topic(1000, 100_000, mib), ceiling},
		"batches of 20 MiB":                    {topic(1000, 6*large/1000, large), ceiling + 5*large},
		"records of 20 MiB, each in its batch": {topic(large-1000, 6, large), ceiling + 5*large},
	} {
		for place, p := range map[string]*pipeline{"local": reading(t, k, c.topic), "bucket": reading(t, k, c.topic).inBucket(bucket, c.topic)} {
			t.Run(name+", "+place, func(t *testing.T) {
				process := program(t, p.with("--memory", "144MiB").args("run")...)
				process.Env = append(os.Environ(), "GOMAXPROCS=1")
				o := started(t, process).wait().wants(0)
				peak := at(o.last("batch"), "sluice.peakMemoryBytes").(float64)
				if t.Logf("peak is %.0f MiB", peak/mib); peak > float64(c.most) {
					t.Errorf("got a peak of %.0f MiB, want at most %d", peak/mib, c.most/mib)
				}
			})
		}
	}
}

// fillRandom appends records that no codec makes smaller, in batches of up to so many bytes.
func fillRandom(t *testing.T, broker rig.Broker, topic string, records, size, batchBytes int) {
	t.Helper()
	client := broker.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(int32(batchBytes)),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(1e9), kgo.MaxBufferedRecords(records+1), kgo.MaxBufferedBytes(4*batchBytes))
	random := rand.NewChaCha8([32]byte{})
	for i := range records {
		value := make([]byte, size)
		random.Read(value)
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce to %s: %v", topic, err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil || t.Failed() {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}
