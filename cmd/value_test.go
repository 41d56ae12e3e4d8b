package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ordersDDL is a schema of orders.
const ordersDDL = `order_id BIGINT COMMENT 'as the shop knows it', amount DECIMAL(18,2), at TIMESTAMP, tags ARRAY<STRING>, address STRUCT<city: STRING, zip: STRING>`

// typed is a pipeline of JSON records with a schema.
func typed(t testing.TB, k *kafka, ddl string) *pipeline {
	t.Helper()
	return newPipeline(t, k).with("--value-format", "json", "--value-schema", ddl)
}

// say appends records with these values to partition 0; "" is a tombstone.
func (k *kafka) say(t testing.TB, values ...string) {
	t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte(v), Timestamp: millis(1_700_000_000_000)}
		if v == "" {
			r.Value = nil
		}
		k.produce(t, r)
	}
}

// shows lists the columns of all rows of the table, as JSON, in the order of their offsets.
func (p *pipeline) shows(t testing.TB, columns ...string) []string {
	t.Helper()
	var rows []map[string]any
	for _, row := range p.do(t, "peek", "--limit", "1000").wants(0).last("peek")["rows"].([]any) {
		rows = append(rows, row.(map[string]any))
	}
	slices.SortFunc(rows, func(a, b map[string]any) int { return int(a["kafka_offset"].(float64) - b["kafka_offset"].(float64)) })
	var lines []string
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			text, err := json.Marshal(row[c])
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, string(text))
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

func (p *pipeline) wantsShown(t testing.TB, columns []string, want ...string) {
	t.Helper()
	if got := p.shows(t, columns...); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// proves fails the test unless verify finds every row that the summaries counted.
func (p *pipeline) proves(t testing.TB, verdict string, rows int) *outcome {
	t.Helper()
	return p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", verdict, "rows", rows)
}

func TestAJSONTopicBecomesColumns(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, ordersDDL)
	k.say(t, `{"order_id":1,"amount":12.34,"at":"2026-11-01T10:00:00.5+01:00","tags":["a",null],"address":{"city":"Köln"},"more":[1]}`,
		`{"order_id":9007199254740993,"amount":9999999999999999.99}`, `{}`)
	p.do(t, "validate").wants(0)
	p.do(t, "plan").wants(0).has("plan", "format", "json")
	p.run(t).has("batch", "sluice.rows", 3, "sluice.nulled", 0, "sluice.dropped", 0).has("summary", "rows", 3, "nulled", 0)
	p.wantsShown(t, []string{"order_id", "amount", "at", "tags", "address", "kafka_topic", "kafka_partition", "kafka_offset", "kafka_key", "kafka_timestamp"},
		`1 "12.34" "2026-11-01T09:00:00.500000Z" ["a",null] {"city":"Köln","zip":null} "orders" 0 0 "k" "2023-11-14T22:13:20.000000Z"`,
		`9007199254740992 "9999999999999999.99" null null null "orders" 0 1 "k" "2023-11-14T22:13:20.000000Z"`, // float64 is the test's own
		`null null null null null "orders" 0 2 "k" "2023-11-14T22:13:20.000000Z"`)
	want := []string{"order_id long", "amount decimal(18, 2)", "at timestamptz", "tags list", "address struct", "kafka_key binary", "kafka_topic string", "kafka_partition int",
		"kafka_offset long", "kafka_timestamp timestamptz"}
	schema := p.table(t).Schema()
	if got := columnsOf(schema); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if f, _ := schema.FindFieldByName("order_id"); f.Doc != "as the shop knows it" {
		t.Errorf("order_id is described as %q", f.Doc)
	}
	p.proves(t, "proved", 3)
	k.say(t, `{"order_id":4}`)
	p.run(t).has("summary", "firstBatch", 1, "rows", 1)
	p.do(t, "status").wants(0).has("status", "action", "continue", "lag", 0)
	p.proves(t, "proved", 4)
}

func TestAStringTopicBecomesText(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--value-format", "string", "--set", "value.includeRawValue=true", "--include-headers=true", "")
	p.flags = p.flags[:len(p.flags)-1]
	k.say(t, "a", "", "größe", "\xff")
	p.do(t, "run").fails(14, "orders-0 at offset 3", "encoding", `\xff`, "value.onMalformed")
	p = p.with("--set", "value.onMalformed=null")
	p.run(t).has("summary", "rows", 4, "nulled", 1)
	p.wantsShown(t, []string{"value", "kafka_value", "kafka_headers"}, `"a" "a" null`, `null null null`, `"größe" "größe" null`, `null {"base64":"/w=="} null`)
	p.proves(t, "proved", 4)
}

// A record that is no row ends the run; nothing of its batch is in the table. Whatever cures it, the batch that was planned
// is finished, and each record is there once.
func TestAMalformedRecordStopsTheRunUntilItIsCured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cure   func(p *pipeline) *pipeline
		nulled int
		want   string
	}{
		"by the policy": {func(p *pipeline) *pipeline { return p.with("--set", "value.onMalformed=null") }, 1, "null"},
		"by an option":  {func(p *pipeline) *pipeline { return p.with("--set", "value.json.numbersInText=true") }, 0, `"5.00"`},
		"by the schema": {func(p *pipeline) *pipeline { return p.with("--value-schema", "order_id BIGINT") }, 0, "null"},
		"by both at all": {func(p *pipeline) *pipeline {
			return p.with("--value-schema", "order_id BIGINT", "--set", "value.onMalformed=null")
		}, 0, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := typed(t, k, "order_id BIGINT, amount DECIMAL(18,2)")
			k.say(t, `{"order_id":1,"amount":1}`)
			p.run(t)
			k.say(t, `{"order_id":2,"amount":2}`, `{"order_id":3,"amount":"5"}`)
			for range 2 {
				p.do(t, "run").fails(14, "record orders-0 at offset 2 is malformed", "amount", "a string where decimal(18,2) should be", "(type, at byte 23)", `"amount":"5"`, "value.onMalformed to null").
					has("summary", "batches", 0, "exitCode", 14)
			}
			p.proves(t, "proved", 1)
			p.do(t, "status").wants(0).has("status", "action", "replay", "uncommitted.batch", 1)
			cured := tc.cure(p)
			cured.do(t, "plan").wants(0).has("plan", "action", "replay")
			cured.run(t).has("batch", "batchId", 1, "sluice.replayed", true, "sluice.nulled", tc.nulled).has("summary", "rows", 2, "nulled", tc.nulled, "caughtUp", true)
			rows := p.shows(t, "amount", "kafka_offset")
			if last := rows[len(rows)-1]; len(rows) != 3 || last != tc.want+" 2" {
				t.Errorf("got %v, want the last to be %s", rows, tc.want)
			}
			cured.proves(t, "proved", 3)
			cured.run(t).has("summary", "batches", 0)
		})
	}
}

// Most schemas are wrong the first time, and the first run has made the table for it.
func TestASchemaThatIsWrongFromTheStartCanBeCorrected(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT NOT NULL, amount DECIMAL(18,2)")
	k.say(t, `{"order_id":1,"amount":"5"}`)
	p.do(t, "run").fails(14, "amount", "leave NOT NULL out")
	right := p.with("--value-schema", "order_id BIGINT NOT NULL, amount STRING")
	right.do(t, "run").fails(13, "column amount is decimal(18,2) in the table and string in the rows", "no rows yet: it may also be dropped together with the checkpoint")
	if err := p.catalog(t).DropTable(t.Context(), catalog.ToIdentifier(tableOfTests)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.checkpoint()); err != nil {
		t.Fatal(err)
	}
	right.run(t).has("summary", "rows", 1)
	right.wantsShown(t, []string{"order_id", "amount"}, `1 "5"`)
	right.proves(t, "proved", 1)
}

func TestTombstonesAreKeptOrDroppedAndCounted(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT")
	k.say(t, `{"order_id":1}`, "", `{"order_id":2}`)
	p.run(t).has("summary", "rows", 3, "nulled", 0, "dropped", 0)
	drop := p.with("--set", "value.onTombstone=drop")
	k.say(t, "", `{"order_id":3}`, "")
	drop.run(t).has("batch", "sluice.rows", 1, "sluice.dropped", 2, "numInputRows", 3).has("summary", "rows", 1, "dropped", 2)
	k.say(t, "") // a batch of nothing else
	drop.run(t).has("summary", "rows", 0, "dropped", 1, "files", 0)
	p.wantsShown(t, []string{"order_id", "kafka_offset"}, "1 0", "null 1", "2 2", "3 4")
	drop.proves(t, "proved", 4).has("verify", "dropped", 3)

	required := typed(t, embedded(t, "orders"), "order_id BIGINT NOT NULL")
	required.kafka.say(t, "")
	required.do(t, "run").fails(14, "tombstone", "value.onTombstone to drop")
	required.with("--set", "value.onTombstone=drop").run(t).has("summary", "rows", 0, "dropped", 1)
}

func TestAnUnknownFieldIsIgnoredOrMalformed(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT")
	k.say(t, `{"order_id":1,"nöw":{"a":1}}`)
	p.with("--set", "value.onUnknownField=fail").do(t, "run").fails(14, "nöw", "unknown", "value.onUnknownField to ignore")
	p.with("--set", "value.onUnknownField=ignore").run(t).has("summary", "rows", 1)
	p.wantsShown(t, []string{"order_id"}, "1")
}

// An open plan is finished as it was planned; the job's schema begins with the next batch.
func TestAReplayDecodesAsPlanned(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT, amount DECIMAL(18,2)")
	p.run(t)
	k.say(t, `{"order_id":1,"amount":1,"note":"x"}`)
	p.withoutData(t, func() { p.do(t, "run").wants(10) })
	k.say(t, `{"order_id":2,"amount":2,"note":"y"}`)
	later := p.with("--value-schema", "order_id BIGINT, note STRING", "--set", "value.includeRawValue=true")
	later.do(t, "run").fails(13, "the table has no column note (string)", "the table has no column kafka_value", "add the columns").has("summary", "batches", 1, "lastBatch", 0)
	p.wantsShown(t, []string{"order_id", "amount"}, `1 "1.00"`)
	later.do(t, "plan").wants(13).has("plan", "action", "stop", "refusal.exitCode", 13)
	later.do(t, "status").wants(0).has("status", "action", "stop")
	later.do(t, "validate").wants(13)
	p.change(t, func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"note"}, iceberg.PrimitiveTypes.String, "", false, nil).
			AddColumn([]string{"kafka_value"}, iceberg.PrimitiveTypes.Binary, "", false, nil).Commit()
	})
	later.run(t).has("summary", "firstBatch", 1, "rows", 1)
	p.wantsShown(t, []string{"order_id", "amount", "note", "kafka_value"}, `1 "1.00" null null`, `2 null "y" "{\"order_id\":2,\"amount\":2,\"note\":\"y\"}"`)
	later.proves(t, "proved", 2)
}

func TestPeekShowsATopicAsTheJobDecodesIt(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "order_id BIGINT NOT NULL, tags ARRAY<INT>")
	k.say(t, `{"order_id":1,"tags":[1,2]}`, `{"order_id":"x"}`, "", `{"order_id":4}`)
	o := p.do(t, "peek", "--topic", "--limit", "3").wants(0)
	shown := o.last("peek")
	if got, want := fmt.Sprint(shown["rows"]), "kafka_offset:1"; len(shown["rows"].([]any)) != 3 || !strings.Contains(got, want) {
		t.Errorf("got %v, want three rows, the first at offset 1", got)
	}
	faults, _ := json.Marshal(shown["malformed"])
	for _, want := range []string{`"offset":1,`, `"reason":"type"`, `"reason":"tombstone"`, "order_id: a string where long should be"} {
		if !strings.Contains(string(faults), want) {
			t.Errorf("got %s, want it to have %s", faults, want)
		}
	}
	if text := call(t, nil, slices.Concat([]string{"sluice", "peek", "--topic"}, p.flags)...).wants(0).stdout; !strings.Contains(text, "why it is malformed") {
		t.Errorf("got\n%s", text)
	}
}

// What is wrong with a schema is a problem of the job, in the line of the file where it stands.
func TestABadSchemaIsAProblemOfTheJob(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "orders.yaml", `source:
  kafka: {bootstrap.servers: "nobody.invalid:9092"}
  subscribe: [orders]
sink: {iceberg: {catalog: {warehouse: lake}, table: sales.orders}}
value:
  format: json
  schema: |
    order_id BIGINT NOT NULL,
    amount STRNG
  json: {timeZone: Europe/Atlantis, maxDepth: 100000}
`)
	o := call(t, nil, "sluice", "plan", "--job", file).wants(64)
	for _, want := range []string{"orders.yaml:9:12: value.schema: there is no type STRNG; did you mean STRING?", "    amount STRNG\n           ^\n", "10:20: value.json.timeZone", "value.json.maxDepth"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("got\n%s\nwant %q", o.stderr, want)
		}
	}
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"}).with("--value-format", "json")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--value-schema", "a INT NOT NULL", "--set", "value.onMalformed=null"}, "value.onMalformed: malformed records cannot become null: column a is NOT NULL"},
		{[]string{"--value-schema", "Kafka_Offset INT"}, "value.schema: the schema has a column Kafka_Offset"},
		{[]string{"--value-schema", "a TIMESTAMP_NTZ, b DATE", "--set", "value.json.timestampFormat=yyyy-MM-dd XXX", "--set", "value.json.dateFormat=yy"}, "2 problems"},
		{[]string{"--value-schema", "a TIMESTAMP", "--set", "value.json.columnFormats.b=json"}, "value.json.columnFormats: a format is given for column b"},
		{[]string{"--value-schema", "a TIMESTAMP", "--set", "value.json.timeZone=Local"}, "value.json.timeZone: a local zone is another one"},
		{nil, "value.schema: is missing"},
	} {
		call(t, nil, p.args("plan", c.args...)...).fails(64, c.want)
	}
}
