package cmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lettered is a pipeline whose malformed records are dead letters.
func lettered(t testing.TB, k *kafka, ddl string) *pipeline {
	t.Helper()
	return typed(t, k, ddl).with("--set", "value.onMalformed=deadLetter").into("ops.dead")
}

// into is the pipeline with another table of dead letters.
func (p *pipeline) into(table string) *pipeline {
	other := *p
	other.environ = append(slices.Clone(p.environ), "SLUICE_DEADLETTER_TABLE="+table)
	return &other
}

// letters reads the table of dead letters whole, as texts by column.
func (p *pipeline) letters(t testing.TB, columns ...string) []string {
	t.Helper()
	tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier("ops.dead"))
	if err != nil {
		t.Fatal(err)
	}
	schema, batches, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rows.NumRows()) {
			var cells []string
			for _, c := range columns {
				cells = append(cells, rows.Column(schema.FieldIndices(c)[0]).ValueStr(i))
			}
			lines = append(lines, strings.Join(cells, " | "))
		}
		rows.Release()
	}
	return lines
}

func TestMalformedRecordsGoToTheTableOfDeadLettersWhole(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "order_id BIGINT NOT NULL, amount DECIMAL(18,2)")
	k.say(t, `{"order_id":1,"amount":1.5}`)
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{0, 0xff}, Value: []byte(`{"order_id":"x"}`), Timestamp: millis(1_700_000_000_123),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "trace", Value: nil}}})
	k.say(t, "", `{"order_id":2,"amount":1.555}`, `{"order_id":3}`)
	p.do(t, "plan").wants(0)
	p.run(t).wants(0).has("summary", "rows", 2, "deadLetters", 3, "deadLetterTable", "ops.dead", "reasons.type", 1, "reasons.tombstone", 1, "reasons.lossy", 1).
		has("batch", "sluice.deadLetters", 3, "sluice.deadLetterFiles", 1)
	p.proves(t, "proved", 2).has("verify", "deadLetters", 3, "deadLettersFound", 3)
	got := p.letters(t, "kafka_partition", "kafka_offset", "kafka_key", "kafka_value", "kafka_headers", "kafka_timestamp", "error_class", "batch_id", "query_name")
	want := []string{
		`0 | 1 | AP8= | eyJvcmRlcl9pZCI6IngifQ== | [{"key":"trace","value":"YWJj"},{"key":"trace","value":null}] | 2023-11-14T22:13:20.123Z | type | 0 | sales.orders`,
		`0 | 2 | aw== | (null) | (null) | 2023-11-14T22:13:20Z | tombstone | 0 | sales.orders`,
		`0 | 3 | aw== | eyJvcmRlcl9pZCI6MiwiYW1vdW50IjoxLjU1NX0= | (null) | 2023-11-14T22:13:20Z | lossy | 0 | sales.orders`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, text := range p.letters(t, "error") {
		if part := []string{"order_id: ", "a tombstone", "1.555"}[i]; !strings.Contains(text, part) {
			t.Errorf("error %d is %q, want it to say %q", i, text, part)
		}
	}
	k.say(t, `{"order_id":4}`)
	p.run(t).wants(0).has("summary", "rows", 1, "deadLetters", 0)
	p.proves(t, "proved", 3)
}

func TestAJobWithDeadLettersAndNoPlaceForThemIsWrong(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "a INT").with("--set", "value.onMalformed=deadLetter")
	p.do(t, "run").fails(64, "value.onMalformed", "deadLetter.table")
	p.with("--set", "deadLetter.table=sales.orders").do(t, "run").fails(64, "deadLetter.table", "is the table of the rows")
	newPipeline(t, k).with("--set", "deadLetter.table=ops.dead").do(t, "run").fails(64, "deadLetter.table", "means nothing with value.format raw")
	typed(t, k, "a INT").with("--set", "value.maxBadRecords=5").do(t, "run").fails(64, "value.maxBadRecords", "onMalformed")
}

func TestMoreBadRecordsThanTheJobBearsEndItWithExamples(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{"a":1}`, `{`, `{"a":"x"}`, `{"a":2}`)
	strict := p.with("--set", "value.maxBadRatio=0.25")
	strict.do(t, "run").fails(14, "2 malformed records among 4", "value.maxBadRatio is 0.25", "syntax 1, type 1", "orders-0 at offset 1", "orders-0 at offset 2", "raise the limit")
	if got := p.letters(t, "kafka_offset"); len(got) != 0 {
		t.Errorf("got %v in the table of dead letters", got)
	}
	p.run(t).wants(0).has("summary", "rows", 2, "deadLetters", 2)
	p.proves(t, "proved", 2)
}

func TestDeadLettersMayGoToAnotherTableFromTheNextBatch(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`, `{"a":1}`)
	p.run(t).wants(0)
	k.say(t, `{`, `{"a":2}`)
	p.into("ops.other").run(t).wants(0).has("summary", "deadLetterTable", "ops.other")
	p.proves(t, "proved", 2).has("verify", "deadLetters", 2, "deadLettersFound", 2)
}
