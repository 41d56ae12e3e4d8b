//go:build integration

package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"

	"sluice/rig"
)

// encoded is a value as a client of another make writes it: framing and Avro.
func encoded(t *testing.T, id int32, schema string, value any) []byte {
	t.Helper()
	parsed, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	out, err := new(sr.ConfluentHeader).AppendEncode(nil, int(id), nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err = parsed.AppendEncode(out, value); err != nil {
		t.Fatal(err)
	}
	return out
}

// A real broker and a real registry: the schema changes between two runs, and records of both are in both.
func TestAvroByARealRegistry(t *testing.T) {
	broker, registry := rig.Kafka(t), rig.Registry(t)
	topic := broker.CreateTopic(t, 2, nil)
	subject := topic + "-value"
	const customer = `{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"name","type":"string"}]}`
	customerSubject := registry.Subject(t)
	version, _ := registry.Register(t, customerSubject, sr.Schema{Schema: customer, Type: sr.TypeAvro})
	const first = `{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"customer","type":"shop.Customer"}]}`
	const second = `{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"tag","type":["null","string"],"default":null},{"name":"customer","type":"shop.Customer"}]}`
	refer := []sr.SchemaReference{{Name: "shop.Customer", Subject: customerSubject, Version: version}}
	whole := func(schema string) string { return strings.Replace(schema, `"shop.Customer"`, customer, 1) }
	_, v1 := registry.Register(t, subject, sr.Schema{Schema: first, Type: sr.TypeAvro, References: refer})
	_, keys := registry.Register(t, topic+"-key", sr.Schema{Schema: `"string"`, Type: sr.TypeAvro})

	order := func(i int, id int32, schema string) *kgo.Record {
		value := map[string]any{"id": int64(i), "tag": "t", "customer": map[string]any{"name": fmt.Sprint("c", i)}}
		return &kgo.Record{Topic: topic, Partition: int32(i % 2), Key: encoded(t, keys, `"string"`, fmt.Sprint("k", i)), Value: encoded(t, id, whole(schema), value)}
	}
	var records []*kgo.Record
	for i := range 500 {
		records = append(records, order(i, v1, first))
	}
	broker.Produce(t, records...)
	dir := t.TempDir()
	flags := []string{"--output", "json", "--bootstrap-servers", broker.Addr, "--subscribe", topic, "--warehouse", filepath.Join(dir, "lake"), "--table", tableOfTests,
		"--value-format", "avro", "--key-format", "avro", "--schema-registry-url", registry.URL}
	do := func(verb string, more ...string) *outcome {
		return call(t, nil, append(append([]string{"sluice", verb}, flags...), more...)...)
	}
	do("validate").wants(0).mentions(subject + " version 1")
	do("run").wants(0).has("summary", "records", 500, "rows", 500)

	_, v2 := registry.Register(t, subject, sr.Schema{Schema: second, Type: sr.TypeAvro, References: refer})
	records = nil
	for i := 500; i < 1000; i++ {
		if i%3 == 0 {
			records = append(records, order(i, v1, first))
		} else {
			records = append(records, order(i, v2, second))
		}
	}
	broker.Produce(t, records...)
	do("run").wants(0).has("summary", "records", 500, "rows", 500, "nulled", 0).mentions("tag")
	do("verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 1000)

	seen := map[string]bool{}
	for _, row := range do("peek", "--limit", "1000").wants(0).last("peek")["rows"].([]any) {
		r := row.(map[string]any)
		seen[fmt.Sprint(r["id"], r["customer"], r["kafka_key"])] = true
	}
	for i := range 1000 {
		if want := fmt.Sprint(float64(i), map[string]any{"name": fmt.Sprint("c", i)}, fmt.Sprint("k", i)); !seen[want] {
			t.Errorf("there is no row %s among %d", want, len(seen))
		}
	}
}
