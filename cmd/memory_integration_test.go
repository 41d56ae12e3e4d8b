//go:build integration && linux

package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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

// A batch with rows of a thousand partitions stays under the ceiling, and makes no more than one file of each in each task,
// wherever its files go. https://github.com/databricks/iceberg-kafka-connect/issues/227
func TestABatchOfAThousandPartitionsStaysUnderTheCeiling(t *testing.T) {
	const ceiling, tenants = 384 * mib, 1000
	broker, bucket := rig.Kafka(t), rig.S3(t)
	k := connected(t, broker.Addr)
	topic := broker.CreateTopic(t, 2, nil)
	fillTenants(t, broker, topic, 400_000, tenants)
	const intoTable, intoFolder = "sink.iceberg.partitionBy=key", "sink.parquet.partitionBy=bucket(10000, key)" // keys are bytes, which cannot be names of folders
	for place, p := range map[string]*pipeline{"local": reading(t, k, topic).with("--set", intoTable), "bucket": reading(t, k, topic).inBucket(bucket, topic).with("--set", intoTable),
		"local folder": reading(t, k, topic).toFiles().with("--set", intoFolder), "folder in a bucket": reading(t, k, topic).toFilesIn(bucket, topic+"-files").with("--set", intoFolder)} {
		if place == "local folder" && !*fullFlag { // what differs is seen in the others
			continue
		}
		t.Run(place, func(t *testing.T) {
			p, least := p.with("--memory", "384MiB"), float64(tenants)
			if strings.Contains(place, "folder") {
				least *= 0.9 // two keys may be in one bucket
			}
			process := program(t, p.args("run")...)
			process.Env = append(os.Environ(), "GOMAXPROCS=2")
			o := started(t, process).wait().wants(0)
			peak, files := at(o.last("batch"), "sluice.peakMemoryBytes").(float64), at(o.last("batch"), "sluice.files").(float64)
			if t.Logf("peak is %.0f MiB, %.0f files", peak/mib, files); peak > ceiling || files > 2*tenants || files < least {
				t.Errorf("got a peak of %.0f MiB and %.0f files, want at most %d and %.0f to %d", peak/mib, files, ceiling/mib, least, 2*tenants)
			}
			p.do(t, "verify", "--source").wants(0)
		})
	}
}

// In so little memory that files of a thousand partitions cannot be open at once, rows go to temporary files instead: there are as
// few files, and nothing is left of the temporary ones. Without room for these there are many files, of which about 5 KiB are kept until
// they are committed.
func TestAThousandPartitionsInTheLeastMemoryMakeAFileEach(t *testing.T) {
	const records, tenants = 300_000, 1000
	broker := rig.Kafka(t)
	k := connected(t, broker.Addr)
	topic := broker.CreateTopic(t, 2, nil)
	fillTenants(t, broker, topic, records, tenants)
	for name, c := range map[string]struct {
		dir, memory string
		files, most float64
	}{"least": {t.TempDir(), "144MiB", 2 * tenants, 144 * mib}, "too little for what is open": {t.TempDir(), "176MiB", 2 * tenants, 176 * mib},
		"no room": {filepath.Join(t.TempDir(), "missing"), "144MiB", 20 * tenants, 200 * mib}} {
		if name != "least" && !*fullFlag { // 20,000 files, and a ceiling between this one and that of the test above
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := reading(t, k, topic).with("--set", "sink.iceberg.partitionBy=key", "--memory", c.memory)
			process := program(t, p.args("run")...)
			process.Env = append(os.Environ(), "GOMAXPROCS=2", "TMPDIR="+c.dir)
			o := started(t, process).wait().wants(0)
			peak, files := at(o.last("batch"), "sluice.peakMemoryBytes").(float64), at(o.last("batch"), "sluice.files").(float64)
			if t.Logf("peak is %.0f MiB, %.0f files", peak/mib, files); peak > c.most || files > c.files {
				t.Errorf("got a peak of %.0f MiB and %.0f files, want at most %.0f and %.0f", peak/mib, files, c.most/mib, c.files)
			}
			if left, err := filepath.Glob(filepath.Join(c.dir, "*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			if name == "least" {
				p.do(t, "verify", "--source").wants(0)
			}
		})
	}
}

// fillTenants appends records of tenants in no order, with text for values.
func fillTenants(t *testing.T, broker rig.Broker, topic string, records, tenants int) {
	t.Helper()
	client := broker.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.MaxBufferedRecords(10_000))
	random := rand.New(rand.NewPCG(1, 1))
	for i := range records {
		value := fmt.Appendf(nil, `{"order":%d,"customer":"%016x","note":"%x%x","items":[{"sku":"%08x","quantity":%d}],"city":"Amsterdam"}`,
			i, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint32(), random.IntN(9))
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 2), Key: fmt.Appendf(nil, "tenant-%d", random.IntN(tenants)), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce to %s: %v", topic, err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil || t.Failed() {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}
