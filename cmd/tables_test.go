package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

var jobInDocs = regexp.MustCompile("(?s)<!-- job -->\n```yaml\n(.*?)```")

// partitionedRecords are orders of three days and ten customers.
func partitionedRecords(topic string, n int) (records []*kgo.Record) {
	for i := range n {
		value := fmt.Sprintf(`{"order_id":%d,"customer_id":"c%d","event_time":"2026-03-0%dT12:00:00Z","address":{"city":"%s"}}`, i, i%10, 3+i%3, []string{"Köln", "a/b", ""}[i%3])
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte(value)})
	}
	return records
}

// The job in docs/tables.md runs as it stands, but for its addresses.
func TestTheJobOfPartitionedTablesRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	m := jobInDocs.FindSubmatch(text)
	if m == nil {
		t.Fatal("there is no job in docs/tables.md")
	}
	k := embedded(t, "orders")
	k.produce(t, partitionedRecords("orders", 300)...)
	dir := t.TempDir()
	file := filepath.Join(dir, "job.yaml")
	job := strings.NewReplacer("broker:9092", k.addr, "/data/lake", filepath.Join(dir, "lake")).Replace(string(m[1]))
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice := func(code int, args ...string) *outcome {
		return call(t, nil, slices.Concat([]string{"sluice"}, args, []string{"--job", file})...).wants(code)
	}
	sluice(0, "validate")
	sluice(0, "plan")
	sluice(0, "run")
	sluice(0, "verify", "--source")
	if o := sluice(0, "peek"); !strings.Contains(o.stdout, "Köln") {
		t.Errorf("got\n%s", o.stdout)
	}
	folders, err := filepath.Glob(filepath.Join(dir, "lake", "sales.db", "orders", "data", "event_time_day=2026-03-0*", "customer_id_bucket=*"))
	if err != nil || len(folders) < 12 {
		t.Errorf("got folders %v, %v", folders, err)
	}
	k.produce(t, partitionedRecords("orders", 30)...)
	if o := sluice(13, "run", "--set", "sink.iceberg.partitionBy=hours(event_time)"); !strings.Contains(o.stderr, "partitioned by days(event_time), bucket(16, customer_id), and sink.iceberg.partitionBy asks for hours(event_time)") {
		t.Errorf("got\n%s", o.stderr)
	}
	sluice(13, "plan", "--set", "sink.iceberg.partitionBy=[]")
	sluice(0, "run", "--set", "sink.iceberg.sortBy=[]")
	sluice(0, "verify", "--source")
}

// A table that cannot be laid out as the job says is noticed before anything is made.
func TestALayoutThatCannotBeIsToldBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	p := newPipeline(t, k)
	for set, want := range map[string]string{"sink.iceberg.partitionBy=days(topic)": "column topic is string", "sink.iceberg.partitionBy=days(when)": "no column when",
		"sink.iceberg.sortBy=when DESC": "no column when"} {
		for _, verb := range []string{"plan", "run"} {
			if o := p.with("--set", set).do(t, verb).wants(10); !strings.Contains(o.stdout+o.stderr, want) {
				t.Errorf("%s with %s: got\n%s%s\nwant %q", verb, set, o.stdout, o.stderr, want)
			}
		}
	}
	p.with("--set", "sink.iceberg.partitionBy=days(timestamp)").run(t)
	p.run(t)
}
