package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// levels lists the folders that hold data files, relative to the pipeline's.
func (p *pipeline) levels(t testing.TB) (found []string) {
	t.Helper()
	for _, file := range files(t, p.dir, "*.parquet") {
		level, err := filepath.Rel(p.dir, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(found, level) {
			found = append(found, level)
		}
	}
	slices.Sort(found)
	return found
}

// The columns that verify places rows by are in the names of folders alone here, and nothing misses them.
func TestAFolderPartitionedByWhereRecordsCameFrom(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders", "refunds")
	p := filed(t, k).without("--subscribe").with("--subscribe", "orders,refunds", "--set", "sink.parquet.partitionBy=topic, partition, days(timestamp)")
	for i := range 20 {
		k.produce(t, &kgo.Record{Topic: []string{"orders", "refunds"}[i%2], Partition: int32(i / 2 % 2), Value: []byte("v"), Timestamp: millis(1_772_600_000_000 + int64(i/10)*86_400_000)})
	}
	p.do(t, "validate").wants(0)
	p.run(t, "--max-offsets-per-trigger", "7").wants(0).has("summary", "rows", 20, "batches", 3)
	p.proves(t, "proved", 20)
	want := []string{"topic=orders/partition=0/timestamp_day=2026-03-04", "topic=orders/partition=0/timestamp_day=2026-03-05", "topic=orders/partition=1/timestamp_day=2026-03-04", "topic=orders/partition=1/timestamp_day=2026-03-05",
		"topic=refunds/partition=0/timestamp_day=2026-03-04", "topic=refunds/partition=0/timestamp_day=2026-03-05", "topic=refunds/partition=1/timestamp_day=2026-03-04", "topic=refunds/partition=1/timestamp_day=2026-03-05"}
	if got := p.levels(t); !slices.Equal(got, want) {
		t.Errorf("got folders %v, want %v", got, want)
	}
	read := p.do(t, "status").wants(0).last("status")["read"].(string)
	if !strings.Contains(read, "hive_partitioning=true, hive_types={'topic': VARCHAR, 'partition': INTEGER}") {
		t.Errorf("status reads by %s", read)
	}
	shown := p.do(t, "peek", "--limit", "100").wants(0).last("peek")
	seen := map[string]int{}
	for _, row := range shown["rows"].([]any) {
		seen[fmt.Sprint(at(row, "topic"), at(row, "partition"))]++
	}
	if shown["read"] != read || fmt.Sprint(seen) != "map[orders0:5 orders1:5 refunds0:5 refunds1:5]" {
		t.Errorf("peek shows %v and reads by %v", seen, shown["read"])
	}
}

// The folder keeps its partitions: a job follows them or says the same.
func TestAPartitionedFolderIsFollowedAndNeverLaidOutInTwoWays(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	plain := filed(t, k).with("--value-format", "json", "--value-schema", "order_id LONG, customer_id STRING, event_time TIMESTAMP, address STRUCT<city: STRING>", "--set", "value.onUnknownField=addColumn")
	k.produce(t, partitionedRecords("orders", 60)...)
	for by, want := range map[string]string{"days(customer_id)": "column customer_id is string", "days(gone)": "no column gone", "bucket(2, kafka_headers.key)": "no column", "kafka_key": "", "void(order_id)": "the same folder for all rows"} {
		for _, verb := range []string{"plan", "validate", "run"} {
			if o := plain.with("--set", "sink.parquet.partitionBy="+by).do(t, verb).wants(10); !strings.Contains(o.stdout+o.stderr, "sink.parquet.partitionBy") || !strings.Contains(o.stdout+o.stderr, want) {
				t.Errorf("%s by %s: got\n%s%s\nwant %q", verb, by, o.stdout, o.stderr, want)
			}
		}
	}
	p := plain.with("--set", "sink.parquet.partitionBy=days(event_time), customer_id, address.city", "--set", "sink.parquet.sortBy=order_id DESC")
	p.do(t, "plan").wants(0)
	p.run(t).wants(0).has("summary", "rows", 60)
	p.proves(t, "proved", 60)
	if got := p.levels(t); len(got) != 30 || got[0] != "event_time_day=2026-03-03/customer_id=c0/address.city=Köln" || !slices.Contains(got, "event_time_day=2026-03-04/customer_id=c1/address.city=a%2Fb") ||
		!slices.Contains(got, "event_time_day=2026-03-05/customer_id=c2/address.city=__HIVE_DEFAULT_PARTITION__") {
		t.Errorf("got folders %q", got)
	}
	for _, want := range []string{`0 "c0" {"city":"Köln"}`, `1 "c1" {"city":"a/b"}`, `2 "c2" {"city":""}`} {
		if got := fmt.Sprint(p.shows(t, "order_id", "customer_id", "address")); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	k.produce(t, partitionedRecords("orders", 6)...)
	k.say(t, `{"order_id":1,"customer_id":"","more":7}`, `{"customer_id":null,"event_time":"2026-03-03T00:00:00Z"}`)
	for _, by := range []string{"days(event_time)", "[]", "customer_id, days(event_time), address.city"} {
		other := plain.with("--set", "sink.parquet.partitionBy="+by)
		other.do(t, "plan").wants(13)
		other.do(t, "validate").wants(13)
		if o := other.do(t, "run").wants(13); !strings.Contains(o.stderr, "the folder is partitioned by days(event_time), customer_id, address.city, and sink.parquet.partitionBy asks for") || !strings.Contains(o.stderr, "leave sink.parquet.partitionBy out to follow the folder or make it") {
			t.Errorf("got\n%s", o.stderr)
		}
	}
	plain.run(t).wants(0).has("summary", "rows", 8)
	plain.proves(t, "proved", 68)
	if got := p.levels(t); !slices.Contains(got, "event_time_day=__HIVE_DEFAULT_PARTITION__/customer_id=__HIVE_DEFAULT_PARTITION__/address.city=__HIVE_DEFAULT_PARTITION__") {
		t.Errorf("got folders %q", got)
	}
	if got := fmt.Sprint(plain.shows(t, "customer_id", "more")); !strings.Contains(got, `"" 7`) || !strings.Contains(got, `null null`) {
		t.Errorf("an empty text and a null are not told apart in %s", got)
	}
	k.say(t, `{"order_id":1,"Event_Time_Day":"x"}`)
	if o := plain.do(t, "run").wants(13); !strings.Contains(o.stderr, "would be called as the folders of the partition event_time_day") {
		t.Errorf("got\n%s", o.stderr)
	}
}

// A program that knows nothing of partitions would write files beside the folders, so it is made to refuse the folder.
func TestAPartitionedFolderHasAFormOfItsOwn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k).with("--set", "sink.parquet.partitionBy=topic")
	k.fill(t, "orders", 3, 0)
	p.run(t).wants(0)
	name := filepath.Join(p.dir, "_sluice", "folder.json")
	text, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(text), `{"v":2,`) {
		t.Fatalf("got %s, %v", text, err)
	}
	for from, to := range map[string]string{`"v":2`: `"v":1`, `"v":2,`: `"v":3,`} {
		if err := os.WriteFile(name, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		p.do(t, "run").fails(13, "format version")
		p.do(t, "verify").wants(13)
	}
}

// The job in docs/files.md runs as it stands, but for its addresses.
func TestTheJobOfPartitionedFilesRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	m := jobInDocs.FindSubmatch(text)
	if m == nil {
		t.Fatal("there is no job in docs/files.md")
	}
	k := embedded(t, "orders")
	k.produce(t, partitionedRecords("orders", 100)...)
	dir := t.TempDir()
	job := strings.NewReplacer("broker:9092", k.addr, "/data/lake", dir).Replace(string(m[1]))
	file := write(t, dir, "job.yaml", job)
	for _, verb := range []string{"validate", "plan", "run", "verify", "status"} {
		call(t, nil, "sluice", verb, "--job", file).wants(0)
	}
	folders, err := filepath.Glob(filepath.Join(dir, "orders", "event_time_day=2026-03-0*", "customer_id=c*"))
	if err != nil || len(folders) != 30 {
		t.Errorf("got folders %v, %v", folders, err)
	}
}
