package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// dated appends n records to each of two partitions, a second apart from a time on.
func (k *kafka) dated(t testing.TB, topic string, n int, from time.Time) {
	t.Helper()
	for p := range int32(2) {
		for i := range n {
			k.produce(t, &kgo.Record{Topic: topic, Partition: p, Timestamp: from.Add(time.Duration(i) * time.Second), Value: fmt.Appendf(nil, "%d/%d", p, i)})
		}
	}
}

// wantLimits goes through what bounds a run and its batches, on the topic of a broker, which has two partitions.
func wantLimits(t *testing.T, k *kafka, topic string) {
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	after := func(seconds int) int64 { return began.Add(time.Duration(seconds) * time.Second).UnixMilli() }
	k.dated(t, topic, 10, began)
	p := newPipeline(t, k).with("--subscribe", topic, "--starting-offsets-by-timestamp", fmt.Sprintf(`{"%s":{"0":%d,"1":%d}}`, topic, after(3), after(0)))

	// From record 3 and from record 0 on, and of neither partition what is of second 6 or later.
	until := p.with("--ending-timestamp", began.Add(6*time.Second).UTC().Format(time.RFC3339))
	until.run(t).has("summary", "records", 9, "caughtUp", true, "bound.reached", true, "bound.ahead", 0, "lag", 8)
	until.run(t).has("summary", "batches", 0, "exitCode", 0, "bound.reached", true, "lag", 8)
	until.do(t, "plan").wants(0).has("plan", "batch", -1, "bound.reached", true)
	until.do(t, "status").wants(0).has("status", "bound.reached", true, "lag", 8)

	// One that has been read beyond, a partition that has none, and one that lies ahead.
	ends := func(first, second int64) *pipeline {
		return p.with("--ending-offsets", fmt.Sprintf(`{"%s":{"0":%d,"1":%d}}`, topic, first, second))
	}
	ends(2, 6).run(t).has("summary", "batches", 0, "bound.reached", true)
	ends(8, -1).run(t, "--max-records-per-partition", "2").has("summary", "records", 6, "files", 3, "bound.reached", true)
	ends(99, -1).do(t, "plan").wants(0).has("plan", "records", 2, "bound.reached", false, "bound.ahead", 1)
	p.with("--ending-offsets", fmt.Sprintf(`{"%s":{"0":5}}`, topic)).do(t, "run").fails(10, "no offset is given for "+topic+"-1")
	p.run(t).has("summary", "records", 2, "bound", nil)

	// Too little is there, and the newest batch is young.
	k.dated(t, topic, 2, began.Add(10*time.Second))
	enough := p.with("--min-offsets-per-trigger", "100")
	for _, verb := range []string{"plan", "status"} {
		enough.do(t, verb).wants(0).has(verb, "waiting.offsets", 4, "waiting.minOffsets", 100)
	}
	enough.run(t).has("summary", "stopped", "waiting", "caughtUp", false, "batches", 0, "waiting.offsets", 4, "lag", 4)
	enough.do(t, "plan").has("plan", "batch", -1, "remaining", 4)
	enough.run(t, "--max-trigger-delay", "0s").has("summary", "records", 4, "caughtUp", true, "waiting", nil)

	// A limit in bytes goes by what was seen: 64 KiB are so many of these small records that all are in one batch.
	k.dated(t, topic, 20, began.Add(12*time.Second))
	sized := p.with("--max-bytes-per-trigger", "64KiB")
	limit, _ := sized.do(t, "plan").wants(0).last("plan")["limit"].(float64)
	if limit < 100 || limit > 64<<10 {
		t.Errorf("got a limit of %v offsets, want what 64 KiB hold", limit)
	}
	sized.run(t).has("summary", "batches", 1, "records", 40)

	wantRows(t, p.table(t), k.from(topic, 3, 0), false)
	p.do(t, "verify", "--source").wants(0)
}

func TestRunsAndBatchesKeepTheirLimits(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	wantLimits(t, k, "orders")
}

// Nothing is known of the records of a new query, so its first batch is small, and the next goes by it.
func TestTheFirstBatchOfALimitInBytesIsSmall(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	var records []*kgo.Record
	random := rand.NewChaCha8([32]byte{1}) // what does not compress
	for range 100 {
		value := make([]byte, 10_000)
		_, _ = random.Read(value) // which never fails
		records = append(records, &kgo.Record{Topic: "orders", Value: value})
	}
	k.produce(t, records...)
	out := newPipeline(t, k).with("--max-bytes-per-trigger", "256KiB").run(t)
	var sizes []any
	for _, b := range out.objects("batch") {
		sizes = append(sizes, at(b, "sluice.offsets"))
	}
	if len(sizes) < 5 || sizes[0] != 4.0 || sizes[1].(float64) < 20 || sizes[1].(float64) > 27 {
		t.Errorf("got batches of %v offsets, want 4, and then what 256 KiB hold of records of 10,000 bytes", sizes)
	}
}
