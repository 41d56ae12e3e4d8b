//go:build integration

package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// A real topic has gaps, and a schema that was inferred from its newest records takes all of them.
func TestSchemaInferOnARealTopic(t *testing.T) {
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, 2, nil)
	var records []*kgo.Record
	for i := range 600 {
		value := fmt.Sprintf(`{"id":%d,"amount":%d.%02d,"at":"2026-01-02T03:04:%02dZ","tags":{"%d":true},"lines":[{"sku":"s%d","qty":%d}]}`, i, i, i%100, i%60, i, i, i)
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte(value)})
	}
	broker.Produce(t, records...)
	for range 30 {
		broker.Transact(t, false, &kgo.Record{Topic: topic, Value: []byte(`{"aborted":1}`)})
	}
	flags := []string{"--bootstrap-servers", broker.Addr}
	inferred := call(t, nil, append([]string{"sluice", "schema", "infer", "--from-topic", topic, "--sample", "200"}, flags...)...).wants(0).prints(
		"id BIGINT,\namount DOUBLE,\nat TIMESTAMP,\ntags MAP<STRING, BOOLEAN>,\nlines ARRAY<STRUCT<sku: STRING, qty: BIGINT>>\n").
		says("sampled the newest 200 records of topic "+topic+": 200 rows", "amount: DECIMAL(18,2)")
	dir := t.TempDir()
	file := filepath.Join(dir, "orders.ddl")
	if err := os.WriteFile(file, []byte(inferred.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	job := append([]string{"--output", "json", "--subscribe", topic, "--warehouse", filepath.Join(dir, "lake"), "--table", tableOfTests, "--value-format", "json", "--set", "value.schemaFile=" + file}, flags...)
	call(t, nil, append([]string{"sluice", "run"}, job...)...).wants(0).has("summary", "records", 600, "rows", 600)
}
