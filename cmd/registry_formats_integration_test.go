//go:build integration

package cmd_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"sluice/rig"
)

// byRegistry makes command lines for a topic whose schemas are in a real registry; what they write is the test's own.
func byRegistry(t *testing.T, broker rig.Broker, registry rig.SchemaRegistry, topic string, more ...string) func(verb string, more ...string) *outcome {
	t.Helper()
	flags := append([]string{"--output", "json", "--bootstrap-servers", broker.Addr, "--subscribe", topic, "--warehouse", filepath.Join(t.TempDir(), "lake"),
		"--table", tableOfTests, "--schema-registry-url", registry.URL}, more...)
	return func(verb string, more ...string) *outcome {
		t.Helper()
		return call(t, nil, append(append([]string{"sluice", verb}, flags...), more...)...)
	}
}

// countedRows are the rows of the table, each its values of some columns.
func countedRows(t *testing.T, do func(verb string, more ...string) *outcome, columns ...string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, row := range do("peek", "--limit", "1000").wants(0).last("peek")["rows"].([]any) {
		var values []string
		for _, name := range columns {
			text, err := json.Marshal(row.(map[string]any)[name])
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, string(text))
		}
		rows[strings.Join(values, " ")]++
	}
	return rows
}

// headed is a framing of another make: of an id, and of message indexes where there are some.
func headed(t *testing.T, id int32, indexes []int, payload []byte) []byte {
	t.Helper()
	out, err := new(sr.ConfluentHeader).AppendEncode(nil, int(id), indexes)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, payload...)
}

// messages compiles .proto texts, by a compiler that knows nothing of registries.
func messages(t *testing.T, files map[string]string, main string) protoreflect.MessageDescriptors {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)}}
	linked, err := compiler.Compile(t.Context(), main)
	if err != nil {
		t.Fatal(err)
	}
	return linked[0].Messages()
}

// message is a message of a type, in its binary form, from its JSON.
func message(t *testing.T, m protoreflect.MessageDescriptor, text string) []byte {
	t.Helper()
	v := dynamicpb.NewMessage(m)
	if err := protojson.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
	out, err := proto.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A real registry's Protobuf: an import that is a reference, the second message of the file, and one nested in it.
func TestProtobufByARealRegistry(t *testing.T) {
	broker, registry := rig.Kafka(t), rig.Registry(t)
	topic := broker.CreateTopic(t, 2, nil)
	name := "p" + strings.ReplaceAll(topic, "-", "_")
	money := fmt.Sprintf("syntax = \"proto3\";\npackage %s.money;\nmessage Money { int64 cents = 1; }\n", name)
	order := fmt.Sprintf("syntax = \"proto3\";\npackage %[1]s.shop;\nimport \"money.proto\";\nmessage Key { string k = 1; }\nmessage Order {\n  int64 id = 1;\n"+
		"  %[1]s.money.Money price = 2;\n  message Line { string sku = 1; optional int32 count = 2; }\n  repeated Line lines = 3;\n}\n", name)
	moneySubject := registry.Subject(t)
	version, _ := registry.Register(t, moneySubject, sr.Schema{Type: sr.TypeProtobuf, Schema: money})
	schema := sr.Schema{Type: sr.TypeProtobuf, Schema: order, References: []sr.SchemaReference{{Name: "money.proto", Subject: moneySubject, Version: version}}}
	_, id := registry.Register(t, topic+"-value", schema)
	types := messages(t, map[string]string{"money.proto": money, "order.proto": order}, "order.proto")

	var records []*kgo.Record
	want := map[string]int{}
	for i := range 200 {
		value := message(t, types.Get(1), fmt.Sprintf(`{"id":%d,"price":{"cents":%d},"lines":[{"sku":"s","count":0},{}]}`, i, 2*i))
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: headed(t, id, []int{1}, value)})
		want[fmt.Sprintf(`%d {"cents":%d} [{"count":0,"sku":"s"},{"count":null,"sku":""}]`, i, 2*i)]++
	}
	broker.Produce(t, records...)
	do := byRegistry(t, broker, registry, topic, "--value-format", "protobuf", "--set", "value.message="+name+".shop.Order")
	do("run").wants(0).has("summary", "records", 200, "rows", 200)
	do("verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 200)
	sameRows(t, countedRows(t, do, "id", "price", "lines"), want)

	lines := broker.CreateTopic(t, 1, nil)
	_, nested := registry.Register(t, lines+"-value", schema)
	broker.Produce(t, &kgo.Record{Topic: lines, Value: headed(t, nested, []int{1, 0}, message(t, types.Get(1).Messages().Get(0), `{"sku":"x","count":7}`))})
	do = byRegistry(t, broker, registry, lines, "--value-format", "protobuf", "--set", "value.message="+name+".shop.Order.Line")
	do("run").wants(0).has("summary", "records", 1, "rows", 1)
	sameRows(t, countedRows(t, do, "sku", "count"), map[string]int{`"x" 7`: 1})
}

func sameRows(t *testing.T, got, want map[string]int) {
	t.Helper()
	for row, n := range want {
		if got[row] != n {
			t.Errorf("got %d rows %s, want %d", got[row], row, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d different rows, want %d: %v", len(got), len(want), got)
	}
}

// A real registry's JSON Schema: the columns of the newest version, which refers to another text.
func TestJSONSchemaByARealRegistry(t *testing.T) {
	broker, registry := rig.Kafka(t), rig.Registry(t)
	topic := broker.CreateTopic(t, 1, nil)
	customer := registry.Subject(t)
	version, _ := registry.Register(t, customer, sr.Schema{Type: sr.TypeJSON,
		Schema: `{"$schema":"http://json-schema.org/draft-07/schema#","title":"` + customer + `","type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`})
	_, id := registry.Register(t, topic+"-value", sr.Schema{Type: sr.TypeJSON,
		Schema: `{"$schema":"http://json-schema.org/draft-07/schema#","title":"` + topic + `","type":"object","required":["id","at"],"properties":{
			"id":{"type":"integer"},"at":{"type":"string","format":"date-time"},"price":{"type":"number","multipleOf":0.01},"customer":{"$ref":"customer.json"}}}`,
		References: []sr.SchemaReference{{Name: "customer.json", Subject: customer, Version: version}}})
	var records []*kgo.Record
	want := map[string]int{}
	for i := range 200 {
		value := fmt.Sprintf(`{"id":%d,"at":"2026-01-02T03:04:05Z","price":%d.25,"customer":{"name":"c%d"}}`, i, i, i%3)
		records = append(records, &kgo.Record{Topic: topic, Value: headed(t, id, nil, []byte(value))})
		want[fmt.Sprintf(`%d "2026-01-02T03:04:05.000000Z" "%d.25" {"name":"c%d"}`, i, i, i%3)]++
	}
	broker.Produce(t, records...)
	do := byRegistry(t, broker, registry, topic, "--value-format", "json", "--set", "value.framing=confluent")
	do("run").wants(0).has("summary", "records", 200, "rows", 200)
	do("verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 200)
	sameRows(t, countedRows(t, do, "id", "at", "price", "customer"), want)
}

// Ids that records carry in headers, beside ones that do it in front of the value: clients change in the middle of a topic.
// GUIDs are not here, since this registry has none: TestAHeaderCarriesTheGUIDOfASchema has them, with a registry of the tests.
func TestIDsInHeadersByARealRegistry(t *testing.T) {
	broker, registry := rig.Kafka(t), rig.Registry(t)
	topic := broker.CreateTopic(t, 1, nil)
	const order = `{"type":"record","name":"Order","namespace":"headers","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"]}]}`
	_, id := registry.Register(t, topic+"-value", sr.Schema{Type: sr.TypeAvro, Schema: order})
	_, key := registry.Register(t, topic+"-key", sr.Schema{Type: sr.TypeAvro, Schema: `"string"`})
	var records []*kgo.Record
	want := map[string]int{}
	for i := range 200 {
		k, v := encoded(t, key, `"string"`, fmt.Sprint("k", i)), encoded(t, id, order, map[string]any{"id": int64(i), "name": fmt.Sprint("n", i)})
		record := &kgo.Record{Topic: topic, Key: k, Value: v}
		if i%2 == 0 { // the same bytes, the framing in headers
			record.Key, record.Value = k[5:], v[5:]
			record.Headers = []kgo.RecordHeader{{Key: "__value_schema_id", Value: v[:5]}, {Key: "__key_schema_id", Value: k[:5]}}
		}
		records = append(records, record)
		want[fmt.Sprintf(`%d "n%d" "k%d"`, i, i, i)]++
	}
	broker.Produce(t, records...)
	do := byRegistry(t, broker, registry, topic, "--value-format", "avro", "--key-format", "avro")
	do("run").wants(0).has("summary", "records", 200, "rows", 200)
	do("verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 200)
	sameRows(t, countedRows(t, do, "id", "name", "kafka_key"), want)
}
