package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestARunDrainsATopicInBatchesAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 25, 0, 1)
	p.run(t, "--max-offsets-per-trigger", "20").has("summary", "batches", 3, "firstBatch", 0, "lastBatch", 2, "records", 50, "rows", 50, "caughtUp", true,
		"lag", 0, "exitCode", 0, "deadLetters", 0)
	p.run(t).has("summary", "batches", 0, "firstBatch", -1, "lastBatch", -1, "records", 0, "caughtUp", true)
	k.fill(t, "orders", 3, 0)
	p.run(t).has("summary", "batches", 1, "firstBatch", 3, "records", 3)
	p.wantAll(t, "orders")
}

// Spark's columns: https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html
func TestRowsAreSparksKafkaColumns(t *testing.T) {
	t.Parallel()
	for _, headers := range []bool{false, true} {
		k := embedded(t, "orders")
		if err := k.cluster.CreateTopic("stamped", 1, map[string]string{"message.timestamp.type": "LogAppendTime"}); err != nil {
			t.Fatal(err)
		}
		p := newPipeline(t, k).with("--subscribe", "orders,stamped", "--set", "source.includeHeaders="+fmt.Sprint(headers))
		k.produce(t,
			&kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte("v"), Timestamp: millis(1_700_000_000_123)},
			&kgo.Record{Topic: "orders", Key: nil, Value: []byte("null key")},
			&kgo.Record{Topic: "orders", Key: []byte("null value"), Value: nil},
			&kgo.Record{Topic: "orders", Key: []byte{}, Value: []byte{}},
			&kgo.Record{Topic: "orders", Partition: 1, Key: []byte{0, 255, 254}, Value: []byte("\x00\xff not UTF-8"), Timestamp: millis(0)},
			&kgo.Record{Topic: "orders", Partition: 1, Value: []byte("headers"), Headers: []kgo.RecordHeader{
				{Key: "a", Value: []byte("1")}, {Key: "b", Value: nil}, {Key: "a", Value: []byte("2")}, {Key: "", Value: []byte{}}}},
			&kgo.Record{Topic: "stamped", Value: []byte("by the broker"), Timestamp: millis(5)})
		p.run(t).has("summary", "rows", 7)
		records := k.of(func(*kgo.Record) bool { return true })
		wantRows(t, p.table(t), storedIn(t, k, records), headers)

		want := []string{"key binary", "value binary", "topic string", "partition int", "offset long", "timestamp timestamptz", "timestampType int"}
		if headers {
			want = append(want, "headers list")
		}
		if got := columnsOf(p.table(t).Schema()); !slices.Equal(got, want) {
			t.Errorf("got columns %v, want %v", got, want)
		}
	}
}

// storedIn reads the records back as any consumer gets them: the broker may have set their time.
func storedIn(t *testing.T, k *kafka, records []*kgo.Record) []*kgo.Record {
	t.Helper()
	starts := map[string]map[int32]kgo.Offset{}
	for _, r := range records {
		if starts[r.Topic] == nil {
			starts[r.Topic] = map[int32]kgo.Offset{}
		}
		starts[r.Topic][r.Partition] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.addr, ",")...), kgo.ConsumePartitions(starts))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var stored []*kgo.Record
	for len(stored) < len(records) {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, fetches.Records()...)
	}
	return stored
}

func columnsOf(s *iceberg.Schema) []string {
	var names []string
	for _, f := range s.Fields() {
		names = append(names, f.Name+" "+f.Type.Type())
	}
	return names
}

func TestWhatIsNewInAPartitionOrTopicIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders-1")
	p := newPipeline(t, k).without("--subscribe").with("--subscribe-pattern", "^orders-.*", "--starting-offsets", "latest")
	k.fill(t, "orders-1", 5, 0, 1)
	p.run(t).has("summary", "records", 0, "caughtUp", true)
	k.grow(t, "orders-1", 3)
	k.fill(t, "orders-1", 4, 0, 2)
	if err := k.cluster.CreateTopic("orders-2", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := k.cluster.CreateTopic("refunds", 1, nil); err != nil {
		t.Fatal(err)
	}
	k.fill(t, "orders-2", 2, 0)
	k.fill(t, "refunds", 2, 0)
	p.run(t).has("summary", "records", 10)
	wantRows(t, p.table(t), k.of(func(r *kgo.Record) bool {
		return r.Topic == "orders-2" || r.Topic == "orders-1" && (r.Partition == 2 || r.Partition == 0 && r.Offset >= 5)
	}), false)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true)
}

func TestAssignReadsSinglePartitions(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders", "refunds")
	p := newPipeline(t, k).without("--subscribe").with("--assign", `{"orders":[1],"refunds":[0]}`)
	k.fill(t, "orders", 3, 0, 1)
	k.fill(t, "refunds", 2, 0, 1)
	p.run(t).has("summary", "records", 5)
	wantRows(t, p.table(t), k.of(func(r *kgo.Record) bool {
		return r.Topic == "orders" && r.Partition == 1 || r.Topic == "refunds" && r.Partition == 0
	}), false)
}

func TestLimitsEndARunInGoodOrder(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0, 1)
	p.run(t, "--max-offsets-per-trigger", "5", "--max-batches", "2").has("summary", "batches", 2, "records", 10, "caughtUp", false, "stopped", "max-batches", "lag", 10, "exitCode", 0)
	p.run(t, "--max-duration", "1ns").has("summary", "batches", 0, "caughtUp", false, "stopped", "max-duration", "lag", 10)
	p.run(t).has("summary", "batches", 1, "caughtUp", true)
	p.wantAll(t, "orders")
}

func TestNothingIsReadFromAnEmptyTopicAndLaterEverything(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	p.run(t).has("summary", "batches", 0, "caughtUp", true)
	k.fill(t, "orders", 3, 0, 1)
	p.run(t).has("summary", "batches", 1, "records", 6)
	p.wantAll(t, "orders")
}

func TestAHadoopCatalogInAFolder(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--catalog-type", "hadoop")
	k.fill(t, "orders", 10, 0, 1)
	p.run(t, "--max-offsets-per-trigger", "7").has("summary", "batches", 3)
	k.fill(t, "orders", 1, 1)
	p.run(t).has("summary", "batches", 1)
	p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", 21)
}

// DuckDB, PyIceberg and Spark find what lies below a name that a URI need not escape (see the readers' tests), and nothing
// below others.
func TestAWarehouseOfADifficultName(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	p := newPipeline(t, k).in("it's(a)lake,1+1=2&so@on;!$*~")
	o := call(t, nil, slices.Concat([]string{"sluice", "run", "--max-batches", "1", "--max-offsets-per-trigger", "5"}, p.flags)...).wants(0)
	if line := "iceberg_scan('" + strings.ReplaceAll(p.dir, "'", "''"); !strings.Contains(o.stdout, line) {
		t.Errorf("got\n%s\nwant %s", o.stdout, line)
	}
	p.run(t)
	p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", 10)
	if found := files(t, p.dir, "*.parquet"); len(found) != 2 {
		t.Errorf("got data files %v, want two in the warehouse", found)
	}
	for _, name := range []string{"a lake", "ü", "a%41", "50%", "what?", "#1"} {
		for _, kind := range []string{"sql", "hadoop"} {
			h := newPipeline(t, k).in(name).with("--catalog-type", kind)
			for _, verb := range []string{"run", "plan", "status", "verify"} {
				h.do(t, verb).fails(64, "--warehouse", name, "DuckDB")
			}
			h.do(t, "validate").wants(64)
			h.leftNothing(t, name)
		}
	}
	newPipeline(t, k).with("--table", "sales.größe", "--set", "name=x").do(t, "run").fails(64, "--table", "größe")
}

// in is the pipeline in a warehouse of another name.
func (p *pipeline) in(name string) *pipeline {
	other := p.with("--warehouse", filepath.Join(filepath.Dir(p.dir), name))
	other.dir = other.flag("--warehouse")
	return other
}

func TestACheckpointInMemoryLivesAsLongAsTheProcess(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--checkpoint", "mem://"+t.Name())
	k.fill(t, "orders", 4, 0)
	p.run(t).has("summary", "records", 4)
	k.fill(t, "orders", 4, 1)
	p.run(t).has("summary", "records", 4, "firstBatch", 1)
	p.wantAll(t, "orders")
}

// The fields that the contract of run --output json names, and their types.
func TestResultsHaveTheirFields(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0, 1)
	o := p.run(t, "--max-offsets-per-trigger", "10")
	s := o.last("summary")
	for name, want := range map[string]any{"query": "", "queryId": "", "runId": "", "firstBatch": 0., "lastBatch": 0., "batches": 0., "records": 0., "rows": 0., "deadLetters": 0.,
		"bytes": 0., "files": 0., "caughtUp": true, "lag": 0., "durationMs": 0., "exitCode": 0.} {
		if got := s[name]; fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
			t.Errorf("summary: %s is %T (%v), want %T", name, got, got, want)
		}
	}
	batches := o.objects("batch")
	if len(batches) != 2 {
		t.Fatalf("got %d batches, want 2", len(batches))
	}
	for i, b := range batches {
		for _, name := range []string{"id", "runId", "name", "timestamp", "batchId", "batchDuration", "numInputRows", "inputRowsPerSecond", "processedRowsPerSecond", "durationMs",
			"stateOperators", "sources", "sink", "sluice"} {
			if b[name] == nil {
				t.Errorf("batch %d has no %s", i, name)
			}
		}
		if b["batchId"] != float64(i) || b["id"] != s["queryId"] || b["runId"] != s["runId"] || b["numInputRows"] != 10. {
			t.Errorf("got batch %v of summary %v", b, s)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(o.stdout), "}") || strings.Count(o.stdout, "\n") != 3 {
		t.Errorf("got %q, want an object on each of three lines", o.stdout)
	}
	if files := files(t, p.dir, "*.parquet"); float64(len(files)) != s["files"] || sizeOf(t, files) != s["bytes"] {
		t.Errorf("got %v files of %v bytes, there are %d of %v", s["files"], s["bytes"], len(files), sizeOf(t, files))
	}
}

func sizeOf(t *testing.T, files []string) float64 {
	t.Helper()
	var n int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return float64(n)
}

func TestEveryRunLeavesARecord(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 1, 0)
	for range 2 {
		id := p.run(t).last("summary")["runId"]
		text, err := os.ReadFile(filepath.Join(p.checkpoint(), "runs", fmt.Sprint(id)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var record map[string]any
		if err := json.Unmarshal(text, &record); err != nil || record["state"] != "done" || at(record, "summary.exitCode") != 0. {
			t.Errorf("got %s, %v", text, err)
		}
	}
}

// A signal stops a run at a safe point, whatever it waits for (https://github.com/PostHog/posthog/issues/55757).
func TestASignalStopsARunAndTheNextFinishesTheBatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {terminate, 143}} {
		k := embedded(t, "orders")
		p := newPipeline(t, k)
		k.fill(t, "orders", 10, 0, 1)
		c := child(p.args("run")...)
		var starting sync.Mutex
		ended := make(chan struct{})
		told := sync.OnceFunc(func() { // a second signal would end the process at once
			starting.Lock()
			defer starting.Unlock()
			if err := c.Process.Signal(tc.signal); err != nil {
				t.Error(err)
			}
		})
		k.cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			told()
			<-ended // the broker answers nobody until then
			return nil, nil, false
		})
		starting.Lock()
		o := started(t, c)
		starting.Unlock()
		o.wait()
		close(ended)
		o.wants(tc.code)
		o.has("summary", "exitCode", tc.code, "stopped", "signal", "caughtUp", false, "lag", 20)
		if n := strings.Count(o.stderr, "the next run goes on"); n != 1 || strings.Count(o.stderr, "stopping at a safe point") != 1 || strings.Count(o.stderr, "\n") != 4 { // after two about the beginning
			t.Errorf("got %q, want one line when the signal came, and one that says that the next run goes on", o.stderr)
		}
		if len(files(t, p.checkpoint(), "lease.json")) != 1 {
			t.Error("the run had no lease")
		}
		p.run(t, "--wait", "0s").has("summary", "records", 20, "firstBatch", 0, "caughtUp", true)
		p.wantAll(t, "orders")
	}
}
