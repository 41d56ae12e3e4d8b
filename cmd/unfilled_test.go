package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// written is a file with a schema, in a folder of the test's own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A column that the records' schema has no field for is null in every row. Whoever runs, plans or validates hears it once.
func TestAColumnThatNoRecordFillsIsTold(t *testing.T) {
	k := embedded(t, "orders")
	k.produce(t, &kgo.Record{Topic: "orders", Value: []byte{10}})
	file := written(t, "order.avsc", `{"type":"record","name":"R","fields":[{"name":"amount","type":"int"}]}`)
	p := newPipeline(t, k).with("--value-format", "avro", "--set", "value.schemaFile="+file, "--value-schema", "amount INT, amuont INT")
	told := "the records' schema (" + file + ") has no such field: amuont of value.schema"
	for _, verb := range []string{"validate", "plan", "run"} {
		o := p.do(t, verb).wants(0)
		if got := strings.Count(o.stdout+o.stderr, told); got != 1 {
			t.Errorf("%s tells it %d times, want once:\n%s%s", verb, got, o.stdout, o.stderr)
		}
	}
	right := p.with("--value-schema", "amount INT")
	for _, verb := range []string{"validate", "plan", "run"} {
		if o := right.do(t, verb); strings.Contains(o.stdout+o.stderr, "no such field") {
			t.Errorf("%s: got\n%s%s", verb, o.stdout, o.stderr)
		}
	}
}

// What is wrong in a .proto file is said with the name that it has.
func TestAFaultInAProtoFileNamesTheFile(t *testing.T) {
	k := embedded(t, "orders")
	file := written(t, "order.proto", "syntax = \"proto3\";\nmessage Order { int32 id = ; }\n")
	p := newPipeline(t, k).with("--value-format", "protobuf", "--set", "value.schemaFile="+file)
	p.do(t, "validate").fails(64, file+":2:")
	p.do(t, "validate", "--key-format", "protobuf", "--set", "key.schemaFile="+file, "--set", "value.format=string", "--set", "value.schemaFile=").fails(64, file+":2:")
}
