package job

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func loadText(text string) (*Job, error) {
	return Load(Input{File: "job.yaml", WorkDir: "/", ReadFile: fstest.MapFS{"job.yaml": {Data: []byte(text)}}.ReadFile})
}

func TestPartitionsAreReadFromListsAndText(t *testing.T) {
	want := []string{"days(event_time)", "bucket(16, customer_id)", "`order id`"}
	for name, text := range map[string]string{
		"quoted":     "[days(event_time), \"bucket(16, customer_id)\", '`order id`']",
		"not quoted": "[days(event_time), bucket(16, customer_id), '`order id`']",
		"block":      "\n      - days(event_time)\n      - bucket(customer_id, 16)\n      - '`order id`'",
		"text":       "\"days(event_time), bucket(16, customer_id), `order id`\"",
		"JSON":       "'[\"days(event_time)\",\"bucket(16, customer_id)\",\"`order id`\"]'",
	} {
		j, err := loadText("source: {kafka: {bootstrap.servers: a:1}, subscribe: [t]}\nsink:\n  iceberg:\n    table: a.b\n    catalog: {warehouse: /w}\n    partitionBy: " + text + "\n")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, term := range j.Sink.Iceberg.PartitionBy {
			got = append(got, term.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestPartitionsThatAreNoneSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"[days(ts]":              "ends at character 8",
		"[day ts]":               "has ts at character 5",
		"[id, id]":               "is there twice",
		"[days(ts), day(ts)]":    "is there twice",
		"{a: b}":                 "want columns or transforms",
		"['bucket(0, id)']":      "has 0 at character 8",
		"[[a]]":                  "want columns or transforms",
		"[\"zorder(a, b)\"]":     "has zorder at character 1",
		"[\"truncate(2 name)\"]": "where a comma",
	} {
		_, err := loadText("source: {kafka: {bootstrap.servers: a:1}, subscribe: [t]}\nsink:\n  iceberg:\n    table: a.b\n    catalog: {warehouse: /w}\n    partitionBy: " + text + "\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":6:") {
			t.Errorf("%s: got %v, want an error of line 6 with %q", text, err, want)
		}
	}
}

// No partitions is another demand than none made.
func TestAnEmptyListOfPartitionsIsADemand(t *testing.T) {
	j, err := loadText("source: {kafka: {bootstrap.servers: a:1}, subscribe: [t]}\nsink: {iceberg: {table: a.b, catalog: {warehouse: /w}, partitionBy: []}}\n")
	if err != nil || j.Sink.Iceberg.PartitionBy == nil || len(j.Sink.Iceberg.PartitionBy) != 0 {
		t.Errorf("got %v, %v", j, err)
	}
}
