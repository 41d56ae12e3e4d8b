package cmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// https://github.com/databricks/iceberg-kafka-connect/issues/141, /152 and https://github.com/apache/iceberg/issues/14618: values of
// the wrong type are dead letters that name the column, and the checkpoint goes past them.
func TestValuesOfTheWrongTypeAreDeadLettersAndTheRestIsThere(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "n BIGINT")
	k.say(t, `{"n":1}`, `{"n":"x"}`, `{"n":{"a":1}}`, `{"n":2}`)
	p.run(t).has("summary", "rows", 2, "deadLetters", 2, "reasons.type", 2)
	p.wantsShown(t, []string{"n", "kafka_offset"}, "1 0", "2 3")
	for _, text := range p.letters(t, "error") {
		if !strings.HasPrefix(text, "n: ") {
			t.Errorf("got %q, want it to name the column", text)
		}
	}
	p.do(t, "status").wants(0).has("status", "lag", 0)
	p.proves(t, "proved", 2).has("verify", "deadLettersFound", 2)
}

// https://github.com/opensearch-project/data-prepper/issues/3247 and /3231, https://github.com/apache/storm/issues/9078 and
// https://github.com/knative/eventing-contrib/issues/552: the first record there is cannot be read, and is not at offset 0.
func TestABadRecordAtTheBeginningHoldsNothingUp(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	for range 833 {
		k.say(t, `{"a":0}`)
	}
	var upTo kadm.Offsets
	upTo.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 833})
	if answers, err := k.admin.DeleteRecords(t.Context(), upTo); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	p := lettered(t, k, "a BIGINT")
	k.say(t, `{`, `{"a":834}`, `{"a":835}`, `{"a":836}`)
	p.run(t).has("summary", "rows", 3, "deadLetters", 1, "caughtUp", true)
	p.wantsShown(t, []string{"a", "kafka_offset"}, "834 834", "835 835", "836 836")
	if got := p.letters(t, "kafka_offset"); !slices.Equal(got, []string{"833"}) {
		t.Errorf("got dead letters %v", got)
	}
	p.do(t, "status").wants(0).has("status", "lag", 0)
	p.run(t).has("summary", "batches", 0)
	p.proves(t, "proved", 3)
}

// https://github.com/LinkedInAttic/camus/issues/107: all that cannot be read is kept, however much it is, unless the job bears no
// more; then nothing of the batch is anywhere.
func TestDeadLettersAreNotCapped(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a BIGINT")
	for i := range 25 {
		k.say(t, fmt.Sprintf(`{"a":%d`, i))
	}
	k.say(t, `{"a":1}`)
	p.with("--set", "value.maxBadRecords=10").do(t, "run").fails(14, "25 malformed records among 26", "value.maxBadRecords is 10")
	if p.table(t).CurrentSnapshot() != nil || len(p.letters(t, "kafka_offset")) > 0 {
		t.Error("a table has something of a batch that failed")
	}
	p.do(t, "status").wants(0).has("status", "lag", 26)
	p.run(t).has("summary", "rows", 1, "deadLetters", 25)
	p.proves(t, "proved", 1).has("verify", "deadLettersFound", 25)
}

// https://github.com/apache/eventmesh/issues/5292: the dead letters are durable before the rows are, and without them there are no rows.
func TestAPlaceThatTakesNoDeadLettersEndsTheRun(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a BIGINT")
	p.run(t) // makes the tables
	k.say(t, `{"a":1}`, `{`)
	tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier("ops.dead"))
	if err != nil {
		t.Fatal(err)
	}
	location, err := url.Parse(tbl.Location())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(location.Path, "data")
	if err := os.WriteFile(data, nil, 0o600); err != nil { // a file where their folder should be
		t.Fatal(err)
	}
	if o := p.do(t, "run"); o.code == 0 {
		t.Errorf("got %s", o.stdout)
	}
	if p.table(t).CurrentSnapshot() != nil {
		t.Error("rows are there without the dead letters of their batch")
	}
	p.do(t, "status").wants(0).has("status", "lag", 2)
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	p.run(t).has("summary", "rows", 1, "deadLetters", 1)
	p.proves(t, "proved", 1).has("verify", "deadLettersFound", 1)
}

// https://github.com/confluentinc/schema-registry/issues/3391, https://github.com/allegro/hermes/issues/757 and
// https://github.com/confluentinc/kafka-rest/issues/394: a registry that is busy makes no dead letters.
func TestABusyRegistryMakesNoDeadLetters(t *testing.T) {
	t.Parallel()
	k, r := embedded(t, "orders"), newSchemaRegistry(t)
	v1 := r.register("orders-value", "AVRO", avroV1)
	answers := make(chan int, 3)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case code := <-answers:
			w.WriteHeader(code)
		default:
			r.ServeHTTP(w, q)
		}
	}))
	t.Cleanup(busy.Close)
	p := newPipeline(t, k).with("--value-format", "avro", "--schema-registry-url", busy.URL, "--value-schema", "id BIGINT, name STRING", "--set", "value.onMalformed=deadLetter",
		"--set", "schemaRegistry.retries.wait.ms=1").inEnvironment("SLUICE_SCHEMAREGISTRY_BASIC_AUTH_USER_INFO=etl:hunter2").into("ops.dead")
	p.run(t) // makes the tables
	k.say(t, framedBy(v1, datum(1, 1, "a")), framedBy(v1, datum(2, 0)))
	r.fail(true)
	p.do(t, "run").fails(1, "orders-0 at offset 0", "schema 1", "503")
	if p.table(t).CurrentSnapshot() != nil || len(p.letters(t, "kafka_offset")) > 0 {
		t.Error("a table has something of a batch that failed")
	}
	p.do(t, "status").wants(0).has("status", "lag", 2)
	r.fail(false)
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusServiceUnavailable} {
		answers <- code
	}
	p.run(t).has("summary", "rows", 2, "deadLetters", 0)
	p.wantsShown(t, avroColumns, `1 "a" 0`, `2 null 1`)
	if len(answers) > 0 {
		t.Errorf("%d answers were not asked for", len(answers))
	}
}

// Headers of reports beside columns: https://github.com/redpanda-data/connect/issues/1478 has a key several times, in their order,
// https://github.com/splunk/kafka-connect-splunk/issues/326 one without value, and
// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/365 bytes that are no text.
func TestHeadersAreInTheRowAsTheyCame(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "a BIGINT").with("--set", "source.includeHeaders=true")
	for _, headers := range [][]kgo.RecordHeader{
		{{Key: "a", Value: []byte{1}}, {Key: "b"}, {Key: "a", Value: []byte{2}}, {Key: "a", Value: []byte{}}},
		{{Key: "trace"}},
		{{Key: "h", Value: []byte{0xff, 0xfe}}, {Key: "\U0001F600", Value: []byte("x")}},
	} {
		k.produce(t, &kgo.Record{Topic: "orders", Value: []byte(`{"a":1}`), Headers: headers})
	}
	p.run(t).has("summary", "rows", 3)
	schema, batches, err := p.table(t).Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rows, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rows.NumRows()) {
			got = append(got, rows.Column(schema.FieldIndices("kafka_headers")[0]).ValueStr(i))
		}
		rows.Release()
	}
	want := []string{ // bytes in base64
		`[{"key":"a","value":"AQ=="},{"key":"b","value":null},{"key":"a","value":"Ag=="},{"key":"a","value":""}]`,
		`[{"key":"trace","value":null}]`,
		`[{"key":"h","value":"//4="},{"key":"😀","value":"eA=="}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p.proves(t, "proved", 3)
}

// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/42 and /602: a record without value between two others, and keys
// that are absent, empty, or there.
func TestATombstoneBetweenRowsAndKeysOfAllKinds(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "a BIGINT").with("--set", "value.onTombstone=drop", "--key-format", "string")
	k.produce(t, &kgo.Record{Topic: "orders", Value: []byte(`{"a":1}`)}, &kgo.Record{Topic: "orders", Key: []byte("k1")}, &kgo.Record{Topic: "orders", Key: []byte{}, Value: []byte(`{"a":2}`)})
	p.run(t).has("summary", "rows", 2, "dropped", 1)
	p.do(t, "status").wants(0).has("status", "lag", 0)
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte(`{"a":3}`)})
	p.run(t)
	p.wantsShown(t, []string{"a", "kafka_key", "kafka_offset"}, `1 null 0`, `2 "" 2`, `3 "k" 3`)
	p.proves(t, "proved", 3).has("verify", "dropped", 1)
}

// https://github.com/duckdb/duckdb/issues/1932: text that is not UTF-8 is in no column of text, and is kept whole.
func TestTextThatIsNotUTF8IsKeptAsADeadLetter(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "k STRING")
	k.say(t, "\x7b\x22\x6b\x22\x3a\x22\x61\xff\x62\x22\x7d", `{"k":"ab"}`)
	p.run(t).has("summary", "rows", 1, "deadLetters", 1, "reasons.encoding", 1)
	if got := p.letters(t, "kafka_value"); !slices.Equal(got, []string{"eyJrIjoiYf9iIn0="}) {
		t.Errorf("got %q", got)
	}
	p.wantsShown(t, []string{"k"}, `"ab"`)
}

// https://github.com/apache/iceberg/issues/15395, /15396 and /9641, and https://github.com/databricks/iceberg-kafka-connect/issues/162: what
// records bring is in their own rows, inside of structs too, and null and [] bring no type.
func TestFieldsOfReportsAreInTheRowsThatBroughtThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ddl             string
		columns, values []string
		want            []string
	}{
		{"u STRUCT<a: INT>", []string{"u"}, []string{`{"u":{"a":1,"z":9}}`}, []string{`{"a":1,"z":9}`}},
		{"a BIGINT", []string{"a", "b"}, []string{`{"a":1}`, `{"a":2,"b":3}`}, []string{"1 null", "2 3"}},
		{"id BIGINT", []string{"a", "l"}, []string{`{"a":null,"l":[]}`, `{"a":5,"l":[1]}`}, []string{"null []", "5 [1]"}},
		{"id BIGINT", []string{"id"}, []string{`{"a":null,"l":[]}`}, []string{"null"}},
	} {
		k := embedded(t, "orders")
		p := typed(t, k, c.ddl).with("--set", "value.onUnknownField=addColumn")
		k.say(t, c.values...)
		p.run(t).has("summary", "rows", len(c.values))
		p.wantsShown(t, c.columns, c.want...)
		if n := len(columnsOf(p.table(t).Schema())); len(c.columns) == 1 && n != 6 {
			t.Errorf("%s: got %v", c.values, columnsOf(p.table(t).Schema()))
		}
	}
}
