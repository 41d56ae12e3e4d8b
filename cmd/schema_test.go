package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/cmd"
)

// infer calls sluice schema infer on the topic orders.
func (k *kafka) infer(t testing.TB, flags ...string) *outcome {
	t.Helper()
	return call(t, nil, slices.Concat([]string{"sluice", "schema", "infer", "--bootstrap-servers", k.addr, "--from-topic", "orders"}, flags)...)
}

// texts appends values to a partition of the topic orders; one that is empty is a tombstone.
func (k *kafka) texts(t testing.TB, partition int32, values ...string) {
	t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: "orders", Partition: partition, Value: []byte(v)}
		if v == "" {
			r.Value = nil
		}
		k.produce(t, r)
	}
}

func (o *outcome) says(parts ...string) *outcome {
	o.t.Helper()
	for _, part := range parts {
		if !strings.Contains(o.stderr, part) {
			o.t.Errorf("%s\ngot %s\nwant it to say %q", o.line, o.stderr, part)
		}
	}
	return o
}

func (o *outcome) prints(want string) *outcome {
	o.t.Helper()
	if o.stdout != want {
		o.t.Errorf("%s\ngot %q\nwant %q\n%s", o.line, o.stdout, want, o.stderr)
	}
	return o
}

func TestSchemaInferPrintsASchemaAndNothingElse(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.texts(t, 0, `{"id":1,"at":"2026-01-02T03:04:05Z","price":12.50}`, "", `{"id":2,"price":"none","note":null}`)
	k.texts(t, 1, `{"id":3,"at":"2026-01-02T03:04:05Z","kafka_key":1}`, `[]`, `{"id":4,"id":4}`)
	k.infer(t).wants(0).prints("id BIGINT,\nat TIMESTAMP,\nprice STRING\n").says(
		"sampled the newest 6 records of topic orders: 3 rows in the schema, 1 tombstone, 2 records malformed\n",
		"1 value, first in orders-1@1: an array where an object should be", "it looks like an array of JSON",
		"1 value, first in orders-1@2: the name comes twice", "note: null in the only value", "kafka_key: it is the name of a column about the record",
		"price: 1 number (first in orders-0@0), 1 text (first in orders-0@2)", "at: TIMESTAMP: each of 2 texts is one", `  "price": json`)
	k.infer(t, "--not-null", "--plain").wants(0).prints("id BIGINT NOT NULL,\nat STRING,\nprice STRING\n").says("1 tombstone (with NOT NULL in the schema, value.onTombstone has to be drop)")
}

func TestSchemaInferSamplesEitherEndOfEachPartition(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	for i := range 10 {
		k.texts(t, 0, fmt.Sprintf(`{"a%d":1}`, i))
	}
	k.texts(t, 1, `{"b":true}`)
	k.infer(t, "--sample", "3").wants(0).prints("a8 BIGINT,\na9 BIGINT,\nb BOOLEAN\n").says("the newest 3 records")
	k.infer(t, "--sample", "3", "--from", "earliest").wants(0).prints("a0 BIGINT,\na1 BIGINT,\nb BOOLEAN\n").says("the oldest 3 records")
	k.infer(t, "--sample", "1").wants(0).prints("a9 BIGINT\n").says("the newest record of topic orders")
}

// Markers, and records of aborted transactions, take offsets that have no row.
func TestSchemaInferGoesBackOverOffsetsWithoutRecords(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.texts(t, 0, `{"a":1}`, `{"b":1}`, `{"c":1}`)
	k.abort(t, 30)
	k.infer(t, "--sample", "2").wants(0).prints("b BIGINT,\nc BIGINT\n")
}

// abort takes offsets of partition 0 with transactions that come to nothing.
func (k *kafka) abort(t testing.TB, transactions int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.TransactionalID("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range transactions {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte(`{"no":1}`)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
	}
}

// What is printed is what value.schemaFile takes, and with the options that the remarks name every record becomes a row.
func TestARunTakesTheSchemaThatWasInferred(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.texts(t, 0, `{"id":1,"odd name":{"x":[{"y":1.5}]},"mixed":1}`, `{"id":2,"mixed":{"a":1},"at":"2026-01-02"}`, `{"id":9223372036854775808}`)
	file := filepath.Join(t.TempDir(), "orders.ddl")
	if err := os.WriteFile(file, []byte(k.infer(t).wants(0).stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, k).with("--value-format", "json", "--set", "value.schemaFile="+file, "--set", "value.json.columnFormats.mixed=json")
	p.run(t).has("summary", "records", 3, "rows", 3)
	rows := rowsOf(p.do(t, "peek", "--columns", "id,odd name,mixed,at").wants(0))
	if got, want := fmt.Sprint(rows), `[map[at:<nil> id:1 mixed:1 odd name:map[x:[map[y:1.5]]]] map[at:2026-01-02 id:2 mixed:{"a":1} odd name:<nil>] map[at:<nil> id:9223372036854775808 mixed:<nil> odd name:<nil>]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.do(t, "verify", "--source").wants(0)
}

// The job's own way of writing times counts, and what it says of columns and schema does not.
func TestSchemaInferReadsTheJob(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.texts(t, 0, `{"at":"20260102","then":"2026-01-02T03:04:05"}`)
	file := filepath.Join(t.TempDir(), "job.yaml")
	text := "source: {kafka: {bootstrap.servers: " + k.addr + "}, subscribe: [orders]}\nvalue: {format: json, json: {dateFormat: yyyyMMdd, timeZone: Europe/Berlin, columnFormats: {was: json}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, nil, "sluice", "schema", "infer", "--job", file).wants(0).prints("at DATE,\nthen TIMESTAMP\n")
	call(t, nil, "sluice", "schema", "infer", "--job", file, "--from-topic", "order").wants(10).says("order does not exist", "there is orders")
	call(t, nil, "sluice", "schema", "infer", "--job", file, "--set", "value.json.dateFormat=yy").wants(64).says("yy")
}

func TestSchemaInferSaysWhatATopicHoldsInsteadOfJSON(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"\x00\x00\x00\x00\x07\x02a":           "Avro or Protobuf behind the prefix of a schema registry, schema id 7",
		"\x00\x00\x00\x01\x00{\"a\":1}":       "JSON behind the prefix of a schema registry, schema id 256",
		"\x01" + "0123456789abcdef" + "\x02a": "schema GUID 30313233343536373839616263646566",
		"Obj\x01\x04":                         "an Avro object container file",
		"\x1f\x8b\x08":                        "compressed by gzip",
		"<order/>":                            "XML",
		"1,2,3":                               "text",
		`"{\"a\":1}"`:                         "it was encoded twice",
		`[{"a":1}]`:                           "an array of JSON",
		"\x02\x08\xff\x01":                    "binary",
	} {
		k := embedded(t, "orders")
		k.texts(t, 0, value)
		k.infer(t).wants(14).prints("").says("no value in topic orders is an object of JSON; orders-0@0 is the first, and looks like ", want)
	}
}

func TestSchemaInferSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.infer(t).wants(10).prints("").says("topic orders holds no record")
	k.texts(t, 0, "")
	k.infer(t).wants(10).says("tombstones alone")
	k.texts(t, 0, `{"a":{}}`)
	k.infer(t).wants(10).prints("").says("no field of 1 record in topic orders has a column", "a: empty in the only object")
	k.infer(t, "--sample", "0").wants(64).says("--sample", "1 to 100000")
	k.infer(t, "--from", "middle").wants(64).says("latest or earliest")
	k.infer(t, "--from-file", "x").wants(64).says("contradict")
	k.infer(t, "more").wants(64).says("takes no arguments")
	call(t, nil, "sluice", "schema", "infre").wants(64).says("did you mean infer?")
	call(t, nil, "sluice", "schema", "infer", "--from-topic", "orders").wants(64).says("bootstrap.servers")
	call(t, nil, "sluice", "schema", "infer", "--from-file", filepath.Join(t.TempDir(), "gone")).wants(64).says("no such file")
	if help := call(t, nil, "sluice", "schema").wants(0).stdout; !strings.Contains(help, "infer") {
		t.Errorf("got %q", help)
	}
}

func TestSchemaInferReadsLinesOfAFileAndOfStdin(t *testing.T) {
	t.Parallel()
	lines := "{\"a\":1}\r\n\n{\"a\":2.5}\nnone\n{\"b\":1}"
	file := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, nil, "sluice", "schema", "infer", "--from-file", file).wants(0).prints("a DOUBLE,\nb BIGINT\n").says("the first 4 records of "+file, "first in line 4")
	call(t, nil, "sluice", "schema", "infer", "--from-file", file, "--sample", "1").wants(0).prints("a BIGINT\n").says("the first record of ")
	piped := exec.Command(os.Args[0], "schema", "infer", "--from-file", "-")
	piped.Env, piped.Stdin = append(os.Environ(), asSluice+"=1"), strings.NewReader(lines)
	started(t, piped).wait().wants(0).prints("a DOUBLE,\nb BIGINT\n").says("the first 4 records of stdin")
}

// A pipe that is closed is an error, as for every command.
func TestSchemaInferTellsThatStdoutIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(file, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr lockedBuffer
	if code := cmd.Main([]string{"sluice", "schema", "infer", "--from-file", file}, nil, gone{}, &stderr); code != 1 {
		t.Errorf("got exit code %d, want 1: %s", code, stderr.String())
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, os.ErrClosed }

// In JSON all that is known of the schema is in one object, and stderr is silent.
func TestAnInferredSchemaIsOneObjectInJSON(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.say(t, `{"id":1,"at":"2026-11-30T04:00:00Z","none":null}`, `{"id":2,"at":"2026-11-30T05:00:00Z"}`, "", `{`)
	o := k.infer(t, "--output", "json").wants(0).has("schema", "from", "topic orders", "which", "newest", "sampled", 4, "rows", 2, "tombstones", 1, "schema", "id BIGINT,\nat TIMESTAMP")
	object := o.last("schema")
	if got, want := fmt.Sprint(object["columns"]), "[map[name:id required:false sqlType:BIGINT] map[name:at required:false sqlType:TIMESTAMP]]"; got != want || o.stderr != "" {
		t.Errorf("got %s and %q on stderr, want %s", got, o.stderr, want)
	}
	if got := fmt.Sprint(object["misfits"]); !strings.Contains(got, "count:1") || !strings.Contains(got, "place:orders-0@3") || !strings.Contains(got, "reason:syntax") {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(object["remarks"]); !strings.Contains(got, "about:left out") || !strings.Contains(got, "path:none") {
		t.Errorf("got %s", got)
	}
	k.infer(t, "--output", "json", "--sample", "1").fails(14, "no value in topic orders is an object of JSON").has("schema", "schema", "", "rows", 0)
}
