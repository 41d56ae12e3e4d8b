package cmd_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	avroV1 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long","doc":"as the shop knows it"},{"name":"name","type":["null","string"]}]}`
	avroV2 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},{"name":"tag","type":"string"},{"name":"name","type":["null","string"]}]}`
)

var avroColumns = []string{"id", "name", "kafka_offset"}

func TestAnAvroTopicBecomesColumnsByItsRegistry(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	p := registered(t, k, r, "avro")
	k.say(t, framedBy(v1, datum(1, 1, "a")), framedBy(v1, datum(9007199254740991, 0)))
	p.do(t, "validate").wants(0).mentions("orders-value version 1")
	p.do(t, "plan").wants(0).has("plan", "format", "avro").mentions(`"id"`)
	if got := p.do(t, "peek", "--topic").wants(0).stdout; !strings.Contains(got, `"name":"a"`) {
		t.Errorf("got %s", got)
	}
	p.run(t).has("summary", "rows", 2, "nulled", 0)
	p.wantsShown(t, avroColumns, `1 "a" 0`, `9007199254740991 null 1`)
	if f, _ := p.table(t).Schema().FindFieldByName("id"); f.Doc != "as the shop knows it" || f.Required {
		t.Errorf("got %+v", f)
	}

	// A producer goes on with a schema that has one more field, and an id of another type.
	v2 := r.register("orders-value", "AVRO", avroV2)
	k.say(t, framedBy(v2, datum(3, "t", 1, "c")), framedBy(v1, datum(4, 1, "d")))
	p.do(t, "plan").wants(0).mentions("orders-value version 2", "tag")
	p.run(t).has("summary", "rows", 2).mentions("no column for", "tag")
	p.wantsShown(t, avroColumns, `1 "a" 0`, `9007199254740991 null 1`, `3 "c" 2`, `4 "d" 3`)
	p.do(t, "validate").wants(0).mentions("tag")
	p.with("--set", "value.onUnknownField=fail").do(t, "run").wants(0) // there is nothing to read
	k.say(t, framedBy(v2, datum(5, "t", 0)))
	p.with("--set", "value.onUnknownField=fail").do(t, "run").fails(14, "orders-0 at offset 4", "unknown", "tag")
	p.run(t).has("summary", "rows", 1)
	p.proves(t, "proved", 5)
	if strings.Contains(p.do(t, "run", "--print-config").stdout, "hunter2") {
		t.Error("the password shows")
	}
}

// A plan says which columns its rows have, so that its replay needs nothing of a subject that has changed since.
func TestAReplayMakesTheRowsThatWerePlannedWhateverTheRegistrySaysNow(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	p := registered(t, k, r, "avro").with("--set", "value.onMalformed=fail")
	k.say(t, framedBy(v1, datum(1, 1, "a")), framedBy(77, datum(2, "t", 0)))
	// The registry lacks a schema: somebody else may have to register it, and the record may be right.
	p.do(t, "run").fails(10, "orders-0 at offset 1", "schema 77")
	for r.register("filler", "AVRO", `"string"`) < 76 {
	}
	if id := r.register("filler", "AVRO", avroV2); id != 77 {
		t.Fatalf("got schema %d", id)
	}
	r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"more","type":"int"}]}`)
	k.say(t, framedBy(v1, datum(3, 1, "c")))
	p.run(t).has("summary", "batches", 2, "rows", 3)
	p.wantsShown(t, avroColumns, `1 "a" 0`, `2 null 1`, `3 null 2`) // the third has the columns of the newest schema
	p.proves(t, "proved", 3)
}

// Most topics hold records that are older than the newest schema, and lack fields that it requires.
func TestRecordsOfOlderSchemasAreRowsToo(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"old","type":"string"}]}`)
	v2 := r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"tags","type":{"type":"array","items":"string"},"default":[]}]}`)
	p := registered(t, k, r, "avro")
	k.say(t, framedBy(v1, datum(1, "o")), framedBy(v2, datum(2, 1, "t", 0)))
	p.run(t).has("summary", "rows", 2)
	p.wantsShown(t, []string{"id", "tags"}, `1 null`, `2 ["t"]`)
	v3 := r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"tags","type":{"type":"array","items":["null","string"]}}]}`)
	k.say(t, framedBy(v3, datum(1, 0, 0)))
	p.run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"id", "tags"}, `1 null`, `2 ["t"]`, `null [null]`)
	p.proves(t, "proved", 3)
}

func TestARegistryThatIsDownEndsTheRunAndNothingIsLost(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	p := registered(t, k, r, "avro").with("--set", "schemaRegistry.retries.wait.ms=1")
	k.say(t, framedBy(v1, datum(1, 1, "a")))
	r.fail(true)
	p.do(t, "run").fails(1, "schema registry", "no leader")
	p.do(t, "status").wants(0)
	p.do(t, "validate").wants(1).mentions("no leader")
	r.fail(false)
	p.run(t).has("summary", "rows", 1)
	// In the middle of a run: the columns are given, so that the first record asks.
	k.say(t, framedBy(v1, datum(2, 0)))
	given := p.with("--value-schema", "id BIGINT NOT NULL, name STRING")
	r.fail(true)
	given.do(t, "run").fails(1, "orders-0 at offset 1", "schema 1", "no leader")
	r.fail(false)
	given.run(t).has("summary", "rows", 1)
	p.wantsShown(t, avroColumns, `1 "a" 0`, `2 null 1`)
	p.proves(t, "proved", 2)
}

func TestProtobufAndJSONByTheirRegistry(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	r.register("common", "PROTOBUF", `syntax = "proto3"; package common; message Money { int64 cents = 1; }`)
	id := r.register("orders-value", "PROTOBUF", `syntax = "proto3"; package shop; import "common/money.proto";
		message Key { string k = 1; } message Order { int64 id = 1; common.Money price = 2; message Line { string sku = 1; } repeated Line lines = 3; }`,
		map[string]any{"name": "common/money.proto", "subject": "common", "version": 1})
	p := registered(t, k, r, "protobuf").with("--set", "value.message=shop.Order")
	// Message indexes [1]; id 7, price {cents 5}, lines [{sku "x"}].
	k.say(t, framedBy(id, []byte{2, 2, 0x08, 7, 0x12, 2, 0x08, 5, 0x1a, 3, 0x0a, 1, 'x'}))
	p.run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"id", "price", "lines"}, `7 {"cents":5} [{"sku":"x"}]`)
	p.proves(t, "proved", 1)

	k = embedded(t, "orders")
	p = registered(t, k, r, "json").with("--set", "value.framing=confluent", "--value-schema", "id BIGINT")
	k.say(t, framedBy(99, []byte(`{"id":1}`)))
	p.run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"id"}, `1`)

	k = embedded(t, "orders")
	r.register("orders-value", "JSON", `{"type":"object","properties":{"id":{"type":"integer"},"at":{"type":"string","format":"date-time"}},"required":["id"]}`)
	r.register("orders-key", "JSON", `{"type":"string"}`)
	p = registered(t, k, r, "json").with("--set", "value.framing=confluent", "--key-format", "json", "--set", "key.framing=confluent")
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte(framedBy(99, []byte(`"k"`))), Value: []byte(framedBy(99, []byte(`{"id":1,"at":"2026-01-02T03:04:05Z"}`)))})
	p.run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"id", "at", "kafka_key"}, `1 "2026-01-02T03:04:05.000000Z" "k"`)
}

// Header-carried ids need the headers of records, though the rows have no column for them.
func TestIDsInHeadersNeedNoColumnOfHeaders(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	id := r.register("orders-value", "AVRO", avroV1)
	key := r.register("orders-key", "AVRO", `"long"`)
	p := registered(t, k, r, "avro").with("--key-format", "avro")
	k.produce(t, &kgo.Record{Topic: "orders", Key: datum(7), Value: datum(1, 1, "a"), Headers: []kgo.RecordHeader{
		{Key: "__value_schema_id", Value: []byte(framedBy(id, nil))}, {Key: "__key_schema_id", Value: []byte(framedBy(key, nil))}}},
		&kgo.Record{Topic: "orders", Key: []byte(framedBy(key, datum(8))), Value: []byte(framedBy(id, datum(2, 0)))})
	if got := p.do(t, "peek", "--topic").wants(0).stdout; !strings.Contains(got, `"kafka_key":7`) || strings.Contains(got, "kafka_headers") {
		t.Errorf("got %s", got)
	}
	p.run(t).has("summary", "rows", 2)
	p.wantsShown(t, []string{"id", "name", "kafka_key"}, `1 "a" 7`, `2 null 8`)
	p.proves(t, "proved", 2)
}

// https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html: a header may carry the
// GUID of a schema, which is the same in every registry.
func TestAHeaderCarriesTheGUIDOfASchema(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	id := r.register("orders-value", "AVRO", avroV1)
	r.guid(id, "89791cf2-6fbd-4b9c-8b28-d695a40f5f1c")
	carried := func(guid string) []kgo.RecordHeader {
		return []kgo.RecordHeader{{Key: "__value_schema_id", Value: append([]byte{1}, guid...)}}
	}
	known := "\x89\x79\x1c\xf2\x6f\xbd\x4b\x9c\x8b\x28\xd6\x95\xa4\x0f\x5f\x1c"
	k.produce(t, &kgo.Record{Topic: "orders", Value: datum(1, 1, "a"), Headers: carried(known)},
		&kgo.Record{Topic: "orders", Value: datum(2, 0), Headers: carried(strings.Repeat("\x07", 16))},
		&kgo.Record{Topic: "orders", Value: datum(3, 0), Headers: carried(known[:15])})
	p := registered(t, k, r, "avro").with("--set", "value.onMalformed=deadLetter").into("ops.dead")
	p.run(t).has("summary", "rows", 1, "deadLetters", 2)
	p.wantsShown(t, []string{"id", "name"}, `1 "a"`)
	got := p.letters(t, "kafka_offset", "error_class")
	slices.Sort(got)
	if want := []string{"1 | schema", "2 | framing"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.proves(t, "proved", 1)
}

func TestAvroAndProtobufWithSchemasOfTheJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "order.avsc", avroV1)
	write(t, dir, "key.proto", `syntax = "proto3"; message Key { int64 id = 1; }`)
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "avro", "--set", "value.schemaFile="+filepath.Join(dir, "order.avsc"),
		"--key-format", "protobuf", "--set", "key.schemaFile="+filepath.Join(dir, "key.proto"))
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{8, 5}, Value: datum(1, 1, "a")}, &kgo.Record{Topic: "orders", Value: datum(2, 0)},
		&kgo.Record{Topic: "orders", Key: []byte{}, Value: []byte("x")})
	p.do(t, "validate").wants(0)
	p.do(t, "run").fails(14, "orders-0 at offset 2")
	// The batch was planned with that schema, and is tried with it though the file is another one now; the columns are the
	// same, so that the other policy finishes it.
	write(t, dir, "order.avsc", strings.Replace(avroV1, `"id"`, `"no"`, 1))
	p.do(t, "run").fails(13, "no column no")
	write(t, dir, "order.avsc", avroV1)
	p.do(t, "run").fails(14, "orders-0 at offset 2")
	given := p.with("--value-schema", "name STRING", "--set", "value.onMalformed=null")
	given.do(t, "run").fails(13, "column id of the table is required")

	k = embedded(t, "orders")
	p = newPipeline(t, k).with("--value-format", "avro", "--value-schema", "name STRING", "--set", "value.schemaFile="+filepath.Join(dir, "order.avsc"),
		"--key-format", "protobuf", "--set", "key.schemaFile="+filepath.Join(dir, "key.proto"), "--set", "value.onMalformed=null")
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{8, 5}, Value: datum(1, 1, "a")}, &kgo.Record{Topic: "orders", Value: datum(2, 0)},
		&kgo.Record{Topic: "orders", Key: []byte{}, Value: []byte("x")})
	p.run(t).has("summary", "rows", 3, "nulled", 1)
	p.wantsShown(t, []string{"name", "kafka_key"}, `"a" {"id":5}`, `null null`, `null {"id":0}`)
	p.proves(t, "proved", 3)
}

func TestJSONWithTheColumnsOfAnotherLanguage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"order.avsc": avroV1, "order.json": `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":["string","null"]}}}`, "order.ddl": "id BIGINT, name STRING"} {
		write(t, dir, name, text)
		k := embedded(t, "orders")
		p := newPipeline(t, k).with("--value-format", "json", "--set", "value.schemaFile="+filepath.Join(dir, name))
		k.say(t, `{"id":1,"name":"a"}`)
		p.run(t).has("summary", "rows", 1)
		p.wantsShown(t, avroColumns, `1 "a" 0`)
	}
	file := write(t, dir, "wrong.json", `{"type":"arry"}`)
	newPipeline(t, &kafka{addr: "nobody.invalid:9092"}).with("--value-format", "json", "--set", "value.schemaFile="+file).do(t, "run").fails(64, "value.schemaFile: ", "no type arry")
}

// Integers that become long are the most usual change of a schema; the table has room for most of them.
func TestAWiderTypeIsTakenAsFarAsItFits(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	schema := func(kind string) string {
		return `{"type":"record","name":"Order","fields":[{"name":"id","type":"` + kind + `"}]}`
	}
	v1 := r.register("orders-value", "AVRO", schema("int"))
	p := registered(t, k, r, "avro")
	k.say(t, framedBy(v1, datum(1)))
	p.run(t).has("summary", "rows", 1)
	v2 := r.register("orders-value", "AVRO", schema("long"))
	k.say(t, framedBy(v2, datum(2)), framedBy(v1, datum(3)))
	p.do(t, "plan").wants(0).mentions("wider types")
	p.run(t).has("summary", "rows", 2)
	k.say(t, framedBy(v2, datum(1<<40)))
	p.do(t, "run").fails(14, "orders-0 at offset 3", "overflow")
	wider := p.with("--set", "value.onUnknownField=addColumn")
	wider.run(t).has("summary", "rows", 1)
	wider.wantsShown(t, []string{"id"}, `1`, `2`, `3`, `1099511627776`)
	wider.proves(t, "proved", 4)
}

// A field that a producer registers becomes a column with the first record that is written with it; those of before have
// null there.
func TestAFieldThatIsRegisteredBecomesAColumn(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	p := registered(t, k, r, "avro").with("--set", "value.onUnknownField=addColumn")
	k.say(t, framedBy(v1, datum(1, 1, "a")))
	p.run(t).has("summary", "rows", 1)
	v2 := r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"tag","type":"string"},{"name":"name","type":["null","string"]},
		{"name":"address","type":{"type":"record","name":"Address","fields":[{"name":"zip","type":"string"}]}}]}`)
	p.do(t, "plan").wants(0)
	k.say(t, framedBy(v1, datum(2, 0)), framedBy(v2, datum(3, "t", 1, "c", "50667")))
	p.run(t).has("summary", "rows", 2)
	p.wantsShown(t, append(avroColumns, "tag", "address"), `1 "a" 0 null null`, `2 null 1 null null`, `3 "c" 2 "t" {"zip":"50667"}`)
	k.say(t, framedBy(v2, datum(4, "u", 0, "1")), framedBy(v1, datum(5, 0)))
	p.run(t).has("summary", "rows", 2)
	p.wantsShown(t, append(avroColumns, "tag"), `1 "a" 0 null`, `2 null 1 null`, `3 "c" 2 "t"`, `4 null 3 "u"`, `5 null 4 null`)
	p.proves(t, "proved", 5)
}

// What no schema of the registry reads into the columns is a dead letter, with its bytes and the reason.
func TestRecordsThatTheirSchemaDoesNotReadAreDeadLetters(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	p := registered(t, k, r, "avro").with("--set", "value.onMalformed=deadLetter", "--set", "value.onUnknownField=deadLetter").into("ops.dead")
	k.say(t, framedBy(v1, datum(1, 1, "a")), `{"id":2}`)
	p.run(t).has("summary", "rows", 1, "deadLetters", 1)
	v2 := r.register("orders-value", "AVRO", avroV2)
	other := r.register("orders-value", "AVRO", `{"type":"record","name":"Order","fields":[{"name":"id","type":"string"}]}`)
	r.register("orders-value", "AVRO", avroV1)
	k.say(t, framedBy(v2, datum(3, "t", 0)), framedBy(other, datum("4")), framedBy(v1, datum(5, 0)))
	p.run(t).has("summary", "rows", 1, "deadLetters", 2)
	p.wantsShown(t, avroColumns, `1 "a" 0`, `5 null 4`)
	got := p.letters(t, "kafka_offset", "error_class")
	slices.Sort(got)
	if want := []string{"1 | framing", "2 | unknown", "3 | schema"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.proves(t, "proved", 2)
}

// What protoc makes of a .proto file is read as the file is.
func TestProtobufWithADescriptorSet(t *testing.T) {
	t.Parallel()
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("order.proto"), Package: proto.String("shop"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Order"), Field: []*descriptorpb.FieldDescriptorProto{
			field("id", 1, descriptorpb.FieldDescriptorProto_TYPE_INT64), field("name", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING)}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "protobuf", "--set", "value.schemaFile="+write(t, t.TempDir(), "order.desc", string(set)))
	k.say(t, "\x08\x07\x12\x01a", "\x12\x00")
	p.run(t).has("summary", "rows", 2)
	p.wantsShown(t, avroColumns, `7 "a" 0`, `0 "" 1`)
}
