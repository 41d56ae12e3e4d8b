package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inFolder writes files, a name, its content, and so on.
func inFolder(t *testing.T, pairs ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		if err := os.WriteFile(filepath.Join(folder, pairs[i]), []byte(pairs[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func convert(t *testing.T, words ...string) *outcome {
	t.Helper()
	return call(t, nil, slices.Concat([]string{"sluice", "schema", "convert"}, words)...)
}

const (
	jsonSchema = `{"type":"object","properties":{"id":{"type":"integer"},"c":{"$ref":"customer.json"}},"required":["id"]}`
	avroSchema = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"c","type":["null","shop.Customer"],"default":null}]}`
	protoFile  = "syntax = \"proto3\";\npackage shop;\nimport \"shop/customer.proto\";\nmessage Order { int64 id = 1; Customer c = 2; }\nmessage Other { string x = 1; }\n"
)

func TestSchemaConvertMakesDDLOfEachKind(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, "order.json", jsonSchema, "customer.json", `{"type":"object","properties":{"name":{"type":"string"}}}`,
		"order.avsc", avroSchema, "customer.avsc", `{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"name","type":"string"}]}`,
		"order.proto", protoFile, "customer.proto", "syntax = \"proto3\";\npackage shop;\nmessage Customer { string name = 1; }\n", "avro.json", `{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}`)
	at := func(name string) string { return filepath.Join(dir, name) }
	convert(t, "--reference", "customer.json="+at("customer.json"), at("order.json")).wants(0).prints("id BIGINT NOT NULL,\nc STRUCT<name: STRING>\n")
	convert(t, "--reference", "customer="+at("customer.avsc"), at("order.avsc")).wants(0).prints("id BIGINT NOT NULL,\nc STRUCT<name: STRING NOT NULL>\n")
	convert(t, at("avro.json")).wants(0).prints("x INT NOT NULL\n")
	proto := []string{"--reference", "shop/customer.proto=" + at("customer.proto"), at("order.proto")}
	convert(t, proto...).wants(64).says("several messages at its top, shop.Order, shop.Other", "--message")
	convert(t, append([]string{"--message", "Order"}, proto...)...).wants(0).prints("id BIGINT,\nc STRUCT<name: STRING>\n")
	convert(t, append([]string{"--message", "shop.Other"}, proto...)...).wants(0).prints("x STRING\n")
	set := "\n\x2c\n\x07o.proto\x12\x04shop\"\x13\n\x05Order\x12\x0a\n\x02id\x18\x01 \x01(\x03b\x06proto3"
	convert(t, filepath.Join(inFolder(t, "order.desc", set), "order.desc")).wants(0).prints("id BIGINT\n")
	piped := exec.Command(os.Args[0], "schema", "convert", "-")
	piped.Env, piped.Stdin = append(os.Environ(), asSluice+"=1"), strings.NewReader(`{"properties":{"a":{"type":"string","format":"date"}}}`)
	started(t, piped).wait().wants(0).prints("a DATE\n")
}

func TestSchemaConvertSaysWhatIsNoColumn(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, "any.json", `{"properties":{"a":{},"b":{"type":["string","integer"]}}}`, "gone.json", jsonSchema, "bad.avsc", `{"type":"record"`, "case.avsc",
		`{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"ID","type":"int"}]}`, "bad.proto", "message {")
	at := func(name string) string { return filepath.Join(dir, name) }
	convert(t, at("any.json")).wants(64).prints("").says("any.json: JSON Schema: 2 problems", "#/properties/a (column a): says nothing", "#/properties/b (column b)")
	convert(t, "--any-as-text", at("any.json")).wants(0).prints("a STRING,\nb STRING\n").says("value.json.columnFormats", `"a": json`, `"b": json`)
	convert(t, at("gone.json")).wants(64).says("there is no schema customer.json")
	convert(t, at("bad.avsc")).wants(64).says("bad.avsc")
	convert(t, at("case.avsc")).wants(64).says("differ by case only")
	convert(t, at("bad.proto")).wants(64).says("bad.proto")
	convert(t, at("nowhere")).wants(64).says("no such file")
	convert(t, dir).wants(64).says("it is a folder")
	convert(t).wants(64).says("takes one file")
	convert(t, at("any.json"), "--any-as-text").wants(64).says("flags stand before it")
	convert(t, "--reference", "x", at("any.json")).wants(64).says("NAME=FILE")
}
